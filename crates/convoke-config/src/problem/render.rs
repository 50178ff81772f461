//! Problems for people.

use annotate_snippets::renderer::{DecorStyle, Renderer};
use annotate_snippets::{AnnotationKind, Group, Level, Patch, Snippet};

use super::{Problem, Problems, Severity};

/// What the text is made for.
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

pub(super) fn render(problems: &Problems, style: Style) -> String {
    let renderer = if style.color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(style.width);
    let mut text = String::new();
    for problem in problems {
        if !text.is_empty() {
            text.push('\n');
        }
        // Nothing in a file may move the cursor.
        let shown = renderer.render(&report(problem));
        text.extend(shown.chars().map(|character| match character {
            '\n' => character,
            '\u{1b}' if style.color => character,
            control if control.is_control() => '\u{fffd}',
            other => other,
        }));
        text.push('\n');
    }
    text
}

fn report(problem: &Problem) -> Vec<Group<'_>> {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut main = Group::with_title(level.primary_title(problem.message.as_str()));
    if let Some(place) = &problem.place {
        let annotation = AnnotationKind::Primary.span(place.span.clone());
        let annotation =
            if problem.label.is_empty() { annotation } else { annotation.label(problem.label.as_str()) };
        let snippet = Snippet::source(place.source.shown()).path(place.source.name());
        main = main.element(snippet.annotation(annotation));
    }
    for help in problem.help.iter().filter(|help| help.replacement.is_none() || problem.place.is_none()) {
        main = main.element(Level::HELP.message(help.text.as_str()));
    }
    let mut groups = vec![main];
    for help in &problem.help {
        if let (Some(replacement), Some(place)) = (&help.replacement, &problem.place) {
            let patch = Patch::new(place.span.clone(), replacement.as_str());
            let snippet = Snippet::source(place.source.shown()).patch(patch);
            groups.push(Level::HELP.secondary_title(help.text.as_str()).element(snippet));
        }
    }
    groups
}
