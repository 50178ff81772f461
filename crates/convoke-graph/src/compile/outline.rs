//! Pictures of a graph: text, JSON and a diagram.

use convoke_core::Path;
use convoke_diagram::{Arrow, Diagram, Item, Shape};
use serde_json::Value;

use super::{COMPUTED, CompiledGraph};
use crate::definition::END;

/// Whether nodes of a type may leave nothing on record: what these run may consist of such nodes.
fn is_computed(kind: &str) -> bool {
    COMPUTED.contains(&kind) || matches!(kind, "graph" | "iteration" | "step" | "workflow")
}

impl CompiledGraph {
    /// What it is, as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut outline = serde_json::to_value(&self.definition).unwrap_or_default();
        outline["metadata"] = serde_json::to_value(self.metadata()).unwrap_or_default();
        outline
    }

    /// What it is, for people to read.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("graph {}\n", self.definition.name);
        if !self.definition.description.is_empty() {
            text.push_str(&format!("{}\n", self.definition.description));
        }
        for (index, node) in self.nodes.iter().enumerate() {
            let entry = if index == self.entry { ", entry" } else { "" };
            text.push_str(&format!("\n{} ({}{entry})\n", node.definition.id, node.definition.kind));
            if let Some(skip) = &node.skip {
                text.push_str(&format!("  passed over if {}\n", skip.text()));
            }
            for edge in &node.edges {
                let when = match &edge.condition {
                    Some(condition) => format!(" if {}", condition.text()),
                    None if node.edges.iter().any(|edge| edge.condition.is_some()) => " otherwise".to_owned(),
                    None => String::new(),
                };
                text.push_str(&format!("  -> {}{when}\n", self.target(edge.to)));
            }
        }
        text
    }

    /// What it is, as a diagram.
    #[must_use]
    pub fn to_diagram(&self) -> Diagram {
        let mut diagram = Diagram::new(&self.definition.name);
        let workflow = Path::join(&Path::from(""), &self.definition.name, 1);
        let start = diagram.add(Item::start());
        let mut items = Vec::new();
        for node in &self.nodes {
            let (id, kind) = (&node.definition.id, &node.definition.kind);
            let decides = node.edges.iter().any(|edge| edge.condition.is_some());
            let shape = if decides { Shape::Decision } else { Shape::Box };
            let item = Item::new(id).line(kind).shape(shape).at(Path::join(&workflow, id, 1).as_str());
            items.push(diagram.add(if is_computed(kind) { item.without_trace() } else { item }));
        }
        diagram.connect(Arrow::new(start, items[self.entry]));
        let ends = self.nodes.iter().any(|node| node.edges.iter().any(|edge| edge.to.is_none()));
        let end = ends.then(|| diagram.add(Item::end()));
        for (node, &from) in self.nodes.iter().zip(&items) {
            for edge in &node.edges {
                let Some(to) = edge.to.map(|to| items[to]).or(end) else { continue };
                let arrow = Arrow::new(from, to);
                diagram.connect(match &edge.condition {
                    Some(condition) => arrow.label(condition.text()),
                    None => arrow,
                });
            }
        }
        diagram
    }

    /// What a node that edges lead to is called; `None` is the end.
    pub(crate) fn target(&self, node: Option<usize>) -> &str {
        node.map_or(END, |node| &self.nodes[node].definition.id)
    }
}
