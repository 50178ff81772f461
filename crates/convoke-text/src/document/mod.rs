//! A text as a tree: JSON or YAML, in the order in which it was written, with the place of everything in it.

mod deserialize;
mod json;
mod node;
mod yaml;

pub use node::{Content, Entry, Node};

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
    place: Range<usize>,
}

/// Reads a text. What begins with a brace is JSON, everything else YAML. What is odd about it is added to the findings.
#[must_use]
pub fn parse(text: &str, findings: &mut Vec<Finding>) -> Option<Node> {
    let read = if text.len() > LONGEST {
        Err(SyntaxError {
            message: format!("a file of this kind has at most {} MiB", LONGEST >> 20),
            place: 0..0,
        })
    } else if is_json(text) {
        json::parse(text, findings)
    } else {
        yaml::parse(text)
    };
    match read {
        Ok(node) => Some(node),
        Err(SyntaxError { message, place }) => {
            let mut finding = Finding::error("syntax", "", message);
            finding.place = Some(place);
            findings.push(finding);
            None
        }
    }
}

/// Returns whether a text is JSON, if it is anything.
#[must_use]
pub fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '['])
}
