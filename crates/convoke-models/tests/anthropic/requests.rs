//! Tests of requests.

use convoke_core::{
    Media, MediaSource, Message, ModelParams, ModelRequest, Part, ReasoningEffort, Role, ToolCall,
    ToolChoice, ToolDefinition, Transcript,
};
use convoke_models::ProviderModel;
use convoke_models::provider::PromptCache;
use serde_json::{Value, json};

use super::{KEY, OPUS, SONNET, body, events, hello, model, person, refusal, settings, with};
use crate::common::{call, result, weather};
use crate::server::{Answer, Server, ask};

fn media(media_type: &str, source: MediaSource) -> Media {
    Media { media_type: media_type.into(), name: Some("it".into()), source }
}

#[tokio::test]
async fn a_request_says_all_it_has_to() {
    let server = Server::start([hello()]).await;
    let mut params = ModelParams::default().temperature(0.0).seed(7).max_tokens(100);
    params.stop = vec!["END".into()];
    let request = ModelRequest {
        messages: vec![Message::system("Be brief."), Message::system("Be kind."), Message::user("Hi")].into(),
        tools: vec![weather(), ToolDefinition { name: "time".into(), ..weather() }],
        tool_choice: ToolChoice::Required,
        output: None,
        params,
    };
    let reply = ask(&model(&server, SONNET), request).await.unwrap();
    assert_eq!((reply.text().as_str(), reply.model.as_str()), ("Hello.", "anthropic/claude-sonnet-4-5"));
    let asked = server.last();
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(asked.headers["x-api-key"], KEY);
    assert_eq!(asked.headers["anthropic-version"], "2023-06-01");
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    assert_eq!(
        asked.body,
        json!({
            "model": "claude-sonnet-4-5",
            "max_tokens": 100,
            "stream": true,
            "temperature": 0.0,
            "stop_sequences": ["END"],
            "cache_control": {"type": "ephemeral"},
            "system": [
                {"type": "text", "text": "Be brief."},
                {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}},
            ],
            "tools": [
                {"name": "weather", "description": "Tells the weather.", "input_schema": schema},
                {
                    "name": "time",
                    "description": "Tells the weather.",
                    "input_schema": schema,
                    "cache_control": {"type": "ephemeral"},
                },
            ],
            "tool_choice": {"type": "any"},
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        })
    );
}

#[tokio::test]
async fn what_the_provider_keeps_is_up_to_the_settings() {
    let server = Server::start([hello()]).await;
    let request = ModelRequest {
        messages: vec![Message::system("Be brief."), Message::user("Hi")].into(),
        ..ModelRequest::default()
    };
    let mut hour = settings(&server);
    hour.prompt_cache = PromptCache::Hour;
    ask(&ProviderModel::new(OPUS, hour).unwrap(), request.clone()).await.unwrap();
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    assert_eq!(server.last().body["cache_control"], mark);
    assert_eq!(server.last().body["system"][0]["cache_control"], mark);
    let mut off = settings(&server);
    off.prompt_cache = PromptCache::Off;
    ask(&ProviderModel::new(OPUS, off).unwrap(), request).await.unwrap();
    assert!(!server.last().body.to_string().contains("cache_control"));
}

#[tokio::test]
async fn everything_said_so_far_is_sent() {
    let transcript = Transcript::from(vec![
        Message::user("Look")
            .with(Part::Image(media("image/png", MediaSource::Base64("cGlj".into()))))
            .with(Part::Image(media("image/png", MediaSource::Url("https://example.com/a.png".into()))))
            .with(Part::File(media("application/pdf", MediaSource::Base64("cGRm".into())))),
        Message {
            role: Role::Assistant,
            parts: vec![call("a", "Oslo"), call("b", "Rome"), call("m1/x-call1", "")],
        },
        Message::tool_results([
            result("a", "sunny", false),
            result("b", "no such city", true),
            result("m1/x-call1", "", true),
        ]),
        Message::user("  "),
        Message::user("And now?"),
        Message::system("It is night."),
        Message { role: Role::Assistant, parts: vec![Part::Text { text: String::new() }] },
        Message::user("Well?"),
    ]);
    let body = body(OPUS, ModelRequest::new(transcript)).await;
    let strange = body["messages"][1]["content"][2]["id"].as_str().unwrap().to_owned();
    assert!(strange.chars().all(|it| it.is_ascii_alphanumeric() || it == '-' || it == '_'), "{strange}");
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "Look"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cGlj"}},
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                {
                    "type": "document",
                    "title": "it",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "cGRm"},
                },
            ]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Oslo"}},
                {"type": "tool_use", "id": "b", "name": "weather", "input": {"city": "Rome"}},
                {"type": "tool_use", "id": strange, "name": "weather", "input": {"city": ""}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "sunny"},
                {"type": "tool_result", "tool_use_id": "b", "content": "no such city", "is_error": true},
                {
                    "type": "tool_result",
                    "tool_use_id": strange,
                    "content": "The tool failed and did not say why.",
                    "is_error": true,
                },
                {"type": "text", "text": "And now?"},
                {"type": "text", "text": "<system-reminder>\nIt is night.\n</system-reminder>"},
                {"type": "text", "text": "Well?"},
            ]},
        ])
    );
}

#[tokio::test]
async fn arguments_that_are_no_object_are_sent_in_one() {
    let mut parts = Vec::new();
    for (id, arguments) in [("a", json!("{broken")), ("b", json!(null)), ("c", json!([1]))] {
        parts.push(Part::ToolCall(ToolCall { id: id.into(), name: "weather".into(), arguments }));
    }
    let transcript = vec![Message::user("Hi"), Message { role: Role::Assistant, parts }];
    let body = body(OPUS, ModelRequest::new(transcript)).await;
    let inputs: Vec<_> =
        body["messages"][1]["content"].as_array().unwrap().iter().map(|it| &it["input"]).collect();
    assert_eq!(inputs, [&json!({"arguments": "{broken"}), &json!({}), &json!({"arguments": [1]})]);
}

#[tokio::test]
async fn a_growing_conversation_only_appends() {
    let thinks = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    let start = json!({"type": "content_block_start", "index": 0, "content_block": thinks});
    let text =
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Ah."}});
    let server = Server::start([Answer::typed_events(events([start, text])), hello()]).await;
    let model = model(&server, OPUS);
    let thought = ask(&model, ModelRequest::new("Hi")).await.unwrap().message.parts[0].clone();
    let said = [
        Message::user("Look"),
        Message { role: Role::Assistant, parts: vec![thought, call("a", "Oslo"), call("b", "Rome")] },
        Message::tool_results([result("a", "sunny", false), result("b", "rain", false)]),
        Message::assistant("Sunny and rain."),
        Message::user("Thanks"),
        Message::assistant("Welcome."),
        Message::user("Bye"),
    ];
    for length in [1, 3, 5, 7] {
        let messages = std::iter::once(Message::system("Be brief.")).chain(said[..length].iter().cloned());
        let request =
            ModelRequest { tools: vec![weather()], ..ModelRequest::new(messages.collect::<Transcript>()) };
        ask(&model, request).await.unwrap();
    }
    let bodies: Vec<_> = server.asked().into_iter().skip(1).map(|asked| asked.body).collect();
    assert_eq!(bodies[1]["messages"][1]["content"][0], thinks);
    for pair in bodies.windows(2) {
        let [shorter, longer] = pair else { unreachable!() };
        let bytes = |body: &Value| body["messages"].to_string();
        let before = bytes(shorter);
        assert!(bytes(longer).starts_with(before.strip_suffix(']').unwrap()), "{longer}");
        for key in ["system", "tools", "cache_control", "model", "max_tokens"] {
            assert_eq!(shorter[key], longer[key]);
        }
    }
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_with_advice() {
    let params = ModelParams::default;
    let image = media("image/svg+xml", MediaSource::Base64("PHN2Zy8+".into()));
    let file = media("text/csv", MediaSource::Base64("YTti".into()));
    let forced = |tools, params| ModelRequest {
        tools,
        tool_choice: ToolChoice::Required,
        params,
        ..ModelRequest::new("Hi")
    };
    let mut top_p = params();
    top_p.top_p = Some(0.5);
    let mut extra = params();
    extra.extra = Some(json!([1]));
    let low = ReasoningEffort::Low;
    for (name, request, advice) in [
        (OPUS, with(params().temperature(0.2)), "takes no `temperature` of 0.2; leave it unset"),
        (OPUS, with(top_p), "takes no `top_p` of 0.5; leave it unset"),
        (SONNET, with(params().temperature(0.2).reasoning(low)), "of 0.2 while it thinks; leave it unset"),
        (SONNET, with(params().reasoning(low).max_tokens(1_000)), "allow more or turn `reasoning` off"),
        (SONNET, forced(vec![weather()], params().reasoning(low)), "turn `reasoning` off"),
        (SONNET, forced(vec![], params()), "give the model tools"),
        ("claude-fable-5", with(params().reasoning(ReasoningEffort::Off)), "always thinks"),
        (SONNET, with(extra), "`extra` must be a JSON object"),
        (SONNET, ModelRequest::new(Message::system("Be brief.")), "add a user's message"),
        (SONNET, ModelRequest::new(Message::user("See").with(Part::Image(image))), "send one of image/jpeg"),
        (SONNET, ModelRequest::new(Message::user("Read").with(Part::File(file))), "send a PDF"),
        (
            SONNET,
            ModelRequest::new(Message::user("Hi").with(call("a", "Oslo"))),
            "no tool call in a user's message",
        ),
    ] {
        let message = refusal(name, request).await;
        assert!(message.contains(advice), "{message}");
    }
}

#[tokio::test]
async fn tools_can_be_forbidden_and_need_not_be_there() {
    let forbidden = ModelRequest { tool_choice: ToolChoice::None, ..ModelRequest::new("Hi") };
    assert_eq!(body(OPUS, forbidden.clone()).await["tool_choice"], Value::Null);
    let body = body(OPUS, ModelRequest { tools: vec![weather()], ..forbidden }).await;
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
}

#[tokio::test]
async fn what_only_this_provider_knows_is_merged_in_last() {
    let mut params = ModelParams::default().reasoning(ReasoningEffort::High);
    params.extra = Some(json!({
        "output_config": {"effort": "max"},
        "service_tier": "standard_only",
        "max_tokens": 128_000,
    }));
    let request = ModelRequest { output: Some(person()), ..with(params) };
    let body = body(OPUS, request).await;
    assert_eq!(body["output_config"]["effort"], "max");
    assert_eq!(body["output_config"]["format"]["type"], "json_schema");
    assert_eq!((&body["service_tier"], &body["max_tokens"]), (&json!("standard_only"), &json!(128_000)));
}
