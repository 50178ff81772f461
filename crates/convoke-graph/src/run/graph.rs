//! A graph with everything it needs: a step over a board.

use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Model, Nature, Outline, Scope, SharedStep, Step, Workflow};
use serde_json::Value;

use super::node_step::{Activation, NodeStep};
use super::rules::Rules;
use super::schedule::Schedule;
use crate::node::{FirstOfRounds, GraphEquipment, Node, NodeSite, NodeType, script};
use crate::{Board, CompiledGraph, Reducer};

/// A graph with everything it needs.
#[derive(Clone)]
pub struct Graph {
    pub(crate) compiled: Arc<CompiledGraph>,
    pub(super) steps: Arc<[SharedStep<Activation>]>,
    /// What the nodes are called.
    pub(super) names: Arc<[Arc<str>]>,
    /// Whether earlier builds kept by which rules a run of it goes, since there were others before them.
    pub(super) knew_other_rules: bool,
    /// Whether it goes another way by the rules of earlier builds, perhaps.
    pub(super) knows_other_rules: bool,
    /// Whether nodes decide in it where to go that may be in several branches, or are kept by node.
    pub(super) decides: bool,
    /// The model of nodes that name none.
    pub(crate) model: Option<Arc<dyn Model>>,
}

impl CompiledGraph {
    /// The graph with what its nodes work with.
    ///
    /// # Errors
    /// What they lack, a line each.
    pub fn equip(&self, equipment: GraphEquipment) -> Result<Graph, Vec<String>> {
        self.equip_shared(&Arc::new(equipment))
    }

    pub(crate) fn equip_shared(&self, equipment: &Arc<GraphEquipment>) -> Result<Graph, Vec<String>> {
        let (mut steps, mut problems) = (Vec::new(), Vec::new());
        let (guards, rounds) = (self.guards_within(), self.guards_of_rounds());
        for (index, node) in self.nodes.iter().enumerate() {
            let id = node.definition.id.as_str();
            let guards_within = guards.get(&index).map_or(&[][..], Vec::as_slice);
            let site =
                NodeSite { id, config: &node.config(), equipment, graphs: &self.graphs, guards_within };
            let first_of = |work: Arc<dyn Node>| match rounds.get(&index) {
                Some(guards) => Arc::new(FirstOfRounds::new(work, guards)) as Arc<dyn Node>,
                None => work,
            };
            // Compiled graphs have no nodes of unknown types.
            let built = match self.types.get(&node.definition.kind) {
                Some(kind) => kind.build(&site).map(|work| (first_of(work), Arc::clone(kind))),
                None => Err(format!("there are no nodes of type `{}`", node.definition.kind)),
            };
            let step = |(work, kind): (_, Arc<dyn NodeType>)| {
                let ports = Box::new(move |config: &Value| kind.ports(config));
                NodeStep::shared(node, work, ports, self.definition.max_branches)
            };
            match built.and_then(step) {
                Ok(step) => steps.push(step),
                Err(problem) => problems.push(format!("node `{id}`: {problem}")),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let names = self.nodes.iter().map(|node| node.definition.id.as_str().into()).collect();
        let judges = self.definition.merge.values().any(|reducer| reducer.judges());
        let knew_other_rules = judges || !guards.is_empty();
        let count = |kinds: &[&str]| {
            self.nodes.iter().filter(|node| kinds.contains(&node.definition.kind.as_str())).count()
        };
        let decides = count(&["gate"]) > 0 || count(&["ifelse", "router", "loopguard"]) > 1;
        let scripts = self.nodes.iter().flat_map(|node| {
            let source = |field: &str| node.definition.config.get(field).and_then(Value::as_str);
            [source("source"), source("body_script")].into_iter().flatten()
        });
        let had_other_scripts = scripts.into_iter().any(script::had_other_rules);
        let knows_other_rules = knew_other_rules
            || !rounds.is_empty()
            || self.had_another_order()
            || decides
            || had_other_scripts;
        let compiled = Arc::new(self.clone());
        let (steps, model) = (steps.into(), equipment.model.clone());
        Ok(Graph { compiled, steps, names, knew_other_rules, knows_other_rules, decides, model })
    }
}

impl Graph {
    /// Makes it a workflow that can be started.
    #[must_use]
    pub fn workflow(self) -> Workflow<Board> {
        Workflow::new(self)
    }

    /// The answer on a board that it has left.
    #[must_use]
    pub fn answer(&self, board: &Board) -> Value {
        board.get(&self.compiled.definition.answer_key).cloned().unwrap_or_default()
    }

    /// What a node that edges lead to is called; `None` is the end.
    pub(super) fn target(&self, node: Option<usize>) -> Arc<str> {
        node.map_or_else(|| self.compiled.target(None).into(), |node| Arc::clone(&self.names[node]))
    }

    /// What becomes of a variable that several branches write.
    pub(super) fn reducer(&self, key: &str, rules: Rules) -> Reducer {
        let merge = &self.compiled.definition.merge;
        let decided = |of: fn(&str) -> Option<Reducer>| {
            if self.decides && rules >= Rules::Ordered { of(key) } else { None }
        };
        let named = merge.get(key).copied().or_else(|| Reducer::of_engine(key));
        let named = named.or_else(|| decided(Reducer::of_gates)).or_else(|| merge.get("*").copied());
        named.or_else(|| decided(Reducer::of_ways)).unwrap_or_default()
    }
}

impl Step<Board> for Graph {
    fn name(&self) -> &str {
        &self.compiled.definition.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, board: &'a mut Board) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let rules = Rules::of(self, scope)?;
            Schedule::new(self, scope, rules, board.clone()).run(board).await
        })
    }

    fn kind(&self) -> &'static str {
        "graph"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn outline(&self) -> Outline {
        let nodes = self.steps.iter().map(|step| step.outline());
        Outline::composite(self.name(), self.kind(), nodes)
    }
}
