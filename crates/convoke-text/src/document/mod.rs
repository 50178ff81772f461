//! A text as a tree: JSON or YAML, in the order in which it was written, with the place of everything in it.

mod deserialize;
mod gaps;
mod json;
mod node;
mod numbers;
mod places;
mod yaml;
mod yaml_errors;

pub use gaps::Gaps;
pub use node::{Content, Entry, Node};
pub use numbers::{inexact_numbers, keeps_numbers};

use std::ops::Range;

use crate::finding::Finding;

/// Longer texts are not read: nobody wrote them.
pub const LONGEST: usize = 8 * 1024 * 1024;
/// The depth of nesting that is still read.
pub const DEEPEST: usize = 48;

/// Why a text is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SyntaxError {
    message: String,
    help: Option<&'static str>,
    place: Range<usize>,
}

/// Reads a text. What begins with a brace is JSON, unless a name without quotes follows; everything else is YAML. What is odd about it is added to the findings.
#[must_use]
pub fn parse(text: &str, findings: &mut Vec<Finding>) -> Option<Node> {
    let read = if text.len() > LONGEST {
        let message = format!("a file of this kind has at most {} MiB", LONGEST >> 20);
        Err(SyntaxError { message, help: None, place: 0..0 })
    } else if is_json(text) {
        json::parse(text)
    } else {
        yaml::parse(text, findings)
    };
    match read {
        Ok(mut node) => {
            node.refuse_duplicates("", findings);
            Some(node)
        }
        Err(SyntaxError { message, help, place }) => {
            let finding = Finding::error("syntax", "", message);
            findings.push(Finding { help: help.map(str::to_owned), place: Some(place), ..finding });
            None
        }
    }
}

/// Reads a small text that is part of another one, or named by it.
///
/// # Errors
/// The first thing that is wrong with it, with its line.
pub fn parse_strictly(text: &str) -> Result<Node, String> {
    let mut findings = Vec::new();
    let node = parse(text, &mut findings);
    match findings.into_iter().next() {
        Some(Finding { message, help, place, .. }) => {
            let before = text.get(..place.unwrap_or_default().start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let help = help.map(|help| format!(": {help}")).unwrap_or_default();
            Err(format!("line {line}: {message}{help}"))
        }
        None => node.ok_or_else(|| "it cannot be read".to_owned()),
    }
}

/// Puts findings about a text in their places, and in the order of these. What is wrong with a name is shown there, everything else
/// at the value that its path leads to.
pub fn place(node: &Node, findings: &mut [Finding]) {
    let mut places = places::Places::of(node);
    for finding in findings.iter_mut().filter(|finding| finding.place.is_none()) {
        let is_name = ["unknown-field", "misplaced-field"].contains(&finding.code);
        finding.place = Some(places.of_pointer(&finding.path, is_name));
    }
    let start = |finding: &Finding| finding.place.as_ref().map_or(0, |place| place.start);
    findings.sort_by(|a, b| {
        (start(a), &a.path, a.severity, a.code).cmp(&(start(b), &b.path, b.severity, b.code))
    });
}

/// Returns whether a text looks like an object, in JSON or YAML, that has these fields.
#[must_use]
pub fn looks_like(text: &str, fields: &[&str]) -> bool {
    if is_json(text) {
        return fields.iter().all(|field| text.contains(&format!("\"{field}\"")));
    }
    let begins = |part: &str, field: &str| part.strip_prefix(field).is_some_and(|rest| rest.starts_with(':'));
    if after_bom(text).starts_with('{') {
        let names = || text.split(['{', ',', '\n']).map(str::trim_start);
        return fields.iter().all(|field| names().any(|part| begins(part, field)));
    }
    fields.iter().all(|field| text.lines().any(|line| begins(line, field)))
}

/// Returns whether a text is JSON, if it is anything. An object in YAML may begin with a brace too: its first name has no quotes.
#[must_use]
pub fn is_json(text: &str) -> bool {
    let text = after_bom(text);
    match text.strip_prefix('{') {
        Some(names) => names.trim_start().chars().next().is_none_or(|sign| "\"}".contains(sign)),
        None => text.starts_with('['),
    }
}

fn after_bom(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').trim_start()
}
