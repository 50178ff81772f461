//! A run about to start, and its options.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use super::drive;
use super::settings_methods::settings_methods;
use super::stream::RunStream;
use super::task::{attended, watched};
use super::{Outcome, Runtime, State, Workflow};
use crate::budget::Limits;
use crate::event::event_channel;
use crate::scope::{Canceller, Settings};
use crate::step::BoxFuture;
use crate::store::Launch;
use crate::{Error, RunId};

/// How many events may wait for a reader before the run waits for it.
pub(super) const EVENT_BUFFER: usize = 256;

/// The treatment of a run that somebody else is working on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenBusy {
    /// Fail with [`StoreError::Busy`](crate::StoreError::Busy).
    #[default]
    Refuse,
    /// Wait until the other is done, and take its outcome or go on from there.
    Wait,
    /// Take the run over. The other stops at its next effect.
    TakeOver,
    /// Refuse, also if somebody has claimed the run since it was looked at and has let go of it by now: whatever there was to do is
    /// done.
    RefuseSince {
        /// The claim that was in force then, [`RunRecord::epoch`](crate::store::RunRecord::epoch).
        epoch: u64,
    },
}

/// The treatment of a run when whoever waits for it does not any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenDropped {
    /// It is cancelled, and can be resumed.
    #[default]
    Cancel,
    /// It is left where it is, as if its process had ended: whoever [attends](crate::Attendant) to the store goes on with it.
    Leave,
}

/// The options of one run.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RunOptions {
    /// What it is started with, beside its state. A run that goes on has what it was started with; what is said here instead
    /// holds from then on.
    pub launch: Launch,
    /// What to do if somebody else is working on it.
    pub when_busy: WhenBusy,
    /// Ends the run from outside.
    pub canceller: Canceller,
    /// What becomes of it when whoever waits for it does not any more.
    pub when_dropped: WhenDropped,
}

impl RunOptions {
    /// A canceller for this run alone, which is ended with the user's: that one may be shared by many runs.
    pub(super) fn own_canceller(&mut self) -> Canceller {
        self.canceller = Canceller::narrower(self.canceller.inner(), self.when_dropped);
        self.canceller.clone()
    }
}

/// What the run begins with.
pub(crate) enum StartFrom<S> {
    /// This state, unless the run exists already.
    Fresh(S),
    /// What the store has.
    Stored,
}

/// A run about to begin. Await it for its [`Outcome`], or [`stream`](Self::stream) its events.
#[must_use = "a run does not begin until it is awaited or streamed"]
pub struct Start<S> {
    pub(crate) runtime: Runtime,
    pub(crate) workflow: Workflow<S>,
    pub(crate) id: Option<RunId>,
    pub(crate) beginning: StartFrom<S>,
    pub(crate) options: RunOptions,
    pub(crate) settings: Settings,
}

impl<S: State> Start<S> {
    pub(crate) fn new(runtime: Runtime, workflow: Workflow<S>, state: S) -> Self {
        Self::with(runtime, workflow, None, StartFrom::Fresh(state))
    }

    pub(crate) fn resuming(runtime: Runtime, workflow: Workflow<S>, run: RunId) -> Self {
        Self::with(runtime, workflow, Some(run), StartFrom::Stored)
    }

    pub(crate) fn with(
        runtime: Runtime,
        workflow: Workflow<S>,
        id: Option<RunId>,
        beginning: StartFrom<S>,
    ) -> Self {
        let settings = (*runtime.services.settings).clone();
        Self { runtime, workflow, id, beginning, options: RunOptions::default(), settings }
    }

    settings_methods!();

    /// Names the run. If the store has a run of this name, that one is resumed (and a completed one gives its outcome
    /// again), provided it began with the same state.
    pub fn id(mut self, id: RunId) -> Self {
        self.id = Some(id);
        self
    }

    /// Limits how long the run may be at work, over its whole life: while it is suspended no time passes.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.options.launch.timeout = Some(limit);
        self
    }

    /// Limits what the whole run may use.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.options.launch.limits = Some(limits);
        self
    }

    /// Adds a label to find the run by.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.launch.labels.insert(name.into(), value.into());
        self
    }

    /// Says everything at once that the run is started with. It is kept with the run, and holds whenever somebody goes on with it.
    pub fn launch(mut self, launch: Launch) -> Self {
        self.options.launch = launch;
        self
    }

    /// Says what to do if somebody else is working on the run.
    pub fn when_busy(mut self, when_busy: WhenBusy) -> Self {
        self.options.when_busy = when_busy;
        self
    }

    /// Lets the run be ended from outside.
    pub fn canceller(mut self, canceller: &Canceller) -> Self {
        self.options.canceller = canceller.clone();
        self
    }

    /// Begins the run on a task of its own and gives its events. Dropping the stream cancels the run.
    ///
    /// Must be called within a Tokio runtime.
    #[must_use]
    pub fn stream(mut self) -> RunStream<S> {
        let (sender, receiver) = event_channel(EVENT_BUFFER);
        let (canceller, polls) = (self.options.own_canceller(), Arc::default());
        let task = tokio::spawn(drive::drive(Box::new(self), Some(sender), Arc::clone(&polls)));
        RunStream::new(receiver, watched(task, polls, canceller.clone()), canceller)
    }
}

impl<S: State> IntoFuture for Start<S> {
    type Output = Result<Outcome<S>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(mut self) -> Self::IntoFuture {
        let (canceller, polls) = (self.options.own_canceller(), Arc::default());
        let work = Box::pin(drive::drive(Box::new(self), None, Arc::clone(&polls)));
        attended(work, polls, canceller)
    }
}

impl<S> std::fmt::Debug for Start<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Start")
            .field("workflow", &self.workflow)
            .field("id", &self.id)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
