//! One thing that is wrong with a pack, addressed by JSON path.
//!
//! Whoever checks knows values, not texts; whoever has the text finds the place of a path in it.

use convoke_text::diagnostic::Severity;

/// One thing that is wrong with a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// A stable name for what it is: `unknown-target`.
    pub code: &'static str,
    /// Where: `/workflow/states/intake/on_event/Escalate`, a JSON pointer.
    pub path: String,
    /// What is wrong, in one line.
    pub message: String,
    /// What to write instead, if something can be said.
    pub help: Option<String>,
}

impl Finding {
    /// A mistake: the pack cannot be run.
    #[must_use]
    pub fn error(code: &'static str, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, code, path: path.into(), message: message.into(), help: None }
    }

    /// Something that looks wrong.
    #[must_use]
    pub fn warning(code: &'static str, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, code, path: path.into(), message: message.into(), help: None }
    }

    /// Says what to write instead.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
