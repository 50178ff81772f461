//! What is wrong with a policy, where, and what to write instead.

use std::fmt;
use std::ops::Range;

use annotate_snippets::renderer::{DecorStyle, Renderer};
use annotate_snippets::{AnnotationKind, Group, Level, Patch, Snippet};

use super::lines::Lines;

/// So many problems of one file are told; of the others only their number.
const TOLD: usize = 50;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyProblem {
    /// What happened, in one line.
    pub message: String,
    /// What to do, in words.
    pub help: Option<String>,
    /// What to put there instead.
    pub replacement: Option<String>,
    /// The line, from 1; `None` if the file as such is meant.
    pub line: Option<usize>,
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
        let lines = Lines::of(text);
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

    /// All of them, by their places.
    pub fn iter(&self) -> std::slice::Iter<'_, PolicyProblem> {
        self.all.iter()
    }

    /// For people: each with the lines it is about; of very many, the first and the number of the others.
    #[must_use]
    pub fn render(&self, color: bool, width: usize) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(width);
        let told = self.all.iter().take(TOLD);
        let mut shown: Vec<_> = told.map(|problem| renderer.render(&self.report(problem)) + "\n").collect();
        let more = self.all.len().saturating_sub(TOLD);
        if more > 0 {
            shown.push(format!("{}: there are {more} more mistakes\n", self.name));
        }
        // Nothing in a file may move the cursor.
        let clean = |letter: char| match letter {
            '\n' => letter,
            '\u{1b}' if color => letter,
            control if control.is_control() => '\u{fffd}',
            other => other,
        };
        shown.join("\n").chars().map(clean).collect()
    }

    fn report<'a>(&'a self, problem: &'a PolicyProblem) -> Vec<Group<'a>> {
        let mut main = Group::with_title(Level::ERROR.primary_title(problem.message.as_str()));
        if !self.text.is_empty() {
            let annotation = AnnotationKind::Primary.span(problem.span.clone());
            let snippet = Snippet::source(self.text.as_str()).path(self.name.as_str());
            main = main.element(snippet.annotation(annotation));
        }
        if let Some(help) = &problem.help {
            main = main.element(Level::HELP.message(help.as_str()));
        }
        let mut groups = vec![main];
        if let Some(replacement) = &problem.replacement {
            let patch = Patch::new(problem.span.clone(), replacement.as_str());
            let snippet = Snippet::source(self.text.as_str()).patch(patch);
            groups.push(Level::HELP.secondary_title("did you mean this?").element(snippet));
        }
        groups
    }
}

impl<'a> IntoIterator for &'a PolicyErrors {
    type Item = &'a PolicyProblem;
    type IntoIter = std::slice::Iter<'a, PolicyProblem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for PolicyErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.render(false, 100).trim_end())
    }
}

impl std::error::Error for PolicyErrors {}

/// A span that can be pointed at: within the text, and between characters.
fn within(span: Range<usize>, text: &str) -> Range<usize> {
    let place = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (start, end) = (place(span.start), place(span.end));
    start..end.max(start)
}
