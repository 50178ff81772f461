//! Runs: starting, resuming, watching, replaying and forking them.

mod approvals;
mod attendant;
mod cancel;
mod cancel_listener;
mod carryover;
mod compatibility;
mod drive;
mod earlier_attempts;
mod fork;
mod generation;
mod go_on;
mod grants;
mod lacking;
mod outcome;
mod polls;
mod prepare;
mod published_state;
mod redo;
mod registry;
mod replay;
mod reshape;
mod runner;
mod runtime;
mod settings_methods;
mod start;
mod stream;
mod subscribe;
mod task;
mod time_limit;
mod waiting;
mod watchdog;
mod workflow;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use attendant::Attendant;
pub use cancel::{CancelStatus, cancel_for_good};
pub(crate) use earlier_attempts::{EarlierAttempts, EarlierOutcome, Likeness};
pub use fork::Fork;
pub use go_on::GoOn;
pub(crate) use grants::Grants;
pub(crate) use lacking::LackingReplies;
pub use outcome::Outcome;
pub(crate) use polls::{Polled, Polls};
pub(crate) use published_state::PublishedState;
pub use registry::Registry;
pub use replay::Replay;
pub(crate) use reshape::Names;
pub use runner::Runner;
pub(crate) use runtime::USUAL_PATIENCE;
pub use runtime::{FORBID_LIVE_MODELS, Runtime, RuntimeBuilder};
pub use start::{RunOptions, Start, WhenBusy, WhenDropped};
pub use stream::RunStream;
pub use subscribe::Subscription;
pub(crate) use waiting::{PendingWaits, WaitCondition, suspension};
pub use workflow::{State, Workflow};

use self::carryover::Carryover;
use self::prepare::seed_of;
use crate::ask::AnswerTerms;
use crate::event::{EventFeed, EventKind, EventSender, RunEnd, Sequencer};
use crate::intercept::InterceptorStack;
use crate::journal::{RunJournal, totals_with};
use crate::message::Usage;
use crate::store::{Totals, read_entries_from};
use crate::{Entry, Error, Observer, OnDoubt, Path, Responder, RunId, Settings, Store};

/// What a run is made of; every scope of the run refers to it.
pub(crate) struct Run {
    pub(crate) id: RunId,
    /// How often it has continued.
    pub(crate) generation: u32,
    /// Where its random numbers begin; `None`: where its id says, which takes a digest.
    seed: Option<u64>,
    pub(crate) services: Arc<Services>,
    pub(crate) journal: Option<RunJournal>,
    pub(crate) events: Arc<Sequencer>,
    pub(crate) published: PublishedState,
    pub(crate) waiting: PendingWaits,
    pub(crate) attempted: EarlierAttempts,
    pub(crate) grants: Grants,
    pub(crate) lacking: LackingReplies,
    pub(crate) names: Names,
    pub(crate) polls: Arc<Polls>,
    /// Set when somebody has told it to end for good.
    pub(crate) ended_for_good: OnceLock<()>,
    /// Cancelled when the one who was there to be asked has left.
    pub(crate) left_alone: CancellationToken,
    /// What the generations before this one have used.
    before: Totals,
    /// The time that the steps had used, by their places, which the run continued out of.
    times_before: BTreeMap<Path, Duration>,
    /// The same of this generation, since it is about to end.
    times_used: Mutex<BTreeMap<Path, Duration>>,
    totals: Mutex<Totals>,
}

/// What a runtime provides to all its runs.
pub(crate) struct Services {
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) responder: Option<Arc<dyn Responder>>,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
    pub(crate) feed: Arc<EventFeed>,
    pub(crate) around: Option<Arc<InterceptorStack>>,
    pub(crate) settings: Arc<Settings>,
    /// Who answers questions that do not say it, and until when.
    pub(crate) answers: AnswerTerms,
    pub(crate) on_doubt: OnDoubt,
    /// How long a run waits for time to pass or mail to come before it is suspended.
    pub(crate) patience: Duration,
    /// Whether it waits for time to pass however long that takes.
    pub(crate) waits_out_time: bool,
    pub(crate) forbid_live_models: bool,
}

impl Services {
    /// What the events of a run go through.
    pub(crate) fn sequencer(&self, run: RunId, reader: Option<EventSender>) -> Sequencer {
        Sequencer::new(run, self.observers.clone(), Arc::clone(&self.feed), reader)
    }
}

impl Run {
    pub(crate) fn new(
        id: RunId,
        seed: Option<u64>,
        services: Arc<Services>,
        journal: Option<RunJournal>,
        events: Arc<Sequencer>,
        polls: Arc<Polls>,
    ) -> Self {
        Self {
            id,
            generation: 0,
            seed,
            services,
            journal,
            events,
            published: PublishedState::default(),
            waiting: PendingWaits::default(),
            attempted: EarlierAttempts::default(),
            grants: Grants::default(),
            lacking: LackingReplies::default(),
            names: Names::default(),
            polls,
            ended_for_good: OnceLock::new(),
            left_alone: CancellationToken::new(),
            before: Totals::default(),
            times_before: BTreeMap::new(),
            times_used: Mutex::default(),
            totals: Mutex::default(),
        }
    }

    /// The same, after so many generations that have used this much.
    fn continued(self, generation: u32, carried: &Carryover) -> Self {
        let (totals, times_before) = (carried.totals, carried.times.clone());
        Self { generation, before: totals, totals: Mutex::new(totals), times_before, ..self }
    }

    /// Where its random numbers begin.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| seed_of(&self.id))
    }

    /// The time that a step had used when the run continued out of it.
    pub(crate) fn used_before(&self, path: &Path) -> Option<Duration> {
        self.times_before.get(path).copied()
    }

    /// Keeps the time that the steps have used which the run is about to continue out of.
    pub(crate) fn continue_after(&self, times_used: BTreeMap<Path, Duration>) {
        *self.times_used.lock().unwrap_or_else(PoisonError::into_inner) = times_used;
    }

    fn times_used(&self) -> BTreeMap<Path, Duration> {
        self.times_used.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same, with what was approved for the whole of it.
    pub(crate) fn granted(self, grants: Grants) -> Self {
        Self { grants, ..self }
    }

    /// The same, with the names that its steps had.
    pub(crate) fn knowing(self, names: Names) -> Self {
        Self { names, ..self }
    }

    /// Ends a run that will not end by itself: reports why, and lets others have it. What its task still does is not
    /// heard and not written any more.
    pub(crate) fn abandon(&self, error: &Error) {
        if let Some(journal) = &self.journal
            && let Some(lease) = journal.lease()
        {
            journal.store().release(lease);
        }
        self.events.emit_last_without_waiting(EventKind::RunEnded(RunEnd {
            status: error.status(),
            error: Some(error.to_string()),
            refused: None,
            state: None,
            totals: self.totals(),
        }));
    }

    /// Whether nothing new may happen: the run is only told again.
    pub(crate) fn is_replay(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| !journal.is_live())
    }

    pub(crate) fn count_model_call(&self, usage: Usage, is_priced: bool) {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).add_model_call(usage, is_priced);
    }

    pub(crate) fn count_tool_call(&self) {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).tool_calls += 1;
    }

    /// Whether it has not come as far as its journal.
    fn is_untold(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.index.unused() > 0)
    }

    /// Counts what the journal says, if it could not be told again to its end before the run ended. Gives its entries.
    async fn count_untold(&self) -> Option<Vec<Entry>> {
        let journal = self.journal.as_ref()?;
        let first = journal.index.first_number()?;
        journal.settle().await.ok()?;
        let entries = read_entries_from(&**journal.store(), &self.id, first).await.ok()?;
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner) = totals_with(self.before, &entries);
        Some(entries)
    }

    pub(crate) fn totals(&self) -> Totals {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
