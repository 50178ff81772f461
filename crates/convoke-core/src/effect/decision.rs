//! Decisions that depend on timing, journaled so that a replay decides the same.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Past, decode};
use crate::event::LogicalTime;
use crate::intercept::Labels;
use crate::journal::{Attachments, Draft, STEP_TIMEOUT};
use crate::{ComposingScope, Digest, EffectKind, Error, Phase, RecordedError, RecordedOutcome, Scope};

/// A decision that has its number but is not made yet.
pub struct PendingDecision<'a, T> {
    effect: super::NumberedEffect<'a>,
    made: Option<T>,
}

impl Scope {
    /// The end this step had come to because time was up while it was not performing any effect.
    pub(crate) fn recorded_stop(&self, reached: LeafProgress) -> Option<Error> {
        let journal = self.journal()?;
        if journal.index.is_empty() {
            return None;
        }
        let entry = journal.index.get(self.path(), STEP_TIMEOUT)?.finished?;
        match decode::<RecordedOutcome<()>>(entry.outcome.as_deref()) {
            Ok(RecordedOutcome::Err(RecordedError::TimedOut(timed_out)))
                if entry.digest == reached.digest() =>
            {
                self.node.reach(LogicalTime::of_entry(entry.seq));
                Some(Error::TimedOut(Box::new(timed_out)))
            }
            _ => None,
        }
    }

    /// Keeps that there was no time for this step. Cancellation is not kept: it ends the run, not the step.
    pub(crate) fn record_stop(&self, reached: LeafProgress, stop: &Error) {
        let (Some(journal), Error::TimedOut(timed_out)) = (self.journal(), stop) else { return };
        let outcome: RecordedOutcome<()> =
            RecordedOutcome::Err(RecordedError::TimedOut((**timed_out).clone()));
        let draft = Draft {
            path: self.path(),
            ordinal: STEP_TIMEOUT,
            effect: EffectKind::Decision,
            phase: Phase::Finished,
            digest: reached.digest(),
            request: None,
            // A path and a duration always serialise.
            outcome: serde_json::to_vec(&outcome).ok().map(Into::into),
            labels: Labels::new(),
        };
        let entry = journal.append(draft, Attachments::default());
        entry.into_iter().for_each(|entry| self.node.reach(LogicalTime::of_entry(entry)));
    }
}

impl<'a> ComposingScope<'a> {
    /// Reserves the place of a decision that will depend on timing (which branch was first). If it was made before,
    /// [`made`](PendingDecision::made) gives it, and it must be followed.
    ///
    /// # Errors
    /// Stops only.
    pub fn decision<T: Serialize + DeserializeOwned>(
        self,
        name: &str,
    ) -> Result<PendingDecision<'a, T>, Error> {
        let effect = self.0.number(EffectKind::Decision, Digest::of_parts(&[name.as_bytes()]));
        // A replay that stops short of the decision may still be able to make it from what it has replayed.
        let made = match effect.past(|| name.to_owned()) {
            Ok(Past::Finished(made)) => Some(made?),
            Ok(_) | Err(Error::NotRecorded { .. }) => None,
            Err(stop) => return Err(stop),
        };
        Ok(PendingDecision { effect, made })
    }
}

impl<T: Serialize> PendingDecision<'_, T> {
    /// The decision, if it was made before.
    pub fn made(&mut self) -> Option<T> {
        self.made.take()
    }

    /// Makes the decision.
    ///
    /// # Errors
    /// Stops only.
    pub fn make(self, decision: T) -> Result<T, Error> {
        self.effect.finish(None, Ok(decision), Attachments::default())
    }
}

impl<T> std::fmt::Debug for PendingDecision<'_, T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PendingDecision").field("path", self.effect.path).finish_non_exhaustive()
    }
}

/// How far a step had come when time was up.
#[derive(Clone, Copy)]
pub(crate) enum LeafProgress {
    /// It was under way, and dropped.
    Middle,
    /// It had not begun.
    Nothing,
}

impl LeafProgress {
    fn digest(self) -> Digest {
        match self {
            Self::Middle => Digest::default(),
            Self::Nothing => Digest::of_parts(&[b"not begun"]),
        }
    }
}
