//! The same requests as the official clients send them and as we do: the servers must not be able to tell.

use std::process::Command;

use convoke_core::{
    Media, MediaSource, Message, ModelParams, ModelRequest, Part, Role, ToolCall, ToolChoice, ToolDefinition,
    ToolResult, Transcript,
};
use convoke_models::provider::PromptCache;
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use serde_json::{Value, json};

use super::process::place;
use crate::server::{Answer, Server, pieces};

const PIXEL: &str = "AAECAwQFBgcICQ==";

/// The requests that `official.py` makes, in its order.
fn requests(provider: Provider) -> [ModelRequest; 3] {
    let mut short = ModelParams::default();
    short.max_tokens = Some(100);
    let mut plain = ModelRequest::new(vec![Message::system("Be brief."), Message::user("Hello")]);
    plain.params = short.clone();
    if provider != Provider::Anthropic {
        // Its client has no such setting any more.
        plain.params.temperature = Some(0.5);
    }
    if provider != Provider::OpenAi {
        // Responses knows no stop words.
        plain.params.stop = vec!["END".into()];
    }
    let call = |id: &str, city: &str| {
        Part::ToolCall(ToolCall { id: id.into(), name: "weather".into(), arguments: json!({"city": city}) })
    };
    let result = |id: &str, content: &str, is_error| ToolResult {
        call_id: id.into(),
        name: "weather".into(),
        content: content.into(),
        is_error,
    };
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": false,
    });
    let tools = ModelRequest {
        tools: vec![ToolDefinition {
            name: "weather".into(),
            description: "Tells the weather.".into(),
            parameters: schema,
        }],
        tool_choice: ToolChoice::Required,
        params: short.clone(),
        ..ModelRequest::new(vec![
            Message::user("Weather?"),
            Message { role: Role::Assistant, parts: vec![call("c1", "Oslo"), call("c2", "Bergen")] },
            Message::tool_results([result("c1", "sunny", false), result("c2", "no such city", true)]),
        ])
    };
    let image =
        Media { media_type: "image/png".into(), name: None, source: MediaSource::Base64(PIXEL.into()) };
    let picture = ModelRequest {
        params: short,
        ..ModelRequest::new(Transcript::from(Message::user("What is this?").with(Part::Image(image))))
    };
    [plain, tools, picture]
}

/// What only one side says, and why that is all right.
fn without_liberties(mut body: Value) -> Value {
    if let Some(body) = body.as_object_mut() {
        // Ours asks for what it needs to carry thoughts from turn to turn.
        body.remove("include");
        body.remove("reasoning");
        // The default.
        body.remove("parallel_tool_calls");
    }
    normalised(body)
}

/// Text alone may be a string or a list of one part; null may be left out.
fn normalised(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            // An item of a conversation is a message unless it says otherwise.
            let is_said =
                |key: &str, member: &Value| !member.is_null() && (key, member) != ("type", &json!("message"));
            let members = members.into_iter().filter(|(key, member)| is_said(key, member));
            let members = members.map(|(key, member)| {
                let member = match (key.as_str(), member) {
                    ("content", Value::String(text)) => json!([{"type": "text", "text": text}]),
                    // Arguments are JSON in a string; its blanks do not matter.
                    ("arguments", Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::Null),
                    (_, member) => normalised(member),
                };
                (camel(&key), member)
            });
            Value::Object(members.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(normalised).collect()),
        other => other,
    }
}

/// Google's servers take either form of a name, and its client mixes them.
fn camel(key: &str) -> String {
    match key {
        "mime_type" => "mimeType".to_owned(),
        "parameters_json_schema" => "parametersJsonSchema".to_owned(),
        other => other.to_owned(),
    }
}

async fn agree(provider: Provider, name: &'static str, path: &str, official_path: &str) {
    let Some(place) = place() else { return };
    let refusal = || Answer::json(400, json!({"error": {"message": "written down"}}));
    let official = Server::start([refusal()]).await;
    let url = format!("{}{official_path}", official.url);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/counterparts/official.py");
    let status = tokio::task::spawn_blocking(move || {
        Command::new(place.join("python/bin/python")).args([script, name, &url]).status()
    });
    assert!(status.await.unwrap().unwrap().success());

    let ours = Server::start([refusal()]).await;
    let mut settings =
        ProviderSettings::new(provider).base_url(format!("{}{path}", ours.url)).key(ApiKey::new("x"));
    settings.prompt_cache = PromptCache::Off;
    let model = if provider == Provider::Gemini { "gemini-2.5-flash" } else { "m" };
    let model = ProviderModel::new(model, settings).unwrap();
    for request in requests(provider) {
        assert!(pieces(&model, request).await.iter().any(Result::is_err));
    }

    let (official, ours) = (official.asked(), ours.asked());
    assert_eq!(official.len(), 3, "the official client did not get through: {official:?}");
    for (theirs, ours) in official.into_iter().zip(ours) {
        assert_eq!(theirs.path, ours.path, "{provider:?}");
        let (theirs, ours) = (without_liberties(theirs.body), without_liberties(ours.body));
        assert_eq!(ours, theirs, "{provider:?}: ours is on the left");
    }
}

#[tokio::test]
async fn anthropic() {
    agree(Provider::Anthropic, "anthropic", "", "").await;
}

#[tokio::test]
async fn openai() {
    agree(Provider::OpenAi, "openai", "/v1", "/v1").await;
}

#[tokio::test]
async fn compatible() {
    agree(Provider::OpenAiCompatible, "compatible", "/v1", "/v1").await;
}

#[tokio::test]
async fn gemini() {
    agree(Provider::Gemini, "gemini", "/v1beta", "").await;
}
