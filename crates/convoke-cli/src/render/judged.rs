//! What a person is to judge: the result of a goal, and what there is to judge it by.

use convoke_core::Question;
use serde_json::Value;

use super::Block;
use super::question::{blocks, conditions, pretty};
use crate::terminal::{Ink, Rich};

/// What matters most of a goal's result, in this order, and how many lines of it are shown at first.
const FIRST: [(&str, &str, usize); 6] = [
    ("goal", "goal", 3),
    ("output", "output", 12),
    ("fields", "fields", 6),
    ("incomplete", "cut short", 2),
    ("missing", "missing", 2),
    ("triggers", "noticed", 4),
];

/// The rest of it.
const REST: [(&str, &str); 7] = [
    ("commitment", "planned"),
    ("commitment_unavailable", "planned"),
    ("assessment", "assessed"),
    ("assessment_unavailable", "assessed"),
    ("corrections", "corrected"),
    ("unconverged", "limit"),
    ("tools", "tools"),
];

/// The body of a question in short: all of it, if that is not much.
pub(crate) fn question_brief(question: &Question, width: usize, most: usize) -> Vec<Rich> {
    let all = question_body(question, width);
    if all.len() <= most {
        return all;
    }
    let parts: Vec<(Block, usize)> = match judged(question) {
        Some(subject) => FIRST
            .iter()
            .filter_map(|(key, label, most)| Some((block(label, subject.get(*key)?)?, *most)))
            .chain(conditions(question).into_iter().map(|block| (block, 2)))
            .collect(),
        None => blocks(question).into_iter().skip(1).map(|block| (block, most / 2)).collect(),
    };
    let mut lines: Vec<Rich> = parts.iter().flat_map(|(block, most)| begun(block, width, *most)).collect();
    lines.push(Rich::new(Ink::Faint, "  type v to see all of it"));
    lines
}

/// All there is to a question besides its title.
pub(crate) fn question_body(question: &Question, width: usize) -> Vec<Rich> {
    let parts: Vec<Block> = match judged(question) {
        Some(subject) => {
            let first = FIRST.iter().map(|(key, label, _)| (*key, *label));
            let parts = first.chain(REST).filter_map(|(key, label)| block(label, subject.get(key)?));
            parts.chain(conditions(question)).collect()
        }
        None => blocks(question).into_iter().skip(1).collect(),
    };
    parts.iter().flat_map(|block| block.lines(&Rich::plain("  "), Some(width), None)).collect()
}

/// The subject of a question about a goal's result.
fn judged(question: &Question) -> Option<&serde_json::Map<String, Value>> {
    question.subject.as_object().filter(|subject| subject.get("output").is_some_and(Value::is_string))
}

fn block(label: &'static str, value: &Value) -> Option<Block> {
    let text = match value {
        Value::Null => return None,
        Value::Array(items) => items.iter().map(pretty).collect::<Vec<_>>().join("\n"),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{name}: {}", pretty(value)));
            members.collect::<Vec<_>>().join("\n")
        }
        other => pretty(other),
    };
    (!text.is_empty()).then(|| Block::new(label, text))
}

fn begun(block: &Block, width: usize, most: usize) -> Vec<Rich> {
    let mut lines = block.lines(&Rich::plain("  "), Some(width), None);
    // One line more takes no more room than saying that there is one.
    if lines.len() > most + 1 {
        let rest = format!("            … {} more lines", lines.len() - most);
        lines.truncate(most);
        lines.push(Rich::new(Ink::Faint, rest));
    }
    lines
}
