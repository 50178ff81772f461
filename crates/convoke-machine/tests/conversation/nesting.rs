//! A machine inside something else: one run, one journal.

use std::sync::Arc;

use convoke_agent::{Agent, Conversation};
use convoke_core::{Answer, RunStatus, Runtime, Store, Workflow};
use convoke_machine::conversation::{MachineState, TURN, Talk};
use convoke_machine::workflow::Status;
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::{Chain, func};
use convoke_store::MemoryStore;
use serde_json::json;

use super::{in_state, just_said, machine, support, transition};

fn model() -> ScriptedModel {
    ScriptedModel::builder()
        .when(in_state("closed"), "The case is closed.")
        .when(in_state("specialist"), transition("Resolve", "solved"))
        .when(in_state("intake"), transition("Escalate", "a refund"))
        .when(Match::tool_result_of("machine"), "They say it is closed.")
        .when(just_said("help"), Reply::tool("machine", json!({"opening": "a refund"})))
        .build()
}

#[tokio::test]
async fn promptkit_159_a_machine_is_a_step_among_others_and_needs_no_store() {
    let prepare = func("prepare", |state: &mut MachineState| {
        state.opening = Some("a refund".to_owned());
        Ok::<_, convoke_core::Error>(())
    });
    let after = func("after", |state: &mut MachineState| {
        state.variables.insert("seen".to_owned(), json!(state.status));
        Ok::<_, convoke_core::Error>(())
    });
    let chain = Chain::new("main").then(prepare).then(machine(support()).build().unwrap()).then(after);
    let runtime = Runtime::builder().model(model()).build();
    let state = MachineState::default().talk(Talk::Once);
    let done = runtime.start(&Workflow::new(chain), state).await.unwrap().completed().unwrap();
    assert_eq!((done.status, done.last.as_deref()), (Status::Completed, Some("The case is closed.")));
    assert_eq!(done.variables["seen"], json!("completed"));
}

#[tokio::test]
async fn a_machine_is_a_tool_of_an_agent() {
    let tool = machine(support()).build().unwrap().tool("Opens a case");
    let agent = Agent::builder("clerk").tool(tool).build().unwrap();
    let runtime = Runtime::builder().model(model()).build();
    let talk = runtime.start(&Workflow::new(agent), Conversation::from("help")).await.unwrap();
    let talk = talk.completed().unwrap();
    assert_eq!(talk.text(), "They say it is closed.");
    let results = talk.result.unwrap().transcript;
    let heard = results.iter().flat_map(|message| message.results().cloned().collect::<Vec<_>>());
    assert_eq!(heard.map(|result| result.content).collect::<Vec<_>>(), ["The case is closed."]);
}

/// Somebody who talks on while an event arrives: what comes first counts, and the other is not lost.
#[tokio::test]
async fn words_and_events_that_come_together_are_both_taken() {
    let mut workflow = support();
    workflow["states"]["intake"]["orchestration"] = json!("external");
    let model = ScriptedModel::builder()
        .when(in_state("closed"), "Closed.")
        .when(in_state("specialist"), transition("Resolve", ""))
        .when(in_state("intake"), "Intake.")
        .build();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let workflow = machine(workflow).build().unwrap().workflow();
    let runtime = || {
        let builder = Runtime::builder().shared_store(Arc::clone(&store)).model(model.clone());
        builder.patience(std::time::Duration::ZERO).build()
    };
    let first = runtime().start(&workflow, MachineState::saying("hi")).await.unwrap();
    assert_eq!(first.status, RunStatus::Suspended);
    let open = store.questions(Some(&first.run)).await.unwrap();
    assert_eq!(open[0].question.title, TURN);
    store.answer(&first.run, &open[0].id, Answer::text("one more thing")).await.unwrap();
    let mail = convoke_core::store::NewMail::json("Escalate", "now").unwrap();
    store.post(&first.run, mail).await.unwrap();
    let done = runtime().resume(&workflow, first.run.clone()).await.unwrap().completed().unwrap();
    assert_eq!(done.status, Status::Completed);
    let said: Vec<String> = done.said.iter().map(convoke_core::Message::text).collect();
    assert!(said.contains(&"one more thing".to_owned()) && said.contains(&"[Escalate] now".to_owned()));
    assert_eq!(store.questions(Some(&first.run)).await.unwrap(), [], "nobody is asked any longer");
}
