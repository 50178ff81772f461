//! Warnings about graphs that can be run.

use std::collections::{HashMap, HashSet, VecDeque};

use convoke_text::finding::Finding;
use serde_json::Value;

use super::CompiledGraph;
use super::search::{cycles, reached, reversed};

/// So many nodes of a loop are named.
const NAMED: usize = 8;
/// So many edges of a graph are followed to see whether branches meet. What is not found out by then is not warned of.
const EFFORT: usize = 2_000_000;

pub(super) fn warnings(
    graph: &CompiledGraph,
    successors: &[Vec<usize>],
    path: &str,
    findings: &mut Vec<Finding>,
) {
    let id = |node: usize| graph.nodes[node].definition.id.as_str();
    let place = |node: usize| format!("{path}/nodes/{node}/id");
    let is_begun = reached(&[graph.entry], successors);
    for node in (0..graph.nodes.len()).filter(|node| !is_begun[*node]) {
        let message = format!("no path from the entry leads to `{}`, so it never runs", id(node));
        findings.push(Finding::warning("unreachable-node", place(node), message));
    }
    let ends = |node: &usize| {
        let edges = &graph.nodes[*node].edges;
        edges.is_empty() || edges.iter().any(|edge| edge.to.is_none())
    };
    let ends: Vec<usize> = (0..graph.nodes.len()).filter(ends).collect();
    let is_ended = reached(&ends, &reversed(successors));
    for node in (0..graph.nodes.len()).filter(|node| is_begun[*node] && !is_ended[*node]) {
        let message = format!("no path from `{}` leads to an end", id(node));
        let help = "let an edge lead to `__end__`, or to a node without edges";
        findings.push(Finding::warning("unreachable-end", place(node), message).help(help));
    }
    for members in cycles(successors) {
        let within: HashSet<usize> = members.iter().copied().collect();
        let is_left = members.iter().any(|node| {
            let edges = &graph.nodes[*node].edges;
            edges
                .iter()
                .any(|edge| edge.condition.is_some() || edge.to.is_none_or(|to| !within.contains(&to)))
        });
        if !is_left {
            let mut names: Vec<&str> = members.iter().take(NAMED).map(|node| id(*node)).collect();
            names.extend((members.len() > NAMED).then_some("…"));
            let message = format!("nothing ends the loop of {}", names.join(", "));
            let help = "put a `loopguard` into it and leave it by an edge with a condition";
            findings.push(Finding::warning("unguarded-cycle", place(members[0]), message).help(help));
        }
    }
    let mut counters: HashMap<&str, usize> = HashMap::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        let named = node.definition.config.get("counter_key").and_then(Value::as_str);
        let named = named.filter(|key| node.definition.kind == "loopguard" && *key != "__loop_count");
        if let Some(other) = named.and_then(|key| counters.insert(key, index)) {
            let key = named.unwrap_or_default();
            let message = format!("`{}` and `{}` count together, in `{key}`", id(other), id(index));
            let help = "leave `counter_key` out: then each counts for itself";
            let place = format!("{path}/nodes/{index}/config/counter_key");
            findings.push(Finding::warning("shared-counter", place, message).help(help));
        }
    }
    let mut effort = EFFORT;
    for (index, node) in graph.nodes.iter().enumerate() {
        let conditional = node.edges.iter().filter(|edge| edge.condition.is_some()).count();
        if conditional > 1 && conditional == node.edges.len() {
            let message = format!("if no condition is true after `{}`, the path ends there", id(index));
            let help = "add an edge without a condition";
            findings.push(Finding::warning("missing-default-branch", place(index), message).help(help));
        }
        let forks: Vec<usize> =
            node.edges.iter().filter(|edge| edge.condition.is_none()).filter_map(|edge| edge.to).collect();
        if forks.len() > 1 && meet(&forks, successors, &mut effort) == Some(false) {
            let message = format!("the branches after `{}` meet nowhere; each ends by itself", id(index));
            findings.push(Finding::warning("parallel-no-join", place(index), message));
        }
        let config = &node.definition.config;
        let key = config.get("messages_key").and_then(Value::as_str).unwrap_or("messages");
        if node.definition.kind == "llm"
            && key != "messages"
            && config.get("query_fallback") != Some(&Value::Bool(true))
            && !config.contains_key("prompt")
        {
            let message =
                format!("`{}` reads the channel `{key}`, to which nobody adds the query", id(index));
            let help = "write `query_fallback: true`, or give it a `prompt`";
            let finding = Finding::warning("llm-isolated-messages-no-fallback", place(index), message);
            findings.push(finding.help(help));
        }
    }
}

/// Whether there is a node that every branch leads to, if that is found out with this effort. The nearest nodes are looked at first.
fn meet(branches: &[usize], successors: &[Vec<usize>], effort: &mut usize) -> Option<bool> {
    let mut open: VecDeque<(usize, usize)> = branches.iter().copied().zip(0..).collect();
    let (mut known, mut arrived): (HashSet<(usize, usize)>, HashMap<usize, usize>) = Default::default();
    while let Some((node, branch)) = open.pop_front() {
        *effort = effort.checked_sub(1)?;
        if known.insert((node, branch)) {
            let arrived = arrived.entry(node).or_insert(0);
            *arrived += 1;
            if *arrived == branches.len() {
                return Some(true);
            }
            open.extend(successors[node].iter().map(|next| (*next, branch)));
        }
    }
    Some(false)
}
