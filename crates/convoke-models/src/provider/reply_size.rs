//! Limits the size of replies: a server that never ends one must not fill the memory and the journal.

use convoke_core::{ModelError, ModelErrorKind, ReplyDelta};

/// How many bytes may come in for each one of the answer. A word comes in some hundred bytes of JSON.
const WRAPPING: usize = 64;

/// How many bytes a token may have on the average before nobody can have counted them.
const MOST_OF_TOKEN: usize = 64;

/// How much may come besides, whatever the request allows: a short reply says little about the average.
const SLACK: usize = 16 * 1024;

/// A reply with more calls is no request to make them, and telling them apart takes longer with each.
pub(super) const MOST_CALLS: usize = 1_024;

/// Counts what comes in.
#[derive(Debug)]
pub(super) struct ReplySize {
    /// Bytes of the answer, or of what came without any of it.
    bytes: usize,
    /// Bytes that came in since the last of the answer.
    received: usize,
    most: usize,
    /// Bytes of text and of arguments. Thoughts are not among them: what servers allow those is their affair.
    written: usize,
    /// How many tokens were asked for at most.
    asked: Option<u32>,
    calls: usize,
}

impl ReplySize {
    /// Not more than so many bytes, and not far more than so many tokens.
    pub(super) fn limited_to(most: usize, tokens: Option<u32>) -> Self {
        Self { bytes: 0, received: 0, most, written: 0, asked: tokens, calls: 0 }
    }

    /// So many bytes came in.
    pub(super) fn receive(&mut self, bytes: usize) {
        self.received = self.received.saturating_add(bytes);
    }

    /// So much of the answer was in what came in. Where nothing was, all of it counts.
    ///
    /// # Errors
    /// [`Malformed`](ModelErrorKind::Malformed) once there is more than may come: asking again would bring the same.
    pub(super) fn add(&mut self, answer: usize) -> Result<(), ModelError> {
        if answer > 0 {
            let received = std::mem::take(&mut self.received);
            self.bytes = self.bytes.saturating_add(answer.max(received / WRAPPING));
        }
        if self.bytes.saturating_add(self.received) <= self.most {
            return Ok(());
        }
        Err(too_much(format!(
            "the reply is longer than {} MiB, the most that is taken, and was stopped; limit it with max_tokens, or raise \
             services.NAME.max_reply_mib in convoke.toml",
            self.most / MIB
        )))
    }

    /// This piece was in what came in.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub(super) fn add_piece(&mut self, piece: &ReplyDelta) -> Result<(), ModelError> {
        match piece {
            ReplyDelta::ToolCallStarted { .. } => self.calls += 1,
            ReplyDelta::Text(text) | ReplyDelta::ToolCallArguments { delta: text, .. } => {
                self.written = self.written.saturating_add(text.len());
            }
            _ => {}
        }
        if self.has_too_many_calls() {
            return Err(too_much(format!(
                "the reply has more than {MOST_CALLS} tool calls, and was stopped"
            )));
        }
        let Some(asked) = self.asked else { return Ok(()) };
        let most = usize::try_from(asked).unwrap_or(usize::MAX).saturating_mul(MOST_OF_TOKEN);
        if self.written <= most.saturating_add(SLACK) {
            return Ok(());
        }
        Err(too_much(format!(
            "at most {asked} tokens were asked for, and {} KiB of text came: the server does not heed that limit, and the \
             reply was stopped",
            self.written >> 10
        )))
    }

    /// Whether more calls came than anybody makes.
    pub(super) fn has_too_many_calls(&self) -> bool {
        self.calls > MOST_CALLS
    }
}

fn too_much(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, message)
}

/// How much of an answer there is in a piece.
pub(super) fn length(piece: &ReplyDelta) -> usize {
    match piece {
        ReplyDelta::Text(text) | ReplyDelta::Reasoning(text) | ReplyDelta::ReasoningSignature(text) => {
            text.len()
        }
        ReplyDelta::ToolCallStarted { id, name, .. } => id.len() + name.len(),
        ReplyDelta::ToolCallArguments { delta, .. } => delta.len(),
        _ => 0,
    }
}

/// Bytes in a mebibyte.
pub(super) const MIB: usize = 1024 * 1024;
