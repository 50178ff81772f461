//! The time limit of a run, over all the times it is resumed.

use std::time::Duration;

use tokio::time::Instant;

use super::prepare::ReadyRun;
use crate::Timestamp;
use crate::scope::Deadline;

/// The time of one run while it is at work.
pub(super) struct RunClock {
    begun: Instant,
    before: Duration,
    /// When its time is up.
    pub(super) deadline: Option<Deadline>,
    /// When it must be over, suspended or not.
    pub(super) end: Option<Timestamp>,
}

impl RunClock {
    /// The time of a run that goes on now.
    pub(super) fn of<S>(run: &ReadyRun<S>) -> Self {
        let work = run.launch.timeout.map(|limit| (limit.saturating_sub(run.worked), limit));
        let end = run.launch.deadline.map(|end| (end.since(Timestamp::now()), end.since(run.created)));
        let narrowest = work.into_iter().chain(end).min();
        let deadline = narrowest.and_then(|(left, limit)| Deadline::of_run(left, limit));
        Self { begun: Instant::now(), before: run.worked, deadline, end: run.launch.deadline }
    }

    /// How long it has been at work in all.
    pub(super) fn worked(&self) -> Duration {
        self.before + self.begun.elapsed()
    }
}
