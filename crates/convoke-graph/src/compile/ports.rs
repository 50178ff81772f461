//! What nodes read and nobody writes, and what does not fit together.

use std::collections::BTreeMap;

use convoke_text::finding::{Finding, child};
use serde_json::Value;

use super::CompiledGraph;
use super::order::reached;
use crate::board::RESERVED;
use crate::inputs::QUERY;
use crate::node::{PortType, Ports};
use crate::reference;

pub(super) fn warnings(
    graph: &CompiledGraph,
    successors: &[Vec<usize>],
    path: &str,
    findings: &mut Vec<Finding>,
) {
    let ports: Vec<Ports> = graph.nodes.iter().map(|node| graph.ports(node)).collect();
    incompatible(graph, &ports, successors, path, findings);
    if ports.iter().any(|ports| ports.is_open) {
        return;
    }
    let inputs = graph.definition.inputs.iter().map(|input| input.name.as_str());
    let written = ports.iter().flat_map(|ports| &ports.outputs).map(|port| port.name.as_str());
    let known: Vec<&str> = inputs.chain(written).chain([QUERY]).collect();
    let answer = graph.definition.answer_key.as_str();
    let result = ports.iter().flat_map(|ports| &ports.outputs).find(|port| port.name.ends_with("response"));
    if let Some(port) = result.filter(|_| path.is_empty() && !known.contains(&answer)) {
        let message = format!("no node writes `{answer}`, so the graph comes to nothing that is shown");
        let help = format!("add a node of type `answer`, or write `answer_key: {}`", port.name);
        findings.push(Finding::warning("unwritten-answer", format!("{path}/name"), message).help(help));
    }
    let mut read = |name: &str, place: String| {
        if !known.contains(&name) && !name.starts_with(RESERVED) {
            let message = format!("no node writes `{name}`, and it is not an input");
            let finding = Finding::warning("unwritten-variable", place, message);
            findings.push(match finding.clone().suggest(name, known.iter().copied()) {
                suggested if suggested.help.is_some() => suggested,
                _ => finding
                    .help("declare it under `inputs`, or write `${board.name:default}` if there may be none"),
            });
        }
    };
    for (index, node) in graph.nodes.iter().enumerate() {
        let place = format!("{path}/nodes/{index}");
        referred(&node.config(), &format!("{place}/config"), &mut read);
        for name in node.skip.iter().flat_map(|skip| skip.names()) {
            read(name, format!("{place}/skip_condition"));
        }
    }
    for (index, edge) in graph.definition.edges.iter().enumerate() {
        let condition = edge.condition.as_deref().and_then(|text| crate::Condition::new(text).ok());
        for name in condition.iter().flat_map(|condition| condition.names()) {
            read(name, format!("{path}/edges/{index}/condition"));
        }
    }
}

fn referred(value: &Value, path: &str, read: &mut dyn FnMut(&str, String)) {
    match value {
        Value::String(text) => {
            reference::needed(text).iter().for_each(|name| read(name, path.to_owned()));
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| referred(item, &format!("{path}/{index}"), read)),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| referred(value, &child(path, name), read));
        }
        _ => {}
    }
}

/// Variables that a node needs as one thing and an earlier node writes as another.
fn incompatible(
    graph: &CompiledGraph,
    ports: &[Ports],
    successors: &[Vec<usize>],
    path: &str,
    findings: &mut Vec<Finding>,
) {
    let all: Vec<usize> = (0..ports.len()).collect();
    for writer in &all {
        let written: BTreeMap<&str, PortType> =
            ports[*writer].outputs.iter().map(|port| (port.name.as_str(), port.kind)).collect();
        for reader in reached(*writer, &all, successors) {
            for port in ports[reader].inputs.iter().filter(|port| port.required) {
                let Some(kind) = written.get(port.name.as_str()).filter(|kind| !port.kind.accepts(**kind))
                else {
                    continue;
                };
                let id = |node: usize| graph.nodes[node].definition.id.as_str();
                let message = format!(
                    "`{}` needs `{}` to be {:?}, and `{}` writes {kind:?}",
                    id(reader),
                    port.name,
                    port.kind,
                    id(*writer)
                );
                findings.push(Finding::warning(
                    "port-incompatible",
                    format!("{path}/nodes/{reader}/id"),
                    message,
                ));
            }
        }
    }
}
