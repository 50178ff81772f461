//! Renders diagnostics about files: the message, the lines it is about, and what to write instead.
//!
//! **What it must never do.** Let anything in a file reach the terminal as a command. Whether something in a text is secret
//! is known to its owner, who gives the text as it may be shown.

use std::ops::Range;

use annotate_snippets::renderer::{DecorStyle, Renderer};
use annotate_snippets::{AnnotationKind, Group, Level, Patch, Snippet};

/// The style of rendered diagnostics: colours and width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colours.
    pub color: bool,
    /// How wide lines may be, in columns.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Self { color: false, width: 100 }
    }
}

impl Style {
    /// Renders reports, with an empty line between them. What would control a terminal is replaced.
    #[must_use]
    pub fn render<'a>(self, reports: impl IntoIterator<Item = Vec<Group<'a>>>) -> String {
        let renderer = if self.color { Renderer::styled() } else { Renderer::plain() };
        let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(self.width);
        let shown: Vec<_> = reports.into_iter().map(|report| renderer.render(&report) + "\n").collect();
        // Colours are escapes too; those of a file were taken out of its snippets before.
        let is_unfit =
            |letter: char| letter.is_control() && letter != '\n' && !(self.color && letter == '\u{1b}');
        shown.join("\n").replace(is_unfit, "\u{fffd}")
    }
}

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// It can be used; it may not do what was meant.
    Warning,
}

impl Severity {
    /// Returns the level it is shown with.
    #[must_use]
    pub fn level(self) -> Level<'static> {
        match self {
            Self::Error => Level::ERROR,
            Self::Warning => Level::WARNING,
        }
    }
}

/// A span of a source text.
#[derive(Debug, Clone)]
pub struct SourceSpan<'a> {
    /// The name of the file.
    pub name: &'a str,
    /// The whole text, as it may be shown.
    pub text: &'a str,
    /// The part, which [`within`] has made one that can be pointed at.
    pub span: Range<usize>,
}

/// Something to do about it.
#[derive(Debug, Clone, Copy)]
pub struct Advice<'a> {
    /// In words.
    pub text: &'a str,
    /// What to put at the place instead of what is there.
    pub replacement: Option<&'a str>,
}

/// A problem with a text, in one place.
#[derive(Debug, Clone)]
pub struct Diagnostic<'a> {
    /// How bad it is.
    pub severity: Severity,
    /// What happened, in one line.
    pub message: &'a str,
    /// Where.
    pub place: Option<SourceSpan<'a>>,
    /// What to say at the place; may be empty.
    pub label: &'a str,
    /// What to do.
    pub help: Vec<Advice<'a>>,
}

impl<'a> Diagnostic<'a> {
    /// The report for [`Style::render`].
    #[must_use]
    pub fn report(self) -> Vec<Group<'a>> {
        let mut main = Group::with_title(self.severity.level().primary_title(self.message));
        if let Some(SourceSpan { name, text, span }) = self.place.clone() {
            let annotation = AnnotationKind::Primary.span(span);
            let annotation = if self.label.is_empty() { annotation } else { annotation.label(self.label) };
            main = main.element(Snippet::source(text).path(name).annotation(annotation));
        }
        let mut patches = Vec::new();
        for Advice { text: help, replacement } in self.help {
            match (replacement, &self.place) {
                (Some(replacement), Some(SourceSpan { text, span, .. })) => {
                    let patch = Snippet::source(*text).patch(Patch::new(span.clone(), replacement));
                    patches.push(Level::HELP.secondary_title(help).element(patch));
                }
                _ => main = main.element(Level::HELP.message(help)),
            }
        }
        std::iter::once(main).chain(patches).collect()
    }
}

/// A span that can be pointed at: within the text, and between characters.
#[must_use]
pub fn within(span: Range<usize>, text: &str) -> Range<usize> {
    let (start, end) = (text.floor_char_boundary(span.start), text.floor_char_boundary(span.end));
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_file_or_a_message_controls_a_terminal() {
        let text = "key = \"\u{1b}[31m\u{7}\"";
        let place = SourceSpan { name: "a\u{9b}.toml", text, span: within(6..99, text) };
        let help = vec![Advice { text: "so", replacement: Some("\"x\"") }];
        let diagnostic =
            Diagnostic { severity: Severity::Error, message: "no\u{7}", place: Some(place), label: "", help };
        let plain = Style::default().render([diagnostic.clone().report(), diagnostic.report()]);
        assert!(!plain.contains(|letter: char| letter.is_control() && letter != '\n'), "{plain:?}");
        assert!(plain.contains("error: no") && plain.contains("help: so"), "{plain}");
    }

    #[test]
    fn a_span_never_cuts_a_character() {
        assert_eq!(within(1..9, "aü"), 1..3);
        assert_eq!(within(2..2, "aü"), 1..1);
        assert_eq!(within(7..9, "aü"), 3..3);
    }
}
