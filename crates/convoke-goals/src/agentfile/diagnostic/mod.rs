//! Diagnostics: what is wrong with a file, where, why, and what to write instead.

mod code;
mod collect;
mod json;
mod render;

pub use code::{Code, Severity};
pub use collect::{Diagnostics, KEPT};
pub use convoke_text::diagnostic::Style;
pub use json::to_json;
pub use render::render;

use super::Span;

/// A diagnostic: one thing that is wrong, or odd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of thing it is: stable, for machines.
    pub code: Code,
    /// The message, in one line.
    pub message: String,
    /// The place itself.
    pub span: Span,
    /// The place as a JSON pointer, in files that have such.
    pub path: Option<String>,
    /// What to say at the place.
    pub label: String,
    /// Other places that have to do with it.
    pub related: Vec<Label>,
    /// Why it is so.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Vec<Help>,
}

/// A note at a location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What there is to say.
    pub text: String,
}

/// A remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Help {
    /// In words.
    pub text: String,
    /// As a change of the text: what to put in place of a part of it.
    pub edit: Option<(Span, String)>,
}

impl Diagnostic {
    /// A diagnostic with nothing but a place and a message.
    #[must_use]
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            span,
            path: None,
            label: String::new(),
            related: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
        }
    }

    /// Returns its severity: whether the file cannot be used because of it.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// Says where it is as a JSON pointer.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Sets the label at its location.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds a label at another location.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push(Label { span, text: text.into() });
        self
    }

    /// Adds a note that says why.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a remedy.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(Help { text: text.into(), edit: None });
        self
    }

    /// Adds a remedy that replaces a part of the text.
    #[must_use]
    pub fn replace(mut self, text: impl Into<String>, span: Span, replacement: impl Into<String>) -> Self {
        self.help.push(Help { text: text.into(), edit: Some((span, replacement.into())) });
        self
    }

    /// Suggests a name that is nearly the one at the place.
    #[must_use]
    pub(crate) fn suggest(self, name: Option<&str>, shown: impl FnOnce(&str) -> String) -> Self {
        match name {
            None => self,
            Some(name) => {
                let (span, replacement) = (self.span, shown(name));
                self.replace(format!("did you mean `{replacement}`?"), span, replacement)
            }
        }
    }
}
