//! Events of an agent, however slow its listeners are.
use std::time::Duration;

use crate::common::{agent, calls_then_done, kind, slow};
use convoke_agent::Conversation;
use convoke_core::{Event, EventKind, RunStatus, Runtime, Workflow};
use convoke_models::{Reply, ScriptedModel};

#[tokio::test(start_paused = true)]
async fn gains_188_a_slow_listener_hears_every_word_and_the_end() {
    let words: Vec<String> = (0..2_000).map(|number| format!("{number} ")).collect();
    let model = ScriptedModel::replies([words.concat()]);
    let workflow = Workflow::new(agent(&model).build().unwrap());
    let mut stream = Runtime::new().start(&workflow, Conversation::from("go")).stream();
    let (mut heard, mut last) = (String::new(), None);
    while let Some(event) = stream.next().await {
        tokio::time::sleep(Duration::from_millis(10)).await;
        if let EventKind::MessageDelta { text, .. } = &event.kind {
            heard.push_str(text);
        }
        last = Some(kind(&event.kind));
    }
    assert!(heard == words.concat(), "heard {} of {} bytes", heard.len(), words.concat().len());
    assert_eq!(last.as_deref(), Some("run_ended"));
    assert_eq!(stream.outcome().await.unwrap().status, RunStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn gains_188_dropping_the_stream_cancels_the_agent() {
    let diary = crate::common::Diary::default();
    let model = calls_then_done(Reply::tool("slow", serde_json::json!({"text": "x"})));
    let helper = agent(&model).tool(slow("slow", &diary, Duration::from_secs(10))).build().unwrap();
    let (ended, mut ends) = tokio::sync::mpsc::unbounded_channel();
    let observer = move |event: &Event| {
        if let EventKind::RunEnded(end) = &event.kind {
            ended.send(end.status).unwrap();
        }
    };
    let runtime = Runtime::builder().observer(observer).build();
    let mut stream = runtime.start(&Workflow::new(helper), Conversation::from("go")).stream();
    while let Some(event) = stream.next().await {
        if kind(&event.kind) == "tool_call_executing" {
            break;
        }
    }
    drop(stream);
    assert_eq!(ends.recv().await, Some(RunStatus::Cancelled));
    // Longer than the tool would have taken.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!diary.entries().contains(&"slow(x) ends".to_owned()), "{:?}", diary.entries());
    assert_eq!(model.calls(), 1);
}
