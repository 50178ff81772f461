//! One node as a step: passed over or run, with its references resolved, and where one goes from there.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::{Bounds, BoxFuture, Error, EventKind, Nature, Scope, SharedStep, Step};
use convoke_steps::{Retry, RetryPolicy};
use serde_json::{Value, json};

use super::rules::Rules;
use crate::compile::CompiledNode;
use crate::node::{Node, NodeCall, Ports};
use crate::{Board, GraphFault, reference};

/// What a node is given, and what it leaves.
#[derive(Clone)]
pub(super) struct Activation {
    pub(super) board: Board,
    pub(super) iterations: u64,
    pub(super) rules: Rules,
    /// Where to go from here; `None` is the end. Set once the node has run.
    pub(super) targets: Targets,
    /// Whether the node was passed over.
    pub(super) is_skipped: bool,
}

/// Nodes that one goes on to, each once.
pub(super) type Targets = Arc<[Option<usize>]>;

/// What a node reads and writes, by its configuration.
pub(super) type PortsOf = Box<dyn Fn(&Value) -> Ports + Send + Sync>;

pub(super) struct NodeStep {
    node: CompiledNode,
    work: Arc<dyn Node>,
    /// What it reads and writes, by its configuration.
    ports: PortsOf,
    /// Both, if nothing in the configuration refers to the board.
    known: Option<(Value, Ports)>,
    /// Where the edges without a condition lead.
    usual: Targets,
    kind: &'static str,
    bounds: Bounds,
    max_branches: usize,
}

impl NodeStep {
    /// A node as a step, with its retries around it.
    pub(super) fn shared(
        node: &CompiledNode,
        work: Arc<dyn Node>,
        ports: PortsOf,
        max_branches: usize,
    ) -> Result<SharedStep<Activation>, String> {
        let mut bounds = Bounds::default();
        bounds.timeout = node.timeout;
        let kind = kind_of(&node.definition.kind);
        let known = (!reference::has_references(&node.config())).then(|| node.config());
        let known = known.map(|config| (config.clone(), ports(&config)));
        let usual = each_once(node.edges.iter().filter(|edge| edge.condition.is_none()).map(|edge| edge.to));
        let step = Self { node: node.clone(), work, ports, known, usual, kind, bounds, max_branches };
        if node.definition.retries == 0 {
            return Ok(Arc::new(step));
        }
        let attempts = node.definition.retries.saturating_add(1);
        let policy = RetryPolicy::attempts(attempts).map_err(|error| error.to_string())?;
        let policy = policy.initial(Duration::from_millis(500)).jitter(0.0);
        Ok(Arc::new(Retry::new(step, policy).with_rollback().in_place()))
    }

    async fn activate(&self, scope: &Scope, state: &mut Activation) -> Result<(), Error> {
        let id = self.node.definition.id.as_str();
        let is_skipped = match &self.node.skip {
            Some(skip) => skip.decided(&state.board, state.iterations).await?,
            None => false,
        };
        state.is_skipped = is_skipped;
        if is_skipped {
            self.tell(scope, "graph.node_skipped", json!({"node": id})).await;
        } else {
            let (config, ports) = match &self.known {
                Some((config, ports)) => (Cow::Borrowed(config), Cow::Borrowed(ports)),
                None => {
                    let config = reference::resolved(&self.node.config(), &state.board)?;
                    let ports = (self.ports)(&config);
                    (Cow::Owned(config), Cow::Owned(ports))
                }
            };
            if let Some(port) = ports.missing_input(&state.board, &config) {
                return Err(GraphFault::error(format!(
                    "node `{id}` needs `{}`, which is not on the board",
                    port.name
                )));
            }
            // A board that is kept cannot be changed in place, so it is kept only where it is asked for.
            let before = ports.writes_messages().then(|| state.board.clone());
            let (board, iterations, rules) = (&mut state.board, state.iterations, state.rules);
            self.work.run(&config, NodeCall { id, scope, board, iterations, rules }).await?;
            if let Some(port) = ports.missing_output(before.as_ref(), &state.board) {
                return Err(GraphFault::error(format!(
                    "node `{id}` was to write `{}`, and has not",
                    port.name
                )));
            }
        }
        state.targets = self.route(&state.board, state.iterations + 1).await?;
        let conditional = self.node.edges.iter().any(|edge| edge.condition.is_some());
        if conditional && scope.has_listeners() {
            self.tell(scope, "graph.routed", state.targets.len().into()).await;
        }
        Ok(())
    }

    /// Tells something of itself; on the heap, since that is rare.
    fn tell<'a>(&self, scope: &'a Scope, name: &str, value: Value) -> BoxFuture<'a, ()> {
        Box::pin(scope.emit(EventKind::Custom { name: name.to_owned(), value }))
    }

    /// Edges whose condition is true; if there are none, those without.
    async fn route(&self, board: &Board, iterations: u64) -> Result<Targets, Error> {
        let mut followed = Vec::new();
        for edge in &self.node.edges {
            if let Some(condition) = &edge.condition
                && condition.decided(board, iterations).await?
            {
                followed.push(edge.to);
            }
        }
        let followed = if followed.is_empty() { Arc::clone(&self.usual) } else { each_once(followed) };
        if followed.len() > self.max_branches {
            return Err(GraphFault::error(format!(
                "node `{}` forks into {} branches, and `max_branches` is {}; raise it, or fork less",
                self.node.definition.id,
                followed.len(),
                self.max_branches
            )));
        }
        Ok(followed)
    }
}

fn each_once(targets: impl IntoIterator<Item = Option<usize>>) -> Targets {
    let mut known = HashSet::new();
    targets.into_iter().filter(|target| known.insert(*target)).collect()
}

/// What events call a node of a type.
fn kind_of(kind: &str) -> &'static str {
    match kind {
        "llm" => "llm",
        "agent" => "agent",
        "tool" | "http" | "gate" | "context" => "tool",
        "approval" => "approval",
        "graph" | "iteration" => "graph",
        _ => "node",
    }
}

impl Step<Activation> for NodeStep {
    fn name(&self) -> &str {
        &self.node.definition.id
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut Activation) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.activate(scope, state))
    }

    fn kind(&self) -> &'static str {
        self.kind
    }

    fn nature(&self) -> Nature {
        self.work.nature()
    }

    fn bounds(&self) -> Option<&Bounds> {
        Some(&self.bounds)
    }
}
