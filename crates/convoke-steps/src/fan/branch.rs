//! One branch of a fan-out.

use std::sync::Arc;

use convoke_core::{BoxFuture, Canceller, Error, ReservedScope, Scope, SharedStep};

/// A branch about to run. Its place is taken; its time has not begun.
pub(crate) struct Branch<T> {
    pub(super) name: Arc<str>,
    pub(super) place: ReservedScope,
    /// The branches that must have succeeded before it begins.
    pub(super) after: Vec<usize>,
    begin: Begin<T>,
}

type Begin<T> =
    Box<dyn FnOnce(&Scope, &ReservedScope, &[FinishedBranch<T>]) -> Result<BegunBranch<T>, Error> + Send>;

/// A branch whose turn has come.
pub(super) enum BegunBranch<T> {
    Running(RunningBranch<T>),
    /// There is nothing to do in it: this is what it gives.
    Skipped(T),
}

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
    pub(crate) fn new(scope: &Scope, step: &SharedStep<T>, state: T) -> Self {
        Self::giving(scope, step, state, |state| state)
    }

    /// A branch that runs a step on a state of its own and gives what `give` makes of that state.
    pub(crate) fn giving<B: Send + 'static>(
        scope: &Scope,
        step: &SharedStep<B>,
        state: B,
        give: impl FnOnce(B) -> T + Send + 'static,
    ) -> Self {
        let shared = Arc::clone(step);
        let begin = move |scope: &Scope, place: &ReservedScope, _: &[FinishedBranch<T>]| {
            let RunningBranch { scope, canceller, work } = running(scope, place, shared, state)?;
            let work: BoxFuture<'static, _> = Box::pin(async move { work.await.map(give) });
            Ok(BegunBranch::Running(RunningBranch { scope, canceller, work }))
        };
        Self::beginning(scope, step.name(), Vec::new(), Box::new(begin))
    }

    /// A branch that begins once others, by their numbers, have succeeded, with the state that `enter` makes of what they gave. If
    /// that is an error it is what it gives without being run.
    pub(crate) fn after(
        scope: &Scope,
        step: &SharedStep<T>,
        after: Vec<usize>,
        enter: impl FnOnce(&dyn Fn(usize) -> Option<T>) -> Result<T, T> + Send + 'static,
    ) -> Self
    where
        T: Clone,
    {
        let shared = Arc::clone(step);
        let earlier = after.clone();
        let begin = move |scope: &Scope, place: &ReservedScope, ended: &[FinishedBranch<T>]| {
            let gave = |number: usize| match &ended[number].end {
                BranchOutcome::Succeeded(state) => Some(state.clone()),
                _ => None,
            };
            let state = match enter(&gave) {
                Ok(state) => state,
                Err(state) => return Ok(BegunBranch::Skipped(state)),
            };
            let mut place = place.clone();
            let earlier: Vec<&Scope> =
                earlier.iter().filter_map(|number| ended[*number].scope.as_ref()).collect();
            earlier.iter().for_each(|scope| place.follow(scope));
            let running = running(scope, &place, shared, state)?;
            earlier.iter().for_each(|scope| running.scope.composing().learn_from(scope));
            Ok(BegunBranch::Running(running))
        };
        Self::beginning(scope, step.name(), after, Box::new(begin))
    }

    fn beginning(scope: &Scope, name: &str, after: Vec<usize>, begin: Begin<T>) -> Self {
        Self { name: name.into(), place: scope.composing().place(name), after, begin }
    }

    /// Begins it, unless the run is ending.
    pub(super) fn begin(self, scope: &Scope, ended: &[FinishedBranch<T>]) -> Result<BegunBranch<T>, Error> {
        (self.begin)(scope, &self.place, ended)
    }

    /// What it is as long as it has not ended.
    pub(super) fn unended(&self) -> FinishedBranch<T> {
        FinishedBranch { name: Arc::clone(&self.name), scope: None, end: BranchOutcome::Abandoned }
    }
}

fn running<T: Send + 'static>(
    scope: &Scope,
    place: &ReservedScope,
    step: SharedStep<T>,
    mut state: T,
) -> Result<RunningBranch<T>, Error> {
    let (scope, canceller) = scope.composing().open_branch(place, &*step)?;
    let own = scope.clone();
    let work: BoxFuture<'static, _> =
        Box::pin(async move { own.composing().enter(&*step, &mut state).await.map(|()| state) });
    Ok(RunningBranch { scope, canceller, work })
}
