//! Pictures of a graph: text, JSON and a diagram.

use convoke_core::Path;
use convoke_diagram::{Arrow, Diagram, Item, ItemId, Mark, Shape};
use serde_json::Value;

use super::{COMPUTED, CompiledGraph, CompiledNode};
use crate::definition::END;
use crate::way::GraphWay;

/// Whether nodes of a type may leave nothing on record: what these run may consist of such nodes.
fn is_computed(kind: &str) -> bool {
    COMPUTED.contains(&kind) || matches!(kind, "graph" | "iteration" | "step" | "workflow")
}

impl CompiledGraph {
    /// Returns what it is, as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut outline = serde_json::to_value(&self.definition).unwrap_or_default();
        outline["metadata"] = serde_json::to_value(self.metadata()).unwrap_or_default();
        outline
    }

    /// Returns what it is, for people to read.
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

    /// Returns what it is, as a diagram.
    #[must_use]
    pub fn to_diagram(&self) -> Diagram {
        self.drawn(None)
    }

    /// Returns what it is, as a diagram with the way that a run took: how often it came to each node, and how often it took each edge. Nodes
    /// that are not over are [active](Mark::Active), those that others ended [cancelled](Mark::Cancelled).
    #[must_use]
    pub fn to_diagram_of(&self, way: &GraphWay) -> Diagram {
        self.drawn(Some(way))
    }

    fn drawn(&self, way: Option<&GraphWay>) -> Diagram {
        let mut diagram = Diagram::new(&self.definition.name);
        self.draw(&mut diagram, None, &Path::from(""), way);
        diagram
    }

    /// Draws it as it is run at a path, within a group or not. A graph within it is drawn in the first node that runs it.
    fn draw(&self, diagram: &mut Diagram, group: Option<ItemId>, at: &Path, way: Option<&GraphWay>) {
        let workflow = Path::join(at, &self.definition.name, 1);
        let add = |diagram: &mut Diagram, mut item: Item| {
            item.parent = group;
            diagram.add(item)
        };
        let mut inner: Vec<&CompiledGraph> = Vec::new();
        let start = add(diagram, Item::start());
        let mut items = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let (id, kind) = (&node.definition.id, &node.definition.kind);
            let decides = node.edges.iter().any(|edge| edge.condition.is_some());
            let shape = if decides { Shape::Decision } else { Shape::Box };
            let mut item = Item::new(id).line(kind).shape(shape).at(Path::join(&workflow, id, 1).as_str());
            if is_computed(kind) {
                item = item.without_trace();
            }
            if let Some(visits) = way.map(|way| &way.nodes[index]) {
                item.visits = Some(visits.begun - visits.left_out);
                (item.mark, item.note) = match &visits.ended_by {
                    _ if visits.is_open => (Mark::Active, String::new()),
                    Some(reason) if visits.begun == visits.left_out => {
                        (Mark::Cancelled, format!("✗ ended: {reason}"))
                    }
                    _ => (Mark::None, String::new()),
                };
            }
            let item = add(diagram, item);
            items.push(item);
            if let Some(graph) =
                self.graph_of(node).filter(|graph| !inner.iter().any(|drawn| std::ptr::eq(*drawn, *graph)))
            {
                inner.push(graph);
                let way = way.and_then(|way| way.nodes[index].inner.as_ref());
                graph.draw(diagram, Some(item), &Path::join(&workflow, id, 1), way);
            }
        }
        let mut begin = Arrow::new(start, items[self.entry]);
        begin.taken = way.map(|way| way.nodes[self.entry].begun.min(1));
        diagram.connect(begin);
        let ends = self.nodes.iter().any(|node| node.edges.iter().any(|edge| edge.to.is_none()));
        let end = ends.then(|| add(diagram, Item::end()));
        for (index, (node, &from)) in self.nodes.iter().zip(&items).enumerate() {
            for (number, edge) in node.edges.iter().enumerate() {
                let Some(to) = edge.to.map(|to| items[to]).or(end) else { continue };
                let mut arrow = Arrow::new(from, to);
                arrow.taken = way.map(|way| way.nodes[index].taken[number]);
                diagram.connect(match &edge.condition {
                    Some(condition) => arrow.label(condition.text()),
                    None => arrow,
                });
            }
        }
    }

    /// The graph within it that a node runs, for as often as it likes.
    pub(crate) fn graph_of(&self, node: &CompiledNode) -> Option<&CompiledGraph> {
        self.graphs.get(node.definition.config.get("graph")?.as_str()?).map(|graph| &**graph)
    }

    /// What a node that edges lead to is called; `None` is the end.
    pub(crate) fn target(&self, node: Option<usize>) -> &str {
        node.map_or(END, |node| &self.nodes[node].definition.id)
    }
}
