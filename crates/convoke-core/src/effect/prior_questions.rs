//! Questions asked about an effect before it was performed: by interceptors, and by the kernel if it was interrupted.
//!
//! A run that is told again does not ask it again: the outcome is known. But it has happened, and whoever reads the account of the run is
//! told of it.

use super::NumberedEffect;
use crate::ask::{Answer, Question};
use crate::event::{Emission, EventKind, LogicalTime, Position};
use crate::journal::{RecordedOutcome, Slot};
use crate::{EffectKind, Segment};

impl NumberedEffect<'_> {
    /// In an account of the run: tells the questions, which nobody asks again.
    pub(super) fn emit_prior_questions(&self) {
        let events = &self.scope.node.run.events;
        if !events.gives_full_account() {
            return;
        }
        for slot in self.asked_about() {
            let Some(begun) = slot.started.filter(|begun| begun.effect == EffectKind::Ask) else { continue };
            let id = self.scope.key_of(&begun.path, begun.ordinal);
            let tell = |entry: u64, kind: EventKind| {
                let moment = LogicalTime::from_number(LogicalTime::of_entry(entry).number() + 1);
                let position = Some(Position::new(moment, begun.path.clone()));
                events.deliver(Emission { path: &begun.path, position, replayed: true, kind }, None);
            };
            let json = begun.request.as_deref().unwrap_or_default();
            if let Ok(question) = serde_json::from_slice::<Question>(json) {
                tell(begun.seq, EventKind::QuestionAsked { id: id.clone(), question });
            }
            if let Some(ended) = slot.finished
                && let Ok(RecordedOutcome::Ok(answer)) = serde_json::from_slice::<RecordedOutcome<Answer>>(
                    ended.outcome.as_deref().unwrap_or_default(),
                )
            {
                tell(ended.seq, EventKind::QuestionAnswered { id, answer });
            }
        }
    }

    /// What the journal has of what was asked about this effect.
    fn asked_about(&self) -> impl Iterator<Item = Slot<'_>> {
        let may_be_in_doubt = matches!(self.effect, EffectKind::Tool | EffectKind::Custom);
        let interceptors = self.scope.path_of_interceptors(self.ordinal);
        let below = self.scope.journal().into_iter().flat_map(|journal| journal.index.slots_below(self.path));
        below.filter(move |slot| {
            let Some(path) = slot.first().map(|entry| &entry.path) else { return false };
            let own = self.path.segments().count();
            let name =
                path.segments().nth(own).map(|segment| Segment::of(segment).name()).unwrap_or_default();
            // The places where the kernel asks, and asked when nobody who did had a name.
            path.is_within(&interceptors) || may_be_in_doubt && (name == "in doubt" || name == "gate")
        })
    }
}
