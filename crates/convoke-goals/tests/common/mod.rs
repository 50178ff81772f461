//! Helpers that read files and render the result.

use convoke_goals::agentfile::diagnostic::{Diagnostic, Diagnostics, Severity, Style, render};
use convoke_goals::agentfile::load::{Loader, NoFiles};
use convoke_goals::agentfile::{Agentfile, Source, read};

/// Reads a text without any files beside it.
pub(crate) fn read_text(text: &str) -> (Option<Agentfile>, Diagnostics) {
    read(&Source::new("Agentfile", text), &NoFiles)
}

/// Reads a text that must be valid; warnings are no mistake.
pub(crate) fn valid(text: &str) -> Agentfile {
    valid_with(text, &NoFiles)
}

/// The same with files beside it.
pub(crate) fn valid_with(text: &str, loader: &dyn Loader) -> Agentfile {
    let source = Source::new("Agentfile", text);
    let (file, diagnostics) = read(&source, loader);
    file.unwrap_or_else(|| panic!("{}", render(&source, &diagnostics, Style::default())))
}

/// The errors of a text, as `code line`.
pub(crate) fn errors(text: &str) -> Vec<String> {
    errors_with(text, &NoFiles)
}

/// The same with files beside it.
pub(crate) fn errors_with(text: &str, loader: &dyn Loader) -> Vec<String> {
    let source = Source::new("Agentfile", text);
    let (file, diagnostics) = read(&source, loader);
    assert_eq!(file.is_none(), diagnostics.errors() > 0);
    of(&source, &diagnostics, Severity::Error)
}

/// The warnings of a text, as `code line`.
pub(crate) fn warnings(text: &str) -> Vec<String> {
    let source = Source::new("Agentfile", text);
    let (_, diagnostics) = read(&source, &NoFiles);
    of(&source, &diagnostics, Severity::Warning)
}

fn of(source: &Source, diagnostics: &Diagnostics, severity: Severity) -> Vec<String> {
    let wanted = diagnostics.iter().filter(|diagnostic| diagnostic.severity() == severity);
    wanted.map(|found| format!("{} {}", found.code.name(), source.position(found.span.start).line)).collect()
}

/// The only error of a text.
pub(crate) fn only_error(text: &str) -> Diagnostic {
    let (_, diagnostics) = read_text(text);
    let errors: Vec<_> = diagnostics.iter().filter(|found| found.severity() == Severity::Error).collect();
    assert_eq!(errors.len(), 1, "{errors:#?}");
    errors[0].clone()
}
