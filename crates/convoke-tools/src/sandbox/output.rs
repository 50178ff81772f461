//! Captured output of a command: its beginning and its end, and how much there was.

use std::fmt;

/// What is kept of the beginning, and of the end.
const KEPT: usize = 16 << 10;
/// What is kept for a file, when it is more.
const STORED: usize = 8 << 20;

/// The captured output of a command.
#[derive(Debug, Default, Clone)]
pub struct CapturedOutput {
    stored: Vec<u8>,
    end: Vec<u8>,
    bytes: u64,
}

impl CapturedOutput {
    pub(super) fn take(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        let room = STORED.saturating_sub(self.stored.len());
        self.stored.extend_from_slice(&piece[..piece.len().min(room)]);
        self.end.extend_from_slice(piece);
        if self.end.len() > 4 * KEPT {
            self.end.drain(..self.end.len() - KEPT);
        }
    }

    /// Returns the number of bytes that were written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns whether it is too long to be shown as a whole.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.bytes > 2 * KEPT as u64
    }

    /// Returns as much as is kept: all of it, or its first 8 MiB.
    #[must_use]
    pub fn stored(&self) -> &[u8] {
        &self.stored
    }
}

impl fmt::Display for CapturedOutput {
    /// All of it, or its beginning and its end.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_cut() {
            return formatter.write_str(&String::from_utf8_lossy(&self.stored));
        }
        let left_out = self.bytes - 2 * KEPT as u64;
        let beginning = String::from_utf8_lossy(&self.stored[..KEPT]);
        let end = String::from_utf8_lossy(&self.end[self.end.len() - KEPT..]);
        write!(formatter, "{beginning}\n[… {left_out} bytes left out …]\n{end}")
    }
}
