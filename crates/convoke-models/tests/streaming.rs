//! Tests of streaming: in what pieces a reply comes, and when.

use std::time::Duration;

use crate::common::{context, deltas};
use convoke_core::{
    FinishReason, Message, Model, ModelRequest, Money, Part, Price, ReplyDelta, ToolCall, Transcript, Usage,
};
use convoke_models::scripted::Chunks;
use convoke_models::{Reply, ScriptedModel};
use futures_util::StreamExt;
use proptest::prelude::*;
use serde_json::json;
use tokio::time::Instant;

fn text(piece: &str) -> ReplyDelta {
    ReplyDelta::Text(piece.into())
}

fn finished(reason: FinishReason) -> ReplyDelta {
    ReplyDelta::Finished { reason, request_id: None }
}

async fn played(reply: Reply) -> Vec<ReplyDelta> {
    let model = ScriptedModel::replies([reply]);
    deltas(&model, "two words").await.into_iter().map(Result::unwrap).collect()
}

#[tokio::test]
async fn a_text_comes_word_by_word_then_usage_then_the_end() {
    let expected = [
        text("Let "),
        text("me "),
        text("look."),
        ReplyDelta::Usage(Usage::tokens(2, 3)),
        finished(FinishReason::Stop),
    ];
    assert_eq!(played(Reply::text("Let me look.")).await, expected);
}

#[tokio::test]
async fn chunks_may_be_characters_or_the_whole() {
    let by_three = played(Reply::text("größer").chunks(Chunks::Characters(3))).await;
    assert_eq!(by_three[..2], [text("grö"), text("ßer")]);
    let whole = played(Reply::text("a b c").chunks(Chunks::Whole)).await;
    assert_eq!(whole[0], text("a b c"));
    assert_eq!(whole.len(), 3);
}

#[tokio::test]
async fn everything_comes_in_the_order_a_model_writes_it() {
    let reply = Reply::text("Looking.")
        .and_tool("weather", json!({"city": "Oslo"}))
        .and_tool("time", json!({}))
        .reasoning("Hm.")
        .reasoning_signature("sig");
    let arguments = |index, delta: &str| ReplyDelta::ToolCallArguments { index, delta: delta.into() };
    let started =
        |index, id: &str, name: &str| ReplyDelta::ToolCallStarted { index, id: id.into(), name: name.into() };
    let usage = Usage { reasoning_tokens: 1, ..Usage::tokens(2, 6) };
    let expected = [
        ReplyDelta::Reasoning("Hm.".into()),
        ReplyDelta::ReasoningSignature("sig".into()),
        text("Looking."),
        started(0, "call-2-1", "weather"),
        arguments(0, r#"{"city":"#),
        arguments(0, r#""Oslo"}"#),
        started(1, "call-2-2", "time"),
        arguments(1, "{"),
        arguments(1, "}"),
        ReplyDelta::Usage(usage),
        finished(FinishReason::ToolCalls),
    ];
    assert_eq!(played(reply).await, expected);
}

#[tokio::test]
async fn a_whole_reply_is_the_fold_of_its_pieces() {
    let reply = Reply::text("Looking.").and_tool("weather", json!({"city": "Oslo", "days": [1, 2]}));
    let reply = ScriptedModel::replies([reply]).answer(ModelRequest::new("go")).await.unwrap();
    assert_eq!(reply.text(), "Looking.");
    assert_eq!(reply.tool_calls()[0].arguments, json!({"city": "Oslo", "days": [1, 2]}));
    assert_eq!((reply.finish, reply.model.as_str()), (FinishReason::ToolCalls, "scripted"));
}

#[tokio::test]
async fn arguments_that_are_not_json_arrive_as_the_text_they_are() {
    let reply = ScriptedModel::replies([Reply::tool("search", json!("{\"q\": oops"))]);
    let reply = reply.answer(ModelRequest::new("go")).await.unwrap();
    assert_eq!(reply.tool_calls()[0].arguments, json!("{\"q\": oops"));
}

#[tokio::test]
async fn a_call_keeps_the_id_it_is_given() {
    let call = ToolCall { id: "again".into(), name: "search".into(), arguments: json!({}) };
    let reply = ScriptedModel::replies([Reply::empty().and_call(call.clone())]);
    assert_eq!(reply.answer(ModelRequest::new("go")).await.unwrap().tool_calls(), [call]);
}

#[tokio::test]
async fn ids_of_calls_differ_within_a_conversation_and_not_between_equal_ones() {
    let model = ScriptedModel::builder().otherwise(Reply::tool("next", json!({}))).build();
    let mut talk = Transcript::from("go");
    let first = model.answer(ModelRequest::new(talk.clone())).await.unwrap();
    let again = model.answer(ModelRequest::new(talk.clone())).await.unwrap();
    assert_eq!(first, again);
    talk.push(first.message.clone());
    let second = model.answer(ModelRequest::new(talk)).await.unwrap();
    assert_ne!(first.tool_calls()[0].id, second.tool_calls()[0].id);
}

#[tokio::test]
async fn json_is_compact_text() {
    let reply = ScriptedModel::replies([Reply::json(json!({"ok": true}))]);
    assert_eq!(reply.answer(ModelRequest::new("go")).await.unwrap().text(), r#"{"ok":true}"#);
}

#[tokio::test]
async fn finish_reason_and_usage_are_what_the_script_says() {
    let reply = Reply::text("half").finish(FinishReason::Length).usage(Usage::tokens(10, 5));
    let reply = ScriptedModel::replies([reply]).answer(ModelRequest::new("go")).await.unwrap();
    assert_eq!((reply.finish, reply.usage), (FinishReason::Length, Usage::tokens(10, 5)));
}

#[tokio::test]
async fn usage_counts_the_words_of_every_message() {
    let talk = Transcript::from_iter([
        Message::system("Be very brief."),
        Message::user("Hello there"),
        Message::assistant("").with(Part::Reasoning { text: "a greeting".into(), signature: None }),
    ]);
    let reply = ScriptedModel::replies(["one two three four"]).answer(ModelRequest::new(talk)).await.unwrap();
    assert_eq!(reply.usage, Usage::tokens(7, 4));
}

#[test]
fn a_price_is_told_to_whoever_asks() {
    let price =
        Price { cached_input: Money::ZERO, ..Price::new(Money::from_dollars(2), Money::from_dollars(4)) };
    assert_eq!(ScriptedModel::builder().price(price).build().price(), Some(price));
    assert_eq!(ScriptedModel::builder().build().price(), None);
}

#[tokio::test(start_paused = true)]
async fn delays_pass_in_virtual_time() {
    let reply = Reply::text("a b c").delay(Duration::from_secs(60)).delay_per_chunk(Duration::from_secs(5));
    let model = ScriptedModel::replies([reply]);
    let start = Instant::now();
    let mut stream = model.reply(ModelRequest::new("go"), context(1));
    let mut at = Vec::new();
    while stream.next().await.is_some() {
        at.push(start.elapsed().as_secs());
    }
    assert_eq!(at, [60, 65, 70, 70, 70]);
}

proptest! {
    #[test]
    fn the_same_script_and_requests_give_the_same_pieces(said in ".{0,40}", asked in ".{0,40}", size in 0_usize..9) {
        let play = || {
            let reply = Reply::text(said.clone()).and_tool("t", json!({"said": said})).chunks(Chunks::Characters(size));
            let model = ScriptedModel::replies([reply]);
            block_on(deltas(&model, &asked))
        };
        prop_assert_eq!(play(), play());
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}
