//! The outline of a checked file: as text, as JSON, as a diagram.

mod diagram;
mod json;
mod text;

pub use diagram::to_diagram;
pub use json::to_json;
pub use text::to_text;

use convoke_core::Limits;

use super::model::{Agentfile, Condition, Output, Test, TestKind, Within, written};
use super::{Piece, Template};

/// A text as it is written, variables as `$name`.
fn template(file: &Agentfile, template: &Template) -> String {
    let mut text = String::new();
    for piece in template.pieces() {
        match piece {
            Piece::Text(piece) => text.push_str(&piece.replace('$', "$$")),
            Piece::Variable(id) => text.push_str(&format!("${{{}}}", file.variable(*id).name)),
        }
    }
    text
}

/// The first words of a text.
fn shortened(text: &str, length: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(length) {
        None => line,
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
    }
}

fn outputs(outputs: &[Output]) -> String {
    let fields = outputs.iter().map(|output| format!("{}:{}", output.name, output.ty));
    fields.collect::<Vec<_>>().join(", ")
}

fn within(file: &Agentfile, within: Within) -> String {
    match within {
        Within::Times(times) => times.to_string(),
        Within::Variable(id) => format!("${}", file.variable(id).name),
    }
}

fn condition(file: &Agentfile, whole: &Condition) -> String {
    let parts = |parts: &[Condition], between: &str| {
        let part = |part: &Condition| match (whole, part) {
            (Condition::All(_), Condition::Any(_)) => format!("({})", condition(file, part)),
            _ => condition(file, part),
        };
        parts.iter().map(part).collect::<Vec<_>>().join(between)
    };
    match whole {
        Condition::Test(one) => test(file, one),
        Condition::All(all) => parts(all, " AND "),
        Condition::Any(any) => parts(any, " OR "),
    }
}

fn test(file: &Agentfile, test: &Test) -> String {
    let value = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => written(text),
        other => other.to_string(),
    };
    let list = |values: &[serde_json::Value]| values.iter().map(value).collect::<Vec<_>>().join(", ");
    let name = &file.variable(test.variable).name;
    match &test.kind {
        TestKind::In(values) if values.len() == 1 => format!("${name} IS {}", list(values)),
        TestKind::In(values) => format!("${name} IN {}", list(values)),
        TestKind::NotIn(values) if values.len() == 1 => format!("${name} IS NOT {}", list(values)),
        TestKind::NotIn(values) => format!("${name} NOT IN {}", list(values)),
        TestKind::Contains(part) => format!("${name} CONTAINS {}", value(part)),
        TestKind::Compare(comparison, bound) => format!("${name} {} {bound}", comparison.sign()),
    }
}

/// Limits as they are written.
fn limits(limits: &Limits) -> String {
    let mut parts = Vec::new();
    let mut add = |count: Option<u64>, unit: &str| parts.extend(count.map(|count| format!("{count} {unit}")));
    add(limits.tokens, "tokens");
    add(limits.model_calls, "calls");
    add(limits.tool_calls, "tool-calls");
    add(limits.turns, "turns");
    if let Some(cost) = limits.cost {
        let micros = cost.as_micros();
        let exact = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        parts.push(format!("{} usd", exact.trim_end_matches('0').trim_end_matches('.')));
    }
    parts.join(", ")
}
