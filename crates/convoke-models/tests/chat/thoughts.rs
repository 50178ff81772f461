//! Tests of thoughts, and of where they go back to.

use convoke_core::{Message, ModelReply, ModelRequest, Part};
use serde_json::{Value, json};

use super::{asked_at, hello, model, stream_of};
use crate::server::{Server, ask};

/// What a server is sent of its own reply, if it replies with these deltas.
async fn sent_back(deltas: impl IntoIterator<Item = Value>) -> (ModelReply, Value) {
    let server = Server::start([stream_of(deltas, "stop"), hello()]).await;
    let model = model(&server);
    let reply = ask(&model, ModelRequest::new("Hi")).await.unwrap();
    let messages = vec![Message::user("Hi"), reply.message.clone(), Message::user("And?")];
    ask(&model, ModelRequest::new(messages)).await.unwrap();
    let sent = server.last().body["messages"][1].take();
    (reply, sent)
}

fn thoughts(reply: &ModelReply) -> Vec<&str> {
    let texts = reply.message.parts.iter().filter_map(|part| match part {
        Part::Reasoning { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn a_thought_goes_back_in_the_field_it_came_in() {
    for field in ["reasoning_content", "reasoning"] {
        let (reply, sent) = sent_back([
            json!({"content": "", field: "The user"}),
            json!({"content": null, field: " greets."}),
            json!({"content": "Hello."}),
        ])
        .await;
        assert_eq!((thoughts(&reply), reply.text().as_str()), (vec!["The user greets."], "Hello."));
        assert_eq!(sent, json!({"role": "assistant", "content": "Hello.", field: "The user greets."}));
    }
}

#[tokio::test]
async fn a_thought_in_two_fields_is_one_thought() {
    let (reply, sent) =
        sent_back([json!({"reasoning_content": "Hm.", "reasoning": "Hm."}), json!({"content": "Hello."})])
            .await;
    assert_eq!(thoughts(&reply), ["Hm."]);
    assert_eq!(sent, json!({"role": "assistant", "content": "Hello.", "reasoning_content": "Hm."}));
}

#[tokio::test]
async fn thoughts_among_the_content_go_back_there_in_their_order() {
    let thinking = |text: &str| json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]});
    let (reply, sent) = sent_back([
        json!({"content": [thinking("Let me")]}),
        json!({"content": [thinking(" see.")]}),
        json!({"content": [{"type": "text", "text": "Hello"}]}),
        json!({"content": "."}),
    ])
    .await;
    assert_eq!((thoughts(&reply), reply.text().as_str()), (vec!["Let me see."], "Hello."));
    let content = json!([thinking("Let me see."), {"type": "text", "text": "Hello."}]);
    assert_eq!(sent, json!({"role": "assistant", "content": content}));
}

#[tokio::test]
async fn details_that_a_gateway_wants_back_are_put_together_and_sent_back() {
    let (reply, sent) = sent_back([
        json!({"reasoning": "Let me", "reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": "Let me", "format": "anthropic-claude-v1"},
        ]}),
        json!({"reasoning": " see.", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": " see."}]}),
        json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "EqQB"}]}),
        json!({"content": "Hello."}),
        json!({"reasoning_details": [{"type": "reasoning.encrypted", "id": "c1", "data": "gAAA"}]}),
    ])
    .await;
    assert_eq!((thoughts(&reply), reply.text().as_str()), (vec!["Let me see.", ""], "Hello."));
    assert_eq!(
        sent,
        json!({"role": "assistant", "content": "Hello.", "reasoning_details": [
            {
                "type": "reasoning.text", "index": 0, "text": "Let me see.",
                "format": "anthropic-claude-v1", "signature": "EqQB",
            },
            {"type": "reasoning.encrypted", "id": "c1", "data": "gAAA"},
        ]})
    );
}

#[tokio::test]
async fn a_thought_goes_back_to_nobody_else() {
    let (reply, _) = sent_back([json!({"reasoning_content": "Hm."}), json!({"content": "Hello."})]).await;
    let foreign = |signature: Option<&str>| {
        let thought = Part::Reasoning { text: "Hm.".into(), signature: signature.map(str::to_owned) };
        Message { parts: vec![thought, Part::Text { text: "Hello.".into() }], ..Message::assistant("") }
    };
    for message in
        [reply.message, foreign(None), foreign(Some("EqQBCkYI")), foreign(Some("openai:1a2b3c4d:rs_1:gAAA"))]
    {
        let body = asked_at("https://api.groq.com/openai/v1", "qwen3", ModelRequest::new(message)).await;
        assert_eq!(body["messages"], json!([{"role": "assistant", "content": "Hello."}]));
    }
}

#[tokio::test]
async fn a_thought_before_a_call_goes_back_with_the_call() {
    let call = json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]});
    let (_, sent) = sent_back([json!({"reasoning_content": "Look first."}), call.clone()]).await;
    let calls = json!([{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]);
    let expected = json!({"role": "assistant", "content": null, "reasoning_content": "Look first.", "tool_calls": calls});
    assert_eq!(sent, expected);
}
