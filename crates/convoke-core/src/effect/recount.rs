//! Effects that a resumed run does not ask for again, because what came of the whole they were part of is known.
//!
//! They have happened all the same: what they used is charged, and they are no sign that the code has changed.

use std::collections::HashSet;

use serde::Deserialize;

use crate::budget::Charge;
use crate::journal::Slot;
use crate::message::Usage;
use crate::model::ModelReply;
use crate::scope::Place;
use crate::{EffectKind, IdempotencyKey, Path, Recorded, Scope};

/// What the journal keeps of a tool's request, as far as it matters here.
#[derive(Deserialize)]
struct Called {
    tool: String,
}

impl Scope {
    /// Leaves out a branch that did not count when the run came by here before. What it did is neither done nor told
    /// again, what it used counts, and what it asked is withdrawn.
    pub fn leave_out(&self, branch: &Place) {
        self.leave_out_all(std::iter::once(branch));
    }

    /// Leaves out several branches in one go through the journal.
    pub fn leave_out_all<'a>(&self, branches: impl Iterator<Item = &'a Place>) {
        let own = self.path();
        let path = |place: &Place| Path::join(own, &place.name, place.repetition);
        let left_out: HashSet<Path> = branches.map(path).collect();
        self.recount(|path| path.child_towards(own).is_some_and(|child| left_out.contains(&child)));
    }

    /// Counts what happened below this scope, whose own outcome is known.
    pub(super) fn recount_below(&self) {
        let own = self.path();
        self.recount(|path| path.is_within(own) && path != own);
    }

    fn recount(&self, is_meant: impl Fn(&Path) -> bool) {
        let Some(journal) = self.journal() else { return };
        let mut withdrawn = Vec::new();
        for slot in journal.index.slots_where(is_meant) {
            match (slot.first(), &slot.finished) {
                (_, Some(_)) => {
                    journal.index.mark_used();
                    self.charge_again(slot);
                }
                (Some(begun), None) if begun.effect == EffectKind::Ask => {
                    withdrawn.push(IdempotencyKey::derive(self.run_id(), &begun.path, begun.ordinal));
                }
                _ => {}
            }
        }
        journal.close_questions(withdrawn.into_iter());
    }

    fn charge_again(&self, slot: &Slot) {
        let outcome = slot.finished.as_ref().and_then(|entry| entry.outcome.as_deref()).unwrap_or_default();
        let request = slot.first().and_then(|entry| entry.request.as_deref()).unwrap_or_default();
        match slot.first().map(|entry| entry.effect) {
            Some(EffectKind::Model) => {
                let reply = serde_json::from_slice::<Recorded<ModelReply>>(outcome);
                let usage = match reply {
                    Ok(Recorded::Ok(reply)) => reply.usage,
                    _ => Usage::default(),
                };
                self.count_model_call(usage);
            }
            Some(EffectKind::Tool) => {
                if let Ok(Called { tool }) = serde_json::from_slice(request) {
                    self.count_tool_call(&Charge::tool(&tool));
                }
            }
            _ => {}
        }
    }
}
