//! Every protocol against `@copilotkit/aimock`: text, tools, shapes, thoughts and faults.

use std::process::Command;

use convoke_core::{
    FinishReason, Message, ModelErrorKind, ModelRequest, OutputSchema, Part, ReplyDelta, ToolDefinition,
    ToolResult, Transcript,
};
use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
use serde_json::json;

use super::process::{Running, place};
use crate::server::{ask, pieces};

/// The protocols and where the server speaks them.
const PROTOCOLS: [(Provider, &str, &str); 5] = [
    (Provider::Anthropic, "", "claude-sonnet-4-5"),
    (Provider::OpenAi, "/v1", "gpt-5-mini"),
    (Provider::OpenAiCompatible, "/v1", "some-model"),
    (Provider::Gemini, "/v1beta", "gemini-2.5-flash"),
    (Provider::Ollama, "", "qwen3"),
];

fn aimock() -> Option<Running> {
    let place = place()?;
    let answers = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/counterparts/answers.json");
    Some(Running::start(|port| {
        // The one that was installed with it: that of the system may be too old.
        let mut command = Command::new(place.join("node_modules/.bin/node"));
        command.arg(place.join("node_modules/.bin/llmock"));
        command.args(["-p", &port.to_string(), "-f", answers, "--strict", "--chunk-size", "7"]);
        command
    }))
}

fn models(server: &Running) -> impl Iterator<Item = (Provider, ProviderModel)> {
    PROTOCOLS.into_iter().map(|(provider, path, model)| {
        let settings = ProviderSettings::new(provider)
            .base_url(format!("{}{path}", server.url()))
            .key(ApiKey::new("sk-counterparts"));
        (provider, ProviderModel::new(model, settings).unwrap())
    })
}

fn weather() -> ToolDefinition {
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": false,
    });
    ToolDefinition { name: "weather".into(), description: "Tells the weather.".into(), parameters: schema }
}

#[tokio::test]
async fn text_comes_in_pieces_that_make_the_whole() {
    let Some(server) = aimock() else { return };
    for (provider, model) in models(&server) {
        let pieces = pieces(&model, ModelRequest::new("hello")).await;
        let texts: Vec<String> = pieces
            .into_iter()
            .filter_map(|piece| match piece.unwrap_or_else(|error| panic!("{provider:?}: {error}")) {
                ReplyDelta::Text(text) => Some(text),
                _ => None,
            })
            .collect();
        assert!(texts.len() > 2, "{provider:?}: {texts:?}");
        assert_eq!(texts.concat(), "Hello from the other side, in several pieces.", "{provider:?}");
        let reply = ask(&model, ModelRequest::new("hello")).await.unwrap();
        assert_eq!(reply.finish, FinishReason::Stop, "{provider:?}");
        // The server counts for this protocol alone.
        let is_counted = provider == Provider::OpenAiCompatible;
        assert!(!is_counted || reply.usage.total_tokens() > 0, "{provider:?}: {:?}", reply.usage);
    }
}

#[tokio::test]
async fn two_tools_are_called_and_their_results_are_understood() {
    let Some(server) = aimock() else { return };
    for (provider, model) in models(&server) {
        let mut request = ModelRequest::new("How is the weather?");
        request.tools = vec![weather()];
        let reply =
            ask(&model, request.clone()).await.unwrap_or_else(|error| panic!("{provider:?}: {error}"));
        let calls = reply.tool_calls();
        let cities: Vec<_> = calls.iter().map(|call| call.arguments["city"].as_str().unwrap()).collect();
        assert_eq!(cities, ["Oslo", "Bergen"], "{provider:?}");
        assert_eq!(reply.finish, FinishReason::ToolCalls, "{provider:?}");
        assert_ne!(calls[0].id, calls[1].id, "{provider:?}");
        let results = calls.iter().map(|call| ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: "21 degrees".into(),
            is_error: false,
        });
        request.messages.push(reply.message.clone());
        request.messages.push(Message::tool_results(results));
        let reply = ask(&model, request).await.unwrap_or_else(|error| panic!("{provider:?}: {error}"));
        assert_eq!(reply.text(), "It is 21 degrees in Oslo.", "{provider:?}");
    }
}

#[tokio::test]
async fn an_answer_has_the_shape_it_was_asked_for() {
    let Some(server) = aimock() else { return };
    for (provider, model) in models(&server) {
        let mut request = ModelRequest::new("Give me a shape.");
        let schema = weather().parameters;
        request.output = Some(OutputSchema { name: "place".into(), description: String::new(), schema });
        let reply = ask(&model, request).await.unwrap_or_else(|error| panic!("{provider:?}: {error}"));
        let value: serde_json::Value = serde_json::from_str(&reply.text()).unwrap();
        assert_eq!(value["city"], "Oslo", "{provider:?}");
    }
}

#[tokio::test]
async fn thoughts_are_kept_apart_from_words() {
    let Some(server) = aimock() else { return };
    // As Ollama, the server has no thoughts.
    for (provider, model) in models(&server).filter(|(provider, _)| *provider != Provider::Ollama) {
        let reply = ask(&model, ModelRequest::new("think")).await.unwrap();
        assert_eq!(reply.text(), "thought through", "{provider:?}");
        let thought = reply.message.parts.iter().find_map(|part| match part {
            Part::Reasoning { text, .. } => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(thought, Some("let me see"), "{provider:?}");
        // And go back with the next turn.
        let mut talk = Transcript::from("think");
        talk.push(reply.message);
        talk.push(Message::user("hello again"));
        assert!(ask(&model, ModelRequest::new(talk)).await.is_ok(), "{provider:?}");
    }
}

#[tokio::test]
async fn refusals_are_typed_and_a_reply_that_is_cut_off_is_no_reply() {
    let Some(server) = aimock() else { return };
    for (provider, model) in models(&server) {
        let kind =
            async |words: &str| ask(&model, ModelRequest::new(words)).await.map_err(|error| error.kind);
        assert_eq!(kind("too many").await, Err(ModelErrorKind::RateLimited), "{provider:?}");
        assert_eq!(kind("broken").await, Err(ModelErrorKind::Overloaded), "{provider:?}");
        assert_eq!(kind("cut").await, Err(ModelErrorKind::Interrupted), "{provider:?}");
    }
}
