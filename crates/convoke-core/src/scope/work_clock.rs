//! A clock that runs only while there is work.
//!
//! The limit of a tool call is there to end what hangs. Nothing hangs while a person thinks about a question or a slow
//! reader catches up with the events, so that time does not count against it. Limits that somebody set on a step or a run
//! by name are no business of this clock: they count everything.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::select_all;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::time_limit::Deadline;

/// The time that is left for the work of one scope. Clocks of scopes further out run along.
pub(crate) struct WorkClock {
    limit: Duration,
    owner_depth: u32,
    outer: Option<Arc<WorkClock>>,
    state: Mutex<State>,
    /// The last of those who waited has what it waited for.
    goes_on: Notify,
}

struct State {
    /// When time is up, unless it stands still.
    due: Instant,
    /// How many wait for somebody else.
    waits: u32,
    /// Since when, if anybody does.
    since: Instant,
}

impl WorkClock {
    pub(super) fn start(limit: Duration, owner_depth: u32, outer: Option<Arc<WorkClock>>) -> Arc<Self> {
        let now = Instant::now();
        let state = Mutex::new(State { due: now + limit, waits: 0, since: now });
        Arc::new(Self { limit, owner_depth, outer, state, goes_on: Notify::new() })
    }

    /// The limit that is measured.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// Lets this clock and all further out stand still as long as the guard lives.
    pub(crate) fn pause(&self) -> Pause<'_> {
        self.with_outer().for_each(WorkClock::stand_still);
        Pause(self)
    }

    /// The first limit that is reached, of this clock and all further out, if time is up already.
    pub(super) fn overdue(&self, now: Instant) -> Option<Deadline> {
        let due = self.with_outer().filter_map(WorkClock::deadline);
        due.filter(|deadline| deadline.at <= now).min_by_key(|deadline| deadline.at)
    }

    /// Waits until time is up by this clock or one further out.
    pub(super) async fn run_out(&self) -> Deadline {
        loop {
            let mut next: Option<Instant> = None;
            let mut standing = Vec::new();
            for clock in self.with_outer() {
                // Made before the clock is read, so that it cannot go on unnoticed in between.
                let goes_on = clock.goes_on.notified();
                match clock.deadline() {
                    Some(deadline) => next = Some(next.map_or(deadline.at, |at| at.min(deadline.at))),
                    None => standing.push(Box::pin(goes_on)),
                }
            }
            let due = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            if standing.is_empty() {
                due.await;
            } else {
                tokio::select! {
                    () = due => {}
                    _ = select_all(standing) => {}
                }
            }
            // A clock may have stood still in the meantime.
            if let Some(deadline) = self.overdue(Instant::now()) {
                return deadline;
            }
        }
    }

    /// When time is up; nobody knows while the clock stands still.
    fn deadline(&self) -> Option<Deadline> {
        let state = self.lock();
        (state.waits == 0).then(|| Deadline::at(state.due, self.limit, self.owner_depth))
    }

    fn stand_still(&self) {
        let mut state = self.lock();
        if state.waits == 0 {
            state.since = Instant::now();
        }
        state.waits += 1;
    }

    fn go_on(&self) {
        let mut state = self.lock();
        state.waits -= 1;
        if state.waits == 0 {
            let waited = state.since.elapsed();
            state.due += waited;
            drop(state);
            self.goes_on.notify_waiters();
        }
    }

    fn with_outer(&self) -> impl Iterator<Item = &WorkClock> {
        std::iter::successors(Some(self), |clock| clock.outer.as_deref())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody waits for somebody else; no time passes meanwhile.
pub(crate) struct Pause<'a>(&'a WorkClock);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.with_outer().for_each(WorkClock::go_on);
    }
}
