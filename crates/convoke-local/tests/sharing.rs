//! Tests of several requests on one loaded model: at once, in turn, abandoned.

mod common;

use common::{ask, context, open_with, question, settings};
use convoke_core::{Model, ModelRequest, OutputSchema, ReplyStream};
use convoke_local::{LocalModel, LocalSettings, LocalStatus};
use futures_util::StreamExt;
use futures_util::future::join_all;
use serde_json::json;

/// More than is written while somebody does something else.
const MANY: u32 = 1_900;

/// Settings with room for so much.
fn roomy(parallel: u32) -> LocalSettings {
    settings().context_tokens(2_048).parallel(parallel)
}

/// A reply that has begun and will not end by itself before it is caught at it: whoever writes numbers may not stop.
async fn endless(model: &LocalModel) -> ReplyStream<'_> {
    let mut request: ModelRequest = question("Count.");
    request.params = request.params.max_tokens(MANY);
    let schema = json!({"type": "array", "items": {"type": "integer"}, "minItems": MANY});
    request.output = Some(OutputSchema { name: "numbers".into(), description: String::new(), schema });
    let mut reply = model.reply(request, context());
    reply.next().await.expect("it says something").expect("it begins well");
    reply
}

#[tokio::test]
async fn four_requests_are_worked_on_together() {
    let Some(model) = open_with(roomy(4)).await else { return };
    let others = (endless(&model).await, endless(&model).await);
    let questions = [
        "What is the capital of France?",
        "What is the capital of Italy?",
        "What is two plus two?",
        "Who are you?",
    ];
    let replies = join_all(questions.map(|text| ask(&model, question(text)))).await;
    let replies: Vec<_> = replies.into_iter().map(|reply| reply.unwrap().text()).collect();
    assert!(replies[0].contains("Paris") && replies[1].contains("Rome"), "{replies:?}");
    let LocalStatus { running, waiting, answered, .. } = model.status();
    assert_eq!((running, waiting, answered), (2, 0, 4), "they did not run at the same time");
    let mut changes = model.status_changes();
    drop(others);
    let status = *changes.wait_for(|status| status.running == 0).await.unwrap();
    assert_eq!((status.waiting, status.answered, status.abandoned), (0, 4, 2));
}

#[tokio::test]
async fn more_requests_than_places_wait_for_their_turn() {
    let Some(model) = open_with(roomy(1)).await else { return };
    let first = endless(&model).await;
    let mut changes = model.status_changes();
    let second = {
        let model = model.clone();
        tokio::spawn(
            async move { ask(&model, question("What is the capital of France?")).await.unwrap().text() },
        )
    };
    let status = *changes.wait_for(|status| status.waiting == 1).await.unwrap();
    assert_eq!(status.running, 1);
    drop(first);
    assert!(second.await.unwrap().contains("Paris"));
    assert_eq!((model.status().answered, model.status().abandoned), (1, 1));
}

#[tokio::test]
async fn dropping_a_reply_frees_its_place() {
    let Some(model) = open_with(roomy(1)).await else { return };
    let reply = endless(&model).await;
    assert_eq!(model.status().running, 1);
    drop(reply);
    let mut changes = model.status_changes();
    let status = *changes.wait_for(|status| status.running == 0).await.unwrap();
    assert_eq!((status.abandoned, status.answered), (1, 0));
    assert!(status.written_tokens < u64::from(MANY), "it went on to the end: {status:?}");
}

#[tokio::test]
async fn a_request_dropped_while_it_waits_is_never_begun() {
    let Some(model) = open_with(roomy(1)).await else { return };
    let first = endless(&model).await;
    let read = model.status().read_tokens;
    let mut changes = model.status_changes();
    let second = {
        let model = model.clone();
        tokio::spawn(async move { ask(&model, question("Hello")).await })
    };
    changes.wait_for(|status| status.waiting == 1).await.unwrap();
    second.abort();
    assert!(second.await.unwrap_err().is_cancelled());
    drop(first);
    let status = *changes.wait_for(|status| status.abandoned == 2).await.unwrap();
    assert_eq!((status.running, status.waiting, status.read_tokens), (0, 0, read));
}

#[tokio::test]
async fn a_model_dropped_while_it_works_stops() {
    let Some(model) = open_with(roomy(1)).await else { return };
    let mut changes = model.status_changes();
    let reply = endless(&model).await;
    drop(reply);
    // Dropping waits for the engine's thread; the board goes with it.
    drop(model);
    assert!(changes.wait_for(|_| false).await.is_err());
}

#[tokio::test]
async fn room_is_made_when_a_longer_conversation_comes() {
    let mut settings = settings();
    settings.context_tokens = None;
    let Some(model) = open_with(settings).await else { return };
    assert_eq!(model.context_tokens(), 8192, "what the model was trained for");
    assert_eq!(model.status().room_tokens, 4096);
    // While one is at work, a longer one waits for it, and nothing is lost of either.
    let first = endless(&model).await;
    let long = format!("{} What is the capital of France?", "The sky is blue. ".repeat(1_000));
    let second = {
        let model = model.clone();
        tokio::spawn(async move { ask(&model, question(&long)).await.unwrap() })
    };
    let mut changes = model.status_changes();
    changes.wait_for(|status| status.waiting == 1).await.unwrap();
    drop(first);
    let reply = second.await.unwrap();
    assert!(reply.usage.input_tokens > 4096, "{:?}", reply.usage);
    assert_eq!(model.status().room_tokens, 8192);
    assert!(ask(&model, question("What is the capital of France?")).await.unwrap().text().contains("Paris"));
}

#[tokio::test]
async fn what_prompts_begin_with_is_read_once_for_all_of_them() {
    let Some(model) = open_with(roomy(2)).await else { return };
    let begin = "You are a guide to the cities of Europe. ".repeat(20);
    let ask_guide = |text: &str| {
        let mut request = question(text);
        request.messages = [convoke_core::Message::system(begin.as_str()), convoke_core::Message::user(text)]
            .into_iter()
            .collect();
        request
    };
    let mut busy = ask_guide("Count from one to a thousand.");
    busy.params = busy.params.max_tokens(MANY);
    let mut first = model.reply(busy, context());
    first.next().await.unwrap().unwrap();
    let before = model.status();
    let reply = ask(&model, ask_guide("What is the capital of France?")).await.unwrap();
    assert!(reply.usage.cached_input_tokens > 150, "{:?}", reply.usage);
    assert!(model.status().reused_tokens > before.reused_tokens + 150);
}
