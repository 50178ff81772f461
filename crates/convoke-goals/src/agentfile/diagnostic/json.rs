//! Diagnostics as JSON.

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
    diagnostics: Vec<EntryJson<'a>>,
    more: usize,
}

#[derive(Serialize)]
struct EntryJson<'a> {
    code: &'static str,
    severity: &'static str,
    message: &'a str,
    span: LocationJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    label: &'a str,
    related: Vec<RelatedJson<'a>>,
    notes: &'a [String],
    help: Vec<HelpJson<'a>>,
}

#[derive(Serialize)]
struct RelatedJson<'a> {
    span: LocationJson,
    label: &'a str,
}

#[derive(Serialize)]
struct HelpJson<'a> {
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    replace: Option<LocationJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    with: Option<&'a str>,
}

#[derive(Serialize)]
struct LocationJson {
    start: Position,
    end: Position,
    bytes: [usize; 2],
}

fn one<'a>(source: &Source, diagnostic: &'a Diagnostic) -> EntryJson<'a> {
    let related = diagnostic.related.iter();
    let help = diagnostic.help.iter();
    EntryJson {
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
            .map(|label| RelatedJson { span: place(source, label.span), label: &label.text })
            .collect(),
        notes: &diagnostic.notes,
        help: help
            .map(|help| HelpJson {
                text: &help.text,
                replace: help.edit.as_ref().map(|(span, _)| place(source, *span)),
                with: help.edit.as_ref().map(|(_, replacement)| replacement.as_str()),
            })
            .collect(),
    }
}

fn place(source: &Source, span: Span) -> LocationJson {
    LocationJson {
        start: source.position(span.start),
        end: source.position(span.end),
        bytes: [span.start, span.end],
    }
}
