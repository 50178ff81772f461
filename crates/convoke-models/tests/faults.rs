//! Tests of faults on demand.

use std::time::Duration;

use crate::common::{context, deltas};
use convoke_core::{Category, Model, ModelError, ModelErrorKind, ModelRequest, ReplyDelta};
use convoke_models::{Reply, ScriptedModel};
use futures_util::StreamExt;
use serde_json::json;
use tokio::time::{Instant, timeout};

fn busy() -> ModelError {
    ModelError::of_status(429, "slow down").with_retry_after(Duration::from_secs(2))
}

#[tokio::test]
async fn an_error_is_all_that_comes_and_the_next_reply_is_fine() {
    let model = ScriptedModel::replies([Reply::error(busy()), Reply::from("done")]);
    assert_eq!(deltas(&model, "go").await, [Err(busy())]);
    assert_eq!(model.answer(ModelRequest::new("go")).await.unwrap().text(), "done");
}

#[tokio::test]
async fn a_cut_stream_ends_without_an_end() {
    let model = ScriptedModel::builder().otherwise(Reply::text("one two three").cut_after(2)).build();
    let pieces = deltas(&model, "go").await;
    assert_eq!(pieces, [Ok(ReplyDelta::Text("one ".into())), Ok(ReplyDelta::Text("two ".into()))]);
    let error = model.answer(ModelRequest::new("go")).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Interrupted);
}

#[tokio::test]
async fn a_cut_after_more_than_there_is_still_has_no_end() {
    let model = ScriptedModel::replies([Reply::text("one").cut_after(9)]);
    assert_eq!(deltas(&model, "go").await, [Ok(ReplyDelta::Text("one".into()))]);
}

#[tokio::test]
async fn a_cut_may_fall_into_the_arguments_of_a_call() {
    let model = ScriptedModel::replies([Reply::tool("search", json!({"q": "x"})).cut_after(2)]);
    let pieces = deltas(&model, "go").await;
    assert!(matches!(
        pieces[..],
        [Ok(ReplyDelta::ToolCallStarted { .. }), Ok(ReplyDelta::ToolCallArguments { .. })]
    ));
}

#[tokio::test]
async fn a_stream_may_fail_in_the_middle() {
    let error = ModelError::of_status(500, "broken");
    let model = ScriptedModel::replies([Reply::text("one two three").fail_after(1, error.clone())]);
    assert_eq!(deltas(&model, "go").await, [Ok(ReplyDelta::Text("one ".into())), Err(error)]);
}

#[tokio::test(start_paused = true)]
async fn an_error_waits_for_its_delay() {
    let model = ScriptedModel::replies([Reply::error(busy()).delay(Duration::from_secs(30))]);
    let start = Instant::now();
    assert_eq!(deltas(&model, "go").await, [Err(busy())]);
    assert_eq!(start.elapsed(), Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_hangs_can_be_abandoned() {
    let model = ScriptedModel::replies([Reply::text("one two").hangs_after(1), Reply::empty().hangs()]);
    let mut stream = model.reply(ModelRequest::new("go"), context(1));
    assert_eq!(stream.next().await, Some(Ok(ReplyDelta::Text("one ".into()))));
    assert!(timeout(Duration::from_secs(3600), stream.next()).await.is_err());
    drop(stream);
    assert!(timeout(Duration::from_secs(3600), deltas(&model, "go")).await.is_err());
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn an_empty_reply_is_not_an_answer() {
    let model = ScriptedModel::builder().otherwise(Reply::empty()).build();
    assert_eq!(deltas(&model, "go").await.len(), 2, "usage and the end");
    let error = model.answer(ModelRequest::new("go")).await.unwrap_err();
    assert_eq!((error.kind, error.category()), (ModelErrorKind::Empty, Category::Transient));
}

#[tokio::test]
async fn a_panic_in_the_users_code_leaves_the_model_usable() {
    let panics = Reply::with(|request: &ModelRequest| -> Reply {
        assert!(request.messages.len() > 1, "too short");
        Reply::empty()
    });
    let model =
        ScriptedModel::builder().when(convoke_models::Match::call(1), panics).otherwise("fine").build();
    let other = model.clone();
    assert!(tokio::spawn(async move { deltas(&other, "go").await }).await.is_err());
    assert_eq!(model.answer(ModelRequest::new("go")).await.unwrap().text(), "fine");
    assert_eq!(model.calls(), 2);
}
