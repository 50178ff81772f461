//! Tests of a model that is opened on its first request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::asking::{Fixed, Lingering, ask};
use convoke_core::{
    FinishReason, Model, ModelError, ModelErrorKind, ModelRequest, Money, Price, Reality, ReplyDelta, Usage,
};
use convoke_models::resilience::{Deferred, Fallback};
use convoke_models::{Reply, ScriptedModel};
use futures_util::future::join_all;
use tokio::time::timeout;

async fn answer(model: &dyn Model) -> Result<String, ModelError> {
    ask(model, ModelRequest::new("go")).await.map(|reply| reply.text())
}

/// One that takes a second to open, and cannot be opened the first so many times. Counts the openings.
fn slow(failures: usize) -> (Deferred, Arc<AtomicUsize>) {
    let begun = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&begun);
    let model = Deferred::new("slow", move || {
        let number = counter.fetch_add(1, Ordering::Relaxed) + 1;
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if number <= failures {
                return Err(ModelError::new(ModelErrorKind::Network, format!("failure {number}")));
            }
            Ok(Arc::new(ScriptedModel::builder().otherwise("Open.").build()) as Arc<dyn Model>)
        }
    });
    (model, begun)
}

fn opening(model: impl Model + 'static) -> Deferred {
    let model: Arc<dyn Model> = Arc::new(model);
    Deferred::new("opened/later", move || {
        let model = Arc::clone(&model);
        async move { Ok(model) }
    })
}

#[tokio::test(start_paused = true)]
async fn it_is_opened_when_it_is_first_asked_and_only_then() {
    let (model, begun) = slow(0);
    assert_eq!((model.name(), model.reality()), ("slow", Reality::Live));
    assert_eq!((Model::price(&model), model.highest_price()), (None, None));
    let unasked = model.reply(ModelRequest::new("go"), crate::asking::context());
    drop(unasked);
    assert_eq!(begun.load(Ordering::Relaxed), 0);
    for _ in 0..3 {
        let reply = ask(&model, ModelRequest::new("go")).await.unwrap();
        assert_eq!((reply.text().as_str(), reply.model.as_str()), ("Open.", "slow"));
    }
    assert_eq!(begun.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn all_who_ask_first_share_one_opening() {
    let (model, begun) = slow(0);
    let answers = join_all((0..20).map(|_| answer(&model))).await;
    assert!(answers.into_iter().all(|answer| answer.unwrap() == "Open."));
    assert_eq!(begun.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failed_opening_fails_the_call_and_the_next_call_opens_again() {
    let (model, begun) = slow(2);
    assert_eq!(answer(&model).await.unwrap_err().message, "failure 1");
    assert_eq!(answer(&model).await.unwrap_err().message, "failure 2");
    assert_eq!(answer(&model).await.unwrap(), "Open.");
    assert_eq!(begun.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn whoever_gives_up_opening_leaves_it_to_the_others() {
    let (model, begun) = slow(0);
    let impatient = timeout(Duration::from_millis(500), answer(&model));
    let (gave_up, patient) = tokio::join!(impatient, answer(&model));
    assert!(gave_up.is_err());
    assert_eq!(patient.unwrap(), "Open.");
    assert_eq!(begun.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_fallback_that_is_not_needed_is_not_opened() {
    let (last, begun) = slow(0);
    let first = ScriptedModel::replies([Reply::text("One."), ModelError::of_status(401, "wrong key").into()]);
    let model = Fallback::new(Arc::new(first)).or(Arc::new(last));
    assert_eq!(answer(&model).await.unwrap(), "One.");
    assert_eq!(begun.load(Ordering::Relaxed), 0);
    assert_eq!(answer(&model).await.unwrap(), "Open.");
    assert_eq!(begun.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn budgets_reckon_with_what_was_said_and_calls_are_charged_by_what_is_known_then() {
    let dollars = |amount| Price::new(Money::from_dollars(amount), Money::from_dollars(amount));
    let said = || {
        let finished = ReplyDelta::Finished { reason: FinishReason::Stop, request_id: None };
        let usage = ReplyDelta::Usage(Usage::tokens(1_000_000, 0));
        vec![Ok(ReplyDelta::Text("Hm.".into())), Ok(usage), Ok(finished)]
    };
    let cost = async |model: Deferred| ask(&model, ModelRequest::new("go")).await.unwrap().usage.cost;
    let known = || {
        ScriptedModel::builder()
            .price(dollars(3))
            .otherwise(Reply::text("Hm.").usage(Usage::tokens(1_000_000, 0)))
    };
    assert_eq!(cost(opening(known().build())).await, Some(Money::from_dollars(3)));
    let model = opening(known().build()).price(dollars(5));
    assert_eq!(Model::price(&model), Some(dollars(5)));
    assert_eq!(cost(model).await, Some(Money::from_dollars(3)));
    assert_eq!(
        cost(opening(Fixed(said())).price(dollars(5))).await,
        None,
        "left to whoever knows that price"
    );
}

#[tokio::test]
async fn a_real_model_does_not_pass_for_a_simulated_one() {
    let simulated = opening(ScriptedModel::replies(["Fine."])).simulated();
    assert_eq!(simulated.reality(), Reality::Simulated);
    assert_eq!(answer(&simulated).await.unwrap(), "Fine.");
    let real = opening(Fixed(Vec::new())).simulated();
    assert_eq!(answer(&real).await.unwrap_err().kind, ModelErrorKind::Forbidden);
}

#[tokio::test]
async fn the_stream_of_the_opened_model_is_heard_to_its_very_end() {
    let (lingering, ended) = Lingering::new();
    let model = Deferred::new("later", move || {
        let lingering: Arc<dyn Model> = lingering.clone();
        async move { Ok(lingering) }
    });
    assert_eq!(answer(&model).await.unwrap(), "Bye.");
    assert!(ended.load(Ordering::Relaxed));
}
