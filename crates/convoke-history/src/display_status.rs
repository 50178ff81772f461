//! The display status of a run, as users see it and write it: the status its record has, or `idle` for one that is said to be
//! running although nobody works on it. Whatever shows a run names it alike.

use std::time::Duration;

use convoke_core::store::RunRecord;
use convoke_core::{RunStatus, Timestamp};

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
    /// What its record says.
    Status(RunStatus),
}

impl DisplayStatus {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; RunStatus::ALL.len() + 1] = {
        let mut all = [Self::Idle; RunStatus::ALL.len() + 1];
        let mut index = 0;
        while index < RunStatus::ALL.len() {
            // After `running`, which is the first.
            let place = if index == 0 { 0 } else { index + 1 };
            all[place] = Self::Status(RunStatus::ALL[index]);
            index += 1;
        }
        all
    };

    /// Returns the status of this run.
    #[must_use]
    pub fn of(record: &RunRecord) -> Self {
        match (record.status, &record.holder) {
            (RunStatus::Running, None) => Self::Idle,
            (status, _) => Self::Status(status),
        }
    }

    /// The status that its record has.
    #[must_use]
    pub fn status(self) -> RunStatus {
        match self {
            Self::Idle => RunStatus::Running,
            Self::Status(status) => status,
        }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Status(status) => status.name(),
        }
    }

    /// Returns its tone.
    #[must_use]
    pub fn tone(self) -> Tone {
        match self {
            Self::Idle => Tone::Caution,
            Self::Status(status) => Tone::of(status),
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
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
