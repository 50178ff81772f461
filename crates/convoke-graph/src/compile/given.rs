//! What graphs within a graph are given: by `graph` nodes what these say, by `iteration` nodes an item and its number.

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_text::finding::{Finding, child};
use serde_json::{Map, Value};

use super::CompiledGraph;
use crate::definition::{GraphDefinition, InputDefinition, NodeDefinition};
use crate::inputs::problems;
use crate::reference::has_references;

/// The names of what some node gives to the graph of this name.
pub(super) fn names(definition: &GraphDefinition, graph: &str) -> Vec<String> {
    let runs = definition.nodes.iter().filter(|node| graph_of(node) == Some(graph));
    let names = runs.flat_map(|node| match node.kind.as_str() {
        "iteration" => vec!["item".to_owned(), "index".to_owned()],
        _ => node
            .config
            .get("inputs")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect(),
    });
    names.collect()
}

/// Compares what `graph` and `iteration` nodes give with what the graphs declare, as far as it is known by now.
pub(super) fn check(
    definition: &GraphDefinition,
    graphs: &BTreeMap<String, Arc<CompiledGraph>>,
    path: &str,
    findings: &mut Vec<Finding>,
) {
    for (index, node) in definition.nodes.iter().enumerate() {
        let Some(graph) = graph_of(node).and_then(|name| graphs.get(name)) else { continue };
        let declared = &graph.definition.inputs;
        if node.kind == "iteration" {
            findings.extend(unfit_for_items(declared, &format!("{path}/nodes/{index}/config/graph")));
            continue;
        }
        let given = node.config.get("inputs").and_then(Value::as_object).cloned().unwrap_or_default();
        if declared.is_empty() {
            continue;
        }
        let place = format!("{path}/nodes/{index}/config");
        let is_known = |value: &Value| !has_references(value);
        for (name, problem) in problems(declared, &given, is_known) {
            let (is_given, names) =
                (given.contains_key(&name), declared.iter().map(|input| input.name.as_str()));
            let at = if is_given { child(&format!("{place}/inputs"), &name) } else { place.clone() };
            let finding = Finding::error("wrong-input", at, problem);
            let is_unknown = !names.clone().any(|known| known == name);
            findings.push(if is_unknown { finding.suggest(&name, names) } else { finding });
        }
    }
}

/// Finds what keeps a graph from being run for an item of a list, whatever that is: without items nothing fails.
fn unfit_for_items(declared: &[InputDefinition], place: &str) -> Vec<Finding> {
    let given = [("item", Value::Null), ("index", Value::from(0))];
    let given = given.into_iter().filter(|(name, _)| declared.iter().any(|input| input.name == *name));
    let given: Map<String, Value> = given.map(|(name, value)| (name.to_owned(), value)).collect();
    let problems = problems(declared, &given, |value| !value.is_null()).into_iter();
    let told = |(_, problem): (String, String)| {
        Finding::warning(
            "wrong-input",
            place,
            format!("the graph is given `item` and `index`, a whole number: {problem}"),
        )
    };
    problems.map(told).collect()
}

/// The graph under `graphs` that a node runs.
fn graph_of(node: &NodeDefinition) -> Option<&str> {
    let runs = matches!(node.kind.as_str(), "graph" | "iteration");
    node.config.get("graph").and_then(Value::as_str).filter(|_| runs)
}
