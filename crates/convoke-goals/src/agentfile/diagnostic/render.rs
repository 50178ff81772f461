//! Diagnostics as text for a terminal.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Patch, Snippet};
use convoke_text::diagnostic::Style;

use super::{Diagnostic, Diagnostics};
use crate::agentfile::{Source, Span};

/// Lines longer than this are shown in part, in bytes.
const LONG_LINE: usize = 2_000;
/// Places further apart than this are shown one after the other, in bytes.
const FAR: usize = 4_000;

/// Renders all diagnostics, with the lines they are about.
///
/// ```
/// use convoke_goals::agentfile::{Source, load::NoFiles, read};
/// use convoke_goals::agentfile::diagnostic::{Style, render};
///
/// let source = Source::new("plan.agent", "NAME plan\nGOAL sort \"Sort it\"\nRUN main USING srot, sort");
/// let (_, diagnostics) = read(&source, &NoFiles);
/// assert_eq!(render(&source, &diagnostics, Style::default()), "\
/// error[undefined-goal]: there is no goal `srot`
///  --> plan.agent:3:16
///   |
/// 3 | RUN main USING srot, sort
///   |                ^^^^ not defined
///   |
/// help: did you mean `sort`?
///   |
/// 3 - RUN main USING srot, sort
/// 3 + RUN main USING sort, sort
///   |
/// ");
/// ```
#[must_use]
pub fn render(source: &Source, diagnostics: &Diagnostics, style: Style) -> String {
    let reports = diagnostics.iter().map(|diagnostic| report(source, diagnostic));
    let mut text = style.render(reports);
    if diagnostics.more() > 0 {
        text.push_str(&format!("\n... and {} more\n", diagnostics.more()));
    }
    text
}

fn report<'a>(source: &'a Source, diagnostic: &'a Diagnostic) -> Vec<Group<'a>> {
    let title =
        diagnostic.severity().level().primary_title(diagnostic.message.as_str()).id(diagnostic.code.name());
    let (near, far): (Vec<_>, Vec<_>) =
        diagnostic.related.iter().partition(|label| label.span.start.abs_diff(diagnostic.span.start) < FAR);

    let main = first_line(source, diagnostic.span);
    let all = near.iter().fold(main, |all, label| all.to(first_line(source, label.span)));
    let window = Window::around(source, diagnostic.span, all);
    let mut snippet = window.snippet().annotation(annotation(
        AnnotationKind::Primary,
        window.place(source, diagnostic.span),
        &diagnostic.label,
    ));
    for label in near {
        let place = window.place(source, label.span);
        snippet = snippet.annotation(annotation(AnnotationKind::Context, place, &label.text));
    }
    let mut main = window.begin(source, diagnostic.span, Group::with_title(title), snippet);
    for label in far {
        let window = Window::around(source, label.span, first_line(source, label.span));
        let place = window.place(source, label.span);
        let snippet = window.snippet().annotation(annotation(AnnotationKind::Context, place, &label.text));
        main = window.begin(source, label.span, main, snippet);
    }
    for note in &diagnostic.notes {
        main = main.element(Level::NOTE.message(note.as_str()));
    }
    for help in diagnostic.help.iter().filter(|help| help.edit.is_none()) {
        main = main.element(Level::HELP.message(help.text.as_str()));
    }
    let mut groups = vec![main];
    for help in &diagnostic.help {
        if let Some((span, replacement)) = &help.edit {
            let window = Window::around(source, *span, *span);
            let patch = Patch::new(window.place_whole(*span), replacement.as_str());
            let snippet = Snippet::source(window.text).line_start(window.line).patch(patch);
            groups.push(Level::HELP.secondary_title(help.text.as_str()).element(snippet));
        }
    }
    groups
}

fn annotation<'a>(kind: AnnotationKind, place: Span, label: &'a str) -> annotate_snippets::Annotation<'a> {
    let annotation = kind.span(place.range());
    if label.is_empty() { annotation } else { annotation.label(label) }
}

/// What there is of a span in its first line.
fn first_line(source: &Source, span: Span) -> Span {
    let line = source.lines_around(Span::at(span.start));
    let end = if source.text()[..line.end].ends_with('\r') { line.end - 1 } else { line.end };
    Span::new(span.start, span.end.min(end.max(span.start)))
}

/// The part of a text that is shown.
struct Window<'a> {
    text: &'a str,
    span: Span,
    line: usize,
    /// Whether it does not begin where its first line does.
    cut: bool,
}

impl<'a> Window<'a> {
    fn around(source: &'a Source, main: Span, all: Span) -> Self {
        let lines = source.lines_around(all);
        let line = source.position(lines.start).line;
        if lines.end - lines.start <= LONG_LINE + FAR {
            return Self { text: lines.of(source.text()), span: lines, line, cut: false };
        }
        let main_line = source.lines_around(Span::at(main.start));
        let start = boundary(source.text(), main.start.saturating_sub(LONG_LINE / 8)).max(main_line.start);
        let end = boundary(source.text(), main.start + LONG_LINE / 8).min(main_line.end);
        let span = Span::new(start, end);
        let line = source.position(main_line.start).line;
        Self { text: span.of(source.text()), span, line, cut: start > main_line.start }
    }

    fn snippet(&self) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        Snippet::source(self.text).line_start(self.line)
    }

    /// Adds the snippet to a group, with the place it is from.
    fn begin(
        &self,
        source: &'a Source,
        main: Span,
        group: Group<'a>,
        snippet: Snippet<'a, annotate_snippets::Annotation<'a>>,
    ) -> Group<'a> {
        if self.cut {
            let position = source.position(main.start);
            let origin = Origin::path(source.name()).line(position.line).char_column(position.column);
            group.element(origin).element(snippet)
        } else {
            group.element(snippet.path(source.name()))
        }
    }

    /// Where a span is in the window; what is of it in its first line.
    fn place(&self, source: &Source, span: Span) -> Span {
        self.place_whole(first_line(source, span)).into()
    }

    fn place_whole(&self, span: Span) -> std::ops::Range<usize> {
        let within = |place: usize| place.clamp(self.span.start, self.span.end) - self.span.start;
        within(span.start)..within(span.end)
    }
}

impl From<std::ops::Range<usize>> for Span {
    fn from(range: std::ops::Range<usize>) -> Self {
        Span::new(range.start, range.end)
    }
}

fn boundary(text: &str, mut place: usize) -> usize {
    place = place.min(text.len());
    while !text.is_char_boundary(place) {
        place -= 1;
    }
    place
}
