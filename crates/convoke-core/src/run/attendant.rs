//! The worker that resumes suspended runs as soon as they are due.
//!
//! It asks the store which runs are due, goes on with some of them at a time, and sleeps until the next one is, or until the
//! store says that something has happened. It never polls a run, and owns every run it goes on with: when it is dropped, they
//! are left where they are, and whoever attends to the store next goes on with them.

use std::collections::{HashMap, HashSet};
use std::future::IntoFuture;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use serde_json::Value;

use super::{Outcome, Registry, RunOptions, Runtime, WhenDropped};
use crate::step::BoxFuture;
use crate::store::{DueRun, Store, StoreError};
use crate::{Error, RunId, Timestamp};

/// How many runs are gone on with at once, unless said otherwise.
const AT_ONCE: NonZeroUsize = NonZeroUsize::new(64).expect("64 is not zero");
/// How long a run is left alone that could not go on: something must change first.
const PAUSE: Duration = Duration::from_secs(30);
/// How long if it is not ours to go on with: it is of another program, or was ended for good.
const LONG_PAUSE: Duration = Duration::from_secs(600);
/// The longest sleep. That a process has ended, and left its runs in the middle, is said by nobody.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// Goes on with a run, and leaves it where it is when it is dropped.
type GoOnWith = dyn Fn(RunId) -> BoxFuture<'static, Result<Outcome<Value>, Error>> + Send + Sync;

/// Told of every run that was gone on with.
type Report = dyn Fn(&RunId, &Result<Outcome<Value>, Error>) + Send + Sync;

/// Goes on with suspended runs of known workflows as soon as what they wait for is there, an answer, mail, or the time; and with those
/// that were left in the middle when a process ended.
///
/// ```
/// # use convoke_core::{Attendant, Error, Registry, Runtime};
/// # async fn example(runtime: Runtime, registry: Registry) -> Result<(), Error> {
/// let attendant = Attendant::new(&runtime, &registry);
/// tokio::select! {
///     ended = attendant.attend() => ended?,
///     _ = tokio::time::sleep(std::time::Duration::from_secs(3600)) => {}
/// }
/// # Ok(()) }
/// ```
#[must_use = "an attendant does nothing until it attends"]
pub struct Attendant {
    /// The store, or why there is none.
    store: Result<Arc<dyn Store>, Error>,
    go_on: Arc<GoOnWith>,
    at_once: NonZeroUsize,
    report: Arc<Report>,
}

impl Attendant {
    /// Attends to the runs in a runtime's store whose workflows a registry has.
    pub fn new(runtime: &Runtime, registry: &Registry) -> Self {
        let store = runtime.store().cloned();
        let (runtime, registry) = (runtime.clone(), registry.clone());
        let go_on = move |run: RunId| {
            let options = RunOptions { when_dropped: WhenDropped::Leave, ..RunOptions::default() };
            runtime.go_on(&registry, run).options(options).into_future()
        };
        Self { store, go_on: Arc::new(go_on), at_once: AT_ONCE, report: Arc::new(|_, _| {}) }
    }

    /// Attends to the runs in a store, each of which this function goes on with: for programs that put together what a run needs
    /// by what its record says. What it gives must leave the run where it is when it is dropped ([`WhenDropped::Leave`]); a run
    /// that is not its own it refuses with [`Error::Refused`].
    pub fn with<F>(store: Arc<dyn Store>, go_on: impl Fn(RunId) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Outcome<Value>, Error>> + Send + 'static,
    {
        let go_on = move |run: RunId| -> BoxFuture<'static, _> { Box::pin(go_on(run)) };
        Self { store: Ok(store), go_on: Arc::new(go_on), at_once: AT_ONCE, report: Arc::new(|_, _| {}) }
    }

    /// Goes on with at most so many at once.
    pub fn at_once(mut self, runs: NonZeroUsize) -> Self {
        self.at_once = runs;
        self
    }

    /// Tells somebody what became of every run that was gone on with.
    pub fn report(
        mut self,
        report: impl Fn(&RunId, &Result<Outcome<Value>, Error>) + Send + Sync + 'static,
    ) -> Self {
        self.report = Arc::new(report);
        self
    }

    /// Goes on with whatever is due, until it is dropped.
    ///
    /// # Errors
    /// If there is no store, or it fails.
    pub async fn attend(&self) -> Result<(), Error> {
        let store = self.store.clone()?;
        let mut watch = store.watch(None);
        let mut active = ActiveRuns::default();
        loop {
            let next = self.take_due(&*store, &mut active).await?;
            let sleep = next.map_or(LONGEST_SLEEP, |at| at.since(Timestamp::now()).min(LONGEST_SLEEP));
            tokio::select! {
                Some((run, outcome)) = active.under_way.next(), if !active.under_way.is_empty() => {
                    self.put_down(&mut active, run, &outcome);
                    // Those that have ended meanwhile, before the store is asked for more.
                    while let Some(Some((run, outcome))) = active.under_way.next().now_or_never() {
                        self.put_down(&mut active, run, &outcome);
                    }
                }
                _ = watch.next() => {}
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    /// Goes on with what is due now, and with whatever becomes due by that, until nothing is.
    ///
    /// # Errors
    /// If there is no store, or it fails.
    pub async fn attend_once(&self) -> Result<(), Error> {
        let store = self.store.clone()?;
        let mut active = ActiveRuns::default();
        loop {
            self.take_due(&*store, &mut active).await?;
            match active.under_way.next().await {
                Some((run, outcome)) => self.put_down(&mut active, run, &outcome),
                None => return Ok(()),
            }
        }
    }

    /// Goes on with as many as there are active for. Gives when there will be more, as far as that is known.
    async fn take_due(&self, store: &dyn Store, active: &mut ActiveRuns) -> Result<Option<Timestamp>, Error> {
        let now = Timestamp::now();
        active.left_alone.retain(|_, until| *until > now);
        let free = self.at_once.get().saturating_sub(active.under_way.len());
        if free == 0 {
            return Ok(None);
        }
        // Those that are in hand or left alone may come first.
        let limit = self.at_once.get() + active.left_alone.len() + 1;
        let due = store.due(now + LONGEST_SLEEP, limit).await?;
        let (now_due, later): (Vec<DueRun>, Vec<DueRun>) = due.into_iter().partition(|due| due.at <= now);
        let mut fresh = now_due.into_iter().filter(|due| !active.has(&due.run)).map(|due| due.run);
        let taken: Vec<RunId> = fresh.by_ref().take(free).collect();
        for run in taken {
            active.claimed.insert(run.clone());
            let going_on = (self.go_on)(run.clone());
            active.under_way.push(Box::pin(async move { (run, going_on.await) }));
        }
        Ok(later.first().map(|due| due.at).into_iter().chain(active.left_alone.values().min().copied()).min())
    }

    fn put_down(&self, active: &mut ActiveRuns, run: RunId, outcome: &Result<Outcome<Value>, Error>) {
        active.claimed.remove(&run);
        let pause = match outcome {
            // It says that it is under way still, so it is due at once: whatever fills the disk is to be given time to end.
            Ok(outcome) if is_lost(outcome) => Some(PAUSE),
            Ok(_) => None,
            // Somebody was faster: the store says when it is free again.
            Err(Error::Store(StoreError::Busy { .. })) => return,
            Err(Error::Refused(_) | Error::StepsMissing(_)) => Some(LONG_PAUSE),
            Err(_) => Some(PAUSE),
        };
        (self.report)(&run, outcome);
        if let Some(pause) = pause {
            active.left_alone.insert(run, Timestamp::now() + pause);
        }
    }
}

/// Whether a run stopped because the store failed, so that nothing is written of how it ended.
fn is_lost(outcome: &Outcome<Value>) -> bool {
    matches!(outcome.error.as_ref().map(Error::root), Some(Error::Store(_)))
}

impl std::fmt::Debug for Attendant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Attendant").field("at_once", &self.at_once).finish_non_exhaustive()
    }
}

type ResumingRun = BoxFuture<'static, (RunId, Result<Outcome<Value>, Error>)>;

/// The runs an attendant works on, or has put aside for a while.
#[derive(Default)]
struct ActiveRuns {
    under_way: FuturesUnordered<ResumingRun>,
    claimed: HashSet<RunId>,
    left_alone: HashMap<RunId, Timestamp>,
}

impl ActiveRuns {
    fn has(&self, run: &RunId) -> bool {
        self.claimed.contains(run) || self.left_alone.contains_key(run)
    }
}
