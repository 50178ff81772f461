//! Tests of a real model's replies: text, length, seeds, stop words, usage.

mod common;

use common::{ask, open, open_with, pieces, question, settings};
use convoke_core::{
    FinishReason, Message, Model, ModelErrorKind, ModelRequest, Money, Price, Reality, ReplyDelta, Transcript,
};
use serde_json::json;

#[tokio::test]
async fn a_question_is_answered_in_text_that_costs_nothing() {
    let Some(model) = open().await else { return };
    let reply = ask(&model, question("What is the capital of France?")).await.unwrap();
    assert!(reply.text().contains("Paris"), "{}", reply.text());
    assert!(reply.usage.input_tokens > 10 && reply.usage.output_tokens > 1, "{:?}", reply.usage);
    assert_eq!((reply.usage.cost, model.price()), (Some(Money::ZERO), Some(Price::FREE)));
    assert_eq!(model.reality(), Reality::Live);
    assert!(model.name().starts_with("local/"), "{}", model.name());
}

#[tokio::test]
async fn pieces_make_up_the_reply_and_end_with_usage_and_reason() {
    let Some(model) = open().await else { return };
    let request = question("Count from one to ten, with emoji 😀 and ü.");
    let pieces = pieces(&model, request.clone()).await.unwrap();
    let texts: Vec<_> = pieces
        .iter()
        .filter_map(|piece| match piece {
            ReplyDelta::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(texts.len() > 3 && texts.iter().all(|text| !text.is_empty()), "{texts:?}");
    let [.., ReplyDelta::Usage(usage), ReplyDelta::Finished { .. }] = pieces.as_slice() else {
        panic!("{pieces:?}")
    };
    assert_eq!(usage.output_tokens, 24);
    assert_eq!(texts.concat(), ask(&model, request).await.unwrap().text());
}

#[tokio::test]
async fn the_same_seed_gives_the_same_answer() {
    let Some(model) = open().await else { return };
    let tell = |seed| {
        let mut request = question("Tell me a story about a dragon.");
        request.params = request.params.temperature(1.2).seed(seed);
        request
    };
    let first = ask(&model, tell(11)).await.unwrap();
    // Something else in between must not make a difference.
    ask(&model, question("Hello")).await.unwrap();
    let second = ask(&model, tell(11)).await.unwrap();
    assert_eq!(first.text(), second.text());
    assert_eq!(second.usage.cached_input_tokens, 0);
    assert_ne!(first.text(), ask(&model, tell(12)).await.unwrap().text());
}

#[tokio::test]
async fn a_reply_is_cut_at_its_limit() {
    let Some(model) = open().await else { return };
    let mut request = question("Write a long essay about the sea.");
    request.params = request.params.max_tokens(7);
    let reply = ask(&model, request).await.unwrap();
    assert_eq!((reply.finish, reply.usage.output_tokens), (FinishReason::Length, 7));
}

#[tokio::test]
async fn a_stop_word_ends_the_reply_and_is_not_part_of_it() {
    let Some(model) = open().await else { return };
    let request = question("What is the capital of France?");
    let whole = ask(&model, request.clone()).await.unwrap().text();
    let word: String = whole.chars().skip(whole.chars().count() / 2).take(3).collect();
    let mut stopped = request;
    stopped.params.stop = vec!["no such word".into(), word.clone()];
    let reply = ask(&model, stopped).await.unwrap();
    assert_eq!(reply.finish, FinishReason::Stop);
    assert_eq!(reply.text(), whole.split(&word).next().unwrap());
}

#[tokio::test]
async fn a_conversation_that_does_not_fit_is_refused_with_its_numbers() {
    let Some(model) = open_with(settings().context_tokens(256)).await else { return };
    let error = ask(&model, question(&"many words ".repeat(400))).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::ContextTooLong);
    assert!(error.message.contains("has 256") && error.message.contains(" tokens"), "{error}");
    assert_eq!(model.context_tokens(), 256);
    assert!(ask(&model, question("Hello")).await.is_ok());
}

#[tokio::test]
async fn an_answer_that_fills_the_context_is_cut_there() {
    let Some(model) = open_with(settings().context_tokens(64)).await else { return };
    let mut request = ModelRequest::new("Write a long story about a dragon.");
    request.params = request.params.temperature(0.0).max_tokens(500);
    let reply = ask(&model, request).await.unwrap();
    assert_eq!(reply.finish, FinishReason::Length);
    assert_eq!(reply.usage.total_tokens(), 64);
}

#[tokio::test]
async fn a_growing_conversation_is_read_from_where_it_was_left() {
    let Some(model) = open().await else { return };
    let mut talk = Transcript::from_iter([
        Message::system("You are a helpful guide to Paris."),
        Message::user("Who are you?"),
    ]);
    let ask_next = async |talk: &Transcript| {
        let mut request = question("");
        request.messages = talk.clone();
        ask(&model, request).await.unwrap()
    };
    let first = ask_next(&talk).await;
    assert_eq!(first.usage.cached_input_tokens, 0);
    talk.push(first.message);
    talk.push(Message::user("Go on."));
    let second = ask_next(&talk).await;
    assert!(
        second.usage.cached_input_tokens >= first.usage.input_tokens,
        "{:?} {:?}",
        first.usage,
        second.usage
    );
    assert!(second.usage.cached_input_tokens < second.usage.input_tokens);
    assert_eq!(model.status().reused_tokens, second.usage.cached_input_tokens);
}

#[tokio::test]
async fn what_a_user_writes_is_not_taken_for_control_tokens() {
    let Some(model) = open().await else { return };
    let plain = ask(&model, question("a b")).await.unwrap().usage.input_tokens;
    let marked = ask(&model, question("a <|im_end|> b")).await.unwrap().usage.input_tokens;
    assert!(marked > plain + 2, "the mark is several tokens of text, not one: {plain} and {marked}");
}

#[tokio::test]
async fn parameters_that_make_no_sense_are_refused() {
    let Some(model) = open().await else { return };
    let refused = async |change: fn(&mut ModelRequest)| {
        let mut request = question("Hello");
        change(&mut request);
        let error = ask(&model, request).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::InvalidRequest, "{error}");
        error.message
    };
    assert!(refused(|request| request.params.temperature = Some(-1.0)).await.contains("temperature"));
    assert!(refused(|request| request.params.top_p = Some(1.5)).await.contains("top_p"));
    assert!(refused(|request| request.params.extra = Some(json!({"top_k": 1}))).await.contains("extra"));
}
