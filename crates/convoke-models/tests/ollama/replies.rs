//! Tests of decoding replies.

use convoke_core::{FinishReason, ModelRequest, Part, ToolCall, Usage};
use serde_json::{Value, json};

use super::{done, line, model, said};
use crate::common::call;
use crate::server::{Answer, Server, ask};

/// A reply with everything in it.
fn rich() -> Vec<Value> {
    let calls = |calls: &[Value]| line(json!({"role": "assistant", "content": "", "tool_calls": calls}));
    let oslo = json!({"function": {"name": "weather", "arguments": {"city": "Oslo"}}});
    let rome = json!({"function": {"index": 1, "name": "weather", "arguments": "{\"city\": \"Rome\"}"}});
    let none = json!({"id": "call_7", "function": {"name": "time"}});
    let mut end = done("stop");
    end["prompt_eval_cached_count"] = json!(20);
    vec![
        line(json!({"role": "assistant", "content": "", "thinking": "Two "})),
        line(json!({"role": "assistant", "content": "Let me ", "thinking": "cities."})),
        said("löök."),
        json!({"status": "something new"}),
        calls(&[oslo, rome]),
        calls(&[none]),
        end,
    ]
}

fn cut(lines: &[Value], length: usize) -> Answer {
    let characters: Vec<_> =
        lines.iter().map(|line| format!("{line}\n")).collect::<String>().chars().collect();
    let pieces = characters.chunks(length).map(|piece| piece.iter().collect()).collect();
    Answer::new(200, "application/x-ndjson", pieces)
}

#[tokio::test]
async fn a_reply_is_the_same_however_it_is_cut() {
    for length in [3, 50, 100_000] {
        let server = Server::start([cut(&rich(), length)]).await;
        let reply = ask(&model(&server), ModelRequest::new("Weather?")).await.unwrap();
        let time = ToolCall { id: "call_7".into(), name: "time".into(), arguments: json!({}) };
        let Part::Reasoning { text: thought, signature: Some(_) } = &reply.message.parts[0] else {
            panic!("{:?}", reply.message)
        };
        assert_eq!(thought, "Two cities.");
        assert_eq!(
            reply.message.parts[1..],
            [
                Part::Text { text: "Let me löök.".into() },
                call("m1-call1", "Oslo"),
                call("m1-call2", "Rome"),
                Part::ToolCall(time),
            ]
        );
        assert_eq!(reply.finish, FinishReason::ToolCalls);
        assert_eq!(reply.usage, Usage { cached_input_tokens: 20, ..Usage::tokens(26, 9) });
    }
}

#[tokio::test]
async fn a_reply_that_is_not_streamed_is_understood() {
    let mut whole = done("stop");
    whole["message"] = json!({"role": "assistant", "content": "Hello.", "thinking": "Hm."});
    let server = Server::start([Answer::json(200, whole)]).await;
    let reply = ask(&model(&server), ModelRequest::new("Hi")).await.unwrap();
    assert_eq!((reply.text().as_str(), reply.finish), ("Hello.", FinishReason::Stop));
    assert_eq!(reply.usage, Usage::tokens(26, 9));
}

#[tokio::test]
async fn a_reply_cut_off_at_its_limit_says_so() {
    let server = Server::start([Answer::lines([said("Hel"), done("length")])]).await;
    let reply = ask(&model(&server), ModelRequest::new("Hi")).await.unwrap();
    assert_eq!(reply.finish, FinishReason::Length);
}
