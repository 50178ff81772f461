//! What looks wrong with a graph that can be run.

use convoke_text::finding::Finding;
use serde_json::Value;

use super::CompiledGraph;
use super::order::{cycles, reached};

pub(super) fn warnings(
    graph: &CompiledGraph,
    successors: &[Vec<usize>],
    path: &str,
    findings: &mut Vec<Finding>,
) {
    let all: Vec<usize> = (0..graph.nodes.len()).collect();
    let id = |node: usize| graph.nodes[node].definition.id.as_str();
    let place = |node: usize| format!("{path}/nodes/{node}/id");
    let from_entry = reached(graph.entry, &all, successors);
    for node in all.iter().copied().filter(|node| *node != graph.entry && !from_entry.contains(node)) {
        let message = format!("no path from the entry leads to `{}`, so it never runs", id(node));
        findings.push(Finding::warning("unreachable-node", place(node), message));
    }
    let ends = |node: &usize| {
        let edges = &graph.nodes[*node].edges;
        edges.is_empty() || edges.iter().any(|edge| edge.to.is_none())
    };
    for node in std::iter::once(graph.entry).chain(from_entry.into_iter().filter(|node| *node != graph.entry))
    {
        if !ends(&node) && !reached(node, &all, successors).iter().any(ends) {
            let message = format!("no path from `{}` leads to an end", id(node));
            let help = "let an edge lead to `__end__`, or to a node without edges";
            findings.push(Finding::warning("unreachable-end", place(node), message).help(help));
        }
    }
    for members in cycles(successors) {
        let is_left = members.iter().any(|node| {
            let edges = &graph.nodes[*node].edges;
            edges
                .iter()
                .any(|edge| edge.condition.is_some() || edge.to.is_none_or(|to| !members.contains(&to)))
        });
        if !is_left {
            let names: Vec<&str> = members.iter().map(|node| id(*node)).collect();
            let message = format!("nothing ends the loop of {}", names.join(", "));
            let help = "put a `loopguard` into it and leave it by an edge with a condition";
            findings.push(Finding::warning("unguarded-cycle", place(members[0]), message).help(help));
        }
    }
    for (index, node) in graph.nodes.iter().enumerate() {
        let conditional = node.edges.iter().filter(|edge| edge.condition.is_some()).count();
        if conditional > 1 && conditional == node.edges.len() {
            let message = format!("if no condition is true after `{}`, the path ends there", id(index));
            let help = "add an edge without a condition";
            findings.push(Finding::warning("missing-default-branch", place(index), message).help(help));
        }
        let forks: Vec<usize> =
            node.edges.iter().filter(|edge| edge.condition.is_none()).filter_map(|edge| edge.to).collect();
        if forks.len() > 1 {
            let mut common = reached(forks[0], &all, successors);
            for fork in &forks[1..] {
                let others = reached(*fork, &all, successors);
                common.retain(|node| others.contains(node) || node == fork);
            }
            if common.is_empty() {
                let message = format!("the branches after `{}` meet nowhere; each ends by itself", id(index));
                findings.push(Finding::warning("parallel-no-join", place(index), message));
            }
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
