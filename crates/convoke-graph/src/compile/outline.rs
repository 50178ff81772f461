//! Pictures of a graph: text, JSON and Mermaid.

use serde_json::Value;

use super::{CompiledEdge, CompiledGraph};
use crate::definition::END;

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
                text.push_str(&format!("  -> {}{when}\n", self.target(edge)));
            }
        }
        text
    }

    /// What it is, as a Mermaid diagram.
    #[must_use]
    pub fn to_mermaid(&self) -> String {
        let name = |id: &str| if id == END { "end_of_graph".to_owned() } else { format!("n_{}", plain(id)) };
        let mut text = "flowchart TD\n".to_owned();
        for node in &self.nodes {
            let (id, kind) = (&node.definition.id, &node.definition.kind);
            text.push_str(&format!("  {}[\"{}<br/>{}\"]\n", name(id), label(id), label(kind)));
        }
        text.push_str("  end_of_graph((end))\n");
        for node in &self.nodes {
            let from = name(&node.definition.id);
            for edge in &node.edges {
                let to = name(self.target(edge));
                match &edge.condition {
                    Some(condition) => {
                        text.push_str(&format!("  {from} -->|\"{}\"| {to}\n", label(condition.text())));
                    }
                    None => text.push_str(&format!("  {from} --> {to}\n")),
                }
            }
        }
        text
    }

    fn target(&self, edge: &CompiledEdge) -> &str {
        edge.to.map_or(END, |to| &self.nodes[to].definition.id)
    }
}

fn plain(id: &str) -> String {
    id.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

fn label(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}
