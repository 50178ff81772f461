//! Limits the size of replies: a server that never ends one must not fill the memory and the journal.

use convoke_core::{ModelError, ModelErrorKind, ReplyDelta};

/// How many bytes may come in for each one of the answer. A word comes in some hundred bytes of JSON.
const WRAPPING: usize = 64;

/// Counts what comes in.
#[derive(Debug)]
pub(super) struct ReplySize {
    /// Bytes of the answer, or of what came without any of it.
    bytes: usize,
    /// Bytes that came in since the last of the answer.
    received: usize,
    most: usize,
}

impl ReplySize {
    pub(super) fn limited_to(most: usize) -> Self {
        Self { bytes: 0, received: 0, most }
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
        let message = format!(
            "the reply is longer than {} MiB, the most that is taken, and was stopped; limit it with max_tokens, or raise \
             services.NAME.max_reply_mib in convoke.toml",
            self.most / MIB
        );
        Err(ModelError::new(ModelErrorKind::Malformed, message))
    }
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
