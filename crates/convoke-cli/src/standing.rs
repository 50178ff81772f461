//! Where a run stands, as users see it and write it: the status its record has, or `idle` for one that is said to be
//! running although nobody works on it. Every command names it alike.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use convoke_core::RunStatus;
use convoke_core::store::RunRecord;

use crate::terminal::Ink;

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunStanding {
    /// Nobody works on it: it was interrupted, or has not begun. It waits to be resumed.
    Idle,
    /// What its record says.
    Status(RunStatus),
}

impl RunStanding {
    /// All of them, in the order in which they are listed.
    pub(crate) const ALL: [Self; RunStatus::ALL.len() + 1] = {
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

    /// Where this run stands.
    pub(crate) fn of(record: &RunRecord) -> Self {
        match (record.status, &record.holder) {
            (RunStatus::Running, None) => Self::Idle,
            (status, _) => Self::Status(status),
        }
    }

    /// The status that its record has.
    pub(crate) fn status(self) -> RunStatus {
        match self {
            Self::Idle => RunStatus::Running,
            Self::Status(status) => status,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Status(status) => status.name(),
        }
    }

    pub(crate) fn ink(self) -> Ink {
        match self {
            Self::Idle => Ink::Caution,
            Self::Status(status) => Ink::of(status),
        }
    }
}

impl ValueEnum for RunStanding {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_comes_after_running_and_every_status_is_there() {
        let names: Vec<&str> = RunStanding::ALL.iter().map(|standing| standing.name()).collect();
        assert_eq!(names[..3], ["running", "idle", "suspended"]);
        for status in RunStatus::ALL {
            assert!(names.contains(&status.name()), "{status}");
        }
    }
}
