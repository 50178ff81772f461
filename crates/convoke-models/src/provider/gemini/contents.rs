//! Translates messages into Gemini's contents.

use convoke_core::{Media, MediaSource, Message, ModelError, Part, Role, ToolCall, ToolResult, Transcript};
use serde_json::{Value, json};

use super::signature::Mark;
use super::thinking::Generation;
use crate::provider::json::invalid;

/// Stands for the signature of a call that Gemini did not make itself; models that check signatures take it.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Kinds of files Gemini reads: all of these families, and these besides.
const FAMILIES: [&str; 4] = ["image/", "audio/", "video/", "text/"];
const DOCUMENTS: [&str; 6] = [
    "application/pdf",
    "application/json",
    "application/xml",
    "application/rtf",
    "application/x-javascript",
    "application/x-python",
];

/// The parts of the system instruction, and the contents.
pub(super) fn write(
    generation: Generation,
    origin: &str,
    messages: &Transcript,
) -> Result<(Vec<Value>, Vec<Value>), ModelError> {
    let mut system = Vec::new();
    let mut contents: Vec<Value> = Vec::new();
    let mut before = None;
    for message in messages.iter() {
        let parts: Vec<Value> = match message.role {
            Role::Assistant => model_parts(generation, origin, message)?,
            _ => message.parts.iter().filter_map(|part| given(part).transpose()).collect::<Result<_, _>>()?,
        };
        if message.role == Role::System && contents.is_empty() {
            if parts.iter().any(|part| part.get("text").is_none()) {
                return Err(invalid(
                    "Gemini takes text only as instructions; move the rest to a user's message",
                ));
            }
            system.extend(parts);
            continue;
        }
        if parts.is_empty() {
            continue;
        }
        let joins = message.role == Role::Tool && before == Some(Role::Tool);
        match contents.last_mut().and_then(|content| content["parts"].as_array_mut()) {
            Some(together) if joins => together.extend(parts),
            _ => {
                let role = if message.role == Role::Assistant { "model" } else { "user" };
                contents.push(json!({ "role": role, "parts": parts }));
            }
        }
        before = Some(message.role);
    }
    Ok((system, contents))
}

/// What a part becomes, thoughts aside: they are nothing here, and so are empty texts, which Gemini refuses.
fn given(part: &Part) -> Result<Option<Value>, ModelError> {
    let part = match part {
        Part::Text { text } if text.is_empty() => return Ok(None),
        Part::Text { text } => json!({ "text": text }),
        Part::Image(media) | Part::File(media) => file(media)?,
        Part::ToolCall(call) => called(call),
        Part::ToolResult(result) => returned(result),
        Part::Reasoning { .. } => return Ok(None),
        _ => return Err(invalid("a message has a part of a kind that Gemini cannot be sent")),
    };
    Ok(Some(part))
}

/// What the model said, every signature on the part it came on. Those that came from elsewhere stay here.
fn model_parts(generation: Generation, origin: &str, message: &Message) -> Result<Vec<Value>, ModelError> {
    let mut parts = Vec::new();
    let mut pending: Option<&str> = None;
    let mut calls = 0;
    for part in &message.parts {
        if let Part::Reasoning { text, signature } = part {
            for mark in signature.iter().flat_map(|row| Mark::read(row, origin)) {
                match mark {
                    Mark::Thought(signature) => {
                        parts.push(json!({ "text": text, "thought": true, "thoughtSignature": signature }));
                    }
                    Mark::Next(signature) => pending = Some(signature),
                    Mark::Alone(signature) => {
                        parts.push(json!({ "text": "", "thoughtSignature": signature }))
                    }
                    Mark::Apart => {}
                }
            }
            continue;
        }
        let Some(mut written) = given(part)? else { continue };
        let is_call = matches!(part, Part::ToolCall(_));
        // Of parallel calls only the first is signed; calls that Gemini did not make have no signature.
        let must_be_signed = is_call && calls == 0 && generation == Generation::Level;
        if let Some(signature) = pending.take().or(must_be_signed.then_some(UNSIGNED)) {
            written["thoughtSignature"] = json!(signature);
        }
        calls += usize::from(is_call);
        parts.push(written);
    }
    if let Some(signature) = pending {
        parts.push(json!({ "text": "", "thoughtSignature": signature }));
    }
    Ok(parts)
}

fn called(call: &ToolCall) -> Value {
    // Arguments that are no object came out of a reply that was no JSON; Gemini takes objects only.
    let arguments = match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        other => json!({ "arguments": other }),
    };
    json!({ "functionCall": { "id": call.id, "name": call.name, "args": arguments } })
}

fn returned(result: &ToolResult) -> Value {
    let outcome = if result.is_error { "error" } else { "output" };
    json!({
        "functionResponse": {
            "id": result.call_id,
            "name": result.name,
            "response": { outcome: result.content },
        }
    })
}

fn file(media: &Media) -> Result<Value, ModelError> {
    let kind = media.media_type.as_str();
    if !FAMILIES.iter().any(|family| kind.starts_with(family)) && !DOCUMENTS.contains(&kind) {
        return Err(invalid(format!(
            "Gemini cannot read a file of the type {kind:?}{}; send it as PDF or text",
            media.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default()
        )));
    }
    match &media.source {
        MediaSource::Base64(data) => Ok(json!({ "inlineData": { "mimeType": kind, "data": data } })),
        MediaSource::Url(url) if ["https://", "http://", "gs://"].iter().any(|way| url.starts_with(way)) => {
            Ok(json!({ "fileData": { "mimeType": kind, "fileUri": url } }))
        }
        MediaSource::Url(_) => Err(invalid(
            "Gemini fetches files from https:// and gs:// addresses only; send the bytes as base64 instead",
        )),
    }
}
