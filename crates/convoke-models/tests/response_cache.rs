//! Tests of the response cache.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::asking::{Lingering, ask, context, pieces};
use convoke_core::{
    BoxFuture, Digest, FinishReason, Model, ModelError, ModelErrorKind, ModelParams, ModelReply,
    ModelRequest, Money, ReplyDelta, ToolChoice, Usage,
};
use convoke_models::resilience::{Fallback, MemoryReplies, ReplyStore, ResponseCache};
use convoke_models::{Reply, ScriptedModel};
use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt};
use serde_json::json;
use tokio::time::{advance, timeout};

fn cached(model: &ScriptedModel) -> ResponseCache {
    ResponseCache::new(Arc::new(model.clone()), Arc::new(MemoryReplies::default()))
}

/// Answers each call with its number.
fn counting() -> ScriptedModel {
    let replies = (1..=9).map(|number| Reply::text(format!("answer {number}")));
    ScriptedModel::replies(replies)
}

fn cold(text: &str) -> ModelRequest {
    ModelRequest { params: ModelParams::default().temperature(0.0), ..ModelRequest::new(text) }
}

async fn text(model: &dyn Model, request: ModelRequest) -> String {
    ask(model, request).await.unwrap().text()
}

#[tokio::test]
async fn the_same_request_gets_the_same_reply_for_nothing() {
    let reply = Reply::text("Let me look.")
        .reasoning("hm")
        .reasoning_signature("proof")
        .and_tool("look", json!({"at": [1, 2]}))
        .and_tool("look", json!("not JSON"))
        .usage(Usage::tokens(100, 10));
    let script = ScriptedModel::replies([reply]);
    let model = cached(&script);
    let (first, again) = (ask(&model, cold("go")).await.unwrap(), ask(&model, cold("go")).await.unwrap());
    assert_eq!((first.usage.total_tokens(), ResponseCache::is_hit(&first.usage)), (110, false));
    assert_eq!((again.usage.total_tokens(), again.usage.cost), (0, Some(Money::ZERO)));
    assert!(ResponseCache::is_hit(&again.usage));
    assert_eq!(ModelReply { usage: first.usage, ..again }, first);
    assert_eq!(script.calls(), 1);
}

#[tokio::test]
async fn whatever_differs_is_another_request() {
    let script = counting();
    let store = Arc::new(MemoryReplies::default());
    let model = ResponseCache::new(Arc::new(script.clone()), Arc::clone(&store) as Arc<dyn ReplyStore>);
    assert_eq!(text(&model, cold("go")).await, "answer 1");
    assert_eq!(text(&model, cold("go!")).await, "answer 2");
    let seeded = ModelRequest { params: cold("go").params.seed(1), ..cold("go") };
    assert_eq!(text(&model, seeded).await, "answer 3");
    let bare = ModelRequest { tool_choice: ToolChoice::None, ..cold("go") };
    assert_eq!(text(&model, bare).await, "answer 4");
    let named = ScriptedModel::builder().name("other").otherwise("of another").build();
    let other = ResponseCache::new(Arc::new(named), Arc::clone(&store) as Arc<dyn ReplyStore>);
    assert_eq!(text(&other, cold("go")).await, "of another");
    assert_eq!(text(&model, cold("go")).await, "answer 1");
    assert_eq!(store.len(), 5);
}

#[tokio::test]
async fn only_requests_at_temperature_zero_unless_told_otherwise() {
    let warm = |degrees| ModelRequest {
        params: ModelParams::default().temperature(degrees),
        ..ModelRequest::new("go")
    };
    let model = cached(&counting());
    assert_eq!(text(&model, warm(0.7)).await, "answer 1");
    assert_eq!(text(&model, warm(0.7)).await, "answer 2");
    assert_eq!(text(&model, ModelRequest::new("go")).await, "answer 3");
    assert_eq!(text(&model, ModelRequest::new("go")).await, "answer 4");
    let model = cached(&counting()).at_any_temperature();
    assert_eq!(text(&model, warm(0.7)).await, "answer 1");
    assert_eq!(text(&model, warm(0.7)).await, "answer 1");
    assert_eq!(text(&model, ModelRequest::new("go")).await, "answer 2");
    assert_eq!(text(&model, ModelRequest::new("go")).await, "answer 2");
}

#[tokio::test]
async fn only_whole_replies_are_kept() {
    let script = ScriptedModel::replies([
        Reply::error(ModelError::new(ModelErrorKind::Network, "gone")),
        Reply::text("half an answer").cut_after(2),
        Reply::text("half an answer").fail_after(2, ModelError::of_status(500, "broken")),
        Reply::text("so far").finish(FinishReason::Length),
        Reply::text("No.").finish(FinishReason::ContentFilter),
        Reply::empty(),
        Reply::text("whole"),
    ]);
    let model = cached(&script);
    for _ in 0..6 {
        let outcome = ask(&model, cold("go")).await;
        assert!(outcome.and_then(ModelReply::whole).is_err());
    }
    assert_eq!(text(&model, cold("go")).await, "whole");
    assert_eq!(text(&model, cold("go")).await, "whole");
    assert_eq!(script.calls(), 7);
}

#[tokio::test(start_paused = true)]
async fn the_same_request_asked_by_many_at_once_is_asked_once_and_paid_once() {
    let reply = Reply::text("one two three")
        .usage(Usage::tokens(100, 10))
        .delay(Duration::from_secs(1))
        .delay_per_chunk(Duration::from_secs(1));
    let script = ScriptedModel::replies([reply]);
    let model = Arc::new(cached(&script));
    let asking = (0..50).map(|_| {
        let model = Arc::clone(&model);
        tokio::spawn(async move { ask(&*model, cold("go")).await.unwrap() })
    });
    let replies: Vec<ModelReply> = join_all(asking).await.into_iter().map(Result::unwrap).collect();
    assert!(replies.iter().all(|reply| reply.text() == "one two three"));
    let paid = replies.iter().filter(|reply| !ResponseCache::is_hit(&reply.usage));
    assert_eq!(paid.map(|reply| reply.usage.total_tokens()).collect::<Vec<_>>(), [110]);
    assert_eq!(script.calls(), 1);
}

#[tokio::test]
async fn what_a_failed_call_used_is_reported_once_and_before_the_failure() {
    let used = Ok(ReplyDelta::Usage(Usage::tokens(7, 7)));
    let cut = ModelError::new(ModelErrorKind::Interrupted, "cut");
    for failing in [
        crate::asking::Fixed(vec![used.clone(), Err(cut)]),
        // One that ends without an end.
        crate::asking::Fixed(vec![used.clone()]),
    ] {
        let model = ResponseCache::new(Arc::new(failing), Arc::new(MemoryReplies::default()));
        let (one, two) = (model.reply(cold("go"), context()), model.reply(cold("go"), context()));
        let (one, two): (Vec<_>, Vec<_>) = futures_util::future::join(one.collect(), two.collect()).await;
        let kind = |pieces: &[Result<ReplyDelta, ModelError>]| pieces[1].as_ref().unwrap_err().kind;
        assert_eq!((kind(&one), kind(&two)), (ModelErrorKind::Interrupted, ModelErrorKind::Interrupted));
        assert_eq!((one.len(), two.len()), (2, 2));
        let nothing = Usage { cost: Some(Money::ZERO), ..Usage::default() };
        assert_eq!((&one[0], &two[0]), (&used, &Ok(ReplyDelta::Usage(nothing))));
    }
}

#[tokio::test]
async fn a_call_that_does_not_say_what_it_used_is_no_hit() {
    let finished = ReplyDelta::Finished { reason: FinishReason::Stop, request_id: None };
    let silent = crate::asking::Fixed(vec![Ok(ReplyDelta::Text("Hm.".into())), Ok(finished)]);
    let model = ResponseCache::new(Arc::new(silent.clone()), Arc::new(MemoryReplies::default()));
    assert_eq!(pieces(&model, cold("go")).await, silent.0, "no usage where there was none");
    assert!(ResponseCache::is_hit(&ask(&model, cold("go")).await.unwrap().usage));
}

#[tokio::test]
async fn the_stream_of_the_call_is_heard_to_its_very_end() {
    let (lingering, ended) = Lingering::new();
    let model = ResponseCache::new(lingering, Arc::new(MemoryReplies::default()));
    assert_eq!(text(&model, cold("go")).await, "Bye.");
    assert!(ended.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn everybody_hears_the_pieces_as_they_come_and_late_comers_catch_up() {
    let reply = Reply::text("one two three").delay_per_chunk(Duration::from_secs(1));
    let model = cached(&ScriptedModel::replies([reply]));
    let said = |text: &str| Some(Some(Ok(ReplyDelta::Text(text.to_owned()))));
    let mut early = model.reply(cold("go"), context());
    assert_eq!(early.next().now_or_never(), said("one "));
    assert_eq!(early.next().now_or_never(), None);
    advance(Duration::from_secs(1)).await;
    let mut late = model.reply(cold("go"), context());
    assert_eq!(late.next().now_or_never(), said("one "));
    assert_eq!(late.next().now_or_never(), said("two "));
    assert_eq!(early.next().now_or_never(), said("two "));
}

#[tokio::test(start_paused = true)]
async fn whoever_began_the_call_may_leave_without_harm_to_the_others() {
    let reply = Reply::text("one two three").usage(Usage::tokens(100, 10)).delay(Duration::from_secs(5));
    let script = ScriptedModel::replies([reply]);
    let model = Arc::new(cached(&script));
    let first = {
        let model = Arc::clone(&model);
        tokio::spawn(async move { timeout(Duration::from_secs(2), ask(&*model, cold("go"))).await.is_err() })
    };
    let second = {
        let model = Arc::clone(&model);
        tokio::spawn(async move { ask(&*model, cold("go")).await.unwrap() })
    };
    assert!(first.await.unwrap(), "the first gave up");
    let reply = second.await.unwrap();
    assert_eq!((reply.text().as_str(), script.calls()), ("one two three", 1));
    assert_eq!(reply.usage.total_tokens(), 110, "whoever is left reports what was used");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_waits_for_any_more_is_dropped_and_begun_anew_by_the_next() {
    let script = ScriptedModel::replies([Reply::text("never").hangs(), "fine".into()]);
    let model = cached(&script);
    assert!(timeout(Duration::from_secs(60), ask(&model, cold("go"))).await.is_err());
    assert_eq!(text(&model, cold("go")).await, "fine");
    assert_eq!(script.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_the_failure_of_all_and_is_not_remembered() {
    let error = ModelError::of_status(500, "broken");
    let script =
        ScriptedModel::replies([Reply::error(error.clone()).delay(Duration::from_secs(1)), "fine".into()]);
    let model = cached(&script);
    let both = tokio::join!(ask(&model, cold("go")), ask(&model, cold("go")));
    assert_eq!(both, (Err(error.clone()), Err(error)));
    assert_eq!(text(&model, cold("go")).await, "fine");
    assert_eq!(script.calls(), 2);
}

#[tokio::test]
async fn the_model_that_answered_is_remembered() {
    let first =
        ScriptedModel::builder().name("first").otherwise(Reply::error(ModelError::of_status(401, "no")));
    let second = ScriptedModel::builder().name("second").otherwise("two").build();
    let model = Fallback::new(Arc::new(first.build())).or(Arc::new(second));
    let model = ResponseCache::new(Arc::new(model), Arc::new(MemoryReplies::default()));
    for _ in 0..2 {
        let reply = ask(&model, cold("go")).await.unwrap();
        assert_eq!((reply.text().as_str(), reply.model.as_str()), ("two", "second"));
    }
}

async fn keep(store: &MemoryReplies, name: u8, text: &str) {
    let script = ScriptedModel::replies([Reply::text(text)]);
    let reply = script.answer(ModelRequest::new("go")).await.unwrap();
    store.put(Digest::from_bytes([name; 16]), &reply).await;
}

async fn has(store: &MemoryReplies, name: u8) -> bool {
    store.get(&Digest::from_bytes([name; 16])).await.is_some()
}

#[tokio::test]
async fn what_was_not_used_for_longest_is_forgotten_first() {
    let store = MemoryReplies::new(2, 1_000_000);
    keep(&store, 1, "one").await;
    keep(&store, 2, "two").await;
    assert!(has(&store, 1).await);
    keep(&store, 3, "three").await;
    assert!(has(&store, 1).await && !has(&store, 2).await && has(&store, 3).await);
    keep(&store, 3, "three again").await;
    assert_eq!(store.len(), 2, "the same key is kept once");
    let nothing = MemoryReplies::new(0, 1_000_000);
    keep(&nothing, 1, "one").await;
    assert!(nothing.is_empty());
}

#[tokio::test]
async fn replies_are_kept_within_so_many_bytes() {
    let store = MemoryReplies::new(1_000, 10_000);
    for name in 0..100 {
        keep(&store, name, &"x".repeat(1_000)).await;
    }
    assert!((5..10).contains(&store.len()), "{}", store.len());
    assert!(has(&store, 99).await);
    keep(&store, 200, &"x".repeat(20_000)).await;
    assert!(!has(&store, 200).await && has(&store, 99).await, "what is too large drives out nothing");
}

#[tokio::test]
async fn what_just_fits_is_kept() {
    let length = |text: &str| {
        let script = ScriptedModel::replies([Reply::text(text)]);
        let reply = script.answer(ModelRequest::new("go")).now_or_never().unwrap().unwrap();
        serde_json::to_vec(&reply).unwrap().len()
    };
    let (one, two) = ("x".repeat(1_000), "y".repeat(500));
    let exact = MemoryReplies::new(10, length(&one) + length(&two));
    keep(&exact, 1, &one).await;
    keep(&exact, 2, &two).await;
    assert_eq!(exact.len(), 2);
    keep(&exact, 3, "z").await;
    assert!(!has(&exact, 1).await && has(&exact, 2).await && has(&exact, 3).await);
    let alone = MemoryReplies::new(10, length(&one));
    keep(&alone, 1, &one).await;
    assert!(has(&alone, 1).await && !alone.is_empty());
    let smaller = MemoryReplies::new(10, length(&one) - 1);
    keep(&smaller, 1, &one).await;
    assert!(smaller.is_empty());
}

#[tokio::test]
async fn the_order_of_use_is_kept_however_often_replies_come_and_go() {
    let store = MemoryReplies::new(3, 1_000_000);
    for name in 1..=9 {
        keep(&store, name, "text").await;
    }
    assert_eq!(store.len(), 3);
    assert!(has(&store, 8).await && has(&store, 9).await && has(&store, 7).await);
    keep(&store, 10, "text").await;
    assert!(!has(&store, 8).await, "the others were used since");
    assert!(has(&store, 9).await && has(&store, 7).await && has(&store, 10).await);
}

#[tokio::test]
async fn a_failure_is_over_for_whoever_asks_next_though_somebody_has_not_heard_of_it() {
    let script = ScriptedModel::replies([Reply::error(ModelError::of_status(500, "broken")), "fine".into()]);
    let model = cached(&script);
    let (one, mut two) = (model.reply(cold("go"), context()), model.reply(cold("go"), context()));
    assert!(one.collect::<Vec<_>>().await.iter().any(Result::is_err));
    assert_eq!(text(&model, cold("go")).await, "fine");
    assert!(two.next().await.is_some());
    assert_eq!(script.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_too_old_is_forgotten() {
    let script = counting();
    let store = MemoryReplies::default().keep_for(Duration::from_secs(60));
    let model = ResponseCache::new(Arc::new(script), Arc::new(store));
    assert_eq!(text(&model, cold("go")).await, "answer 1");
    advance(Duration::from_secs(59)).await;
    assert_eq!(text(&model, cold("go")).await, "answer 1");
    advance(Duration::from_secs(1)).await;
    assert_eq!(text(&model, cold("go")).await, "answer 2");
}

/// A store as a file or a database would be one: it keeps text, and takes its time.
#[derive(Default)]
struct Slow(Mutex<Vec<(Digest, String)>>);

impl ReplyStore for Slow {
    fn get<'a>(&'a self, key: &'a Digest) -> BoxFuture<'a, Option<ModelReply>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let kept = self.0.lock().unwrap();
            let (_, json) = kept.iter().find(|(known, _)| known == key)?;
            serde_json::from_str(json).ok()
        })
    }

    fn put<'a>(&'a self, key: Digest, reply: &'a ModelReply) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.0.lock().unwrap().push((key, serde_json::to_string(reply).unwrap()));
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_of_ones_own_serves_as_well() {
    let store: Arc<dyn ReplyStore> = Arc::new(Slow::default());
    let model = |script: &ScriptedModel| ResponseCache::new(Arc::new(script.clone()), Arc::clone(&store));
    let script = counting();
    assert_eq!(text(&model(&script), cold("go")).await, "answer 1");
    // Another process, so to speak.
    let (one, two) = (model(&script), model(&script));
    assert_eq!(text(&one, cold("go")).await, "answer 1");
    assert_eq!(text(&two, cold("go")).await, "answer 1");
    assert_eq!(script.calls(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_threads_get_whole_replies() {
    for round in 0..50 {
        let words: Vec<String> = (0..50).map(|word| format!("{word} ")).collect();
        let whole = words.concat();
        let reply = Reply::text(whole.clone()).delay_per_chunk(Duration::from_micros(10));
        let script = ScriptedModel::builder().otherwise(reply).build();
        let model = Arc::new(cached(&script));
        let asking = (0..8).map(|number| {
            let model = Arc::clone(&model);
            tokio::spawn(async move {
                if number % 4 == 0 {
                    // Some leave in the middle.
                    let mut pieces = model.reply(cold("go"), context());
                    pieces.next().await.unwrap().unwrap();
                    return None;
                }
                Some(text(&*model, cold("go")).await)
            })
        });
        for reply in join_all(asking).await {
            assert_eq!(reply.unwrap().unwrap_or_else(|| whole.clone()), whole, "round {round}");
        }
        // Whoever leaves alone takes the call with it.
        assert!(script.calls() <= 3, "{} calls", script.calls());
    }
}
