//! Tests of the log of a scripted model's requests.

use crate::common::{context, deltas};
use convoke_core::{Model, ModelRequest};
use convoke_models::ScriptedModel;
use futures_util::StreamExt;

async fn ask(model: &ScriptedModel, text: &str, ordinal: u32) {
    model.reply(ModelRequest::new(text), context(ordinal)).count().await;
}

#[tokio::test]
async fn clones_share_one_log_of_requests_and_keys() {
    let model = ScriptedModel::builder().otherwise("ok").build();
    let handle = model.clone();
    ask(&model, "one", 1).await;
    ask(&model, "two", 2).await;
    assert_eq!(handle.calls(), 2);
    assert_eq!(handle.requests(), [ModelRequest::new("one"), ModelRequest::new("two")]);
    assert_eq!(handle.last_request(), Some(ModelRequest::new("two")));
    assert_eq!(handle.call_keys(), [context(1).key, context(2).key]);
}

#[tokio::test]
async fn a_call_that_is_made_twice_shows() {
    let model = ScriptedModel::builder().otherwise("ok").build();
    ask(&model, "one", 1).await;
    ask(&model, "one", 1).await;
    let keys = model.call_keys();
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test]
async fn failed_and_abandoned_calls_are_on_record() {
    let model = ScriptedModel::replies(["only"]);
    drop(model.reply(ModelRequest::new("abandoned"), context(1)));
    assert!(deltas(&model, "unanswered").await[0].is_err());
    assert_eq!((model.calls(), model.requests().len()), (2, 2));
}

#[tokio::test]
async fn a_forgetful_model_counts_and_keeps_nothing() {
    let model = ScriptedModel::builder().forget_requests().replies(["one"]).otherwise("more").build();
    ask(&model, "x", 1).await;
    ask(&model, "x", 2).await;
    assert_eq!(model.calls(), 2);
    assert!(model.requests().is_empty() && model.call_keys().is_empty() && model.last_request().is_none());
}
