//! From a definition to a graph that can be run: everything that is wrong with it is found at once.

mod check;
mod given;
mod guards;
mod lint;
mod occupied;
mod order;
mod outline;
mod ports;
mod reserved;
mod rounds;
mod search;
pub(crate) mod shape;
mod warn;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::sort_keys;
use convoke_text::document;
use convoke_text::finding::Finding;
use serde::Deserialize;
use serde_json::{Map, Value};

pub use lint::lint;
pub(crate) use occupied::Occupied;
pub(crate) use order::Order;
pub(crate) use search::reached;

use rounds::Lead;
use shape::Shape;

use crate::Condition;
use crate::definition::{GraphDefinition, InputDefinition, NodeDefinition};
use crate::node::{NodeTypes, Ports, script};
use crate::run::Rules;

/// A graph in which everything fits together. The only thing that can be run.
#[derive(Debug, Clone)]
pub struct CompiledGraph {
    pub(crate) definition: GraphDefinition,
    pub(crate) nodes: Vec<CompiledNode>,
    pub(crate) entry: usize,
    order: Order,
    /// The order by the rules of earlier builds, if it was another.
    earlier_order: Option<Order>,
    pub(crate) graphs: BTreeMap<String, Arc<CompiledGraph>>,
    pub(crate) types: NodeTypes,
}

/// A node, and where one goes from there.
#[derive(Debug, Clone)]
pub(crate) struct CompiledNode {
    pub(crate) definition: NodeDefinition,
    pub(crate) skip: Option<Condition>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) edges: Vec<CompiledEdge>,
    /// The nodes at which other branches are ended when this one is done.
    pub(crate) cancels: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(crate) struct CompiledEdge {
    /// `None` is the end.
    pub(crate) to: Option<usize>,
    pub(crate) condition: Option<Condition>,
}

/// A graph that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this graph cannot be run: {}", lines(.findings))]
#[non_exhaustive]
pub struct InvalidGraph {
    /// Everything that is wrong with it.
    pub findings: Vec<Finding>,
}

fn lines(findings: &[Finding]) -> String {
    let errors = findings.iter().filter(|finding| finding.is_error());
    errors.map(|finding| format!("{} ({})", finding.message, finding.path)).collect::<Vec<_>>().join("; ")
}

/// Reads a graph, JSON or YAML: the graph if it can be run, and everything that is wrong with it, in the order of the text.
///
/// ```
/// let (graph, findings) = convoke_graph::read("
/// name: greet
/// entry: hello
/// inputs: [{name: name}]
/// nodes:
///   - {id: hello, type: template, config: {template: 'Hello {{.name}}!'}}
/// edges:
///   - {from: hello, to: __end__}
/// ", &convoke_graph::NodeTypes::standard());
/// assert!(findings.is_empty(), "{findings:?}");
/// assert!(graph.is_some());
/// ```
#[must_use]
pub fn read(text: &str, types: &NodeTypes) -> (Option<CompiledGraph>, Vec<Finding>) {
    read_with(text, types, |_| Vec::new())
}

/// Reads a graph together with what is beside it, such as the [files](GraphDefinition::workflow_files) of its nodes: what is found
/// wrong with that is said with everything else, even where the graph has mistakes of its own.
#[must_use]
pub fn read_with(
    text: &str,
    types: &NodeTypes,
    beside: impl FnOnce(&GraphDefinition) -> Vec<Finding>,
) -> (Option<CompiledGraph>, Vec<Finding>) {
    let mut findings = Vec::new();
    let Some(node) = document::parse(text, &mut findings) else { return (None, findings) };
    let (shape, value) = (Shape::new(convoke_agent::schema_of::<GraphDefinition>()), node.to_value());
    shape::check(&shape, &value, "", shape::NOTHING, &mut findings);
    let gaps = shape::gaps(&shape, &value);
    let graph = match GraphDefinition::deserialize(&gaps.filled(&node)) {
        Ok(definition) => {
            let known = findings.len();
            findings.extend(beside(&definition));
            let graph = compiled(definition, types, "", &[], &mut findings);
            let found = findings.split_off(known);
            findings.extend(found.into_iter().filter(|finding| !gaps.explain(finding)));
            graph
        }
        // What is wrong has been said, in better words.
        Err(_) if findings.iter().any(Finding::is_error) => None,
        Err(error) => {
            findings.push(Finding::error("unreadable", "", format!("this is not a graph: {error}")));
            None
        }
    };
    for finding in findings.iter_mut().filter(|finding| finding.code == script::INVALID) {
        finding.place = script::line_of(text, &node, &finding.path);
    }
    document::place(&node, &mut findings);
    (graph.filter(|_| !findings.iter().any(Finding::is_error)), findings)
}

/// Returns whether a text looks like a graph: an object, in JSON or YAML, with `nodes` and an `entry`.
#[must_use]
pub fn looks_like_a_graph(text: &str) -> bool {
    document::looks_like(text, &["nodes", "entry"])
}

impl CompiledGraph {
    /// Compiles a graph that was written in Rust.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn new(definition: GraphDefinition, types: &NodeTypes) -> Result<Self, InvalidGraph> {
        let mut findings = Vec::new();
        match compiled(definition, types, "", &[], &mut findings) {
            Some(graph) if !findings.iter().any(Finding::is_error) => Ok(graph),
            _ => Err(InvalidGraph { findings }),
        }
    }

    /// Returns what it was compiled from.
    #[must_use]
    pub fn definition(&self) -> &GraphDefinition {
        &self.definition
    }

    /// Returns whether some node of it asks a model and does not say which.
    #[must_use]
    pub fn needs_model(&self) -> bool {
        let asks = |node: &CompiledNode| {
            let definition = &node.definition;
            matches!(definition.kind.as_str(), "llm" | "agent") && !definition.config.contains_key("model")
        };
        self.nodes.iter().any(asks) || self.graphs.values().any(|graph| graph.needs_model())
    }

    /// Returns what is known of its shape.
    #[must_use]
    pub fn metadata(&self) -> Metadata {
        let successors = self.successors();
        Metadata {
            node_count: self.nodes.len(),
            edge_count: self.definition.edges.len(),
            max_depth: self.depth(&successors),
            has_cycles: !search::cycles(&successors).is_empty(),
            has_parallel: self
                .nodes
                .iter()
                .any(|node| node.edges.iter().filter(|edge| edge.condition.is_none()).count() > 1),
        }
    }

    /// What a node reads and writes, as far as that is known by now.
    fn ports(&self, node: &CompiledNode) -> Ports {
        let kind = self.types.get(&node.definition.kind);
        kind.map_or_else(Ports::unknown, |kind| kind.ports(&node.config()))
    }

    /// Which nodes wait for which, by these rules.
    pub(crate) fn order_by(&self, rules: Rules) -> &Order {
        match &self.earlier_order {
            Some(earlier) if rules < Rules::Ordered => earlier,
            _ => &self.order,
        }
    }

    /// Whether its nodes wait for others by the rules of earlier builds.
    pub(crate) fn had_another_order(&self) -> bool {
        self.earlier_order.is_some()
    }

    fn depth(&self, successors: &[Vec<usize>]) -> usize {
        let mut depth = vec![0; self.nodes.len()];
        for node in search::postorder(successors, self.entry) {
            let ends = self.nodes[node].edges.iter().any(|edge| edge.to.is_none());
            let next = successors[node].iter().map(|next| depth[*next] + 1);
            // A node that is not done yet leads back: it has no depth so far.
            depth[node] = next.chain(ends.then_some(1)).max().unwrap_or(0);
        }
        depth[self.entry]
    }

    fn leads(&self) -> Vec<Vec<Lead>> {
        let lead = |edge: &CompiledEdge| Lead { to: edge.to, is_conditional: edge.condition.is_some() };
        self.nodes.iter().map(|node| node.edges.iter().map(lead).collect()).collect()
    }

    fn successors(&self) -> Vec<Vec<usize>> {
        self.nodes.iter().map(|node| node.edges.iter().filter_map(|edge| edge.to).collect()).collect()
    }
}

/// The facts about the shape of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Metadata {
    /// How many nodes it has.
    pub node_count: usize,
    /// How many edges it has.
    pub edge_count: usize,
    /// How many edges the longest path from the entry has, without going round any loop.
    pub max_depth: usize,
    /// Whether some node can be reached from itself.
    pub has_cycles: bool,
    /// Whether some node has several edges without a condition.
    pub has_parallel: bool,
}

/// The graph as far as it can be understood. `given` are the names of what it is given whatever it declares.
fn compiled(
    mut definition: GraphDefinition,
    types: &NodeTypes,
    path: &str,
    given: &[String],
    findings: &mut Vec<Finding>,
) -> Option<CompiledGraph> {
    let errors = findings.iter().filter(|finding| finding.is_error()).count();
    definition.inputs.iter_mut().for_each(InputDefinition::leave_out_null);
    for node in &mut definition.nodes {
        // What nodes do with their fields in order, they do alike however `serde_json` was built.
        let mut config = Value::Object(std::mem::take(&mut node.config));
        sort_keys(&mut config);
        node.config = if let Value::Object(config) = config { config } else { Map::new() };
    }
    let graphs = definition.graphs.iter().filter_map(|(name, graph)| {
        let path = convoke_text::finding::child(&format!("{path}/graphs"), name);
        let given = given::names(&definition, name);
        Some((name.clone(), Arc::new(compiled(graph.clone(), types, &path, &given, findings)?)))
    });
    let graphs: BTreeMap<String, Arc<CompiledGraph>> = graphs.collect();
    let names = check::names(&definition, path, findings);
    let mut shapes = check::Shapes::new();
    let mut nodes: Vec<CompiledNode> = definition
        .nodes
        .iter()
        .enumerate()
        .map(|(index, node)| {
            check::node(&definition, node, &format!("{path}/nodes/{index}"), types, &mut shapes, findings)
        })
        .collect();
    check::edges(&definition, &names, path, &mut nodes, findings);
    check::cancels(&names, path, &mut nodes, findings);
    given::check(&definition, &graphs, path, findings);
    let entry = names.get(definition.entry.as_str()).copied();
    let mut graph = CompiledGraph {
        definition,
        nodes,
        entry: entry.unwrap_or_default(),
        order: Order::default(),
        earlier_order: None,
        graphs,
        types: types.clone(),
    };
    let successors = graph.successors();
    // Where one goes is known, whatever is wrong with what nodes do.
    if findings.iter().filter(|finding| finding.is_error()).all(is_about_work) {
        warn::warnings(&graph, &successors, path, findings);
    }
    ports::warnings(&graph, &successors, path, given, findings);
    if findings.iter().filter(|finding| finding.is_error()).count() > errors {
        return None;
    }
    let leads = graph.leads();
    graph.order = Order::of(&leads, entry?);
    graph.earlier_order = graph.order.before(&leads, entry?);
    Some(graph)
}

/// Whether something is wrong only with what a node does.
fn is_about_work(finding: &Finding) -> bool {
    let (_, of_node) = finding.path.rsplit_once("/nodes/").unwrap_or_default();
    of_node.split('/').nth(1).is_some_and(|field| ["config", "type"].contains(&field))
}

/// Nodes of these types compute from the board alone, and leave nothing on record.
pub(crate) const COMPUTED: [&str; 9] = [
    "answer",
    "aggregator",
    "assigner",
    "ifelse",
    "loopguard",
    "passthrough",
    "router",
    "script",
    "template",
];

impl CompiledNode {
    /// The configuration as JSON.
    pub(crate) fn config(&self) -> Value {
        Value::Object(self.definition.config.clone())
    }

    /// Whether it is kept on record where one went from here. From others one always goes the same way at once.
    pub(crate) fn keeps_route(&self) -> bool {
        !COMPUTED.contains(&self.definition.kind.as_str())
            || self.edges.iter().any(|edge| edge.condition.is_some())
    }
}
