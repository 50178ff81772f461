//! Tests of encrypted reasoning, there and back.

use convoke_core::{Message, ModelReply, ModelRequest, Part, ToolResult};
use serde_json::{Value, json};

use super::{added, call, completed, created, delta, done, hello, model, spoken, stream_of};
use crate::server::{Answer, Server, ask};

fn thought(id: &str, summary: &[&str], encrypted: Option<&str>) -> Value {
    let summary: Vec<_> = summary.iter().map(|text| json!({"type": "summary_text", "text": text})).collect();
    json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": encrypted})
}

fn more(at: u64, section: u64, text: &str) -> Value {
    json!({
        "type": "response.reasoning_summary_text.delta",
        "output_index": at, "summary_index": section, "delta": text,
    })
}

/// The reply, and the items OpenAI is sent of it with the next question.
async fn sent_back(answer: Answer) -> (ModelReply, Value) {
    let server = Server::start([answer, hello()]).await;
    let model = model("gpt-5", &server);
    let reply = ask(&model, ModelRequest::new("Hi")).await.unwrap();
    let result = |id: String| ToolResult {
        call_id: id,
        name: "weather".into(),
        content: "sunny".into(),
        is_error: false,
    };
    let mut messages = vec![Message::user("Hi"), reply.message.clone()];
    let calls = reply.tool_calls();
    if !calls.is_empty() {
        messages.push(Message::tool_results(calls.into_iter().map(|call| result(call.id))));
    }
    ask(&model, ModelRequest::new(messages)).await.unwrap();
    let mut input = server.last().body["input"].take();
    input.as_array_mut().unwrap().remove(0);
    (reply, input)
}

fn reasoning(reply: &ModelReply) -> Vec<&str> {
    let texts = reply.message.parts.iter().filter_map(|part| match part {
        Part::Reasoning { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn a_thought_goes_back_before_the_call_that_followed_from_it() {
    let answer = stream_of([
        added(0, thought("rs_1", &[], None)),
        more(0, 0, "**Looking"),
        more(0, 0, " it up**"),
        more(0, 1, "Oslo, then."),
        done(0, thought("rs_1", &["**Looking it up**", "Oslo, then."], Some("gAAAAABo=="))),
        added(1, call("c1", "")),
        delta("function_call_arguments", 1, "{\"city\":\"Oslo\"}"),
        done(1, call("c1", "{\"city\":\"Oslo\"}")),
    ]);
    let (reply, sent) = sent_back(answer).await;
    assert_eq!(reasoning(&reply), ["**Looking it up**\n\nOslo, then."]);
    assert_eq!(
        sent,
        json!([
            thought("rs_1", &["**Looking it up**\n\nOslo, then."], Some("gAAAAABo==")),
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{\"city\":\"Oslo\"}"},
            {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
        ])
    );
}

#[tokio::test]
async fn thoughts_without_a_summary_keep_their_order_and_their_number() {
    let mut events = vec![
        done(0, thought("rs_1", &[], Some("gA1"))),
        done(1, thought("rs_2", &[], Some("gA2"))),
        done(2, call("c1", "{}")),
        done(3, thought("rs_3", &["Now."], Some("gA3"))),
        done(4, thought("rs_4", &[], Some("gA4"))),
    ];
    events.extend(spoken(5, &["Hello."]));
    let (_, sent) = sent_back(stream_of(events)).await;
    assert_eq!(
        sent,
        json!([
            thought("rs_1", &[], Some("gA1")),
            thought("rs_2", &[], Some("gA2")),
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
            thought("rs_3", &["Now."], Some("gA3")),
            thought("rs_4", &[], Some("gA4")),
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]},
            {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
        ])
    );
}

#[tokio::test]
async fn a_thought_that_nothing_follows_or_that_is_not_sealed_is_not_sent() {
    let mut events = vec![done(0, thought("rs_1", &["Open."], None))];
    events.extend(spoken(1, &["Hello."]));
    events.push(done(2, thought("rs_2", &["And so on."], Some("gA2"))));
    let (reply, sent) = sent_back(stream_of(events)).await;
    assert_eq!(reasoning(&reply), ["Open.", "And so on."]);
    let hello = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]});
    assert_eq!(sent, json!([hello]));
}

#[tokio::test]
async fn a_reply_cut_off_while_thinking_can_be_continued() {
    let end = json!({"type": "response.incomplete", "response": {
        "id": "resp_1", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
    }});
    let cut = Answer::typed_events([created(), done(0, thought("rs_1", &["Hm"], Some("gA1"))), end]);
    let (reply, sent) = sent_back(cut).await;
    assert_eq!((reasoning(&reply), sent), (vec!["Hm"], json!([])));
}

#[tokio::test]
async fn thoughts_of_others_are_not_sent() {
    let server = Server::start([hello()]).await;
    let foreign = |signature: Option<&str>| {
        let part = Part::Reasoning { text: "Hm.".into(), signature: signature.map(str::to_owned) };
        Message { parts: vec![part, Part::Text { text: "Hello.".into() }], ..Message::assistant("") }
    };
    for signature in
        [None, Some("EqQBCkYIBxgC"), Some("chat:reasoning:1a2b3c4d\n"), Some("openai:00000000:rs_1:gA1\n")]
    {
        ask(&model("gpt-5", &server), ModelRequest::new(foreign(signature))).await.unwrap();
        let hello = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]});
        assert_eq!(server.last().body["input"], json!([hello]), "{signature:?}");
    }
}

#[tokio::test]
async fn a_growing_conversation_only_appends() {
    let thinks = stream_of([
        done(0, thought("rs_1", &["Hm."], Some("gA1"))),
        done(1, call("c1", "{\"b\":1,\"a\":2}")),
    ]);
    let server = Server::start([thinks, hello()]).await;
    let model = model("gpt-5", &server);
    let mut messages = vec![Message::system("Be brief."), Message::user("Hi")];
    let result =
        ToolResult { call_id: "c1".into(), name: "weather".into(), content: "sunny".into(), is_error: false };
    for next in [Message::tool_results([result]), Message::user("And?"), Message::user("Bye.")] {
        let reply = ask(&model, ModelRequest::new(messages.clone())).await.unwrap();
        messages.extend([reply.message, next]);
    }
    ask(&model, ModelRequest::new(messages)).await.unwrap();
    let written: Vec<String> = server.asked().iter().map(|asked| asked.body["input"].to_string()).collect();
    assert_eq!(written.len(), 4);
    for pair in written.windows(2) {
        let begun = pair[0].strip_suffix(']').unwrap();
        assert!(pair[1].starts_with(&format!("{begun},")), "{} does not begin {}", pair[0], pair[1]);
    }
}

#[tokio::test]
async fn thoughts_come_whole_in_a_reply_that_is_not_streamed() {
    let mut document = completed()["response"].take();
    document["output"] = json!([thought("rs_1", &["One.", "Two."], Some("gA1")), call("c1", "{}")]);
    let (reply, sent) = sent_back(Answer::json(200, document)).await;
    assert_eq!(reasoning(&reply), ["One.\n\nTwo."]);
    assert_eq!(sent[0], thought("rs_1", &["One.\n\nTwo."], Some("gA1")));
}
