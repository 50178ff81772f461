//! Checks texts: resolves their variables.

use std::collections::HashSet;

use super::{Checker, Use};
use crate::agentfile::diagnostic::{Code, Diagnostic};
use crate::agentfile::model::Text;
use crate::agentfile::syntax::Quoted;
use crate::agentfile::template::{TemplatePart, candidates, parts};
use crate::agentfile::{Span, Template};

/// Where a text is written.
#[derive(Clone, Copy)]
enum WrittenText<'q> {
    /// In the file.
    Here(&'q Quoted),
    /// In another file; the span is that of `FROM`.
    Elsewhere { path: &'q str, from: Span },
}

impl Checker<'_> {
    /// A text in the file.
    pub(super) fn quoted(&mut self, quoted: &Quoted) -> (Text, Vec<Use>) {
        let (template, uses) = self.resolve(&quoted.value, WrittenText::Here(quoted));
        (Text { template, path: None }, uses)
    }

    /// A text from another file.
    pub(super) fn loaded(&mut self, text: &str, path: &str, from: Span) -> (Text, Vec<Use>) {
        let (template, uses) = self.resolve(text, WrittenText::Elsewhere { path, from });
        self.not_empty(text, from, || {
            let help = "write the text into that file, or here between quotes";
            (format!("`{path}` has no text in it"), help)
        });
        (Text { template, path: Some(path.to_owned()) }, uses)
    }

    /// Reports a text that says nothing.
    pub(super) fn not_empty(
        &mut self,
        text: &str,
        span: Span,
        problem: impl FnOnce() -> (String, &'static str),
    ) {
        if text.trim().is_empty() {
            self.diagnostics.error(|| {
                let (message, help) = problem();
                Diagnostic::new(Code::MissingText, span, message).label("says nothing").help(help)
            });
        }
    }

    fn resolve(&mut self, text: &str, written: WrittenText<'_>) -> (Template, Vec<Use>) {
        let mut template = Template::default();
        let mut uses: Vec<Use> = Vec::new();
        let mut seen = HashSet::new();
        let mut missing = HashSet::new();
        let mut unknown: Vec<&str> = Vec::new();
        for part in parts(text) {
            let (names, place, closed): (Vec<&str>, usize, bool) = match part {
                TemplatePart::Text(piece) => {
                    template.push_text(piece);
                    continue;
                }
                TemplatePart::Dollar => {
                    template.push_text("$");
                    continue;
                }
                TemplatePart::Open { longest, place } => (candidates(longest).collect(), place, false),
                TemplatePart::Closed { name, place } => (vec![name], place, true),
            };
            let whole = names[0].len() + if closed { 3 } else { 1 };
            let found = names.iter().find_map(|name| Some((*name, self.names.variable(name)?)));
            if let Some((name, variable)) = found {
                template.push_variable(variable);
                if !closed {
                    template.push_text(&names[0][name.len()..]);
                }
                if seen.insert(variable) {
                    self.used[variable.0] = true;
                    let length = if closed { whole } else { name.len() + 1 };
                    let span = match written {
                        WrittenText::Here(quoted) => quoted.span(place, length),
                        WrittenText::Elsewhere { from, .. } => from,
                    };
                    uses.push(Use { variable, span });
                }
                continue;
            }
            template.push_text(&text[place..place + whole]);
            // Without a hyphen, if there is none that makes a name of it.
            let name = names.last().copied().unwrap_or_default();
            match written {
                // Once for each name is enough.
                _ if !missing.insert(name) => {}
                WrittenText::Here(quoted) => {
                    let span = quoted.span(place, if closed { whole } else { name.len() + 1 });
                    let names = &self.names;
                    self.diagnostics.error(|| names.no_variable(name, span, closed));
                }
                WrittenText::Elsewhere { .. } => {
                    if unknown.len() < 5 {
                        unknown.push(name);
                    }
                }
            }
        }
        self.foreign(text, written);
        if let (WrittenText::Elsewhere { path, from }, false) = (written, unknown.is_empty()) {
            let names: Vec<String> = unknown.iter().map(|name| format!("`${name}`")).collect();
            self.diagnostics.warning(|| {
                Diagnostic::new(
                    Code::UnknownInFile,
                    from,
                    format!("`{path}` has {} in it, which nothing defines", names.join(", ")),
                )
                .label("stays as it is written there")
                .help("define it as an input or an output, or write `$$` there for a dollar")
            });
        }
        (template, uses)
    }

    /// Says so if a variable is written as other languages write it.
    fn foreign(&mut self, text: &str, written: WrittenText<'_>) {
        for (place, _) in text.match_indices("{{") {
            let rest = &text[place + 2..];
            let Some(end) = rest.bytes().take(66).position(|byte| byte == b'}') else { continue };
            let name = rest[..end].trim().trim_start_matches('.');
            if !rest[end..].starts_with("}}") || self.names.variable(name).is_none() {
                continue;
            }
            let span = match written {
                WrittenText::Here(quoted) => quoted.span(place, end + 4),
                WrittenText::Elsewhere { from, .. } => from,
            };
            self.diagnostics.warning(|| {
                let diagnostic = Diagnostic::new(
                    Code::ForeignVariable,
                    span,
                    format!("`{{{{{name}}}}}` is not replaced by anything"),
                )
                .label("stays as it is");
                match written {
                    WrittenText::Here(_) => diagnostic.replace("write", span, format!("${{{name}}}")),
                    WrittenText::Elsewhere { path, .. } => {
                        diagnostic.help(format!("write `${{{name}}}` in `{path}`"))
                    }
                }
            });
        }
    }
}
