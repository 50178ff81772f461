//! Stored conversations that go on, and what can be read of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use convoke::core::{Fork, ModelRequest, Store, Visibility};
use convoke::history::{Detail, History};
use convoke::prelude::*;

/// A model that says at length how often it was asked.
fn talkative() -> ScriptedModel {
    let reply = |request: &ModelRequest| format!("{} {}", request.messages.len(), "loom ".repeat(100));
    ScriptedModel::builder().otherwise(Reply::with(reply)).build()
}

/// Three calls of one conversation, a question before the last.
async fn talk(scope: &Scope, said: &mut Vec<String>) -> Result<(), Error> {
    let model = scope.default_model()?;
    let mut messages = Transcript::from("You are a loom.");
    for call in 0..3 {
        if call == 2 {
            scope.ask(Question::text("Go on?")).await?;
        }
        messages.push(Message::user(format!("call {call}")));
        let reply = scope.model(&model, ModelRequest::new(messages.clone()), Visibility::Hidden).await?;
        said.push(reply.text());
        messages.push(reply.message);
    }
    Ok(())
}

fn runtime(store: &Arc<dyn Store>) -> Runtime {
    Runtime::builder().shared_store(Arc::clone(store)).model(talkative()).build()
}

/// A run that was interrupted and resumed.
async fn talked(store: &Arc<dyn Store>) -> Outcome<Vec<String>> {
    let workflow = Workflow::new(task("talk", talk));
    let run = runtime(store).start(&workflow, Vec::new()).await.unwrap().run;
    let question = store.questions(Some(&run)).await.unwrap().remove(0);
    store.answer(&run, &question.id, Answer::text("yes")).await.unwrap();
    runtime(store).resume(&workflow, run).await.unwrap()
}

/// What the last call of a run was told, as its history has it.
async fn told(store: &Arc<dyn Store>, run: &RunId) -> Vec<String> {
    let history = History::load(&**store, run).await.unwrap();
    let last = history.effects.iter().rev().find_map(|effect| match &effect.current().detail {
        Detail::Model { messages, .. } => Some(*messages),
        _ => None,
    });
    let conversation = history.conversations.get(last.unwrap()).expect("every message is known");
    conversation.iter().map(Message::text).collect()
}

#[tokio::test]
async fn a_reply_is_stored_once_and_read_as_part_of_its_conversation() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let outcome = talked(&store).await;
    let run = outcome.run.clone();
    let said = outcome.completed().unwrap();
    let digests = store.blob_digests(&run).await.unwrap();
    let blobs = store.blobs(&run, &digests).await.unwrap();
    assert_eq!(blobs.len(), 6, "one for each message of the last request");
    assert!(blobs.values().all(|blob| blob.len() < 100), "no reply is among them");
    let expected = ["You are a loom.", "call 0", said[0].as_str(), "call 1", said[1].as_str(), "call 2"];
    assert_eq!(told(&store, &run).await, expected);
}

#[tokio::test]
async fn a_fork_knows_the_conversation_it_goes_on_with() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let run = talked(&store).await.run;
    let last = store.entries(&run, 1, usize::MAX).await.unwrap().len() as u64;
    let fork = Fork::new(run.clone(), last).create(&store).await.unwrap();
    let workflow = Workflow::new(task("talk", talk));
    let outcome = runtime(&store).resume(&workflow, fork.clone()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(told(&store, &fork).await, told(&store, &run).await);
}
