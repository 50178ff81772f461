//! Several requests on one loaded model: at once, in turn, abandoned.

mod common;

use common::{ask, context, open_with, question, settings};
use convoke_core::{Model, ModelRequest};
use convoke_local::LocalStatus;
use futures_util::StreamExt;
use futures_util::future::join_all;

/// One that takes long enough to be caught at it.
fn long(text: &str) -> ModelRequest {
    let mut request = question(text);
    request.params = request.params.max_tokens(600);
    request
}

#[tokio::test]
async fn four_requests_are_worked_on_together() {
    let Some(model) = open_with(settings().parallel(4)).await else { return };
    let mut changes = model.status_changes();
    let most = tokio::spawn(async move {
        let mut most = 0;
        while changes.changed().await.is_ok() {
            most = most.max(changes.borrow_and_update().running);
        }
        most
    });
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
    assert_eq!((running, waiting, answered), (0, 0, 4));
    drop(model);
    assert!(most.await.unwrap() > 1, "they never ran at the same time");
}

#[tokio::test]
async fn more_requests_than_places_wait_for_their_turn() {
    let Some(model) = open_with(settings().parallel(1)).await else { return };
    let mut first = model.reply(long("Write a long story."), context());
    first.next().await.unwrap().unwrap();
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
    let Some(model) = open_with(settings().parallel(1)).await else { return };
    let mut reply = model.reply(long("Write a long story."), context());
    reply.next().await.unwrap().unwrap();
    assert_eq!(model.status().running, 1);
    drop(reply);
    let mut changes = model.status_changes();
    let status = *changes.wait_for(|status| status.running == 0).await.unwrap();
    assert_eq!((status.abandoned, status.answered), (1, 0));
    assert!(status.written_tokens < 600, "it went on to the end: {status:?}");
}

#[tokio::test]
async fn a_request_dropped_while_it_waits_is_never_begun() {
    let Some(model) = open_with(settings().parallel(1)).await else { return };
    let mut first = model.reply(long("Write a long story."), context());
    first.next().await.unwrap().unwrap();
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
    let Some(model) = open_with(settings().parallel(1)).await else { return };
    let mut changes = model.status_changes();
    let mut reply = model.reply(long("Write a long story."), context());
    reply.next().await.unwrap().unwrap();
    drop(reply);
    // Dropping waits for the engine's thread; the board goes with it.
    drop(model);
    assert!(changes.wait_for(|_| false).await.is_err());
}
