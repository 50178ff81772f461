//! Notes on steps: what a composite step keeps about one of its steps, besides the step's effects.
//!
//! A note is no effect: it has no moment in the account of the run, and a step that comes to another one when it is run again keeps
//! that. Whoever keeps a note about something that timing decided must look for it before the step is run.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::decode;
use crate::intercept::Labels;
use crate::journal::{Attachments, Draft, STEP_TIMEOUT};
use crate::{ComposingScope, Digest, EffectKind, Error, Phase, RecordedOutcome};

/// The subjects of notes. Each step has one of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepNote {
    /// Where the run went on from the step.
    Route,
    /// Why nothing of the step counts.
    LeftOut,
}

impl StepNote {
    /// The ordinal under which it is kept; effects never get that far.
    #[must_use]
    pub const fn ordinal(self) -> u32 {
        match self {
            Self::Route => STEP_TIMEOUT - 1,
            Self::LeftOut => STEP_TIMEOUT - 2,
        }
    }
}

impl ComposingScope<'_> {
    /// Whether notes are kept: the run has a journal. Saves making those that are not.
    #[must_use]
    pub fn keeps_notes(&self) -> bool {
        self.journal().is_some()
    }

    /// Keeps a note on the step that has this scope. It is durable before anything else is done in the world.
    ///
    /// # Errors
    /// If it is not JSON.
    pub fn keep_note<T: Serialize>(&self, note: StepNote, value: &T) -> Result<(), Error> {
        let Some(journal) = self.journal() else { return Ok(()) };
        let outcome = serde_json::to_vec(&RecordedOutcome::Ok(value))?;
        let kept = journal.index.get(self.path(), note.ordinal()).and_then(|slot| slot.finished);
        if let Some(kept) = kept {
            self.mark_replayed(journal);
            if kept.outcome.as_deref() == Some(&outcome) {
                return Ok(());
            }
        }
        let draft = Draft {
            path: self.path(),
            ordinal: note.ordinal(),
            effect: EffectKind::Decision,
            phase: Phase::Finished,
            digest: Digest::default(),
            request: None,
            outcome: Some(outcome.into()),
            labels: Labels::new(),
        };
        journal.append(draft, Attachments::default());
        Ok(())
    }

    /// The note that was kept on the step that has this scope before the run went on, if there is one.
    ///
    /// # Errors
    /// If it is something else than what is wanted.
    pub fn kept_note<T: DeserializeOwned>(&self, note: StepNote) -> Result<Option<T>, Error> {
        let slot = self.journal().and_then(|journal| journal.index.get(self.path(), note.ordinal()));
        let Some(kept) = slot.and_then(|slot| slot.finished) else { return Ok(None) };
        decode::<RecordedOutcome<T>>(kept.outcome.as_deref())?.into_result().map(Some)
    }
}
