//! Fan-out: what [`Parallel`](crate::Parallel), [`Merge`](crate::Merge), [`Map`](crate::Map) and [`Dag`](crate::Dag) share.
//!
//! All branches get their places in declared order before any of them begins, so their paths do not depend on timing.
//! Where timing decides (which branch was first), the decision is journaled and followed on replay.

mod branch;
mod progress;

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use convoke_core::{BranchErrors, BranchFailure, Canceller, Error, Scope, Suspension};
use tokio::task::JoinSet;

use crate::join::{BranchTally, Join, JoinVerdict, RemainingBranches};
use branch::BegunBranch;
pub(crate) use branch::{Branch, BranchOutcome, FinishedBranch};
pub use progress::{BranchEnd, BranchProgress};

/// Runs branches side by side, as many at once as allowed, and gives their ends in declared order.
///
/// # Errors
/// What the join does not forgive: too many failures, a question that is not answered yet, the end of the run.
pub(crate) async fn fan_out<T: Send + 'static>(
    scope: &Scope,
    join: &Join,
    limit: Option<NonZeroUsize>,
    branches: Vec<Branch<T>>,
) -> Result<Vec<FinishedBranch<T>>, Error> {
    let limit = limit.or(scope.settings().max_concurrency).map_or(usize::MAX, NonZeroUsize::get);
    let mut fan = Fan::new(scope, join, limit, branches);
    fan.run().await?;
    let ended = fan.conclude()?;
    for failure in failures(&ended) {
        scope.composing().emit_skipped(&failure.path, &failure.error).await;
    }
    Ok(ended)
}

/// Branches on their way.
struct Fan<'a, T> {
    scope: &'a Scope,
    join: &'a Join,
    limit: usize,
    queue: Queue<T>,
    running: JoinSet<(usize, Result<T, Error>)>,
    cancellers: Vec<Canceller>,
    ended: Vec<FinishedBranch<T>>,
    tally: BranchTally,
    /// What failed before it could be cancelled, by the branch's number.
    beside: Vec<(usize, Error)>,
}

type Queue<T> = VecDeque<(usize, Branch<T>)>;

impl<'a, T: Send + 'static> Fan<'a, T> {
    fn new(scope: &'a Scope, join: &'a Join, limit: usize, branches: Vec<Branch<T>>) -> Self {
        Self {
            scope,
            join,
            limit,
            running: JoinSet::new(),
            cancellers: Vec::new(),
            ended: branches.iter().map(Branch::unended).collect(),
            beside: Vec::new(),
            tally: BranchTally { total: branches.len(), ..BranchTally::default() },
            queue: branches.into_iter().enumerate().collect(),
        }
    }

    async fn run(&mut self) -> Result<(), Error> {
        let mut decision = self.scope.composing().decision::<Vec<usize>>("join")?;
        if let Some(counted) = decision.made() {
            let (counted, rest): (Queue<T>, Queue<T>) =
                self.queue.drain(..).partition(|(index, _)| counted.contains(index));
            self.queue = counted;
            self.work(RemainingBranches::Finish).await?;
            if self.verdict().is_some() {
                self.scope.composing().leave_out_all(rest.iter().map(|(_, branch)| &branch.place));
                return Ok(());
            }
            // What had failed was mended since: the others are needed after all.
            self.queue = rest;
        }
        self.work(self.join.rest).await?;
        if self.is_certain() {
            // An answer, or a quicker branch, must not change on replay what was decided without it.
            decision.make(self.counted())?;
            self.abandon_rest().await;
        }
        Ok(())
    }

    /// Works until all branches are over; or, if the rest is to be cancelled, until the outcome is certain.
    async fn work(&mut self, rest: RemainingBranches) -> Result<(), Error> {
        loop {
            self.fill();
            let Some(joined) = self.running.join_next().await else { return Ok(()) };
            let (index, result) = joined.map_err(Error::failed)?;
            self.settle(index, result);
            if rest == RemainingBranches::Cancel && self.is_certain() {
                return Ok(());
            }
        }
    }

    fn fill(&mut self) {
        while self.running.len() < self.limit
            && let Some(next) = self.queue.iter().position(|(_, branch)| self.is_ready(branch))
            && let Some((index, branch)) = self.queue.remove(next)
        {
            match branch.begin(self.scope, &self.ended) {
                Ok(BegunBranch::Running(begun)) => {
                    self.cancellers.push(begun.canceller);
                    self.ended[index].scope = Some(begun.scope);
                    self.running.spawn(async move { (index, begun.work.await) });
                }
                Ok(BegunBranch::Skipped(value)) => self.settle(index, Ok(value)),
                Err(stop) => self.ended[index].end = BranchOutcome::Stopped(stop),
            }
        }
    }

    fn is_ready(&self, branch: &Branch<T>) -> bool {
        branch.after.iter().all(|before| matches!(self.ended[*before].end, BranchOutcome::Succeeded(_)))
    }

    fn settle(&mut self, index: usize, result: Result<T, Error>) {
        self.ended[index].end = match result {
            Ok(value) => {
                self.tally.succeeded += 1;
                BranchOutcome::Succeeded(value)
            }
            Err(error) if self.passes(index, &error) => BranchOutcome::Stopped(error),
            Err(error) => {
                self.tally.failed += 1;
                BranchOutcome::Failed(error)
            }
        };
    }

    /// Whether what a branch ended with is about more than this branch.
    fn passes(&self, index: usize, error: &Error) -> bool {
        self.ended[index].scope.as_ref().is_none_or(|scope| error.passes(scope.path()))
    }

    fn verdict(&self) -> Option<JoinVerdict> {
        self.join.verdict(self.tally, || BranchProgress::of(&self.ended))
    }

    /// Whether the outcome is certain although not all branches count for it.
    fn is_certain(&self) -> bool {
        let all_count = self.tally.succeeded + self.tally.failed == self.tally.total;
        !all_count && self.verdict().is_some() && self.end_of_run().is_none()
    }

    fn counted(&self) -> Vec<usize> {
        self.ended.iter().enumerate().filter(|(_, ended)| ended.counts()).map(|(index, _)| index).collect()
    }

    async fn abandon_rest(&mut self) {
        self.queue.clear();
        for canceller in &self.cancellers {
            canceller.cancel("another branch decided the outcome");
        }
        while let Some(joined) = self.running.join_next().await {
            if let Ok((index, Err(error))) = joined
                && !self.passes(index, &error)
            {
                self.beside.push((index, error));
            }
        }
    }

    fn stops(&self) -> impl Iterator<Item = &Error> {
        self.ended.iter().filter_map(|branch| {
            if let BranchOutcome::Stopped(stop) = &branch.end { Some(stop) } else { None }
        })
    }

    /// A stop that is not about this fan-out only.
    fn end_of_run(&self) -> Option<&Error> {
        self.stops().find(|stop| !matches!(stop.root(), Error::Suspended(_)))
    }

    fn conclude(self) -> Result<Vec<FinishedBranch<T>>, Error> {
        let counted = self.ended.iter().filter(|branch| branch.counts());
        counted
            .filter_map(|branch| branch.scope.as_ref())
            .for_each(|own| self.scope.composing().learn_from(own));
        if let Some(stop) = self.end_of_run() {
            return Err(stop.clone());
        }
        match self.verdict() {
            Some(JoinVerdict::Met) => {
                let left =
                    self.ended.iter().filter(|branch| !matches!(branch.end, BranchOutcome::Succeeded(_)));
                left.filter_map(|branch| branch.scope.as_ref())
                    .for_each(|own| self.scope.composing().withdraw_questions(own));
                Ok(self.ended)
            }
            None if self.stops().next().is_some() => Err(suspended(self.stops())),
            _ => {
                let beside =
                    self.beside.iter().filter_map(|(index, error)| failure(&self.ended[*index], error));
                let (failures, beside) = (failures(&self.ended), beside.collect());
                Err(Error::Branches(Box::new(BranchErrors { failures, beside })))
            }
        }
    }
}

/// Everything that the branches wait for, together.
fn suspended<'a>(stops: impl Iterator<Item = &'a Error>) -> Error {
    let suspensions = stops.filter_map(|stop| match stop.root() {
        Error::Suspended(suspension) => Some(&**suspension),
        _ => None,
    });
    Error::Suspended(Box::new(Suspension::together(suspensions)))
}

fn failures<T>(ended: &[FinishedBranch<T>]) -> Vec<BranchFailure> {
    let failed = ended.iter().filter_map(|branch| match &branch.end {
        BranchOutcome::Failed(error) => failure(branch, error),
        _ => None,
    });
    failed.collect()
}

fn failure<T>(branch: &FinishedBranch<T>, error: &Error) -> Option<BranchFailure> {
    let path = branch.scope.as_ref()?.path().clone();
    Some(BranchFailure { branch: (*branch.name).into(), path, error: error.clone() })
}
