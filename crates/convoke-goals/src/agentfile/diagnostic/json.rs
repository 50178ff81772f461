//! Diagnostics for machines.

use serde::Serialize;

use super::{Diagnostic, Diagnostics, Severity};
use crate::agentfile::{Position, Source, Span};

/// Everything that was found, to be written as JSON: places as lines and columns (from 1, in characters) and as bytes
/// (from 0).
#[must_use]
pub fn to_json<'a>(source: &'a Source, diagnostics: &'a Diagnostics) -> impl Serialize + use<'a> {
    Report {
        file: source.name(),
        valid: diagnostics.errors() == 0,
        errors: diagnostics.errors(),
        warnings: diagnostics.warnings(),
        diagnostics: diagnostics.iter().map(|diagnostic| one(source, diagnostic)).collect(),
        more: diagnostics.more(),
    }
}

#[derive(Serialize)]
struct Report<'a> {
    file: &'a str,
    valid: bool,
    errors: usize,
    warnings: usize,
    diagnostics: Vec<Found<'a>>,
    more: usize,
}

#[derive(Serialize)]
struct Found<'a> {
    code: &'static str,
    severity: &'static str,
    message: &'a str,
    span: Place,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    label: &'a str,
    related: Vec<Related<'a>>,
    notes: &'a [String],
    help: Vec<Advice<'a>>,
}

#[derive(Serialize)]
struct Related<'a> {
    span: Place,
    label: &'a str,
}

#[derive(Serialize)]
struct Advice<'a> {
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    replace: Option<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    with: Option<&'a str>,
}

#[derive(Serialize)]
struct Place {
    start: Position,
    end: Position,
    bytes: [usize; 2],
}

fn one<'a>(source: &Source, diagnostic: &'a Diagnostic) -> Found<'a> {
    let related = diagnostic.related.iter();
    let help = diagnostic.help.iter();
    Found {
        code: diagnostic.code.name(),
        severity: match diagnostic.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        message: &diagnostic.message,
        span: place(source, diagnostic.span),
        path: diagnostic.path.as_deref(),
        label: &diagnostic.label,
        related: related
            .map(|label| Related { span: place(source, label.span), label: &label.text })
            .collect(),
        notes: &diagnostic.notes,
        help: help
            .map(|help| Advice {
                text: &help.text,
                replace: help.edit.as_ref().map(|(span, _)| place(source, *span)),
                with: help.edit.as_ref().map(|(_, replacement)| replacement.as_str()),
            })
            .collect(),
    }
}

fn place(source: &Source, span: Span) -> Place {
    Place {
        start: source.position(span.start),
        end: source.position(span.end),
        bytes: [span.start, span.end],
    }
}
