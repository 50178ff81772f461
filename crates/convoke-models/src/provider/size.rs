//! A bound on replies: a server that never ends one must not fill the memory and the journal.

use convoke_core::{ModelError, ModelErrorKind, ReplyDelta};

/// Counts what comes in.
#[derive(Debug)]
pub(super) struct Size {
    bytes: usize,
    most: usize,
}

impl Size {
    pub(super) fn limited_to(most: usize) -> Self {
        Self { bytes: 0, most }
    }

    /// Adds a piece.
    ///
    /// # Errors
    /// [`Malformed`](ModelErrorKind::Malformed) once there is more than may come: asking again would bring the same.
    pub(super) fn add(&mut self, piece: &ReplyDelta) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(match piece {
            ReplyDelta::Text(text) | ReplyDelta::Reasoning(text) | ReplyDelta::ReasoningSignature(text) => {
                text.len()
            }
            ReplyDelta::ToolCallStarted { id, name, .. } => id.len() + name.len(),
            ReplyDelta::ToolCallArguments { delta, .. } => delta.len(),
            _ => 0,
        });
        if self.bytes <= self.most {
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

/// Bytes in a mebibyte.
pub(super) const MIB: usize = 1024 * 1024;
