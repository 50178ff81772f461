//! One branch of a fan-out.

use std::sync::Arc;

use convoke_core::{BoxFuture, Canceller, Error, ReservedScope, Scope, SharedStep};

/// A branch about to run. Its place is taken; its time has not begun.
pub(crate) struct Branch<T> {
    pub(super) name: Arc<str>,
    pub(super) place: ReservedScope,
    begin: Begin<T>,
}

type Begin<T> = Box<dyn FnOnce(&Scope, &ReservedScope) -> Result<RunningBranch<T>, Error> + Send>;

/// A branch under way.
pub(super) struct RunningBranch<T> {
    pub(super) scope: Scope,
    pub(super) canceller: Canceller,
    pub(super) work: BoxFuture<'static, Result<T, Error>>,
}

/// A branch that is over, or has not begun.
pub(crate) struct FinishedBranch<T> {
    pub(crate) name: Arc<str>,
    /// `None` if it never began.
    pub(super) scope: Option<Scope>,
    pub(crate) end: BranchOutcome<T>,
}

pub(crate) enum BranchOutcome<T> {
    Succeeded(T),
    Failed(Error),
    /// A stop: it waits for an answer, or the whole run is ending.
    Stopped(Error),
    /// Nobody needed it any more.
    Abandoned,
}

impl<T> FinishedBranch<T> {
    /// Whether it came to an end by itself, so that it counts for the outcome.
    pub(super) fn counts(&self) -> bool {
        matches!(self.end, BranchOutcome::Succeeded(_) | BranchOutcome::Failed(_))
    }
}

impl<T: Send + 'static> Branch<T> {
    /// A branch that runs a step on a state of its own and gives that state.
    pub(crate) fn new(scope: &Scope, step: &SharedStep<T>, mut state: T) -> Self {
        let step = Arc::clone(step);
        let (name, place) = (step.name().into(), scope.composing().place(step.name()));
        let begin = move |scope: &Scope, place: &ReservedScope| {
            let (scope, canceller) = scope.composing().open_branch(place, &*step)?;
            let own = scope.clone();
            let work: BoxFuture<'static, _> =
                Box::pin(async move { own.composing().enter(&*step, &mut state).await.map(|()| state) });
            Ok(RunningBranch { scope, canceller, work })
        };
        Self { name, place, begin: Box::new(begin) }
    }

    /// The same branch, giving what `map` makes of its state.
    pub(crate) fn map<U>(self, map: impl FnOnce(T) -> U + Send + 'static) -> Branch<U> {
        let begin = move |scope: &Scope, place: &ReservedScope| {
            let RunningBranch { scope, canceller, work } = (self.begin)(scope, place)?;
            let work: BoxFuture<'static, _> = Box::pin(async move { work.await.map(map) });
            Ok(RunningBranch { scope, canceller, work })
        };
        Branch { name: self.name, place: self.place, begin: Box::new(begin) }
    }

    /// Begins it, unless the run is ending.
    pub(super) fn begin(self, scope: &Scope) -> Result<RunningBranch<T>, Error> {
        (self.begin)(scope, &self.place)
    }

    /// What it is as long as it has not ended.
    pub(super) fn unended(&self) -> FinishedBranch<T> {
        FinishedBranch { name: Arc::clone(&self.name), scope: None, end: BranchOutcome::Abandoned }
    }
}
