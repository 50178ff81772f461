//! Decodes a reply, line by line.

use std::collections::VecDeque;

use convoke_core::{FinishReason, ModelError, ModelErrorKind, ReplyDelta, Usage};
use serde_json::Value;

use super::error;
use super::thoughts::Mark;
use crate::http::Frame;
use crate::provider::Decoder;
use crate::provider::json::{object, parse};

/// Reads one reply.
#[derive(Debug)]
pub(super) struct OllamaDecoder {
    mark: Mark,
    /// Whether a thought is being told.
    thinks: bool,
    /// How many calls there are.
    calls: usize,
    finished: bool,
}

impl Decoder for OllamaDecoder {
    fn frame(&mut self, frame: &Frame, pieces: &mut VecDeque<ReplyDelta>) -> Result<(), ModelError> {
        if self.finished {
            return Ok(());
        }
        let line = parse(&frame.data)?;
        if let Some(error) = line.get("error") {
            return Err(error::read(&line, None)
                .unwrap_or_else(|| ModelError::new(ModelErrorKind::Other, error.to_string())));
        }
        let message = &line["message"];
        let text = |name: &str| message[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        if let Some(thought) = text("thinking") {
            self.thinks = true;
            pieces.push_back(ReplyDelta::Reasoning(thought));
        }
        if let Some(words) = text("content") {
            self.close(pieces);
            pieces.push_back(ReplyDelta::Text(words));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            self.call(call, pieces);
        }
        if line["done"] == true {
            self.finish(&line, pieces);
        }
        Ok(())
    }
}

impl OllamaDecoder {
    pub(super) fn new(mark: Mark) -> Self {
        Self { mark, thinks: false, calls: 0, finished: false }
    }

    /// The thought is over.
    fn close(&mut self, pieces: &mut VecDeque<ReplyDelta>) {
        if std::mem::take(&mut self.thinks) {
            pieces.push_back(ReplyDelta::ReasoningSignature(self.mark.signature()));
        }
    }

    /// A call; it comes whole.
    fn call(&mut self, call: &Value, pieces: &mut VecDeque<ReplyDelta>) {
        self.close(pieces);
        let index = self.calls;
        self.calls += 1;
        let owned = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, name) = (owned(&call["id"]), owned(&call["function"]["name"]));
        pieces.push_back(ReplyDelta::ToolCallStarted { index, id, name });
        // Some models behind it write text where an object belongs.
        let arguments = &call["function"]["arguments"];
        let delta = arguments.as_str().map_or_else(|| object(arguments).to_string(), str::to_owned);
        pieces.push_back(ReplyDelta::ToolCallArguments { index, delta });
    }

    fn finish(&mut self, line: &Value, pieces: &mut VecDeque<ReplyDelta>) {
        self.finished = true;
        self.close(pieces);
        let count = |name: &str| line[name].as_u64().unwrap_or_default();
        pieces.push_back(ReplyDelta::Usage(Usage {
            cached_input_tokens: count("prompt_eval_cached_count"),
            ..Usage::tokens(count("prompt_eval_count"), count("eval_count"))
        }));
        let reason = match line["done_reason"].as_str() {
            Some("length") => FinishReason::Length,
            _ if self.calls > 0 => FinishReason::ToolCalls,
            _ => FinishReason::Stop,
        };
        pieces.push_back(ReplyDelta::Finished { reason, request_id: None });
    }
}
