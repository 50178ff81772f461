//! Anthropic's Messages: what is asked, what is understood, and what goes wrong.

#![cfg(feature = "providers")]
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod server;

use std::time::Duration;

use convoke_core::{
    Category, FinishReason, Media, MediaSource, Message, Model, ModelErrorKind, ModelParams, ModelRequest,
    Money, OutputSchema, Part, Price, ReasoningEffort, ReplyDelta, Role, ToolCall, ToolChoice,
    ToolDefinition, ToolResult, Transcript, Usage,
};
use convoke_models::provider::{PromptCache, TimeLimits};
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use serde_json::{Value, json};
use server::{Answer, Server, ask, pieces};

const KEY: &str = "sk-ant-very-secret";
const OPUS: &str = "claude-opus-5";
const SONNET: &str = "claude-sonnet-4-5";

fn settings(server: &Server) -> ProviderSettings {
    ProviderSettings::new(Provider::Anthropic).base_url(&server.url).key(ApiKey::new(KEY))
}

fn model(server: &Server, name: &str) -> ProviderModel {
    ProviderModel::new(name, settings(server)).unwrap()
}

/// A short answer, as it is streamed.
fn hello() -> Answer {
    Answer::typed_events(events([
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello."}}),
        json!({"type": "content_block_stop", "index": 0}),
    ]))
}

/// A reply with this content that ends as it should.
fn events(content: impl IntoIterator<Item = Value>) -> Vec<Value> {
    ended(content, "end_turn")
}

fn ended(content: impl IntoIterator<Item = Value>, reason: &str) -> Vec<Value> {
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let mut events = vec![json!({"type": "message_start", "message": {"content": [], "usage": usage}})];
    events.extend(content);
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    events
}

/// What the server is asked when this model gets this request.
async fn body(name: &str, request: ModelRequest) -> Value {
    let server = Server::start([hello()]).await;
    ask(&model(&server, name), request).await.unwrap();
    server.last().body
}

/// Why this model cannot be asked this. Nothing is sent.
async fn refusal(name: &str, request: ModelRequest) -> String {
    let server = Server::start([hello()]).await;
    let error = ask(&model(&server, name), request).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::InvalidRequest, "{error}");
    assert_eq!(server.asked().len(), 0, "it was sent all the same");
    error.message
}

fn with(params: ModelParams) -> ModelRequest {
    ModelRequest { params, ..ModelRequest::new("Hi") }
}

fn weather() -> ToolDefinition {
    ToolDefinition {
        name: "weather".into(),
        description: "Tells the weather.".into(),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    }
}

fn person() -> OutputSchema {
    OutputSchema {
        name: "person".into(),
        description: "Somebody.".into(),
        schema: json!({"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}}),
    }
}

fn call(id: &str, city: &str) -> Part {
    Part::ToolCall(ToolCall { id: id.into(), name: "weather".into(), arguments: json!({"city": city}) })
}

fn result(id: &str, content: &str, is_error: bool) -> ToolResult {
    ToolResult { call_id: id.into(), name: "weather".into(), content: content.into(), is_error }
}

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
async fn every_family_thinks_as_it_can() {
    use ReasoningEffort::{High, Low, Medium, Off};
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let budget = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens});
    for (name, effort, thinking, output) in [
        ("claude-3-5-haiku-20241022", Some(High), Value::Null, Value::Null),
        (SONNET, None, Value::Null, Value::Null),
        (SONNET, Some(Off), Value::Null, Value::Null),
        (SONNET, Some(Low), budget(2_048), Value::Null),
        (SONNET, Some(Medium), budget(8_192), Value::Null),
        (SONNET, Some(High), budget(24_576), Value::Null),
        ("claude-opus-4-8", None, Value::Null, Value::Null),
        ("claude-opus-4-8", Some(Off), Value::Null, Value::Null),
        ("claude-opus-4-8", Some(Medium), adaptive.clone(), json!({"effort": "medium"})),
        (OPUS, None, Value::Null, Value::Null),
        (OPUS, Some(Off), json!({"type": "disabled"}), Value::Null),
        (OPUS, Some(High), adaptive.clone(), json!({"effort": "high"})),
        ("claude-fable-5-1", Some(Low), adaptive.clone(), json!({"effort": "low"})),
    ] {
        let mut params = ModelParams::default();
        params.reasoning = effort;
        let body = body(name, with(params)).await;
        assert_eq!((&body["thinking"], &body["output_config"]), (&thinking, &output), "{name} {effort:?}");
        let most = body["max_tokens"].as_u64().unwrap();
        assert!(most > thinking["budget_tokens"].as_u64().unwrap_or(0), "{name} {effort:?}");
    }
    let params = ModelParams::default().reasoning(High).max_tokens(4_000);
    assert_eq!(body(SONNET, with(params)).await["thinking"], budget(3_000));
    let params = ModelParams::default().reasoning(High).max_tokens(1_025);
    assert_eq!(body(SONNET, with(params)).await["thinking"], budget(1_024));
}

#[tokio::test]
async fn sampling_is_left_out_where_it_says_nothing() {
    let thoughtful = ModelParams::default().reasoning(ReasoningEffort::Low);
    for (name, mut params) in [(OPUS, ModelParams::default()), (SONNET, thoughtful.clone())] {
        params.temperature = Some(1.0);
        assert_eq!(body(name, with(params)).await["temperature"], Value::Null);
    }
    let mut params = thoughtful;
    params.top_p = Some(0.97);
    assert_eq!(body(SONNET, with(params)).await["top_p"], json!(0.97));
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
async fn a_model_that_thinks_by_itself_does_not_when_it_must_call_a_tool() {
    let request = ModelRequest {
        tools: vec![weather()],
        tool_choice: ToolChoice::Required,
        ..ModelRequest::new("Weather in Oslo?")
    };
    let body = body(OPUS, request).await;
    assert_eq!(body["thinking"], json!({"type": "disabled"}));
    assert_eq!(body["tool_choice"], json!({"type": "any"}));
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

#[tokio::test]
async fn a_shape_is_enforced_by_models_that_can() {
    let body = body(OPUS, ModelRequest { output: Some(person()), ..ModelRequest::new("Who?") }).await;
    let schema = json!({
        "type": "object",
        "description": "Somebody.",
        "properties": {"age": {"type": "integer", "description": "Must satisfy: {\"minimum\":0}"}},
        "additionalProperties": false,
    });
    assert_eq!(body["output_config"], json!({"format": {"type": "json_schema", "schema": schema}}));
    assert_eq!((&body["tools"], &body["tool_choice"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn any_other_shape_is_that_of_a_tool_whose_arguments_are_the_answer() {
    const ANSWER: &str = "convoke_final_answer";
    let asked = |tools, tool_choice, params| ModelRequest {
        tools,
        tool_choice,
        output: Some(person()),
        params,
        ..ModelRequest::new("Who?")
    };
    let old = "claude-sonnet-4-20250514";
    let none = ModelParams::default;
    let body_alone = body(old, asked(vec![], ToolChoice::Auto, none())).await;
    assert_eq!(
        body_alone["tools"],
        json!([{
            "name": ANSWER,
            "description": "Gives your final answer (person). Call it once, alone, when you know the answer. Somebody.",
            "input_schema": {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}},
            "cache_control": {"type": "ephemeral"},
        }])
    );
    let named = json!({"type": "tool", "name": ANSWER});
    assert_eq!(body_alone["tool_choice"], named);
    let thoughtful = || ModelParams::default().reasoning(ReasoningEffort::Low);
    for (choice, params, expected, tools) in [
        (ToolChoice::Auto, none(), json!({"type": "any"}), json!(["weather", ANSWER])),
        (ToolChoice::None, none(), named, json!(["weather", ANSWER])),
        (ToolChoice::Required, none(), json!({"type": "any"}), json!(["weather"])),
        (ToolChoice::Auto, thoughtful(), Value::Null, json!(["weather", ANSWER])),
        (ToolChoice::None, thoughtful(), Value::Null, json!([ANSWER])),
    ] {
        let body = body(old, asked(vec![weather()], choice, params)).await;
        let names = body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone());
        assert_eq!((&body["tool_choice"], names.collect::<Value>()), (&expected, tools), "{choice:?}");
    }
    let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let ages = OutputSchema { name: "ages".into(), description: String::new(), schema: map.clone() };
    let body = body(OPUS, ModelRequest { output: Some(ages), ..ModelRequest::new("Who?") }).await;
    assert_eq!((&body["output_config"], &body["tools"][0]["input_schema"]), (&Value::Null, &map));
    let list =
        OutputSchema { name: "list".into(), description: String::new(), schema: json!({"type": "array"}) };
    let message = refusal(old, ModelRequest { output: Some(list), ..ModelRequest::new("Who?") }).await;
    assert!(message.contains("put it into a field of one"), "{message}");
}

#[tokio::test]
async fn an_answer_in_a_tools_arguments_is_text() {
    let start = json!({"type": "tool_use", "id": "t1", "name": "convoke_final_answer", "input": {}});
    let more = |json: &str| {
        json!({
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": json},
        })
    };
    let streamed = Answer::typed_events(ended(
        [
            json!({"type": "content_block_start", "index": 0, "content_block": start}),
            more(""),
            more("{\"age\""),
            more(":30}"),
        ],
        "tool_use",
    ));
    let block = json!({"type": "tool_use", "id": "t1", "name": "convoke_final_answer", "input": {"age": 30}});
    let whole = Answer::json(200, json!({"type": "message", "content": [block], "stop_reason": "tool_use"}));
    for answer in [streamed, whole] {
        let server = Server::start([answer]).await;
        let reply = ask(&model(&server, OPUS), ModelRequest::new("Who?")).await.unwrap();
        assert_eq!((reply.text().as_str(), reply.finish), ("{\"age\":30}", FinishReason::Stop));
    }
}

#[tokio::test]
async fn words_around_an_answer_in_a_tools_arguments_are_no_part_of_it() {
    let shape = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let wanted = OutputSchema { name: "ages".into(), description: String::new(), schema: shape };
    let request = || ModelRequest { output: Some(wanted.clone()), ..ModelRequest::new("Who?") };
    let text = |words: &str| json!({"type": "text", "text": words});
    let hidden = |data: &str| json!({"type": "redacted_thinking", "data": data});
    let tool =
        |name: &str, input: &Value| json!({"type": "tool_use", "id": name, "name": name, "input": input});
    let answer = tool("convoke_final_answer", &json!({"age": 30}));
    let weather = tool("weather", &json!({}));
    for (blocks, expected) in [
        (vec![text("I will now answer."), answer.clone(), text("That was it.")], "{\"age\":30}"),
        (vec![hidden("b25l"), text("Well."), hidden("dHdv"), answer.clone(), answer.clone()], "{\"age\":30}"),
        (vec![text("I cannot "), text("say.")], "I cannot say."),
        (vec![text("First the weather."), weather], "First the weather."),
    ] {
        let streamed = blocks.iter().zip(0..).flat_map(|(block, index)| {
            let json = block["input"].to_string();
            let delta = json!({"type": "input_json_delta", "partial_json": json});
            let mut begun = block.clone();
            begun["input"] = json!({});
            let begin = json!({"type": "content_block_start", "index": index, "content_block": begun});
            let more = json!({"type": "content_block_delta", "index": index, "delta": delta});
            if block["type"] == "tool_use" { vec![begin, more] } else { vec![begin] }
        });
        let document = json!({"type": "message", "content": blocks.clone(), "stop_reason": "end_turn"});
        for answer in [Answer::typed_events(ended(streamed, "end_turn")), Answer::json(200, document)] {
            let server = Server::start([answer, hello()]).await;
            let model = model(&server, OPUS);
            let reply = ask(&model, request()).await.unwrap();
            assert_eq!(reply.text(), expected);
            // The thoughts go back as they came, in their places.
            let conversation = vec![Message::user("Who?"), reply.message, Message::user("Sure?")];
            ask(&model, ModelRequest::new(conversation)).await.unwrap();
            let sent = server.last().body["messages"][1]["content"].clone();
            let is_hidden = |block: &&Value| block["type"] == "redacted_thinking";
            let sent: Vec<_> = sent.as_array().unwrap().iter().filter(is_hidden).cloned().collect();
            let came: Vec<_> = blocks.iter().filter(is_hidden).cloned().collect();
            assert_eq!(sent, came);
        }
    }
}

#[tokio::test]
async fn what_is_kept_for_an_hour_is_paid_for_as_that() {
    let price = Price {
        cached_input: Money::from_cents(50),
        cache_write: Money::from_cents(625),
        ..Price::new(Money::from_dollars(5), Money::from_dollars(25))
    };
    let usage = |hour: u64| {
        json!({
            "input_tokens": 100_000,
            "cache_read_input_tokens": 200_000,
            "cache_creation_input_tokens": 1_000_000,
            "cache_creation": {"ephemeral_5m_input_tokens": 1_000_000 - hour, "ephemeral_1h_input_tokens": hour},
            "output_tokens": 10_000,
        })
    };
    // 0.5 + 0.1 + 0.25, and the writes: 2.5 at 6.25 a million and 6 at twice 5.
    for (hour, priced, cost) in [(600_000, true, Some(935)), (600_000, false, None), (0, true, None)] {
        let block = json!({"type": "text", "text": "Hello."});
        let message = json!({"type": "message", "content": [block], "usage": usage(hour)});
        let server = Server::start([Answer::json(200, message)]).await;
        let settings = settings(&server).price(priced.then_some(price));
        let reply = ask(&ProviderModel::new(OPUS, settings).unwrap(), ModelRequest::new("Hi")).await.unwrap();
        let expected = Usage {
            cached_input_tokens: 200_000,
            cache_write_tokens: 1_000_000,
            cost: cost.map(Money::from_cents),
            ..Usage::tokens(1_300_000, 10_000)
        };
        assert_eq!(reply.usage, expected);
    }
}

/// A reply with everything in it.
fn rich() -> Vec<Value> {
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let more =
        |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let thought = || json!({"type": "thinking", "thinking": "", "signature": ""});
    let tool = |id: &str| json!({"type": "tool_use", "id": id, "name": "weather", "input": {}});
    let partial = |json: &str| json!({"type": "input_json_delta", "partial_json": json});
    let content = [
        json!({"type": "ping"}),
        start(0, thought()),
        more(0, json!({"type": "thinking_delta", "thinking": "Two "})),
        more(0, json!({"type": "thinking_delta", "thinking": "cities."})),
        more(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        more(0, json!({"type": "signature_delta", "signature": "MQ=="})),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "aGlkZGVu"})),
        stop(1),
        start(2, thought()),
        more(2, json!({"type": "signature_delta", "signature": "c2lnMg=="})),
        stop(2),
        start(3, json!({"type": "text", "text": ""})),
        more(3, json!({"type": "text_delta", "text": "Let me "})),
        json!({"type": "ping"}),
        more(3, json!({"type": "text_delta", "text": "löök."})),
        more(3, json!({"type": "citations_delta", "citation": {}})),
        stop(3),
        start(4, json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}})),
        more(4, partial("{\"query\":\"x\"}")),
        stop(4),
        start(5, tool("toolu_1")),
        more(5, partial("")),
        more(5, partial("{\"city\": \"Os")),
        start(6, tool("toolu_2")),
        more(6, partial("{\"city\":")),
        more(5, partial("lo\"}")),
        more(6, partial("\"Rome\"}")),
        stop(5),
        stop(6),
        json!({"type": "something_new", "index": 9}),
    ];
    let mut events = ended(content, "tool_use");
    events[0]["message"]["usage"] = json!({
        "input_tokens": 10,
        "cache_read_input_tokens": 300,
        "cache_creation_input_tokens": 40,
        "output_tokens": 2,
    });
    let at = events.len() - 2;
    events[at]["usage"] = json!({
        "input_tokens": 12,
        "cache_read_input_tokens": null,
        "output_tokens": 90,
        "output_tokens_details": {"thinking_tokens": 60},
    });
    events
}

/// The same reply, not streamed.
fn rich_whole() -> Value {
    let tool = |id: &str, city: &str| json!({"type": "tool_use", "id": id, "name": "weather", "input": {"city": city}});
    json!({
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Two cities.", "signature": "c2lnMQ=="},
            {"type": "redacted_thinking", "data": "aGlkZGVu"},
            {"type": "thinking", "thinking": "", "signature": "c2lnMg=="},
            {"type": "text", "text": "Let me löök."},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
            tool("toolu_1", "Oslo"),
            tool("toolu_2", "Rome"),
        ],
        "stop_reason": "tool_use",
        "usage": {
            "input_tokens": 12,
            "cache_read_input_tokens": 300,
            "cache_creation_input_tokens": 40,
            "output_tokens": 90,
            "output_tokens_details": {"thinking_tokens": 60},
        },
    })
}

/// A stream, cut into pieces of so many characters.
fn cut(events: &[Value], length: usize) -> Answer {
    let frame = |data: &Value| format!("event: {}\r\ndata: {data}\r\n\r\n", data["type"].as_str().unwrap());
    let characters: Vec<_> = events.iter().map(frame).collect::<String>().chars().collect();
    let pieces = characters.chunks(length).map(|piece| piece.iter().collect()).collect();
    Answer::new(200, "text/event-stream; charset=utf-8", pieces)
}

#[tokio::test]
async fn a_reply_is_the_same_however_it_comes_and_goes_back_as_it_came() {
    let answers = [cut(&rich(), 5), cut(&rich(), 97), cut(&rich(), 100_000), Answer::json(200, rich_whole())];
    for answer in answers {
        let server = Server::start([answer.header("request-id", "req_1"), hello()]).await;
        let model = model(&server, OPUS);
        let reply = ask(&model, ModelRequest::new("Weather in Oslo and Rome?")).await.unwrap();
        assert_eq!((reply.text().as_str(), reply.finish), ("Let me löök.", FinishReason::ToolCalls));
        assert_eq!(reply.request_id.as_deref(), Some("req_1"));
        assert_eq!(
            reply.usage,
            Usage {
                cached_input_tokens: 300,
                cache_write_tokens: 40,
                reasoning_tokens: 60,
                ..Usage::tokens(352, 90)
            }
        );
        let calls: Vec<_> = reply.tool_calls().into_iter().map(Part::ToolCall).collect();
        assert_eq!(calls, [call("toolu_1", "Oslo"), call("toolu_2", "Rome")]);
        assert!(matches!(&reply.message.parts[0], Part::Reasoning { text, .. } if text == "Two cities."));

        let results = [result("toolu_1", "sunny", false), result("toolu_2", "rain", false)];
        let transcript =
            vec![Message::user("Weather?"), reply.message.clone(), Message::tool_results(results)];
        ask(&model, ModelRequest::new(transcript)).await.unwrap();
        let mut sent_back = rich_whole()["content"].take();
        sent_back.as_array_mut().unwrap().remove(4); // the provider's own tool
        assert_eq!(server.last().body["messages"][1]["content"], sent_back);
    }
}

#[tokio::test]
async fn arguments_come_in_pieces_of_what_is_new() {
    let server = Server::start([Answer::typed_events(rich())]).await;
    let deltas = pieces(&model(&server, OPUS), ModelRequest::new("Hi")).await;
    let calls: Vec<_> = deltas
        .into_iter()
        .filter_map(|delta| match delta.unwrap() {
            ReplyDelta::ToolCallStarted { index, id, .. } => Some((index, id)),
            ReplyDelta::ToolCallArguments { index, delta } => Some((index, delta)),
            _ => None,
        })
        .collect();
    let expected = [
        (0, "toolu_1"),
        (0, "{\"city\": \"Os"),
        (1, "toolu_2"),
        (1, "{\"city\":"),
        (0, "lo\"}"),
        (1, "\"Rome\"}"),
    ];
    assert_eq!(calls, expected.map(|(index, text)| (index, text.to_owned())));
}

#[tokio::test]
async fn thoughts_that_are_not_claudes_stay_here() {
    let thought = |signature: Option<&str>| Part::Reasoning {
        text: "hm".into(),
        signature: signature.map(str::to_owned),
    };
    let parts = vec![thought(None), thought(Some("gAAAAB")), Part::Text { text: "Yes.".into() }];
    let transcript =
        vec![Message::user("Hi"), Message { role: Role::Assistant, parts }, Message::user("Sure?")];
    let body = body(OPUS, ModelRequest::new(transcript)).await;
    assert_eq!(body["messages"][1]["content"], json!([{"type": "text", "text": "Yes."}]));
}

#[tokio::test]
async fn every_reason_to_stop_is_understood() {
    let text = || {
        [
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hm"}}),
        ]
    };
    for (reason, finish) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("something_new", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("pause_turn", FinishReason::Length),
        ("refusal", FinishReason::ContentFilter),
    ] {
        let server = Server::start([Answer::typed_events(ended(text(), reason))]).await;
        let reply = ask(&model(&server, OPUS), ModelRequest::new("Hi")).await.unwrap();
        assert_eq!((reply.finish, reply.usage), (finish, Usage::tokens(10, 5)), "{reason}");
    }
}

#[tokio::test]
async fn refusals_are_typed() {
    for (status, name, said, kind, category) in [
        (
            401,
            "authentication_error",
            "invalid x-api-key",
            ModelErrorKind::Authentication,
            Category::Permanent,
        ),
        (403, "permission_error", "not yours", ModelErrorKind::Authentication, Category::Permanent),
        (400, "invalid_request_error", "bad", ModelErrorKind::InvalidRequest, Category::UserInput),
        (404, "not_found_error", "model: claude-x", ModelErrorKind::InvalidRequest, Category::UserInput),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low",
            ModelErrorKind::Quota,
            Category::Permanent,
        ),
        (402, "billing_error", "pay", ModelErrorKind::Quota, Category::Permanent),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
            ModelErrorKind::ContextTooLong,
            Category::UserInput,
        ),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000",
            ModelErrorKind::ContextTooLong,
            Category::UserInput,
        ),
        (
            400,
            "invalid_request_error",
            "Output blocked by content filtering policy",
            ModelErrorKind::Refused,
            Category::UserInput,
        ),
        (413, "request_too_large", "too large", ModelErrorKind::ContextTooLong, Category::Permanent),
        (429, "rate_limit_error", "slow down", ModelErrorKind::RateLimited, Category::Transient),
        (500, "api_error", "oops", ModelErrorKind::Overloaded, Category::Transient),
        (504, "timeout_error", "too slow", ModelErrorKind::TimedOut, Category::Transient),
        (529, "overloaded_error", "Overloaded", ModelErrorKind::Overloaded, Category::Transient),
        (529, "brand_new_error", "Hm", ModelErrorKind::Overloaded, Category::Transient),
    ] {
        let body = json!({"type": "error", "error": {"type": name, "message": said}, "request_id": "req_b"});
        let server = Server::start([Answer::json(status, body).header("request-id", "req_h")]).await;
        let error = ask(&model(&server, OPUS), ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.kind, error.category()), (kind, category), "{error}");
        assert_eq!(error.status, Some(status));
        assert!(error.request_id.as_deref().is_some_and(|id| id.starts_with("req_")), "{error:?}");
        assert!(
            error.message.starts_with("anthropic/claude-opus-5: ") && error.message.contains(said),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_limit_says_how_long_to_wait() {
    let body = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}});
    let server = Server::start([Answer::json(429, body).header("retry-after", "7")]).await;
    let error = ask(&model(&server, OPUS), ModelRequest::new("Hi")).await.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_reply_is_typed_too() {
    for (name, kind) in [
        ("overloaded_error", ModelErrorKind::Overloaded),
        ("rate_limit_error", ModelErrorKind::RateLimited),
        ("api_error", ModelErrorKind::Overloaded),
        ("brand_new_error", ModelErrorKind::Other),
    ] {
        let mut events = rich();
        events.truncate(16);
        events.push(
            json!({"type": "error", "error": {"type": name, "message": "Too much"}, "request_id": "req_1"}),
        );
        let server = Server::start([Answer::typed_events(events)]).await;
        let error = ask(&model(&server, OPUS), ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!(error.kind, kind);
        assert!(error.message.contains("Too much"), "{error}");
    }
}

#[tokio::test]
async fn half_a_reply_is_none() {
    let most = || rich().into_iter().take(rich().len() - 1);
    for answer in [Answer::typed_events(most()), Answer::typed_events(most()).cut()] {
        let server = Server::start([answer]).await;
        let model = model(&server, OPUS);
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.kind, error.category()), (ModelErrorKind::Interrupted, Category::Transient));
        let deltas = pieces(&model, ModelRequest::new("Hi")).await;
        assert!(!deltas.iter().any(|delta| matches!(delta, Ok(ReplyDelta::Finished { .. }))));
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_shown_in_part() {
    let nonsense = format!("data: {{\"type\": {}\n\n", "x".repeat(1_000));
    let server = Server::start([Answer::new(200, "text/event-stream", vec![nonsense])]).await;
    let error = ask(&model(&server, OPUS), ModelRequest::new("Hi")).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Malformed);
    assert!(error.message.contains("{\"type\": xxx") && error.message.len() < 300, "{error}");
}

#[tokio::test]
async fn silence_ends_in_time() {
    let mut begun = rich();
    begun.truncate(5);
    for (answer, words) in [
        (Answer::typed_events([]).hang(), "nothing came within"),
        (Answer::typed_events(begun).hang(), "stopped for"),
    ] {
        let server = Server::start([answer]).await;
        let limit = Duration::from_millis(300);
        let settings = settings(&server).time_limits(TimeLimits { first_token: limit, idle: limit });
        let model = ProviderModel::new(OPUS, settings).unwrap();
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert_eq!((error.kind, error.category()), (ModelErrorKind::TimedOut, Category::Transient));
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test]
async fn the_key_is_shown_nowhere() {
    let said = format!("{KEY} is no good");
    let refused = json!({"type": "error", "error": {"type": "authentication_error", "message": said}});
    let broken = Answer::new(200, "text/event-stream", vec![format!("data: {KEY}\n\n")]);
    let server =
        Server::start([Answer::json(401, refused.clone()), Answer::typed_events([refused]), broken]).await;
    let model = model(&server, OPUS);
    for _ in 0..3 {
        let error = ask(&model, ModelRequest::new("Hi")).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(KEY), "{error}");
    }
    assert!(!format!("{model:?} {:?}", settings(&server)).contains(KEY));
    assert_eq!(model.name(), "anthropic/claude-opus-5");
}
