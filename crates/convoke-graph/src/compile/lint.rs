//! What a graph that is new must not say, and what does not keep a run from going on that was begun with it.

use convoke_text::document;
use convoke_text::finding::{Finding, child};
use serde::Deserialize;
use serde_json::Value;

use crate::board::allowed;
use crate::definition::GraphDefinition;

/// Finds what a graph that is new must not say: references where nothing resolves them, and rules of merging for what is the engine's. What
/// [`read`](super::read) finds is not said again.
#[must_use]
pub fn lint(text: &str) -> Vec<Finding> {
    let Some(node) = document::parse(text, &mut Vec::new()) else { return Vec::new() };
    let Ok(graph) = GraphDefinition::deserialize(&node) else { return Vec::new() };
    let mut findings = Vec::new();
    within(&graph, "", &mut findings);
    document::place(&node, &mut findings);
    findings
}

fn within(graph: &GraphDefinition, path: &str, findings: &mut Vec<Finding>) {
    let mut unresolved = |text: &str, place: String| findings.extend(outside(text, place));
    unresolved(&graph.entry, format!("{path}/entry"));
    unresolved(&graph.answer_key, format!("{path}/answer_key"));
    for (index, node) in graph.nodes.iter().enumerate() {
        unresolved(&node.id, format!("{path}/nodes/{index}/id"));
    }
    for (index, input) in graph.inputs.iter().enumerate() {
        unresolved(&input.name, format!("{path}/inputs/{index}/name"));
        if let Some(default) = &input.default {
            texts(default, &format!("{path}/inputs/{index}/default"), &mut unresolved);
        }
    }
    for name in graph.merge.keys() {
        unresolved(name, child(&format!("{path}/merge"), name));
    }
    for name in graph.merge.keys() {
        if let Err(reserved) = allowed(name) {
            let place = child(&format!("{path}/merge"), name);
            findings.push(Finding::error("reserved-name", place, reserved.to_string()));
        }
    }
    for (name, graph) in &graph.graphs {
        within(graph, &child(&format!("{path}/graphs"), name), findings);
    }
}

/// The texts in a value.
fn texts(value: &Value, path: &str, told: &mut dyn FnMut(&str, String)) {
    match value {
        Value::String(text) => told(text, path.to_owned()),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| texts(item, &format!("{path}/{index}"), told));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| texts(value, &child(path, name), told));
        }
        _ => {}
    }
}

/// A reference in a place where nothing resolves it.
fn outside(text: &str, place: String) -> Option<Finding> {
    let start = text.find("${board.")?;
    let reference = text[start..].find('}').map_or(&text[start..], |end| &text[start..=start + end]);
    let message = format!("`{reference}` stays as it is here: only the `config` of nodes has references");
    let help = "write the text itself, and what is known only when it runs where a node needs it";
    Some(Finding::error("invalid-variable-ref", place, message).help(help))
}
