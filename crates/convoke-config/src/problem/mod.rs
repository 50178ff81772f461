//! Problems with a configuration: the message, the location, and what to write instead.

mod source;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use convoke_text::diagnostic::{self, Advice, Diagnostic};
pub use convoke_text::diagnostic::{Severity, Style};

pub(crate) use source::SourceText;

/// A part of a file.
#[derive(Clone, PartialEq)]
pub(crate) struct SourceLocation {
    pub(crate) source: Arc<SourceText>,
    pub(crate) span: Range<usize>,
}

impl fmt::Debug for SourceLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the text: there may be secrets in it.
        write!(formatter, "{}:{}", self.source.name(), self.source.line(self.span.start))
    }
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Help {
    /// In words.
    pub text: String,
    /// What to put at the place instead of what is there.
    pub replacement: Option<String>,
}

/// A problem: something that is wrong, or odd.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// What happened, in one line.
    pub message: String,
    /// What to say at the place.
    pub label: String,
    /// What to do.
    pub help: Vec<Help>,
    pub(crate) place: Option<SourceLocation>,
}

impl Problem {
    pub(crate) fn error(message: impl Into<String>) -> Self {
        let (message, label) = (clean(message), String::new());
        Self { severity: Severity::Error, message, label, help: Vec::new(), place: None }
    }

    pub(crate) fn warning(message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(message) }
    }

    pub(crate) fn at(mut self, place: Option<SourceLocation>) -> Self {
        self.place = place;
        self
    }

    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = clean(label);
        self
    }

    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(Help { text: clean(text), replacement: None });
        self
    }

    pub(crate) fn replace(mut self, text: impl Into<String>, replacement: impl Into<String>) -> Self {
        self.help.push(Help { text: clean(text), replacement: Some(clean(replacement)) });
        self
    }

    fn diagnostic(&self) -> Diagnostic<'_> {
        let place = self.place.as_ref().map(|place| diagnostic::SourceSpan {
            name: place.source.name(),
            text: place.source.shown(),
            span: place.span.clone(),
        });
        let help = self.help.iter();
        let help =
            help.map(|help| Advice { text: &help.text, replacement: help.replacement.as_deref() }).collect();
        Diagnostic { severity: self.severity, message: &self.message, place, label: &self.label, help }
    }

    /// The file and the line, if it is in a file.
    #[must_use]
    pub fn line(&self) -> Option<(&str, usize)> {
        let place = self.place.as_ref()?;
        Some((place.source.name(), place.source.line(place.span.start)))
    }
}

/// Without what would control a terminal: names of a file's keys are in it.
fn clean(text: impl Into<String>) -> String {
    let clean = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
    text.into().chars().map(clean).collect()
}

/// Everything that is wrong. As an error it says all of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Problems {
    all: Vec<Problem>,
}

impl Problems {
    pub(crate) fn push(&mut self, problem: Problem) {
        self.all.push(problem);
    }

    /// All of them: errors first, then by place.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.all.iter()
    }

    /// Returns how many problems make the configuration unusable.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.all.iter().filter(|problem| problem.severity == Severity::Error).count()
    }

    /// Returns whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Renders the problems for people, each with the lines it is about.
    #[must_use]
    pub fn render(&self, style: Style) -> String {
        style.render(self.iter().map(|problem| problem.diagnostic().report()))
    }

    pub(crate) fn sort(&mut self) {
        let at = |problem: &Problem| {
            let place = problem.place.as_ref();
            (problem.severity, place.map(|place| (place.source.name().to_owned(), place.span.start)))
        };
        self.all.sort_by_key(at);
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.render(Style::default()).trim_end())
    }
}

impl std::error::Error for Problems {}
