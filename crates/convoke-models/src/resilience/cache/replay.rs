//! Replays a cached reply as deltas.

use convoke_core::{ModelReply, Part, ReplyDelta};
use serde_json::Value;

/// The pieces of this reply, but for its usage. `name` is the model that was asked; another may have answered.
pub(super) fn pieces(reply: ModelReply, name: &str) -> Vec<ReplyDelta> {
    let mut pieces = Vec::new();
    if reply.model != name {
        let reason = "a reply that was kept".to_owned();
        pieces.push(ReplyDelta::Restarted { model: reply.model, reason });
    }
    let mut index = 0;
    for part in reply.message.parts {
        match part {
            Part::Text { text } => pieces.push(ReplyDelta::Text(text)),
            Part::Reasoning { text, signature } => {
                pieces.push(ReplyDelta::Reasoning(text));
                pieces.extend(signature.map(ReplyDelta::ReasoningSignature));
            }
            Part::ToolCall(call) => {
                // Text that was meant to be JSON comes as it came.
                let delta = match call.arguments {
                    Value::String(raw) => raw,
                    json => json.to_string(),
                };
                pieces.push(ReplyDelta::ToolCallStarted { index, id: call.id, name: call.name });
                pieces.push(ReplyDelta::ToolCallArguments { index, delta });
                index += 1;
            }
            // Replies have no other parts.
            _ => {}
        }
    }
    pieces.push(ReplyDelta::Finished { reason: reply.finish, request_id: reply.request_id });
    pieces
}
