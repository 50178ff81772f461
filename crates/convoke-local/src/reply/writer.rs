//! Assembles a reply: bytes in, deltas out.

use convoke_core::ReplyDelta;

use super::ToolCallReader;
use super::text::{Characters, StopWords};

/// Makes a reply out of tokens: whole characters, text told from tool calls, nothing after a stop word.
#[derive(Debug, Default)]
pub(crate) struct ReplyWriter {
    characters: Characters,
    calls: ToolCallReader,
    stop: StopWords,
}

impl ReplyWriter {
    /// A reply that may call these tools, and ends before the first stop word in its text.
    pub(crate) fn new(tools: impl IntoIterator<Item = String>, stop: Vec<String>) -> Self {
        Self {
            characters: Characters::default(),
            calls: ToolCallReader::new(tools),
            stop: StopWords::new(stop),
        }
    }

    /// Takes a token's bytes and gives what is certain by now.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Vec<ReplyDelta> {
        let text = self.characters.push(bytes);
        let deltas = self.calls.read(&text);
        self.up_to_stop_word(deltas)
    }

    /// Whether a stop word ended it.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.found()
    }

    /// Whether it calls tools.
    pub(crate) fn calls_tools(&self) -> bool {
        self.calls.calls() > 0
    }

    /// The end: gives what was held back.
    pub(crate) fn finish(mut self) -> Vec<ReplyDelta> {
        let text = self.characters.finish();
        let mut deltas = self.calls.read(&text);
        deltas.extend(std::mem::take(&mut self.calls).finish());
        let mut deltas = self.up_to_stop_word(deltas);
        give(&mut deltas, self.stop.finish());
        deltas
    }

    /// Drops what comes after a stop word. Text before a call is given out before it, whatever it might have become.
    fn up_to_stop_word(&mut self, deltas: Vec<ReplyDelta>) -> Vec<ReplyDelta> {
        let mut kept = Vec::with_capacity(deltas.len());
        for delta in deltas {
            match delta {
                ReplyDelta::Text(text) => give(&mut kept, self.stop.push(text)),
                _ if self.stop.found() => {}
                call => {
                    give(&mut kept, self.stop.finish());
                    kept.push(call);
                }
            }
        }
        kept
    }
}

/// Adds text to what is given out, in one piece with the text before it.
fn give(deltas: &mut Vec<ReplyDelta>, text: String) {
    match deltas.last_mut() {
        _ if text.is_empty() => {}
        Some(ReplyDelta::Text(before)) => before.push_str(&text),
        _ => deltas.push(ReplyDelta::Text(text)),
    }
}
