//! Shared helpers of the tests against a real model.
#![allow(dead_code, reason = "each test file uses its own part")]

use convoke_core::{
    CallContext, IdempotencyKey, Message, Model, ModelError, ModelReply, ModelRequest, Path, ReplyBuilder,
    ReplyDelta, RunId, ToolDefinition,
};
use convoke_local::{LocalModel, LocalSettings};
use futures_util::StreamExt;
use serde_json::json;

/// Names the file of the model to test with: any small one that was trained on instructions.
pub(crate) const MODEL: &str = "CONVOKE_TEST_MODEL";

/// The file of the model to test with.
#[expect(clippy::print_stderr, reason = "whoever runs the tests must see that they did not run")]
pub(crate) fn file() -> Option<std::path::PathBuf> {
    let path = std::env::var_os(MODEL).map(Into::into);
    if path.is_none() {
        eprintln!(
            "SKIPPED: set {MODEL} to the path of a small GGUF model (SmolLM2-135M-Instruct) to run this test"
        );
    }
    path
}

/// Settings that leave the machine to others.
pub(crate) fn settings() -> LocalSettings {
    LocalSettings::default().threads(1).context_tokens(1024).parallel(2)
}

pub(crate) async fn open() -> Option<LocalModel> {
    open_with(settings()).await
}

pub(crate) async fn open_with(settings: LocalSettings) -> Option<LocalModel> {
    Some(LocalModel::open(file()?, settings).await.expect("the model opens"))
}

pub(crate) fn context() -> CallContext {
    let run: RunId = "test".parse().expect("a valid id");
    CallContext { key: IdempotencyKey::derive(&run, &Path::from("main"), 0) }
}

/// The pieces of a reply, up to its end or first error.
pub(crate) async fn pieces(model: &LocalModel, request: ModelRequest) -> Result<Vec<ReplyDelta>, ModelError> {
    model.reply(request, context()).collect::<Vec<_>>().await.into_iter().collect()
}

/// The whole reply.
pub(crate) async fn ask(model: &LocalModel, request: ModelRequest) -> Result<ModelReply, ModelError> {
    let mut builder = ReplyBuilder::new(model.name(), "1");
    for piece in pieces(model, request).await? {
        builder.add(&piece);
    }
    builder.finish()
}

/// A question with an answer of a few tokens, always the likeliest ones.
pub(crate) fn question(text: &str) -> ModelRequest {
    let system = Message::system("You are a helpful assistant. Answer in one short sentence.");
    let mut request = ModelRequest::new(vec![system, Message::user(text)]);
    request.params = request.params.temperature(0.0).max_tokens(24);
    request
}

pub(crate) fn weather() -> ToolDefinition {
    ToolDefinition {
        name: "get_weather".into(),
        description: "Tells the weather in a city.".into(),
        parameters: json!({
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 20}},
            "required": ["city"],
            "additionalProperties": false,
        }),
    }
}

pub(crate) fn addition() -> ToolDefinition {
    let number = json!({"type": "integer", "minimum": 0, "maximum": 1000});
    ToolDefinition {
        name: "add".into(),
        description: "Adds two numbers.".into(),
        parameters: json!({
            "type": "object",
            "properties": {"a": number, "b": number},
            "required": ["a", "b"],
            "additionalProperties": false,
        }),
    }
}
