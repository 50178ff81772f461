//! Which node runs when.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;

use convoke_core::{Canceller, Error, Scope, Suspension};
use tokio::task::JoinSet;

use super::graph::Graph;
use super::node_step::Activation;
use super::token::{Token, together};
use crate::{Board, MergeConflict};

/// A graph under way.
pub(super) struct Schedule<'a> {
    graph: &'a Graph,
    scope: &'a Scope,
    /// The board when there was one path only.
    base: Board,
    /// Paths that have come to a node which has not begun.
    waiting: BTreeMap<usize, Vec<Token>>,
    running: JoinSet<Finished>,
    /// The nodes that run, and the paths that led to them.
    active: HashMap<usize, (Token, Canceller)>,
    /// Nodes that wait for a person, or cannot go on for a reason that is not theirs.
    stopped: BTreeMap<usize, (Token, Error)>,
    ended: Vec<Token>,
    begun: u64,
    last_id: u64,
}

/// A node that has run.
struct Finished {
    node: usize,
    scope: Scope,
    activation: Activation,
    result: Result<(), Error>,
}

/// The error of a graph that ran more nodes than it may.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "graph `{graph}` has run {limit} nodes, as many as it may, and is not done; raise `max_nodes`, or see why its loop does not end"
)]
#[non_exhaustive]
pub struct NodeBudgetExhausted {
    /// The graph.
    pub graph: String,
    /// How many nodes it may run.
    pub limit: u64,
}

impl<'a> Schedule<'a> {
    pub(super) fn new(graph: &'a Graph, scope: &'a Scope, board: Board) -> Self {
        let first = Token::new(board.clone());
        Self {
            graph,
            scope,
            base: board,
            waiting: BTreeMap::from([(graph.compiled.entry, vec![first])]),
            running: JoinSet::new(),
            active: HashMap::new(),
            stopped: BTreeMap::new(),
            ended: Vec::new(),
            begun: 0,
            last_id: 0,
        }
    }

    /// Runs until nothing more can be done, and leaves on the board what there is then.
    pub(super) async fn run(mut self, board: &mut Board) -> Result<(), Error> {
        let worked = self.work().await;
        if let Err(failure) = worked {
            for (_, canceller) in self.active.values() {
                canceller.cancel("another branch of the graph failed");
            }
            while self.running.join_next().await.is_some() {}
            *board = self.base;
            return Err(failure);
        }
        if let Some(stop) = self.stop() {
            *board = self.so_far();
            return Err(stop);
        }
        let ended = std::mem::take(&mut self.ended);
        *board = self.merge(ended)?.map_or_else(|| self.base.clone(), |token| token.board);
        Ok(())
    }

    async fn work(&mut self) -> Result<(), Error> {
        loop {
            self.begin_ready()?;
            let Some(joined) = self.running.join_next().await else { return Ok(()) };
            let finished = joined.map_err(Error::failed)?;
            self.settle(finished)?;
        }
    }

    /// Begins every node whose time has come.
    fn begin_ready(&mut self) -> Result<(), Error> {
        let limit = self.scope.settings().max_concurrency.map_or(usize::MAX, NonZeroUsize::get);
        let is_ready = |node: &usize| {
            let elsewhere = self.waiting.keys().chain(self.active.keys()).chain(self.stopped.keys());
            !elsewhere
                .into_iter()
                .any(|other| other != node && self.graph.compiled.order.holds_up(*other, *node))
        };
        let ready: Vec<usize> = self.waiting.keys().copied().filter(is_ready).collect();
        for node in ready {
            // Who has begun holds up whoever it held up while it was waiting.
            if self.active.len() >= limit
                || self.active.contains_key(&node)
                || self.stopped.contains_key(&node)
            {
                continue;
            }
            let Some(arrived) = self.waiting.remove(&node) else { continue };
            self.begin(node, arrived)?;
        }
        Ok(())
    }

    fn begin(&mut self, node: usize, arrived: Vec<Token>) -> Result<(), Error> {
        let id = &self.graph.compiled.nodes[node].definition.id;
        let is_alone = self.waiting.is_empty()
            && self.active.is_empty()
            && self.stopped.is_empty()
            && self.ended.is_empty();
        let merged =
            self.merge(arrived).map_err(|conflict| Error::from(conflict).in_step(id, self.scope.path()))?;
        let Some(mut token) = merged else { return Ok(()) };
        if is_alone {
            token.settle();
            self.base = token.board.clone();
        }
        let limit = self.graph.compiled.definition.max_nodes;
        self.begun += 1;
        if self.begun > limit {
            let graph = self.graph.compiled.definition.name.clone();
            return Err(Error::permanent(NodeBudgetExhausted { graph, limit }));
        }
        let step = self.graph.steps[node].clone();
        let place = self.scope.composing().place_after(step.name(), &token.causes);
        let (scope, canceller) = self.scope.composing().open_branch(&place, &*step)?;
        let mut activation =
            Activation { board: token.board.clone(), iterations: token.iterations(), targets: Vec::new() };
        self.active.insert(node, (token, canceller));
        self.running.spawn(async move {
            let result = scope.composing().enter(&*step, &mut activation).await;
            Finished { node, scope, activation, result }
        });
        Ok(())
    }

    /// Goes on from a node that has run.
    fn settle(&mut self, finished: Finished) -> Result<(), Error> {
        let Finished { node, scope, activation, result } = finished;
        let Some((token, _)) = self.active.remove(&node) else { return Ok(()) };
        let id = &self.graph.compiled.nodes[node].definition.id;
        let number = self.next_id();
        let token = token.after(number, id, activation.board, &scope);
        match result {
            Ok(()) => {}
            Err(stop) if stop.passes(scope.path()) => {
                self.stopped.insert(node, (token, stop));
                return Ok(());
            }
            Err(error) => {
                // What the node that failed has written stays, if it was alone.
                if self.active.is_empty() && self.waiting.is_empty() && self.ended.is_empty() {
                    self.base = token.board;
                }
                return Err(error.in_step(id, scope.path()));
            }
        }
        self.scope.composing().learn_from(&scope);
        if activation.targets.is_empty() {
            self.ended.push(token);
            return Ok(());
        }
        let forks = activation.targets.len() > 1;
        for (index, target) in activation.targets.into_iter().enumerate() {
            let mut token = token.clone();
            if forks {
                token.branch.push(index);
            }
            match target {
                Some(target) => self.waiting.entry(target).or_default().push(token),
                None => self.ended.push(token),
            }
        }
        Ok(())
    }

    fn merge(&mut self, tokens: Vec<Token>) -> Result<Option<Token>, MergeConflict> {
        let (graph, mut last_id) = (self.graph, self.last_id);
        let merged = together(tokens, &self.base, &|key| graph.reducer(key), || {
            last_id += 1;
            last_id
        });
        self.last_id = last_id;
        merged
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Why it cannot go on, if it cannot: something about the run, or what people have yet to answer.
    fn stop(&self) -> Option<Error> {
        let stops = || self.stopped.values().map(|(_, stop)| stop);
        if let Some(stop) = stops().find(|stop| !matches!(stop.root(), Error::Suspended(_))) {
            return Some(stop.clone());
        }
        let questions = stops().filter_map(|stop| match stop.root() {
            Error::Suspended(suspension) => Some(&**suspension),
            _ => None,
        });
        let together = Suspension::together(questions);
        (!self.stopped.is_empty()).then(|| Error::Suspended(Box::new(together)))
    }

    /// What all paths have come to, as far as they have; who would conflict is left out.
    fn so_far(&mut self) -> Board {
        let stopped = std::mem::take(&mut self.stopped).into_values().map(|(token, _)| token);
        let waiting = std::mem::take(&mut self.waiting).into_values().flatten();
        let all: Vec<Token> = stopped.chain(waiting).chain(self.ended.drain(..)).collect();
        let mut known: Option<Token> = None;
        for token in all {
            let both = known.clone().into_iter().chain([token]).collect();
            if let Ok(merged) = self.merge(both) {
                known = merged;
            }
        }
        known.map_or_else(|| self.base.clone(), |token| token.board)
    }
}

impl From<MergeConflict> for Error {
    fn from(conflict: MergeConflict) -> Self {
        Self::permanent(conflict)
    }
}
