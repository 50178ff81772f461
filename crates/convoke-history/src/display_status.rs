//! The display status of a run, as users see it and write it: the status its record has, `idle` for one that is said to be
//! running although nobody works on it, or `stopped` for one that was cancelled and can go on. Whatever shows a run names it
//! alike.

use std::time::Duration;

use convoke_core::store::RunRecord;
use convoke_core::{RunStatus, Timestamp};
use serde::Deserialize;

use super::Tone;

/// The status of a run as it is displayed.
///
/// ```
/// use convoke_core::RunStatus;
/// use convoke_history::DisplayStatus;
///
/// assert_eq!(DisplayStatus::named("idle"), Some(DisplayStatus::Idle));
/// assert_eq!(DisplayStatus::Idle.status(), RunStatus::Running, "its record has no word for it");
/// assert_eq!(DisplayStatus::Status(RunStatus::TimedOut).name(), "timed_out");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisplayStatus {
    /// Nobody works on it: it was interrupted, or has not begun. It waits to be resumed.
    Idle,
    /// Whoever worked on it was told to stop. It waits to be resumed; one that is *cancelled* was cancelled for good.
    Stopped,
    /// What its record says.
    Status(RunStatus),
}

impl DisplayStatus {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; RunStatus::ALL.len() + 2] = [
        Self::Status(RunStatus::Running),
        Self::Idle,
        Self::Status(RunStatus::Suspended),
        Self::Status(RunStatus::Completed),
        Self::Status(RunStatus::Failed),
        Self::Stopped,
        Self::Status(RunStatus::Cancelled),
        Self::Status(RunStatus::TimedOut),
        Self::Status(RunStatus::BudgetExhausted),
        Self::Status(RunStatus::Halted),
        Self::Status(RunStatus::Denied),
    ];

    /// Returns the status of this run.
    #[must_use]
    pub fn of(record: &RunRecord) -> Self {
        match (record.status, &record.holder) {
            (RunStatus::Running, None) => Self::Idle,
            (RunStatus::Cancelled, _) if !is_cancelled_for_good(record) => Self::Stopped,
            (status, _) => Self::Status(status),
        }
    }

    /// The status that its record has.
    #[must_use]
    pub fn status(self) -> RunStatus {
        match self {
            Self::Idle => RunStatus::Running,
            Self::Stopped => RunStatus::Cancelled,
            Self::Status(status) => status,
        }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Stopped => "stopped",
            Self::Status(status) => status.name(),
        }
    }

    /// Returns its tone.
    #[must_use]
    pub fn tone(self) -> Tone {
        match self {
            Self::Idle | Self::Stopped => Tone::Caution,
            Self::Status(status) => Tone::of(status),
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// As much of a run's end as is needed to tell whether it is one for good.
#[derive(Deserialize)]
struct End {
    #[serde(default)]
    for_good: bool,
}

/// Checks whether a run was cancelled for good.
#[must_use]
pub fn is_cancelled_for_good(record: &RunRecord) -> bool {
    let outcome = record.outcome.as_deref().filter(|_| record.status == RunStatus::Cancelled);
    outcome.is_some_and(|json| serde_json::from_slice::<End>(json).is_ok_and(|end| end.for_good))
}

/// Returns how long a run took, or has been going on. Of one that was interrupted nobody knows.
#[must_use]
pub fn run_duration(record: &RunRecord, now: Timestamp) -> Option<Duration> {
    match (record.status, &record.holder) {
        (RunStatus::Running, None) => None,
        (RunStatus::Running, Some(_)) => Some(now.since(record.created)),
        _ => Some(record.updated.since(record.created)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_comes_after_running_and_every_status_is_there() {
        let names: Vec<&str> = DisplayStatus::ALL.iter().map(|status| status.name()).collect();
        assert_eq!(names[..3], ["running", "idle", "suspended"]);
        for status in RunStatus::ALL {
            assert!(names.contains(&status.name()), "{status}");
        }
    }
}
