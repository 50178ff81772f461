//! The scope: a step's position in the run, and its only access to the world.
//!
//! A scope knows its [`Path`], the settings, the time left, the budget and whether somebody cancelled. A child scope has
//! what its parent has or less, never more. Effects are methods of the scope (`model`, `tool`, `ask`, `sleep`, `now`,
//! `random`, `custom`): each is journaled under the scope's path and answers from the journal when the run is resumed.
//!
//! Effects of one scope are numbered in the order they are begun. Begin them one after another; what should happen side
//! by side gets a child scope each, opened in a fixed order.

mod cancel;
mod composing;
mod labels;
mod lane;
mod leaf_replay;
mod node;
mod settings;
mod supervise;
mod tap;
mod time_limit;
mod work_clock;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;

pub(crate) use cancel::Cancel;
pub use cancel::Canceller;
pub use composing::ComposingScope;
pub(crate) use labels::ScopeLabels;
pub use lane::Lane;
pub(crate) use leaf_replay::LeafReplay;
pub use node::ReservedScope;
pub(crate) use node::{Child, Node};
pub use settings::{FailurePolicy, Recovery, Settings, StepFailure};
pub use tap::Tap;
pub(crate) use time_limit::Deadline;
pub(crate) use work_clock::{Pause, WorkClock};

use self::node::TimeLeft;
use crate::budget::{BudgetExhausted, Charge, Limits, Resource};
use crate::event::{Emission, EventKind, Moment, Position};
use crate::intercept::InterceptorStack;
use crate::model::AbsentModel;
use crate::{BoxFuture, Error, Model, Path, RunId};

/// A step's place in a run. Cheap to clone.
#[derive(Clone)]
pub struct Scope {
    pub(crate) node: Arc<Node>,
    /// Who is told about the effects that are performed in here.
    pub(crate) around: Option<Arc<InterceptorStack>>,
}

impl Scope {
    pub(crate) fn new(node: Node) -> Self {
        let around = node.run.services.around.clone();
        Self { node: Arc::new(node), around }
    }

    /// Returns the position in the run.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.node.path()
    }

    /// The run.
    #[must_use]
    pub fn run_id(&self) -> &RunId {
        &self.node.run.id
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.node.settings
    }

    /// Returns whether the run is only told again: every effect answers from the journal, and nothing reaches the world.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.node.run.is_replay()
    }

    /// The model for steps that name none.
    ///
    /// # Errors
    /// If the run has none.
    pub fn default_model(&self) -> Result<Arc<dyn Model>, Error> {
        match &self.node.settings.model {
            Some(model) => Ok(Arc::clone(model)),
            None if self.node.run.is_replay() => Ok(Arc::new(AbsentModel)),
            None => Err(Error::from(AbsentModel::error())),
        }
    }

    /// A scope below this one.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        self.narrowed(Child::named(name))
    }

    pub(crate) fn narrowed(&self, child: Child<'_>) -> Self {
        Self { node: Arc::new(self.node.child(child)), around: self.around.clone() }
    }

    /// Checks whether to go on: nobody cancelled and there is time left.
    ///
    /// # Errors
    /// [`Error::Cancelled`] or [`Error::TimedOut`].
    pub fn check(&self) -> Result<(), Error> {
        self.node.cancel.check()?;
        match self.node.overdue() {
            Some(deadline) => Err(Error::TimedOut(Box::new(self.node.timed_out(&deadline)))),
            None => Ok(()),
        }
    }

    /// Makes sure that nobody has taken the run over, by asking the store: for a tool that has worked for a while on what touches the
    /// world only at its end.
    ///
    /// # Errors
    /// [`Error::Store`] if somebody else has the run by now, or the store fails.
    pub async fn confirm(&self) -> Result<(), Error> {
        match self.journal() {
            Some(journal) => Ok(journal.settle_and_confirm().await?),
            None => Ok(()),
        }
    }

    /// Returns whether anybody listens to events. Saves making those that nobody hears.
    #[must_use]
    pub fn has_listeners(&self) -> bool {
        self.node.run.events.has_listeners() || self.node.tap.is_some()
    }

    /// Time does not count against a tool's limit while somebody else is waited for.
    pub(crate) fn pause(&self) -> Option<Pause<'_>> {
        self.node.clock.as_deref().map(WorkClock::pause)
    }

    /// Reports an event. Waits while the listener's buffer is full.
    pub async fn emit(&self, kind: EventKind) {
        if self.may_emit() {
            self.emit_screened(kind, false).await;
        }
    }

    pub(crate) async fn emit_as(&self, kind: EventKind, replayed: bool) {
        if self.may_emit() {
            self.emit_screened(kind, replayed).await;
        }
    }

    fn emit_screened(&self, kind: EventKind, replayed: bool) -> BoxFuture<'_, ()> {
        self.emit_at(self.path(), self.screened_event(kind), replayed)
    }

    /// Reports something that its end will supersede: it has no place in the account of the run.
    pub(crate) async fn emit_in_passing(&self, kind: EventKind) {
        if self.may_emit() {
            let _emitting = self.node.replay.get().map(|replay| replay.emitting());
            if let Some(tap) = &self.node.tap {
                tap.record(self.path(), &kind);
            }
            self.node.run.events.emit(Emission::now(self.path(), kind), self.node.clock.as_deref()).await;
        }
    }

    /// Whether somebody listens, and what is told from here does not come too late.
    fn may_emit(&self) -> bool {
        self.has_listeners() && !self.node.ancestry().any(|node| node.ended.load(Ordering::Relaxed))
    }

    /// On the heap: events are large, and every step would have to have room for one, although most are heard by nobody.
    pub(crate) fn emit_at<'a>(
        &'a self,
        path: &'a Path,
        kind: EventKind,
        replayed: bool,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _emitting = self.node.replay.get().map(|replay| replay.emitting());
            if let Some(tap) = &self.node.tap {
                tap.record(path, &kind);
            }
            let position = Some(Position::new(self.node.tick(), path.clone()));
            let emission = Emission { path, position, replayed, kind };
            self.node.run.events.emit(emission, self.node.clock.as_deref()).await;
        })
    }

    /// Tells listeners about the state: whole the first time, then what changed (computed, as RFC 6902).
    ///
    /// # Errors
    /// If the state cannot be written as JSON without loss.
    pub async fn publish<S: Serialize + 'static>(&self, state: &S) -> Result<(), Error> {
        if !self.may_emit() {
            return Ok(());
        }
        let _emitting = self.node.replay.get().map(|replay| replay.emitting());
        let current = crate::json::to_value(state)?;
        let events = &self.node.run.events;
        // Listeners know what has its place in the stream, and nothing else: a step may be dropped while it waits for one.
        let place = events.place(self.node.clock.as_deref()).await;
        self.node.run.published.update::<S>(self.node.state_path(), current, |kind| {
            if let Some(tap) = &self.node.tap {
                tap.record(self.path(), &kind);
            }
            let (path, position) = (self.path(), Some(Position::new(self.node.tick(), self.path().clone())));
            events.deliver(Emission { path, position, replayed: false, kind }, place);
        });
        Ok(())
    }

    /// Returns how much of something the budgets in force still allow, if that is limited. Money is in millionths of a dollar. What
    /// is only set aside for calls under way counts as still there.
    #[must_use]
    pub fn remaining(&self, resource: &Resource) -> Option<u64> {
        self.node.budget.as_ref().and_then(|budget| budget.remaining(resource))
    }
}

impl ComposingScope<'_> {
    /// The place of a scope below this one that is opened later. Places are numbered in the order they are taken, so
    /// what starts whenever it can still has the same path every time.
    pub fn place(&self, name: &str) -> ReservedScope {
        self.place_after(&name.into(), None)
    }

    /// How far this scope has come.
    #[must_use]
    pub fn moment(&self) -> Moment {
        Moment(self.node.moment())
    }

    /// The place of a scope that follows from what happened up to a moment, and from nothing that happens beside that; without one,
    /// from what has happened here by now.
    pub fn place_after(&self, name: &Arc<str>, moment: Option<Moment>) -> ReservedScope {
        let name = self.node.shared_name_of(name);
        let repetition = self.node.count_child(&name);
        let taken = moment.map_or_else(|| self.node.moment(), |Moment(moment)| moment);
        ReservedScope { name, repetition, taken }
    }

    /// The path that a scope has which is opened at a place.
    #[must_use]
    pub fn path_at(&self, place: &ReservedScope) -> Path {
        Path::join(self.node.path(), &place.name, place.repetition)
    }

    /// A scope below this one that has limits of its own.
    #[must_use]
    pub fn limited(&self, name: &str, limits: Limits) -> Scope {
        self.narrowed(Child { limits: Some(limits), ..Child::named(name) })
    }

    /// How many calls of tools count against the limits that hold here most closely, those that the journal answered included.
    #[must_use]
    pub fn tool_calls_counted(&self) -> u64 {
        self.node.budget.as_ref().map_or(0, |budget| budget.used().tool_calls)
    }

    /// A scope below this one whose events are collected, besides whoever listens to the run.
    #[must_use]
    pub fn tapped(&self, name: &str) -> (Scope, Tap) {
        let tap = Tap::within(self.node.tap.as_ref());
        (self.narrowed(Child { tap: Some(tap.clone()), ..Child::named(name) }), tap)
    }

    /// A scope below this one that may take this long as a whole, over the life of the run.
    #[must_use]
    pub fn child_with_timeout(&self, name: &str, limit: Duration) -> Scope {
        self.narrowed(Child { timeout: Some(limit), ..Child::named(name) })
    }

    /// A scope below this one that has so much time left of a limit that is longer than its own life, such as that of all turns of an
    /// agent. What was [used before](Self::time_used_before) is for whoever measures that limit to take off.
    #[must_use]
    pub fn child_with_time_left(&self, name: &str, left: Duration, of: Duration) -> Scope {
        self.narrowed(Child { time_left: Some(TimeLeft { left, of }), ..Child::named(name) })
    }

    /// A scope below this one that is bounded like a leaf, if leaves are.
    #[must_use]
    pub fn leaf_child(&self, name: &str) -> Scope {
        self.narrowed(Child { timeout: self.node.settings.leaf_timeout, ..Child::named(name) })
    }

    /// Reports that a failed step below this scope does no harm: its parent goes on.
    pub async fn emit_skipped(&self, step: &Path, error: &Error) {
        if self.has_listeners() {
            self.emit_at(step, EventKind::StepSkipped { error: error.to_string() }, false).await;
        }
    }

    /// Decides about a failed child: what the run's policy says, asked once per failure.
    ///
    /// Stops, and limits set further out, always fail.
    #[must_use]
    pub fn recovery(&self, step: &str, path: &Path, error: &Error) -> Recovery {
        let judged = matches!(error, Error::Step(inner) if inner.judged);
        match &self.node.settings.on_failure {
            Some(policy) if !judged && !error.passes(path) => {
                policy.recover(&StepFailure { step, path, error })
            }
            _ => Recovery::Fail,
        }
    }

    /// Gives up the questions asked below a branch that is no longer needed: they are closed, and nobody waits for them.
    pub fn withdraw_questions(&self, branch: &Scope) {
        if !branch.node.suspended.load(Ordering::Relaxed) {
            return;
        }
        let withdrawn = self.node.run.waiting.withdraw(branch.path());
        if let Some(journal) = &self.node.run.journal {
            journal.close_questions(withdrawn.into_iter().map(|pending| pending.id));
        }
        for node in branch.node.ancestry() {
            let still = self.node.run.waiting.within(node.path()).is_some();
            node.suspended.store(still, Ordering::Relaxed);
        }
    }

    /// Gives up a scope whose effects were begun and are no longer needed, whether they were begun now or before a crash: nobody
    /// waits for them, and what they ask is closed.
    pub fn give_up(&self, branch: &Scope) {
        self.withdraw_questions(branch);
        branch.withdraw_asked_by_call();
    }

    /// Takes one turn of an agent from the budget.
    ///
    /// # Errors
    /// [`Error::Budget`] if there is none left.
    pub fn take_turn(&self) -> Result<(), Error> {
        match &self.node.budget {
            Some(budget) => {
                budget.take(&Charge::turn()).map_err(|exhausted| Error::Budget(Box::new(exhausted)))
            }
            None => Ok(()),
        }
    }

    /// Charges a turn that was taken before, whatever is left: it has happened.
    pub fn count_turn(&self) {
        if let Some(budget) = &self.node.budget {
            budget.charge(&Charge::turn());
        }
    }

    /// A limit of the budgets in force of which nothing is left, the innermost first. Limits on calls of a single tool do
    /// not count: without it one can still go on.
    #[must_use]
    pub fn used_up(&self) -> Option<BudgetExhausted> {
        self.node.budget.as_ref()?.used_up()
    }
}

impl std::fmt::Debug for Scope {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Scope").field("run", self.run_id()).field("path", self.path()).finish()
    }
}
