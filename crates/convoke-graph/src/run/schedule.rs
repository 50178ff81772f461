//! The schedule of nodes: which one runs when.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use convoke_core::{BranchFailure, Canceller, Error, EventKind, Scope, SharedStep, StepNote};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::branches::{Branches, Fork};
use super::count::NodeCount;
use super::graph::Graph;
use super::node_step::Activation;
use super::rules::Rules;
use super::token::{Token, together};
use super::waiting::{Arrived, Waiting};
use crate::compile::{Occupied, Order};
use crate::{Board, MergeConflict};

/// A graph under way.
pub(super) struct Schedule<'a> {
    pub(super) graph: &'a Graph,
    pub(super) scope: &'a Scope,
    rules: Rules,
    /// Which nodes wait for which.
    pub(super) order: &'a Order,
    /// The board when there was one path only.
    pub(super) base: Board,
    /// A board without anything, for where none is asked for.
    nothing: Board,
    /// Paths that have come to a node which has not begun.
    pub(super) waiting: Waiting,
    /// Where paths wait, are or have stopped.
    pub(super) taken: Occupied,
    /// Nodes that have begun and are not waited for yet.
    ready: Vec<Begun>,
    running: JoinSet<(usize, Finished)>,
    /// The nodes that run side by side, and the paths that led to them.
    pub(super) active: BTreeMap<usize, ActiveNode>,
    /// Nodes that wait for a person, or cannot go on for a reason that is not theirs.
    pub(super) stopped: BTreeMap<usize, StoppedNode>,
    pub(super) ended: Vec<Token>,
    pub(super) branches: Branches,
    /// Nodes that were left out instead of being begun, and what is to be told of branches there.
    left_out: Vec<(Scope, Vec<Fork>)>,
    begun: Arc<NodeCount>,
    last_id: u64,
}

pub(super) struct ActiveNode {
    pub(super) token: Token,
    pub(super) scope: Scope,
    /// What ends it alone; nothing if there were no other paths when it began, for it is over before there are.
    pub(super) canceller: Option<Canceller>,
    /// Why nothing of it counts, if another branch ended this one.
    pub(super) left_out: Option<String>,
}

pub(super) struct StoppedNode {
    pub(super) token: Token,
    pub(super) scope: Scope,
    pub(super) stop: Error,
}

/// A node that has begun, the path that led to it, and what is told before it runs.
struct Begun {
    node: usize,
    active: ActiveNode,
    work: NodeWork,
}

/// What there is to do for a node.
struct NodeWork {
    step: SharedStep<Activation>,
    scope: Scope,
    activation: Activation,
    joined: Vec<Fork>,
    within: Option<Value>,
    count: Arc<NodeCount>,
}

impl NodeWork {
    async fn run(mut self) -> Finished {
        if self.scope.has_listeners() {
            Box::pin(self.tell()).await;
        }
        let composing = self.scope.composing();
        let work = composing.enter(&*self.step, &mut self.activation);
        let result = self.count.around(work).await;
        Finished { activation: self.activation, result }
    }

    /// Tells which branches are together again, and in which one this is.
    async fn tell(&mut self) {
        tell_joined(&self.scope, std::mem::take(&mut self.joined), None).await;
        if let Some(within) = self.within.take().filter(|within| *within != json!([])) {
            self.scope.emit(EventKind::Custom { name: "graph.branch".to_owned(), value: within }).await;
        }
    }
}

/// What a node has come to.
struct Finished {
    activation: Activation,
    result: Result<(), Error>,
}

/// The error of a graph that ran more nodes than it may.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "graph `{graph}` has run {limit} nodes, as many as it may, those of graphs within it included, and is not done; raise its \
     `max_nodes`, or see why its loop does not end"
)]
#[non_exhaustive]
pub struct NodeBudgetExhausted {
    /// The graph.
    pub graph: String,
    /// How many nodes it may run.
    pub limit: u64,
}

impl<'a> Schedule<'a> {
    pub(super) fn new(graph: &'a Graph, scope: &'a Scope, rules: Rules, board: Board) -> Self {
        let (first, entry) = (Token::new(board.clone()), graph.compiled.entry);
        let order = graph.compiled.order_by(rules);
        let mut taken = order.unoccupied();
        taken.enter(entry);
        let mut waiting = Waiting::default();
        waiting.add(entry, first);
        Self {
            graph,
            scope,
            rules,
            order,
            base: board,
            nothing: Board::new(),
            waiting,
            taken,
            // One at a time is the usual case, and what begins is large.
            ready: Vec::with_capacity(1),
            running: JoinSet::new(),
            active: BTreeMap::new(),
            stopped: BTreeMap::new(),
            ended: Vec::new(),
            branches: Branches::default(),
            left_out: Vec::new(),
            begun: NodeCount::of(&graph.compiled.definition.name, graph.compiled.definition.max_nodes),
            last_id: 0,
        }
    }

    /// Runs until nothing more can be done, and leaves on the board what there is then.
    pub(super) async fn run(mut self, board: &mut Board) -> Result<(), Error> {
        if let Err(failure) = self.work().await {
            let reason = "another branch of the graph failed";
            let cancellers = self.active.values().filter_map(|active| active.canceller.as_ref());
            cancellers.for_each(|canceller| canceller.cancel(reason));
            let beside = self.failed_beside().await;
            self.tell_end(Some(reason)).await;
            *board = self.base;
            return Err(failure.failed_beside(beside));
        }
        if let Some(stop) = self.stop() {
            if matches!(stop.root(), Error::Cancelled(_) | Error::TimedOut(_)) {
                self.tell_end(Some(&stop.to_string())).await;
            }
            *board = self.so_far();
            return Err(stop);
        }
        let ended = std::mem::take(&mut self.ended);
        let merged = self.merge(ended);
        self.tell_end(merged.as_ref().err().map(|conflict| conflict.to_string()).as_deref()).await;
        *board = merged?.map_or_else(|| self.base.clone(), |token| token.board);
        Ok(())
    }

    /// Waits for all that still runs, and gives what of it had failed before it was cancelled.
    async fn failed_beside(&mut self) -> Vec<BranchFailure> {
        let mut failed = Vec::new();
        while let Some(joined) = self.running.join_next().await {
            let Ok((node, Finished { result: Err(error), .. })) = joined else { continue };
            let Some(ActiveNode { scope, left_out: None, .. }) = self.active.get(&node) else { continue };
            if !error.passes(scope.path()) {
                let branch = self.graph.compiled.nodes[node].definition.id.as_str().into();
                failed.push(BranchFailure { branch, path: scope.path().clone(), error });
            }
        }
        failed
    }

    /// Tells what becomes of the branches that are still open.
    async fn tell_end(&mut self, reason: Option<&str>) {
        tell_joined(self.scope, self.branches.end(), reason).await;
    }

    async fn work(&mut self) -> Result<(), Error> {
        loop {
            self.begin_ready()?;
            let left_out = std::mem::take(&mut self.left_out);
            if !left_out.is_empty() {
                for (scope, joined) in left_out {
                    tell_joined(&scope, joined, None).await;
                }
                // Others may have waited for nobody else.
                continue;
            }
            if self.ready.is_empty() && self.running.is_empty() {
                return Ok(());
            }
            self.settle_next().await?;
        }
    }

    /// Goes on from the next node that has run. One that runs alone takes no task of its own, which would cost more than most of them
    /// do.
    async fn settle_next(&mut self) -> Result<(), Error> {
        if self.running.is_empty()
            && self.ready.len() == 1
            && let Some(Begun { node, active, work }) = self.ready.pop()
        {
            let finished = work.run().await;
            return self.settle(node, active, finished);
        }
        for Begun { node, active, work } in self.ready.drain(..) {
            self.active.insert(node, active);
            self.running.spawn(async move { (node, work.run().await) });
        }
        let Some(finished) = self.running.join_next().await else { return Ok(()) };
        let (node, finished) = finished.map_err(Error::failed)?;
        // What runs is among those at work.
        self.active.remove(&node).map_or(Ok(()), |active| self.settle(node, active, finished))
    }

    /// Begins every node whose time has come.
    fn begin_ready(&mut self) -> Result<(), Error> {
        let limit = self.scope.settings().max_concurrency.map_or(usize::MAX, NonZeroUsize::get);
        let mut from = 0;
        while self.active.len() + self.ready.len() < limit
            && let Some(node) = self.waiting.first_from(from)
        {
            from = node + 1;
            let is_busy = self.active.contains_key(&node) || self.stopped.contains_key(&node);
            // Who has begun holds up whoever it held up while it was waiting.
            if !is_busy
                && !self.order.is_held_up(node, &self.taken)
                && let Some(arrived) = self.waiting.take(node)
            {
                self.begin(node, arrived, None)?;
            }
        }
        Ok(())
    }

    /// Begins a node; or leaves it out, if another branch wants that now or did before the run went on.
    pub(super) fn begin(
        &mut self,
        node: usize,
        mut arrived: Arrived,
        left_out: Option<&str>,
    ) -> Result<(), Error> {
        let id = &self.graph.compiled.nodes[node].definition.id;
        let is_alone = self.is_alone();
        (0..arrived.more()).for_each(|_| self.taken.leave(node));
        let lineages = arrived.take_lineages();
        let composing = self.scope.composing();
        // Nothing is done there, but that is where it went wrong.
        let failed_here = |error: Error| error.in_step(id, &composing.path_at(&composing.place(id)));
        let merged = match arrived.into_only() {
            Ok(only) => Ok(Some(only)),
            Err(all) => self.merge(all).map_err(Error::from),
        };
        let begun = merged.and_then(|merged| {
            let Some(mut token) = merged else { return Ok(None) };
            if is_alone {
                token.settle();
                self.base = token.board.clone();
            }
            self.begun.begin().map(|()| Some(token))
        });
        let begun = begun.map_err(|error| {
            lineages.iter().for_each(|lineage| self.branches.fail(lineage, &error));
            failed_here(error)
        });
        let Some(mut token) = begun? else { return Ok(()) };
        let step = self.graph.steps[node].clone();
        let place = composing.place_after(&self.graph.names[node], token.moment);
        let (scope, canceller) = match is_alone {
            true => (composing.open_only_branch(&place, &*step)?, None),
            false => {
                composing.open_branch(&place, &*step).map(|(scope, canceller)| (scope, Some(canceller)))?
            }
        };
        // What could not be put together, or not be begun, is not accepted.
        let (lineage, joined) = self.branches.join(lineages);
        token.lineage = lineage;
        left_out.map_or(Ok(()), |reason| scope.composing().keep_note(StepNote::LeftOut, &reason))?;
        let left_out = match left_out {
            Some(reason) => Some(reason.to_owned()),
            None => scope.composing().kept_note(StepNote::LeftOut)?,
        };
        if let Some(reason) = left_out {
            composing.leave_out(&place);
            self.left_out.push((scope, joined));
            self.branches.cancel(&token.lineage, &reason);
            self.taken.leave(node);
            return Ok(());
        }
        let iterations = token.steps;
        // The only path's board is handed over where nobody will ask what it was before: a board that nobody else has is changed in
        // place. Whatever becomes of the node, the board that it leaves is the one that counts.
        let board = match is_alone && self.graph.compiled.nodes[node].edges.len() < 2 {
            true => {
                self.base = self.nothing.clone();
                std::mem::replace(&mut token.board, self.nothing.clone())
            }
            false => token.board.clone(),
        };
        let (rules, targets) = (self.rules, Arc::default());
        let activation = Activation { board, iterations, rules, targets, is_skipped: false };
        let within = scope.has_listeners().then(|| self.branches.named(&token.lineage));
        let count = Arc::clone(&self.begun);
        let work = NodeWork { step, scope: scope.clone(), activation, joined, within, count };
        let active = ActiveNode { token, scope, canceller, left_out: None };
        self.ready.push(Begun { node, active, work });
        Ok(())
    }

    /// Goes on from a node that has run.
    fn settle(&mut self, node: usize, active: ActiveNode, finished: Finished) -> Result<(), Error> {
        let Finished { activation, result } = finished;
        let ActiveNode { token, scope, left_out, .. } = active;
        if let Some(reason) = left_out {
            self.give_up(node, &token, &scope, &reason);
            return Ok(());
        }
        let compiled = &self.graph.compiled.nodes[node];
        let id = &compiled.definition.id;
        let number = self.next_id();
        let is_alone = self.is_alone();
        if is_alone && activation.targets.len() < 2 {
            self.base = activation.board.clone();
        }
        // What it changed matters only where there are others to put it together with.
        let token = match is_alone && activation.targets.len() < 2 {
            true => token.after_alone(activation.board, &scope),
            false => {
                let name = Arc::clone(&self.graph.names[node]);
                token.after(number, name, activation.board, &scope, self.rules)
            }
        };
        match result {
            Ok(()) => {}
            Err(stop) if stop.passes(scope.path()) => {
                self.stopped.insert(node, StoppedNode { token, scope, stop });
                return Ok(());
            }
            Err(error) => {
                // What the node that failed has written stays, if it was alone.
                if self.active.is_empty() && self.waiting.is_empty() && self.ended.is_empty() {
                    self.base = token.board;
                }
                self.branches.fail(&token.lineage, &error);
                return Err(error.in_step(id, scope.path()));
            }
        }
        self.taken.leave(node);
        self.scope.composing().learn_from(&scope);
        let (graph, targets) = (self.graph, activation.targets);
        let names = || -> Vec<Arc<str>> { targets.iter().map(|target| graph.target(*target)).collect() };
        if compiled.keeps_route() && scope.composing().keeps_notes() {
            scope.composing().keep_note(StepNote::Route, &names())?;
        }
        // Who was passed over has done nothing that would decide.
        for other in compiled.cancels.iter().filter(|_| !activation.is_skipped) {
            self.cancel(*other, &token, &format!("`{id}` was done first"))?;
        }
        match *targets {
            [] => self.ended.push(token),
            [target] => self.send(token, target),
            _ => {
                let fork = scope.path().as_str().to_owned();
                let lineages = self.branches.fork(fork, &token.lineage, names());
                for (index, (target, lineage)) in targets.iter().zip(lineages).enumerate() {
                    self.send(token.branch(index, lineage), *target);
                }
            }
        }
        Ok(())
    }

    /// Has a path wait for a node, or end.
    fn send(&mut self, token: Token, target: Option<usize>) {
        match target {
            Some(target) => {
                self.taken.enter(target);
                self.waiting.add(target, token);
            }
            None => self.ended.push(token),
        }
    }

    /// Whether there are no paths but the one in hand.
    fn is_alone(&self) -> bool {
        let are_none_at_work = self.ready.is_empty() && self.active.is_empty();
        are_none_at_work && self.waiting.is_empty() && self.stopped.is_empty() && self.ended.is_empty()
    }

    pub(super) fn merge(&mut self, tokens: Vec<Token>) -> Result<Option<Token>, MergeConflict> {
        let (graph, rules, id) = (self.graph, self.rules, self.next_id());
        together(tokens, &self.base, &|key| graph.reducer(key, rules), id)
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

/// Tells what became of branches: of each once, those that count in their order. With a reason, nothing of them counts.
async fn tell_joined(scope: &Scope, joined: Vec<Fork>, reason: Option<&str>) {
    if scope.has_listeners() {
        for fork in joined {
            let (name, value) = ("graph.joined".to_owned(), fork.joined(reason));
            scope.emit(EventKind::Custom { name, value }).await;
        }
    }
}

impl From<MergeConflict> for Error {
    fn from(conflict: MergeConflict) -> Self {
        Self::permanent(conflict)
    }
}
