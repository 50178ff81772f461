//! Problems of a policy file: what is wrong, where, and what to write instead.

use std::fmt;
use std::ops::Range;

use convoke_text::diagnostic::{Advice, Diagnostic, Severity, SourceSpan, Style, within};
use serde::Serialize;

use super::line_index::LineIndex;

/// So many problems of one file are told; of the others only their number.
const TOLD: usize = 50;

/// A problem of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyProblem {
    /// The message, in one line.
    pub message: String,
    /// What to do, in words.
    pub help: Option<String>,
    /// What to put there instead.
    pub replacement: Option<String>,
    /// The line, from 1; `None` if the file as such is meant.
    pub line: Option<usize>,
    #[serde(skip)]
    pub(super) span: Range<usize>,
}

impl PolicyProblem {
    pub(super) fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, replacement: None, line: None, span }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(super) fn instead(mut self, replacement: Option<impl Into<String>>) -> Self {
        self.replacement = replacement.map(Into::into);
        self
    }
}

/// Everything that is wrong with a policy. As an error it says all of it, with the lines it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyErrors {
    name: String,
    text: String,
    all: Vec<PolicyProblem>,
}

impl PolicyErrors {
    pub(super) fn new(name: &str, text: &str, mut all: Vec<PolicyProblem>) -> Self {
        all.sort_by_key(|problem| problem.span.start);
        all.dedup();
        let lines = LineIndex::of(text);
        for problem in &mut all {
            problem.span = within(problem.span.clone(), text);
            problem.line = (!text.is_empty()).then(|| lines.line(problem.span.start));
        }
        Self { name: name.to_owned(), text: text.to_owned(), all }
    }

    /// The file that cannot be read at all.
    pub(super) fn unreadable(name: &str, why: &str) -> Self {
        let problem = PolicyProblem::at(0..0, format!("{name} cannot be read: {why}"))
            .help("nothing is allowed by a policy that cannot be read: make it readable, or remove it");
        Self::new(name, "", vec![problem])
    }

    /// Iterates over all of them, by their places.
    pub fn iter(&self) -> std::slice::Iter<'_, PolicyProblem> {
        self.all.iter()
    }

    /// For people: each with the lines it is about; of very many, the first and the number of the others.
    #[must_use]
    pub fn render(&self, color: bool, width: usize) -> String {
        let told = self.all.iter().take(TOLD);
        let shown = Style { color, width }.render(told.map(|problem| self.diagnostic(problem).report()));
        match self.all.len().saturating_sub(TOLD) {
            0 => shown,
            more => format!("{shown}\n{}: there are {more} more mistakes\n", self.name),
        }
    }

    fn diagnostic<'a>(&'a self, problem: &'a PolicyProblem) -> Diagnostic<'a> {
        let (name, text, span) = (self.name.as_str(), self.text.as_str(), problem.span.clone());
        let place = (!text.is_empty()).then_some(SourceSpan { name, text, span });
        let help = problem.help.as_deref().map(|text| Advice { text, replacement: None });
        let instead = problem.replacement.as_deref();
        let instead = instead.map(|new| Advice { text: "did you mean this?", replacement: Some(new) });
        let help = help.into_iter().chain(instead).collect();
        Diagnostic { severity: Severity::Error, message: &problem.message, place, label: "", help }
    }
}

impl fmt::Display for PolicyErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.render(false, 100).trim_end())
    }
}

impl std::error::Error for PolicyErrors {}
