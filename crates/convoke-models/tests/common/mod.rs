//! Shared helpers: asking a scripted model, and parts of conversations.

use convoke_core::{
    CallContext, IdempotencyKey, Media, MediaSource, Model, ModelError, ModelRequest, Part, Path, ReplyDelta,
    RunId, ToolCall, ToolDefinition, ToolResult,
};
use convoke_models::ScriptedModel;
use futures_util::StreamExt;
use serde_json::json;

/// The context of the n-th call of one run.
pub(crate) fn context(ordinal: u32) -> CallContext {
    let run: RunId = "test".parse().unwrap();
    CallContext { key: IdempotencyKey::derive(&run, &Path::from("main"), ordinal) }
}

/// Everything the model streams in answer to a user who says `text`.
pub(crate) async fn deltas(model: &ScriptedModel, text: &str) -> Vec<Result<ReplyDelta, ModelError>> {
    model.reply(ModelRequest::new(text), context(1)).collect().await
}

/// A tool.
pub(crate) fn weather() -> ToolDefinition {
    ToolDefinition {
        name: "weather".into(),
        description: "Tells the weather.".into(),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    }
}

/// A call of it for a city.
pub(crate) fn call(id: &str, city: &str) -> Part {
    Part::ToolCall(ToolCall { id: id.into(), name: "weather".into(), arguments: json!({"city": city}) })
}

/// What it gave back.
pub(crate) fn result(id: &str, content: &str, is_error: bool) -> ToolResult {
    ToolResult { call_id: id.into(), name: "weather".into(), content: content.into(), is_error }
}

/// A picture or a document without a name.
pub(crate) fn media(media_type: &str, source: MediaSource) -> Media {
    Media { media_type: media_type.into(), name: None, source }
}
