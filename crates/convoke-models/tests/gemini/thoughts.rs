//! Tests of thoughts and their signatures, and of where they go back to.

use convoke_core::{Message, ModelRequest, Part, Role, Transcript};
use serde_json::{Value, json};

use super::{body_for, chunk, finished, hello, model_named, thought};
use crate::common::{call, result};
use crate::server::{Answer, Server, ask};

#[tokio::test]
async fn signatures_go_back_on_the_parts_they_came_on() {
    let parts = [
        json!({"text": "First I think.", "thought": true, "thoughtSignature": "dGhvdWdodA=="}),
        json!({"text": "I look it up. "}),
        json!({"text": "Twice.", "thoughtSignature": "dGV4dA=="}),
        json!({"text": " Now."}),
        json!({"text": "", "thoughtSignature": "YWxvbmU="}),
        json!({"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}, "thoughtSignature": "Y2FsbA+/"}),
        json!({"functionCall": {"id": "c2", "name": "weather", "args": {"city": "Rome"}}}),
        json!({"text": "", "thoughtSignature": "ZW5k"}),
    ];
    let mut frames: Vec<_> = parts.iter().map(|part| chunk(json!([part]))).collect();
    frames.push(finished(json!([]), "STOP"));
    let server = Server::start([Answer::events(frames), hello()]).await;
    let model = model_named("gemini-3-pro-preview", &server);
    let mut request = ModelRequest::new("Hi");
    let reply = ask(&model, request.clone()).await.unwrap();
    assert_eq!((reply.text().as_str(), reply.tool_calls().len()), ("I look it up. Twice. Now.", 2));
    // Stored and read again, as a journal does.
    let stored = serde_json::to_string(&reply.message).unwrap();
    request.messages.push(serde_json::from_str(&stored).unwrap());
    request.messages.push(Message::tool_results([result("c1", "rain", false), result("c2", "sun", false)]));
    ask(&model, request).await.unwrap();
    assert_eq!(server.last().body["contents"][1]["parts"], json!(parts));
}

#[tokio::test]
async fn an_unsigned_thought_before_a_signed_call_is_not_sent_back_but_the_signature_is() {
    let answer = Answer::events([
        chunk(json!([{"text": "Summary.", "thought": true}])),
        finished(
            json!([{"functionCall": {"name": "weather", "args": {}}, "thoughtSignature": "Y2FsbA=="}]),
            "STOP",
        ),
    ]);
    let server = Server::start([answer, hello()]).await;
    let model = model_named("gemini-3-pro-preview", &server);
    let mut request = ModelRequest::new("Hi");
    let reply = ask(&model, request.clone()).await.unwrap();
    assert!(
        matches!(&reply.message.parts[0], Part::Reasoning { text, signature: Some(_) } if text == "Summary.")
    );
    let id = reply.tool_calls()[0].id.clone();
    assert!(!id.is_empty());
    request.messages.push(reply.message);
    ask(&model, request).await.unwrap();
    let expected =
        json!([{"functionCall": {"id": id, "name": "weather", "args": {}}, "thoughtSignature": "Y2FsbA=="}]);
    assert_eq!(server.last().body["contents"][1]["parts"], expected);
}

#[tokio::test]
async fn what_other_providers_thought_stays_with_them() {
    let conversation = || {
        Transcript::from_iter([
            Message::user("Hi"),
            Message {
                role: Role::Assistant,
                parts: vec![thought("Deep.", Some("EqQBCgIYAhIM")), call("c1", "Oslo"), call("c2", "Rome")],
            },
            Message::tool_results([result("c1", "rain", false), result("c2", "sun", false)]),
            Message { role: Role::Assistant, parts: vec![thought("Only a thought.", None)] },
        ])
    };
    let called =
        |id: &str, city: &str| json!({"functionCall": {"id": id, "name": "weather", "args": {"city": city}}});
    let body = body_for("gemini-2.5-flash", ModelRequest::new(conversation())).await;
    assert_eq!(body["contents"][1]["parts"], json!([called("c1", "Oslo"), called("c2", "Rome")]));
    assert_eq!(body["contents"].as_array().unwrap().len(), 3);
    // Models that check signatures are told that there is none.
    let body = body_for("gemini-3-flash-preview", ModelRequest::new(conversation())).await;
    let mut first = called("c1", "Oslo");
    first["thoughtSignature"] = json!("skip_thought_signature_validator");
    assert_eq!(body["contents"][1]["parts"], json!([first, called("c2", "Rome")]));
}

#[tokio::test]
async fn a_growing_conversation_only_appends() {
    let called = finished(
        json!([
            {"text": "Hm.", "thought": true, "thoughtSignature": "YQ=="},
            {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}, "thoughtSignature": "Yg=="},
        ]),
        "STOP",
    );
    let said = finished(json!([{"text": "It rains."}, {"text": "", "thoughtSignature": "Yw=="}]), "STOP");
    let server = Server::start([Answer::events([called]), Answer::events([said]), hello()]).await;
    let model = model_named("gemini-3-flash", &server);
    let [called, said] = [
        ask(&model, ModelRequest::new("a")).await.unwrap(),
        ask(&model, ModelRequest::new("b")).await.unwrap(),
    ];
    let all = [
        Message::system("Be brief."),
        Message::user("How is the weather?"),
        called.message,
        Message::tool_results([result("c1", "rain", false)]),
        said.message,
        Message::system("Answer in French."),
        Message::user("Et demain?"),
    ];
    let mut before: Option<Value> = None;
    for length in 2..=all.len() {
        let request = ModelRequest::new(Transcript::from_iter(all[..length].iter().cloned()));
        ask(&model, request).await.unwrap();
        let body = server.last().body;
        if let Some(before) = before {
            assert_eq!(body["systemInstruction"], before["systemInstruction"]);
            let (now, then) = (body["contents"].to_string(), before["contents"].to_string());
            assert!(now.starts_with(then.strip_suffix(']').unwrap()), "{then}\n{now}");
            assert!(now.len() > then.len());
        }
        before = Some(body);
    }
}
