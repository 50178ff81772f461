//! Supervised execution of a step: events, time limits, panics, questions.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use futures_util::FutureExt;

use super::time_limit::shorter;
use super::{Canceller, Child, ComposingScope, ReservedScope, Scope};
use crate::Error;
use crate::effect::LeafProgress;
use crate::event::{EventKind, StepEnd};
use crate::run::{Polled, WhenDropped};
use crate::step::{Nature, Step};

impl Scope {
    /// Runs a step below this scope.
    ///
    /// Gives it a path of its own, reports its beginning and its end, bounds it in time as its limits say, turns a
    /// panic into an error, and makes sure that a question it could not get answered is not lost.
    ///
    /// # Errors
    /// What the step fails with, unchanged.
    pub async fn run<S, T>(&self, step: &T, state: &mut S) -> Result<(), Error>
    where
        S: Send,
        T: Step<S> + ?Sized,
    {
        self.composing().open(step)?.composing().enter(step, state).await
    }

    /// The scope of a child, if there is time for it. That there was none is kept: whoever set the limit may cope with
    /// it, and must find the same when the run is resumed.
    fn admitted(&self, child: Child<'_>) -> Result<Self, Error> {
        let child = self.narrowed(child);
        if let Some(stop) = child.recorded_stop(LeafProgress::Nothing) {
            return Err(stop);
        }
        self.check().inspect_err(|stop| child.record_stop(LeafProgress::Nothing, stop))?;
        Ok(child)
    }

    fn child_for<'a, S, T>(&self, step: &'a T) -> Child<'a>
    where
        T: Step<S> + ?Sized,
    {
        let bounds = step.bounds();
        let settings = bounds.and_then(|bounds| bounds.settings.as_ref()).map(|change| {
            let mut settings = (*self.node.settings).clone();
            change.apply(&mut settings);
            Arc::new(settings)
        });
        let in_force = settings.as_ref().unwrap_or(&self.node.settings);
        let leaf = in_force.leaf_timeout.filter(|_| step.nature() == Nature::Leaf);
        let timeout = shorter(bounds.and_then(|bounds| bounds.timeout), leaf);
        let limits = bounds.and_then(|bounds| bounds.limits.clone());
        Child { timeout, limits, settings, ..Child::named(step.name()) }
    }

    async fn supervise<S, T>(&self, step: &T, state: &mut S) -> Result<(), Error>
    where
        S: Send,
        T: Step<S> + ?Sized,
    {
        match step.nature() {
            Nature::Composite => self.catching(step, state).await,
            Nature::Leaf => {
                if let Some(stop) = self.recorded_stop(LeafProgress::Middle) {
                    return Box::pin(self.replay_leaf(step, state, stop)).await;
                }
                let work = self.catching(step, state);
                tokio::pin!(work);
                let mut work = Polled::new(&self.node, work);
                // Most leaves are done at once: what waits for the end of their time is made when they are not.
                let mut out_of_time = None;
                let ended = poll_fn(|context| match Pin::new(&mut work).poll(context) {
                    Poll::Ready(result) => Poll::Ready(Ok(result)),
                    Poll::Pending => {
                        let stop = out_of_time.get_or_insert_with(|| Box::pin(self.out_of_time()));
                        stop.as_mut().poll(context).map(Err)
                    }
                });
                let stop = match ended.await {
                    Ok(result) => return result,
                    Err(stop) => stop,
                };
                // Effects notice by themselves and end in good order; only what ignores its time is dropped.
                tokio::select! {
                    biased;
                    result = work => result,
                    () = tokio::task::yield_now() => {
                        self.record_stop(LeafProgress::Middle, &stop);
                        Err(stop)
                    }
                }
            }
        }
    }

    /// Runs a leaf that had been dropped for lack of time: until it returns, asks for an effect that is not recorded, or
    /// waits for something after the last one that is.
    ///
    /// However long the recorded ones take, it is given that time: no clock decides. What it does to its state after the last of them
    /// is undefined, as it was the first time: it depended on the moment.
    async fn replay_leaf<S, T>(&self, step: &T, state: &mut S, stop: Error) -> Result<(), Error>
    where
        S: Send,
        T: Step<S> + ?Sized,
    {
        let replay = self.replay_only();
        tokio::select! {
            biased;
            result = self.catching(step, state) => match result {
                Err(stop) if stop.is_stop() && !matches!(stop, Error::NotRecorded { .. }) => Err(stop),
                _ => Err(stop),
            },
            cancelled = self.node.cancel.cancelled() => Err(cancelled),
            () = replay.over() => Err(stop),
        }
    }

    async fn catching<S, T>(&self, step: &T, state: &mut S) -> Result<(), Error>
    where
        S: Send,
        T: Step<S> + ?Sized,
    {
        // Within the future, because building the step's future runs the user's code too.
        let work = AssertUnwindSafe(async move { step.run(self, state).await });
        work.catch_unwind().await.unwrap_or_else(|panic| Err(Error::panicked(self.path(), &*panic)))
    }

    /// Waits until this scope was cancelled or its time is up.
    pub(crate) async fn out_of_time(&self) -> Error {
        let whole = async {
            match &self.node.deadline {
                Some(deadline) => {
                    deadline.reached().await;
                    deadline.clone()
                }
                None => std::future::pending().await,
            }
        };
        let work = async {
            match &self.node.clock {
                Some(clock) => clock.run_out().await,
                None => std::future::pending().await,
            }
        };
        let deadline = tokio::select! {
            biased;
            cancelled = self.node.cancel.cancelled() => return cancelled,
            deadline = whole => deadline,
            deadline = work => deadline,
        };
        Error::TimedOut(Box::new(self.node.timed_out(&deadline)))
    }

    /// A step may swallow the error of an unanswered question; the run must not go on as if it had been answered.
    fn not_forgetting_questions(&self, nature: Nature, result: Result<(), Error>) -> Result<(), Error> {
        if !self.node.suspended.load(Ordering::Relaxed) {
            return result;
        }
        let continues = matches!(&result, Err(error) if matches!(error.root(), Error::Continues(_)));
        match &result {
            Err(error) if error.is_stop() && !continues => result,
            // What failed waits for nobody, and whoever copes with the failure must not wait either.
            Err(_) if nature == Nature::Composite && !continues => {
                self.composing().withdraw_questions(self);
                result
            }
            _ => match self.node.run.waiting.within(self.path()) {
                Some(suspension) => Err(Error::Suspended(Box::new(suspension))),
                None => result,
            },
        }
    }
}

impl ComposingScope<'_> {
    /// Runs a step in this very scope, as a part of the step that has it: without a path and without events of its own. For a step
    /// that is written in terms of another.
    ///
    /// # Errors
    /// What the step fails with, unchanged.
    pub async fn inline<S, T>(&self, step: &T, state: &mut S) -> Result<(), Error>
    where
        S: Send,
        T: Step<S> + ?Sized,
    {
        step.run(self, state).await
    }

    /// The scope a step is going to run in; [`enter`](Self::enter) runs it.
    ///
    /// Parents that need the child's path, or open several children before running any, take this in two parts.
    ///
    /// # Errors
    /// If the run was cancelled or is out of time, in which case the step must not begin.
    pub fn open<S, T>(&self, step: &T) -> Result<Scope, Error>
    where
        T: Step<S> + ?Sized,
    {
        self.admitted(self.child_for(step))
    }

    /// The scope for one branch of a fan-out, in a [`place`](Self::place) taken before: its state is its own, and it
    /// can be cancelled alone. Its time begins now.
    ///
    /// # Errors
    /// If the run was cancelled or is out of time, in which case the branch must not begin.
    pub fn open_branch<S, T>(&self, place: &ReservedScope, step: &T) -> Result<(Scope, Canceller), Error>
    where
        T: Step<S> + ?Sized,
    {
        let canceller = Canceller::narrower(&self.node.cancel, WhenDropped::Cancel);
        let cancel = Some(Arc::clone(canceller.inner()));
        Ok((self.admitted(Child { cancel, ..self.branch_for(place, step) })?, canceller))
    }

    /// The same for the only branch there is, which nobody wants to cancel alone.
    ///
    /// # Errors
    /// If the run was cancelled or is out of time, in which case the branch must not begin.
    pub fn open_only_branch<S, T>(&self, place: &ReservedScope, step: &T) -> Result<Scope, Error>
    where
        T: Step<S> + ?Sized,
    {
        self.admitted(self.branch_for(place, step))
    }

    fn branch_for<'s, S, T>(&self, place: &ReservedScope, step: &'s T) -> Child<'s>
    where
        T: Step<S> + ?Sized,
    {
        let known_name = Some(Arc::clone(&place.name));
        let (repetition, since) = (Some(place.repetition), Some(place.taken));
        Child { owns_state: true, known_name, repetition, since, ..self.child_for(step) }
    }

    /// Says that what is done in this scope, and below it, may be tried again with [`open_again`](Self::open_again).
    pub fn begin_attempts(&self) {
        self.node.retried.store(true, Ordering::Relaxed);
    }

    /// The scope for another attempt at what was tried in `first`, in a scope that [said so](Self::begin_attempts). It
    /// has a path of its own; but a call of a tool, or an effect of the user's code, that asks for the same at the same
    /// place within the attempt has the same idempotency key as in the first one. As long as the attempt goes the same way, what was
    /// done is not done again: the result of a call that must not be repeated ([`Repeat::Never`](crate::tool::Repeat::Never)), or whose
    /// tool [makes changes](crate::ToolEffects::make_changes), is what it was. If nobody knows what came of one that must not be repeated,
    /// a person is asked.
    ///
    /// # Errors
    /// If the run was cancelled or is out of time, in which case the attempt must not begin.
    pub fn open_again<S, T>(&self, step: &T, first: &Scope) -> Result<Scope, Error>
    where
        T: Step<S> + ?Sized,
    {
        let key_path = Some(first.node.key_path().clone());
        self.admitted(Child { key_path, ..self.child_for(step) })
    }

    /// Runs a step in this very scope, which must have been made for it by [`open`](Self::open) or
    /// [`open_branch`](Self::open_branch).
    ///
    /// # Errors
    /// What the step fails with, unchanged.
    pub async fn enter<S, T>(&self, step: &T, state: &mut S) -> Result<(), Error>
    where
        S: Send,
        T: Step<S> + ?Sized,
    {
        self.node.entered.store(true, Ordering::Relaxed);
        self.node.learnt.gather();
        if self.node.run.events.gives_full_account() {
            // Nothing is waited for in an account of the past; others must have their turn all the same.
            tokio::task::consume_budget().await;
        }
        if self.has_listeners() {
            self.emit(EventKind::StepStarted { kind: step.kind().to_owned() }).await;
        }
        let result = self.supervise(step, state).await;
        let result = self.not_forgetting_questions(step.nature(), result);
        // A run that is told as far as it has come has not come to the end of this step.
        let is_over = !matches!(&result, Err(error) if matches!(error.root(), Error::NotRecorded { .. }));
        if is_over && self.has_listeners() {
            self.emit(EventKind::StepEnded(step_end(&result))).await;
        }
        self.node.ended.store(true, Ordering::Relaxed);
        if let Some(parent) = &self.node.parent {
            parent.reach(self.node.moment());
        }
        self.learn_from_step();
        result
    }
}

fn step_end(result: &Result<(), Error>) -> StepEnd {
    match result {
        Ok(()) => StepEnd::Completed,
        Err(error) => match error.root() {
            Error::Continues(_) => StepEnd::Completed,
            Error::Suspended(_) => StepEnd::Suspended,
            Error::Cancelled(_) => StepEnd::Interrupted { reason: error.to_string() },
            _ => StepEnd::Failed { error: error.to_string() },
        },
    }
}
