//! Branches side by side: what [`Parallel`](crate::Parallel), [`Merge`](crate::Merge) and [`Map`](crate::Map) share.
//!
//! All branches get their scopes in declared order before any of them begins, so their paths do not depend on timing.
//! Where timing decides (which branch was first), the decision is journaled and followed on replay.

mod progress;

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;

use convoke_core::{
    BoxFuture, BranchErrors, BranchFailure, Canceller, Error, PendingDecision, Scope, SharedStep, Suspension,
};
use tokio::task::JoinSet;

use crate::join::{Join, Rest, Tally, Verdict};
pub use progress::{BranchEnd, Progress};

/// A branch about to run.
pub(crate) struct Branch<T> {
    name: Arc<str>,
    scope: Scope,
    canceller: Canceller,
    work: BoxFuture<'static, Result<T, Error>>,
}

/// A branch that is over.
pub(crate) struct Ended<T> {
    pub(crate) name: Arc<str>,
    scope: Scope,
    pub(crate) end: End<T>,
}

pub(crate) enum End<T> {
    Succeeded(T),
    Failed(Error),
    /// A stop: it waits for an answer, or the whole run is ending.
    Stopped(Error),
    /// Nobody needed it any more.
    Abandoned,
}

impl<T: Send + 'static> Branch<T> {
    /// A branch that runs a step on a state of its own and gives that state.
    pub(crate) fn new(scope: &Scope, step: &SharedStep<T>, mut state: T) -> Self {
        let (scope, canceller) = scope.open_branch(&**step);
        let (own, step) = (scope.clone(), Arc::clone(step));
        let name = step.name().into();
        let work = Box::pin(async move { own.enter(&*step, &mut state).await.map(|()| state) });
        Self { name, scope, canceller, work }
    }

    /// The same branch, giving what `map` makes of its state.
    pub(crate) fn map<U>(self, map: impl FnOnce(T) -> U + Send + 'static) -> Branch<U> {
        let work = self.work;
        let work = Box::pin(async move { work.await.map(map) });
        Branch { name: self.name, scope: self.scope, canceller: self.canceller, work }
    }
}

/// Runs branches side by side, as many at once as allowed, and gives their ends in declared order.
///
/// # Errors
/// What the join does not forgive: too many failures, a question that is not answered yet, the end of the run.
pub(crate) async fn fan_out<T: Send + 'static>(
    scope: &Scope,
    join: &Join,
    limit: Option<NonZeroUsize>,
    branches: Vec<Branch<T>>,
) -> Result<Vec<Ended<T>>, Error> {
    let decision = match join.rest {
        Rest::Cancel => Some(scope.decision::<Vec<usize>>("join")?),
        Rest::Finish => None,
    };
    let limit = limit.or(scope.settings().max_concurrency).map_or(usize::MAX, NonZeroUsize::get);
    let ended = Fan::new(branches, limit, join).run(decision).await?;
    let ended = conclude(scope, join, ended)?;
    for failure in failures(&ended) {
        scope.emit_skipped(&failure.path, &failure.error).await;
    }
    Ok(ended)
}

/// Branches on their way.
struct Fan<'a, T> {
    join: &'a Join,
    limit: usize,
    queue: VecDeque<(usize, BoxFuture<'static, Result<T, Error>>)>,
    running: JoinSet<(usize, Result<T, Error>)>,
    cancellers: Vec<Canceller>,
    ended: Vec<Ended<T>>,
    over: Vec<bool>,
    tally: Tally,
}

impl<'a, T: Send + 'static> Fan<'a, T> {
    fn new(branches: Vec<Branch<T>>, limit: usize, join: &'a Join) -> Self {
        let count = branches.len();
        let mut fan = Self {
            join,
            limit,
            queue: VecDeque::with_capacity(count),
            running: JoinSet::new(),
            cancellers: Vec::with_capacity(count),
            ended: Vec::with_capacity(count),
            over: vec![false; count],
            tally: Tally { total: count, ..Tally::default() },
        };
        for (index, branch) in branches.into_iter().enumerate() {
            fan.queue.push_back((index, branch.work));
            fan.cancellers.push(branch.canceller);
            fan.ended.push(Ended { name: branch.name, scope: branch.scope, end: End::Abandoned });
        }
        fan
    }

    async fn run(mut self, mut decision: Option<PendingDecision<'_, Vec<usize>>>) -> Result<Vec<Ended<T>>, Error> {
        // The first time, these were over when the outcome became certain; the others did not count then, nor now.
        if let Some(counted) = decision.as_mut().and_then(PendingDecision::made) {
            self.queue.retain(|(index, _)| counted.contains(index));
            decision = None;
        }
        loop {
            self.fill();
            let Some(joined) = self.running.join_next().await else { break };
            let (index, result) = joined.map_err(Error::failed)?;
            self.settle(index, result);
            if let Some(pending) = decision.take_if(|_| self.is_certain()) {
                let over = self.over.iter().enumerate().filter(|(_, over)| **over);
                pending.make(over.map(|(index, _)| index).collect())?;
                self.abandon_rest().await;
                break;
            }
        }
        Ok(self.ended)
    }

    fn fill(&mut self) {
        while self.running.len() < self.limit
            && let Some((index, work)) = self.queue.pop_front()
        {
            self.running.spawn(async move { (index, work.await) });
        }
    }

    fn settle(&mut self, index: usize, result: Result<T, Error>) {
        let ended = &mut self.ended[index];
        ended.end = match result {
            Ok(value) => {
                self.tally.succeeded += 1;
                End::Succeeded(value)
            }
            Err(error) if error.passes(ended.scope.path()) => End::Stopped(error),
            Err(error) => {
                self.tally.failed += 1;
                End::Failed(error)
            }
        };
        self.over[index] = true;
    }

    fn is_certain(&self) -> bool {
        let progress = || Progress::of(&self.ended, &self.over);
        self.join.verdict(self.tally, progress).is_some()
            && self.tally.succeeded + self.tally.failed < self.tally.total
    }

    async fn abandon_rest(&mut self) {
        self.queue.clear();
        for canceller in &self.cancellers {
            canceller.cancel("another branch decided the outcome");
        }
        while self.running.join_next().await.is_some() {}
    }
}

fn conclude<T>(scope: &Scope, join: &Join, ended: Vec<Ended<T>>) -> Result<Vec<Ended<T>>, Error> {
    let stops = || ended.iter().filter_map(|branch| if let End::Stopped(e) = &branch.end { Some(e) } else { None });
    if let Some(stop) = stops().find(|stop| !matches!(stop.root(), Error::Suspended(_))) {
        return Err(stop.clone());
    }
    let all_over = vec![true; ended.len()];
    let progress = || Progress::of(&ended, &all_over);
    let counted = progress();
    let tally = Tally { total: ended.len(), succeeded: counted.succeeded(), failed: counted.failed() };
    match join.verdict(tally, progress) {
        Some(Verdict::Met) => {
            for branch in ended.iter().filter(|branch| !matches!(branch.end, End::Succeeded(_))) {
                scope.withdraw_questions(&branch.scope);
            }
            Ok(ended)
        }
        None if stops().next().is_some() => Err(suspended(stops())),
        _ => Err(Error::Branches(Box::new(BranchErrors { failures: failures(&ended) }))),
    }
}

/// All open questions of all branches, together.
fn suspended<'a>(stops: impl Iterator<Item = &'a Error>) -> Error {
    let questions = stops.filter_map(|stop| match stop.root() {
        Error::Suspended(suspension) => Some(suspension.questions.clone()),
        _ => None,
    });
    Error::Suspended(Box::new(Suspension { questions: questions.flatten().collect() }))
}

fn failures<T>(ended: &[Ended<T>]) -> Vec<BranchFailure> {
    let failed = ended.iter().filter_map(|branch| match &branch.end {
        End::Failed(error) => Some(BranchFailure {
            branch: (*branch.name).into(),
            path: branch.scope.path().clone(),
            error: error.clone(),
        }),
        _ => None,
    });
    failed.collect()
}
