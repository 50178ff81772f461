//! Titled blocks of text in an account.

use crate::Tone;

/// A text and what it is. The text is as it was written: whoever shows it makes it [safe](crate::text).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextBlock {
    label: &'static str,
    tone: Tone,
    text: String,
}

impl TextBlock {
    /// A text that is this.
    #[must_use]
    pub fn new(label: &'static str, text: impl Into<String>) -> Self {
        Self { label, tone: Tone::Plain, text: text.into() }
    }

    /// The same in another tone.
    #[must_use]
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// Returns its label: `reply`, `result`, `error`.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.label
    }

    /// Returns its tone.
    #[must_use]
    pub fn tone(&self) -> Tone {
        self.tone
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}
