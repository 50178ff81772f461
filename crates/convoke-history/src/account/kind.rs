//! Kinds of account items.

use convoke_core::{EffectKind, Phase};

use super::part;
use crate::{ChronicleEvent, History, TimelineEntry, Tone};

/// The kinds of items. An item may have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ItemKind {
    /// Where the run began, was taken up again, and ended.
    Run,
    /// Calls of models.
    Model,
    /// Calls of tools.
    Tool,
    /// Questions to people, and answers.
    Question,
    /// Waits.
    Sleep,
    /// What the run was sent.
    Mail,
    /// Looks at the clock.
    Now,
    /// What the program itself did to the world.
    Custom,
    /// Choices that depended on timing.
    Decision,
    /// What was done to supervise goals.
    Supervision,
    /// What was done again, and waits before that.
    Retry,
    /// What failed.
    Failure,
}

impl ItemKind {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 12] = [
        Self::Run,
        Self::Model,
        Self::Tool,
        Self::Question,
        Self::Sleep,
        Self::Mail,
        Self::Now,
        Self::Custom,
        Self::Decision,
        Self::Supervision,
        Self::Retry,
        Self::Failure,
    ];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Question => "question",
            Self::Sleep => "sleep",
            Self::Mail => "mail",
            Self::Now => "now",
            Self::Custom => "custom",
            Self::Decision => "decision",
            Self::Supervision => "supervision",
            Self::Retry => "retry",
            Self::Failure => "failure",
        }
    }

    /// Returns its description, a sentence without its full stop.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Run => "Where the run began, was taken up again, and ended",
            Self::Model => "Calls of models",
            Self::Tool => "Calls of tools",
            Self::Question => "Questions to people, and answers",
            Self::Sleep => "Waits",
            Self::Mail => "What the run was sent",
            Self::Now => "Looks at the clock",
            Self::Custom => "What the program itself did to the world",
            Self::Decision => "Choices that depended on timing",
            Self::Supervision => "What was done to supervise goals",
            Self::Retry => "What was done again, and waits before that",
            Self::Failure => "What failed",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind of an effect.
    #[must_use]
    pub fn of(effect: EffectKind) -> Self {
        match effect {
            EffectKind::Model => Self::Model,
            EffectKind::Tool => Self::Tool,
            EffectKind::Ask => Self::Question,
            EffectKind::Sleep => Self::Sleep,
            EffectKind::Receive => Self::Mail,
            EffectKind::Now => Self::Now,
            EffectKind::Custom => Self::Custom,
            EffectKind::Continue => Self::Run,
            _ => Self::Decision,
        }
    }

    /// Everything something that happened is about, the main thing first.
    pub(super) fn all_of(history: &History, what: &ChronicleEvent<'_>) -> Vec<Self> {
        match what {
            ChronicleEvent::Entry(moment) => Self::all_of_moment(history, moment),
            ChronicleEvent::Resumed(_) => vec![Self::Run, Self::Retry],
            ChronicleEvent::Ended if Tone::of(history.record.status) == Tone::Bad => {
                vec![Self::Run, Self::Failure]
            }
            _ => vec![Self::Run],
        }
    }

    fn all_of_moment(history: &History, moment: &TimelineEntry<'_>) -> Vec<Self> {
        let path = &moment.effect.path;
        let mut kinds = vec![Self::of(moment.effect.kind)];
        if part::supervision(&history.steps, path).is_some() {
            kinds.push(Self::Supervision);
        }
        let is_again = moment.number > 1
            || moment.phase == Phase::Superseded
            || part::attempt(&history.steps, path).is_some_and(|attempt| attempt > 1)
            || part::waits_to_retry(history, moment);
        if is_again {
            kinds.push(Self::Retry);
        }
        if moment.phase == Phase::Finished && moment.attempt.is_failure() {
            kinds.push(Self::Failure);
        }
        kinds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name_and_no_two_are_called_alike() {
        for kind in ItemKind::ALL {
            assert_eq!(ItemKind::named(kind.name()), Some(kind));
        }
        assert_eq!(ItemKind::named("anything"), None);
    }
}
