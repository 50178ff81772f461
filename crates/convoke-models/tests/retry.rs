//! Tests of retries.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::asking::{Lingering, ask, context, pieces};
use convoke_core::{
    FinishReason, Model, ModelError, ModelErrorKind, ModelReply, ModelRequest, Money, Price, Reality,
    ReplyDelta, Usage,
};
use convoke_models::resilience::{Attempts, PartialReply, Retrying};
use convoke_models::{Reply, ScriptedModel};
use futures_util::StreamExt;
use serde_json::json;
use tokio::time::{Instant, timeout};

type Pieces = Vec<Result<ReplyDelta, ModelError>>;

async fn answer(model: &dyn Model) -> Result<ModelReply, ModelError> {
    ask(model, ModelRequest::new("go")).await
}

async fn all_pieces(model: &dyn Model) -> Pieces {
    pieces(model, ModelRequest::new("go")).await
}

fn busy() -> ModelError {
    ModelError::of_status(503, "busy")
}

fn wait(seconds: u64) -> ModelError {
    ModelError::of_status(429, "slow down").with_retry_after(Duration::from_secs(seconds))
}

fn retrying(model: &ScriptedModel, attempts: Attempts) -> Retrying {
    Retrying::new(Arc::new(model.clone()), attempts)
}

fn restarts(pieces: &Pieces) -> Vec<(String, String)> {
    let restart = |piece: &Result<ReplyDelta, ModelError>| match piece {
        Ok(ReplyDelta::Restarted { model, reason }) => Some((model.clone(), reason.clone())),
        _ => None,
    };
    pieces.iter().filter_map(restart).collect()
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_may_pass_is_tried_again_with_the_same_request_and_key() {
    let script = ScriptedModel::replies([Reply::error(busy()), Reply::error(busy()), "done".into()]);
    let model = retrying(&script, Attempts::default());
    let pieces = all_pieces(&model).await;
    let restarts = restarts(&pieces);
    assert_eq!(restarts.len(), 2);
    assert_eq!(restarts[0].0, "scripted");
    assert!(restarts[0].1.starts_with("busy; attempt 2 of 4 in "), "{}", restarts[0].1);
    assert!(matches!(pieces.last(), Some(Ok(ReplyDelta::Finished { .. }))));
    let (requests, keys) = (script.requests(), script.call_keys());
    assert!(requests.iter().all(|request| *request == ModelRequest::new("go")));
    assert!(keys.len() == 3 && keys.iter().all(|key| *key == context().key));
}

#[tokio::test(start_paused = true)]
async fn a_good_reply_is_passed_on_untouched() {
    let reply = || Reply::text("one two").reasoning("hm").and_tool("look", json!({"at": 1}));
    let plain = ScriptedModel::replies([reply()]);
    let wrapped = retrying(&ScriptedModel::replies([reply()]), Attempts::default());
    assert_eq!(all_pieces(&wrapped).await, all_pieces(&plain).await);
    assert_eq!((wrapped.name(), wrapped.reality()), ("scripted", Reality::Simulated));
}

#[tokio::test(start_paused = true)]
async fn only_what_may_pass_is_tried_again() {
    for (kind, tries) in [
        (ModelErrorKind::Authentication, 1),
        (ModelErrorKind::Quota, 1),
        (ModelErrorKind::InvalidRequest, 1),
        (ModelErrorKind::ContextTooLong, 1),
        (ModelErrorKind::Refused, 1),
        (ModelErrorKind::Malformed, 1),
        (ModelErrorKind::RateLimited, 4),
        (ModelErrorKind::Overloaded, 4),
        (ModelErrorKind::Network, 4),
        (ModelErrorKind::TimedOut, 4),
        (ModelErrorKind::Interrupted, 4),
    ] {
        let script = ScriptedModel::builder().otherwise(Reply::error(ModelError::new(kind, "no"))).build();
        let error = answer(&retrying(&script, Attempts::default())).await.unwrap_err();
        assert_eq!((error.kind, script.calls()), (kind, tries));
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_error_is_passed_on_and_says_how_often_it_was_tried() {
    let script = ScriptedModel::builder().otherwise(Reply::error(busy())).build();
    let error = answer(&retrying(&script, Attempts::at_most(3))).await.unwrap_err();
    assert_eq!(error.message, "busy (tried 3 times)");
    assert_eq!((error.kind, error.status, script.calls()), (ModelErrorKind::Overloaded, Some(503), 3));
    let once = ScriptedModel::builder().otherwise(Reply::error(busy())).build();
    assert_eq!(answer(&retrying(&once, Attempts::at_most(0))).await.unwrap_err(), busy());
    assert_eq!(once.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_provider_asks_for_goes_before_our_own_waits() {
    let script = ScriptedModel::replies([Reply::error(wait(7)), Reply::error(wait(60)), "done".into()]);
    let model = retrying(&script, Attempts::default().longest_wait(Duration::from_secs(1)));
    let start = Instant::now();
    assert_eq!(answer(&model).await.unwrap().text(), "done");
    assert_eq!(start.elapsed(), Duration::from_secs(67));
}

#[tokio::test(start_paused = true)]
async fn one_that_asks_for_no_wait_at_all_has_not_said_how_long() {
    let script = ScriptedModel::builder().otherwise(Reply::error(wait(0))).build();
    let start = Instant::now();
    answer(&retrying(&script, Attempts::default())).await.unwrap_err();
    assert_eq!(script.calls(), 4);
    assert!(start.elapsed() > Duration::ZERO, "it is left alone for a while all the same");
}

#[tokio::test(start_paused = true)]
async fn what_the_model_itself_took_back_was_not_seen() {
    let restarted = ReplyDelta::Restarted { model: "fixed".into(), reason: "a better idea".into() };
    let pieces = vec![Ok(ReplyDelta::Text("Half".into())), Ok(restarted), Err(busy())];
    let model = Retrying::new(
        Arc::new(crate::asking::Fixed(pieces)),
        Attempts::at_most(2).partial(PartialReply::Keep),
    );
    assert_eq!(answer(&model).await.unwrap_err().message, "busy (tried 2 times)");
}

#[test]
fn what_stands_for_a_model_is_printed_with_its_name_and_what_it_adds() {
    use convoke_models::resilience::{Deferred, Fallback, MemoryReplies, ResponseCache};
    let named = |name: &str| Arc::new(ScriptedModel::builder().name(name).otherwise("Hm.").build());
    let retrying = format!("{:?}", Retrying::new(named("flaky"), Attempts::at_most(7)));
    assert!(retrying.contains("flaky") && retrying.contains("most: 7"), "{retrying}");
    let fallback = format!("{:?}", Fallback::new(named("first")).or(named("second")));
    assert_eq!(fallback, r#"Fallback { models: ["first", "second"], .. }"#);
    let cached = format!("{:?}", ResponseCache::new(named("dear"), Arc::new(MemoryReplies::default())));
    assert_eq!(cached, r#"ResponseCache { model: "dear", answers: AtTemperatureZero, .. }"#);
    let model = named("slow");
    let deferred = Deferred::new("slow", move || {
        let model: Arc<dyn Model> = Arc::clone(&model) as Arc<dyn Model>;
        async move { Ok::<_, ModelError>(model) }
    });
    assert_eq!(format!("{deferred:?}"), r#"Deferred { name: "slow", is_open: false, .. }"#);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_too_much_is_not_waited_for() {
    let script = ScriptedModel::builder().otherwise(Reply::error(wait(61))).build();
    let start = Instant::now();
    assert_eq!(answer(&retrying(&script, Attempts::default())).await.unwrap_err(), wait(61));
    assert_eq!((script.calls(), start.elapsed()), (1, Duration::ZERO));
    let patient = Attempts::at_most(2).longest_retry_after(Duration::from_secs(61));
    assert_eq!(answer(&retrying(&script, patient)).await.unwrap_err().retry_after, wait(61).retry_after);
    assert_eq!((script.calls(), start.elapsed()), (3, Duration::from_secs(61)));
}

#[tokio::test(start_paused = true)]
async fn all_waits_together_have_a_limit() {
    let script = ScriptedModel::builder().otherwise(Reply::error(wait(40))).build();
    let attempts = Attempts::at_most(100).patience(Duration::from_secs(100));
    let start = Instant::now();
    assert_eq!(answer(&retrying(&script, attempts)).await.unwrap_err().kind, ModelErrorKind::RateLimited);
    assert_eq!((script.calls(), start.elapsed()), (3, Duration::from_secs(80)));
}

#[tokio::test(start_paused = true)]
async fn our_own_waits_stay_within_their_limits() {
    let script = ScriptedModel::builder().otherwise(Reply::error(busy())).build();
    let attempts = Attempts::at_most(5)
        .first_wait(Duration::from_millis(100))
        .longest_wait(Duration::from_millis(200))
        .patience(Duration::from_secs(1));
    let start = Instant::now();
    answer(&retrying(&script, attempts)).await.unwrap_err();
    assert_eq!(script.calls(), 5);
    // At most 100, 200, 200 and 200, and each timer is late by up to a millisecond.
    assert!(start.elapsed() <= Duration::from_millis(704), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_before_anything_is_seen_is_tried_again_in_any_case() {
    for partial in [PartialReply::Discard, PartialReply::Keep] {
        let broken = [
            Reply::text("never seen").cut_after(0),
            Reply::text("never seen").reasoning("only thought").cut_after(2),
            Reply::text("never seen").reasoning("only thought").fail_after(1, busy()),
        ];
        let script = ScriptedModel::replies(broken.into_iter().chain(["whole".into()]));
        let reply = answer(&retrying(&script, Attempts::default().partial(partial))).await.unwrap();
        assert_eq!(reply.text(), "whole");
        assert_eq!(reply.message.parts.len(), 1, "thoughts of broken attempts are void");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_in_the_middle_begins_anew_unless_it_must_not() {
    for broken in [
        Reply::text("half an answer").cut_after(2),
        Reply::text("half an answer").fail_after(2, busy()),
        Reply::tool("look", json!({"at": 1})).cut_after(1),
    ] {
        let script = ScriptedModel::replies([broken.clone(), "whole".into()]);
        let reply = answer(&retrying(&script, Attempts::default())).await.unwrap();
        assert_eq!((reply.text().as_str(), reply.tool_calls().len()), ("whole", 0));

        let script = ScriptedModel::replies([broken, "whole".into()]);
        let model = retrying(&script, Attempts::default().partial(PartialReply::Keep));
        let pieces = all_pieces(&model).await;
        assert!(pieces.last().unwrap().is_err());
        assert_eq!((restarts(&pieces).len(), script.calls()), (0, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_with_nothing_in_it_is_tried_again() {
    let script = ScriptedModel::replies([Reply::empty(), Reply::empty().reasoning("hm"), "done".into()]);
    assert_eq!(answer(&retrying(&script, Attempts::default())).await.unwrap().text(), "done");
    let silent = ScriptedModel::builder().otherwise(Reply::empty()).build();
    let error = answer(&retrying(&silent, Attempts::at_most(2))).await.unwrap_err();
    assert_eq!((error.kind, silent.calls()), (ModelErrorKind::Empty, 2));
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_was_cut_off_or_refused_is_an_answer() {
    for reason in [FinishReason::Length, FinishReason::ContentFilter] {
        let script = ScriptedModel::replies([Reply::text("so far").finish(reason)]);
        let reply = answer(&retrying(&script, Attempts::default())).await.unwrap();
        assert_eq!((reply.finish, reply.text().as_str()), (reason, "so far"));
    }
}

#[tokio::test(start_paused = true)]
async fn what_failed_attempts_used_is_counted_and_priced() {
    let empty = |usage| Reply::empty().usage(usage);
    let price = Price::new(Money::from_dollars(1), Money::from_dollars(10));
    let script = ScriptedModel::builder()
        .price(price)
        .replies([
            empty(Usage::tokens(1_000, 100)),
            // One that says itself what it cost.
            empty(Usage { cost: Some(Money::from_cents(5)), ..Usage::tokens(10, 1) }),
            Reply::text("done").usage(Usage::tokens(2_000, 200)),
        ])
        .build();
    let model = retrying(&script, Attempts::default());
    let usage = answer(&model).await.unwrap().usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (3_010, 301));
    let priced = price.of(&Usage::tokens(1_000, 100)) + price.of(&Usage::tokens(2_000, 200));
    assert_eq!(usage.cost, Some(priced + Money::from_cents(5)));
    assert_eq!(model.price(), Some(price));
}

#[tokio::test]
async fn the_stream_of_an_attempt_is_heard_to_its_very_end() {
    for reason in [FinishReason::Stop, FinishReason::ContentFilter] {
        let (lingering, ended) = Lingering::ending(reason);
        let model = Retrying::new(lingering, Attempts::default());
        let mut pieces = model.reply(ModelRequest::new("go"), context());
        while !matches!(pieces.next().await, Some(Ok(ReplyDelta::Finished { .. }))) {}
        assert!(!ended.load(Ordering::Relaxed), "nobody waits for what comes after the end");
        assert_eq!(pieces.next().await, None, "what comes after the end is no part of the reply");
        assert!(ended.load(Ordering::Relaxed));
    }
}

#[tokio::test(start_paused = true)]
async fn waits_may_be_as_long_as_durations_go() {
    let later = ModelError::of_status(429, "later").with_retry_after(Duration::MAX);
    let script = ScriptedModel::replies([wait(1).into(), Reply::error(later)]);
    let endless = Attempts::default()
        .first_wait(Duration::MAX)
        .longest_wait(Duration::MAX)
        .longest_retry_after(Duration::MAX)
        .patience(Duration::MAX);
    let model = retrying(&script, endless);
    // The second wait is one that never ends.
    assert!(timeout(Duration::from_hours(24), answer(&model)).await.is_err());
    assert_eq!(script.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_wait_can_be_given_up() {
    let script = ScriptedModel::builder().otherwise(Reply::error(wait(60))).build();
    let model = retrying(&script, Attempts::default());
    assert!(timeout(Duration::from_secs(59), answer(&model)).await.is_err());
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(script.calls(), 1, "nothing goes on behind the caller's back");
}
