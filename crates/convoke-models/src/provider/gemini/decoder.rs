//! Decodes a reply out of its frames.

use std::collections::VecDeque;

use convoke_core::{FinishReason, ModelError, ModelErrorKind, ReplyDelta, Usage};
use serde_json::Value;

use super::super::{Decoder, excerpt};
use super::fault;
use super::signature::Mark;
use crate::http::Frame;

/// How much of a frame that makes no sense is shown.
const SHOWN: usize = 120;

/// The reply so far.
#[derive(Debug, Default)]
pub(super) struct GeminiDecoder {
    /// Where this reply comes from, for its signatures.
    origin: String,
    calls: usize,
    /// Whether the last part was a signed text, to which no other text may be joined.
    after_signed_text: bool,
    usage: Usage,
    /// Why the model stopped. Old models say so in every frame, so only the body's end is the end.
    finish: Option<FinishReason>,
    response_id: Option<String>,
}

impl Decoder for GeminiDecoder {
    fn frame(&mut self, frame: &Frame, pieces: &mut VecDeque<ReplyDelta>) -> Result<(), ModelError> {
        match serde_json::from_str::<Value>(&frame.data) {
            // Not streamed, or streamed as an array rather than as events.
            Ok(Value::Array(chunks)) => chunks.iter().try_for_each(|chunk| self.chunk(chunk, pieces)),
            Ok(chunk @ Value::Object(_)) => self.chunk(&chunk, pieces),
            Ok(_) => Err(senseless("is not an object", &frame.data)),
            // Gateways that speak several protocols end all of them so.
            Err(_) if frame.data.trim() == "[DONE]" => Ok(()),
            Err(error) => Err(senseless(&format!("is not JSON ({error})"), &frame.data)),
        }
    }

    fn end(&mut self, pieces: &mut VecDeque<ReplyDelta>) -> Result<(), ModelError> {
        let Some(finish) = self.finish.take() else { return Ok(()) };
        // Gemini says that it stopped also when it wants tools called.
        let wants_calls = finish == FinishReason::Stop && self.calls > 0;
        let reason = if wants_calls { FinishReason::ToolCalls } else { finish };
        pieces.push_back(ReplyDelta::Finished { reason, request_id: self.response_id.take() });
        Ok(())
    }
}

impl GeminiDecoder {
    pub(super) fn new(origin: &str) -> Self {
        Self { origin: origin.to_owned(), ..Self::default() }
    }

    fn chunk(&mut self, chunk: &Value, pieces: &mut VecDeque<ReplyDelta>) -> Result<(), ModelError> {
        if let Some(error) = chunk.get("error") {
            return Err(fault::of(500, error));
        }
        if let Some(reason) = chunk["promptFeedback"]["blockReason"].as_str() {
            self.count(chunk, pieces);
            let said = chunk["promptFeedback"]["blockReasonMessage"].as_str().unwrap_or_default();
            return Err(ModelError::new(
                ModelErrorKind::Refused,
                format!("the prompt was blocked ({reason}) {said}").trim_end().to_owned() + "; rephrase it",
            ));
        }
        if let Some(id) = chunk["responseId"].as_str() {
            self.response_id = Some(id.to_owned());
        }
        // Only one candidate is ever asked for.
        let candidate = &chunk["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.part(part, pieces);
        }
        self.count(chunk, pieces);
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.finish = Some(finish(reason, candidate["finishMessage"].as_str().unwrap_or_default())?);
        }
        Ok(())
    }

    /// What was used so far.
    fn count(&mut self, chunk: &Value, pieces: &mut VecDeque<ReplyDelta>) {
        if let Some(metadata) = chunk.get("usageMetadata") {
            let usage = usage(metadata);
            if usage != self.usage {
                self.usage = usage;
                pieces.push_back(ReplyDelta::Usage(usage));
            }
        }
    }

    /// A part. Kinds that a request of ours does not bring about (pictures, code Gemini runs itself) are passed over.
    fn part(&mut self, part: &Value, pieces: &mut VecDeque<ReplyDelta>) {
        let signature = part["thoughtSignature"].as_str().filter(|signature| !signature.is_empty());
        let text = part["text"].as_str().unwrap_or_default();
        let origin = self.origin.clone();
        let mark = |mark: Mark<'_>| ReplyDelta::ReasoningSignature(mark.written(&origin));
        if let Some(call) = part.get("functionCall") {
            self.after_signed_text = false;
            pieces.extend(signature.map(|signature| mark(Mark::Next(signature))));
            self.call(call, pieces);
        } else if part["thought"] == true {
            self.after_signed_text = false;
            pieces.extend((!text.is_empty()).then(|| ReplyDelta::Reasoning(text.to_owned())));
            pieces.extend(signature.map(|signature| mark(Mark::Thought(signature))));
        } else if !text.is_empty() {
            match signature {
                Some(signature) => pieces.push_back(mark(Mark::Next(signature))),
                None if self.after_signed_text => pieces.push_back(mark(Mark::Apart)),
                None => {}
            }
            pieces.push_back(ReplyDelta::Text(text.to_owned()));
            self.after_signed_text = signature.is_some();
        } else if let Some(signature) = signature {
            self.after_signed_text = false;
            pieces.push_back(mark(Mark::Alone(signature)));
        }
    }

    /// Calls come whole.
    fn call(&mut self, call: &Value, pieces: &mut VecDeque<ReplyDelta>) {
        let text = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
        let index = self.calls;
        self.calls += 1;
        pieces.push_back(ReplyDelta::ToolCallStarted { index, id: text("id"), name: text("name") });
        let delta = call.get("args").map_or_else(|| "{}".to_owned(), Value::to_string);
        pieces.push_back(ReplyDelta::ToolCallArguments { index, delta });
    }
}

/// Gemini counts thoughts beside the output, and what its own tools read beside the prompt; cached tokens within it.
fn usage(metadata: &Value) -> Usage {
    let count = |name: &str| metadata[name].as_u64().unwrap_or_default();
    let thoughts = count("thoughtsTokenCount");
    Usage {
        input_tokens: count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount")),
        output_tokens: count("candidatesTokenCount").saturating_add(thoughts),
        cached_input_tokens: count("cachedContentTokenCount"),
        reasoning_tokens: thoughts,
        ..Usage::default()
    }
}

fn finish(reason: &str, said: &str) -> Result<FinishReason, ModelError> {
    let failed = |kind, what: &str| {
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        Err(ModelError::new(kind, format!("{what} ({reason}){said}")))
    };
    match reason {
        // The second is what servers that only speak like Gemini say.
        "STOP" | "FUNCTION_CALL" => Ok(FinishReason::Stop),
        "MAX_TOKENS" => Ok(FinishReason::Length),
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Ok(FinishReason::ContentFilter),
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" | "MALFORMED_RESPONSE" => {
            failed(ModelErrorKind::Malformed, "the model called tools in a way that makes no sense")
        }
        "MISSING_THOUGHT_SIGNATURE" => {
            failed(ModelErrorKind::InvalidRequest, "the conversation lacks a signature of the model's")
        }
        _ => failed(ModelErrorKind::Other, "the reply was broken off"),
    }
}

fn senseless(what: &str, data: &str) -> ModelError {
    let message = format!("a piece of the reply {what}: {}", excerpt(data, SHOWN));
    ModelError::new(ModelErrorKind::Malformed, message)
}
