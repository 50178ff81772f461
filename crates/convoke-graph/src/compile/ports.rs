//! Warnings about ports: what nodes read and nobody writes, and what does not fit together.

use std::collections::{BTreeSet, HashMap, VecDeque};

use convoke_text::finding::{Finding, child};
use serde_json::Value;

use super::CompiledGraph;
use super::search::reversed;
use crate::InputType;
use crate::board::RESERVED;
use crate::inputs::QUERY;
use crate::node::{Port, PortType, Ports};
use crate::reference;

pub(super) fn warnings(
    graph: &CompiledGraph,
    successors: &[Vec<usize>],
    path: &str,
    given: &[String],
    findings: &mut Vec<Finding>,
) {
    let doubtful = doubtful(path, findings);
    let ports = graph.nodes.iter().enumerate().map(|(index, node)| match doubtful.contains(&index) {
        true => Ports::unknown(),
        false => graph.ports(node),
    });
    let ports: Vec<Ports> = ports.collect();
    incompatible(graph, &ports, successors, path, findings);
    if ports.iter().any(|ports| ports.is_open) {
        return;
    }
    let inputs = graph.definition.inputs.iter().map(|input| input.name.as_str());
    let written = ports.iter().flat_map(|ports| &ports.outputs).map(|port| port.name.as_str());
    let known: BTreeSet<&str> =
        inputs.chain(written).chain(given.iter().map(String::as_str)).chain([QUERY]).collect();
    let answer = graph.definition.answer_key.as_str();
    let result = ports.iter().flat_map(|ports| &ports.outputs).find(|port| port.name.ends_with("response"));
    let message = format!("no node writes `{answer}`, so the graph comes to nothing that is shown");
    let unwritten =
        |field: &str| sought(Finding::warning("unwritten-answer", format!("{path}/{field}"), message), path);
    let is_there = known.contains(&answer) || answer.starts_with(RESERVED);
    if !is_there && answer != "answer" {
        findings.push(unwritten("answer_key").suggest(answer, known.iter().copied()));
    } else if let Some(port) = result.filter(|_| !is_there && path.is_empty()) {
        let help = format!("add a node of type `answer`, or write `answer_key: {}`", port.name);
        findings.push(unwritten("name").help(help).needs(format!("{path}/answer_key")));
    }
    let mut read = |name: &str, place: String| {
        if !known.contains(&name) && !name.starts_with(RESERVED) {
            let message = format!("no node writes `{name}`, and it is not an input");
            let finding = sought(Finding::warning("unwritten-variable", place, message), path);
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
    let texts = scalars(graph, &ports);
    for (index, node) in graph.nodes.iter().enumerate() {
        let template = node.definition.config.get("template").and_then(Value::as_str);
        let template = template.filter(|_| ["template", "answer"].contains(&node.definition.kind.as_str()));
        for (written, asked) in reference::asked(template.unwrap_or_default()) {
            let place = format!("{path}/nodes/{index}/config/template");
            let name = asked.split('.').next().unwrap_or_default();
            if asked.len() > name.len() && texts.contains(name) {
                let message = format!("`{written}` stays as it is: `{name}` is neither a list nor an object");
                findings.push(Finding::warning("unwritten-variable", place, message));
            } else if !known.contains(name) && !name.starts_with(RESERVED) {
                let message =
                    format!("`{written}` stays as it is: no node writes `{name}`, and it is not an input");
                let finding = sought(Finding::warning("unwritten-variable", place, message), path);
                findings.push(finding.suggest(name, known.iter().copied()));
            }
        }
    }
}

/// What it takes that a variable is really not there.
fn sought(finding: Finding, path: &str) -> Finding {
    finding.sought_in(format!("{path}/inputs")).sought_in(format!("{path}/nodes"))
}

/// The nodes that are written so that it cannot be said what they read and write.
fn doubtful(path: &str, findings: &[Finding]) -> BTreeSet<usize> {
    let shapeless = ["unknown-field", "unknown-type", "missing-field", "wrong-value"];
    let nodes = format!("{path}/nodes/");
    let found = findings.iter().filter(|finding| shapeless.contains(&finding.code));
    let within = found.filter_map(|finding| finding.path.strip_prefix(&nodes)?.split_once('/'));
    let within = within.filter(|(_, field)| field.starts_with("config") || *field == "type");
    within.filter_map(|(index, _)| index.parse().ok()).collect()
}

/// The variables of which it is known that they hold no lists and no objects.
fn scalars<'a>(graph: &'a CompiledGraph, ports: &'a [Ports]) -> BTreeSet<&'a str> {
    let is_plain = |kind: PortType| {
        matches!(kind, PortType::String | PortType::Integer | PortType::Float | PortType::Bool)
    };
    let inputs = graph.definition.inputs.iter().map(|input| {
        let plain = [InputType::String, InputType::Number, InputType::Integer, InputType::Boolean];
        (input.name.as_str(), plain.contains(&input.kind))
    });
    let written = ports.iter().flat_map(|ports| &ports.outputs);
    let all: Vec<(&str, bool)> =
        inputs.chain(written.map(|port| (port.name.as_str(), is_plain(port.kind)))).collect();
    let others: BTreeSet<&str> = all.iter().filter(|(_, plain)| !plain).map(|(name, _)| *name).collect();
    all.into_iter().map(|(name, _)| name).filter(|name| !others.contains(name)).collect()
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

/// So many edges of a graph are followed to see who writes what does not fit. What is not found by then is not warned of.
const EFFORT: usize = 2_000_000;

/// Variables that a node needs as one thing and an earlier node writes as another.
fn incompatible(
    graph: &CompiledGraph,
    ports: &[Ports],
    successors: &[Vec<usize>],
    path: &str,
    findings: &mut Vec<Finding>,
) {
    let mut written: HashMap<&str, Vec<(usize, PortType)>> = HashMap::new();
    for (node, ports) in ports.iter().enumerate() {
        for port in &ports.outputs {
            written.entry(&port.name).or_default().push((node, port.kind));
        }
    }
    let (predecessors, mut effort) = (reversed(successors), EFFORT);
    for (reader, own) in ports.iter().enumerate() {
        for port in own.inputs.iter().chain(&handed_on(graph, reader)) {
            let unfit = written.get(port.name.as_str()).into_iter().flatten();
            let unfit: HashMap<usize, PortType> =
                unfit.copied().filter(|(_, kind)| !port.kind.accepts(*kind)).collect();
            let Some((writer, kind)) = nearest(reader, &unfit, &predecessors, &mut effort) else { continue };
            let id = |node: usize| graph.nodes[node].definition.id.as_str();
            let message = format!(
                "`{}` needs `{}` to be {}, and `{}` writes {}",
                id(reader),
                port.name,
                port.kind.in_words(),
                id(writer),
                kind.in_words()
            );
            findings.push(Finding::warning(
                "port-incompatible",
                format!("{path}/nodes/{reader}/id"),
                message,
            ));
        }
    }
}

/// The variables that a `graph` node hands on as they are, as what the graph declares them to be.
fn handed_on(graph: &CompiledGraph, node: usize) -> Vec<Port> {
    let definition = &graph.nodes[node].definition;
    let runs = definition.config.get("graph").and_then(Value::as_str).filter(|_| definition.kind == "graph");
    let declared = runs.and_then(|name| graph.graphs.get(name)).map(|graph| &graph.definition.inputs);
    let given = definition.config.get("inputs").and_then(Value::as_object);
    let ports = declared.into_iter().flatten().filter_map(|input| {
        let kind = match input.kind {
            InputType::String => PortType::String,
            InputType::Number => PortType::Float,
            InputType::Integer => PortType::Integer,
            InputType::Boolean => PortType::Bool,
            InputType::Array => PortType::Array,
            InputType::Object => PortType::Object,
            InputType::File | InputType::Any => return None,
        };
        let variable = reference::whole_variable(given?.get(&input.name)?.as_str()?)?;
        Some(Port::optional(variable, kind))
    });
    ports.collect()
}

/// The nearest of some nodes from which a node is reached, if it is found with this effort.
fn nearest(
    node: usize,
    wanted: &HashMap<usize, PortType>,
    predecessors: &[Vec<usize>],
    effort: &mut usize,
) -> Option<(usize, PortType)> {
    if wanted.is_empty() {
        return None;
    }
    let (mut known, mut open) = (BTreeSet::new(), VecDeque::from([node]));
    while let Some(node) = open.pop_front() {
        for &before in &predecessors[node] {
            *effort = effort.checked_sub(1)?;
            if let Some(kind) = wanted.get(&before) {
                return Some((before, *kind));
            }
            if known.insert(before) {
                open.push_back(before);
            }
        }
    }
    None
}
