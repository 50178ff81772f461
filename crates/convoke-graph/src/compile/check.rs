//! Errors of graphs: what makes one impossible to run.

use std::collections::{BTreeMap, HashMap, HashSet};

use convoke_text::finding::{Finding, child};
use serde_json::Value;

use super::shape::{self, Shape};
use super::{CompiledEdge, CompiledNode, reserved};
use crate::board::{RESERVED, allowed};
use crate::definition::{END, GraphDefinition, NodeDefinition};
use crate::node::{NodeTypes, script};
use crate::reference::{self, Unresolved};
use crate::{Condition, ConditionError};

/// The nodes by name.
pub(super) fn names<'a>(
    graph: &'a GraphDefinition,
    path: &str,
    findings: &mut Vec<Finding>,
) -> BTreeMap<&'a str, usize> {
    let mut names = BTreeMap::new();
    if graph.name.is_empty() {
        findings.push(Finding::error("missing-name", format!("{path}/name"), "a graph needs a name"));
    }
    if graph.nodes.is_empty() {
        findings.push(Finding::error("no-nodes", format!("{path}/nodes"), "a graph needs at least one node"));
    }
    for (index, node) in graph.nodes.iter().enumerate() {
        let place = format!("{path}/nodes/{index}/id");
        if node.id.is_empty() {
            findings.push(Finding::error("missing-id", place, "a node needs an id"));
        } else if node.id.starts_with(RESERVED) {
            let message =
                format!("`{}` is not an id for a node: what begins with `__` is the engine's", node.id);
            findings.push(Finding::error("reserved-id", place, message));
        } else if names.insert(node.id.as_str(), index).is_some() {
            let message = format!("there are two nodes with the id `{}`", node.id);
            findings.push(Finding::error("duplicate-id", place, message).help("rename one of them"));
        }
    }
    let mut inputs = HashSet::new();
    for (index, input) in graph.inputs.iter().enumerate() {
        let place = format!("{path}/inputs/{index}/name");
        if let Err(reserved) = allowed(&input.name) {
            findings.push(Finding::error("reserved-name", place.clone(), reserved.to_string()));
        }
        if !inputs.insert(&input.name) {
            let message = format!("there are two inputs called `{}`", input.name);
            findings.push(Finding::error("duplicate-name", place, message));
        }
        for problem in input.default.iter().flat_map(|default| input.violations(default)) {
            let message = format!("the default does not fit: {problem}");
            findings.push(Finding::error("wrong-default", format!("{path}/inputs/{index}/default"), message));
        }
    }
    if graph.entry.is_empty() {
        findings.push(Finding::error("missing-entry", format!("{path}/entry"), "a graph needs an entry"));
    } else if !names.contains_key(graph.entry.as_str()) {
        let message = format!("the entry `{}` is not a node of the graph", graph.entry);
        let finding = Finding::error("unknown-entry", format!("{path}/entry"), message);
        findings
            .push(finding.suggest(&graph.entry, names.keys().copied()).sought_in(format!("{path}/nodes")));
    }
    names
}

/// The configurations of types of nodes, by name.
pub(super) type Shapes = HashMap<String, Shape>;

pub(super) fn node(
    graph: &GraphDefinition,
    node: &NodeDefinition,
    path: &str,
    types: &NodeTypes,
    shapes: &mut Shapes,
    findings: &mut Vec<Finding>,
) -> CompiledNode {
    let config = Value::Object(node.config.clone());
    match types.get(&node.kind) {
        Some(kind) => {
            let shape = shapes.entry(node.kind.clone()).or_insert_with(|| Shape::new(kind.schema()));
            let schema = &shape.schema;
            let config = shape::coerced(schema, config.clone());
            shape::check(shape, &config, &format!("{path}/config"), shape::REFERENCES, findings);
            expressions(schema, schema, &config, &format!("{path}/config"), findings);
            for (within, problem) in kind.problems(&config) {
                findings.push(Finding::error("wrong-value", format!("{path}/config{within}"), problem));
            }
            reserved::outputs(&**kind, &config, &format!("{path}/config"), findings);
        }
        None => {
            let message = match node.kind.as_str() {
                "" => "a node needs a type".to_owned(),
                other => format!("there are no nodes of type `{other}`"),
            };
            let finding = Finding::error("unknown-type", format!("{path}/type"), message);
            findings.push(finding.suggest(&node.kind, types.iter().map(|kind| kind.name())));
        }
    }
    if let Err(error) = reference::check(&config) {
        let code = match error.kind {
            Unresolved::UnknownScope => "unknown-variable-scope",
            _ => "invalid-variable-ref",
        };
        findings.push(Finding::error(code, format!("{path}/config{}", error.field), error.to_string()));
    }
    if let Some(name) = node.config.get("graph").and_then(Value::as_str)
        && ["graph", "iteration"].contains(&&*node.kind)
        && !graph.graphs.contains_key(name)
    {
        let message = match path.starts_with("/graphs/") {
            true => format!(
                "there is no graph `{name}` under the `graphs` of the graph that this node is in; a graph within another has its own, and \
                 runs none of those beside it"
            ),
            false => format!("there is no graph `{name}` under `graphs`"),
        };
        let finding = Finding::error("unknown-graph", format!("{path}/config/graph"), message);
        let graphs = path.rsplit_once("/nodes/").map_or("", |(graph, _)| graph).to_owned() + "/graphs";
        findings.push(finding.suggest(name, graph.graphs.keys().map(String::as_str)).sought_in(graphs));
    }
    let skip = condition(node.skip_condition.as_deref(), &child(path, "skip_condition"), findings);
    let timeout = node.timeout.as_deref().and_then(|text| match convoke_text::duration::parse(text) {
        Ok(limit) if limit.is_zero() => {
            let message = "a node that may take no time at all never ends well: give it some, such as `30s`";
            findings.push(Finding::error("invalid-duration", format!("{path}/timeout"), message));
            None
        }
        Ok(limit) => Some(limit),
        Err(error) => {
            findings.push(Finding::error("invalid-duration", format!("{path}/timeout"), error.to_string()));
            None
        }
    });
    CompiledNode { definition: node.clone(), skip, timeout, edges: Vec::new(), cancels: Vec::new() }
}

pub(super) fn edges(
    graph: &GraphDefinition,
    names: &BTreeMap<&str, usize>,
    path: &str,
    nodes: &mut [CompiledNode],
    findings: &mut Vec<Finding>,
) {
    for (index, edge) in graph.edges.iter().enumerate() {
        let place = format!("{path}/edges/{index}");
        let mut known = |name: &str, field: &str| {
            let found = names.get(name).copied();
            if found.is_none() {
                let message = format!("an edge {field} `{name}`, which is not a node of the graph");
                let finding = Finding::error("unknown-node", format!("{place}/{field}"), message);
                let known = names.keys().copied().chain((field == "to").then_some(END));
                findings.push(finding.suggest(name, known).sought_in(format!("{path}/nodes")));
            }
            found
        };
        let from = known(&edge.from, "from");
        let to = if edge.to == END { Some(None) } else { known(&edge.to, "to").map(Some) };
        let is_given = edge.condition.is_some();
        let condition = condition(edge.condition.as_deref(), &format!("{place}/condition"), findings);
        if let (Some(from), Some(to)) = (from, to)
            && condition.is_some() == is_given
        {
            nodes[from].edges.push(CompiledEdge { to, condition });
        }
    }
}

/// Finds the nodes at which others end branches.
pub(super) fn cancels(
    names: &BTreeMap<&str, usize>,
    path: &str,
    nodes: &mut [CompiledNode],
    findings: &mut Vec<Finding>,
) {
    for (index, node) in nodes.iter_mut().enumerate() {
        for (number, name) in node.definition.cancels.iter().enumerate() {
            let place = format!("{path}/nodes/{index}/cancels/{number}");
            match names.get(name.as_str()) {
                Some(other) if *other == index => {
                    let message = format!("`{name}` cannot cancel itself: name nodes of other branches");
                    findings.push(Finding::error("cancels-itself", place, message));
                }
                Some(other) => node.cancels.push(*other),
                None => {
                    let message = format!("`{name}` is to be cancelled, and is not a node of the graph");
                    let finding = Finding::error("unknown-node", place, message);
                    let nodes = format!("{path}/nodes");
                    findings.push(finding.suggest(name, names.keys().copied()).sought_in(nodes));
                }
            }
        }
    }
}

/// Checks what a schema says to be conditions, expressions and scripts, as far as it is known by now.
fn expressions(whole: &Value, schema: &Value, value: &Value, path: &str, findings: &mut Vec<Finding>) {
    let named = schema["$ref"].as_str().and_then(|name| whole.pointer(name.trim_start_matches('#')));
    let schema = named.unwrap_or(schema);
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            expressions(whole, &schema["properties"][name.as_str()], value, &child(path, name), findings);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| {
            expressions(whole, &schema["items"], item, &format!("{path}/{index}"), findings);
        }),
        Value::String(text) if schema["format"] == script::FORMAT => {
            findings.extend(reference::literal(text).and_then(|source| script::invalid(&source, path)));
        }
        Value::String(text) if !reference::has_references(value) => {
            let checked = match schema["format"].as_str() {
                Some("condition") => Condition::new(text),
                Some("expression") => Condition::expression(text),
                _ => return,
            };
            if let Err(error) = checked {
                findings.push(invalid_condition(path, error));
            }
        }
        _ => {}
    }
}

fn invalid_condition(path: &str, error: ConditionError) -> Finding {
    let message = match error {
        ConditionError::Invalid { problem, .. } => format!("this is not a condition: {problem}"),
        other => other.to_string(),
    };
    Finding::error("invalid-condition", path, message)
}

/// How to write a condition that is written with references.
fn named_as_they_are(finding: Finding, text: &str) -> Finding {
    match text.contains("${board.") {
        true => finding.help("conditions name variables as they are: `q` instead of `${board.q}`"),
        false => finding,
    }
}

fn condition(text: Option<&str>, path: &str, findings: &mut Vec<Finding>) -> Option<Condition> {
    match Condition::new(text?) {
        Ok(condition) => Some(condition),
        Err(error) => {
            let finding = invalid_condition(path, error);
            findings.push(named_as_they_are(finding, text?));
            None
        }
    }
}
