//! Effects that a resumed run does not ask for again, because what came of the whole they were part of is known.
//!
//! They have happened all the same: what they used is charged, and they are no sign that the code has changed.

use serde::Deserialize;

use crate::budget::Charge;
use crate::message::Usage;
use crate::model::ModelReply;
use crate::scope::Place;
use crate::{EffectKind, Path, Recorded, Scope};

/// What the journal keeps of a tool's request, as far as it matters here.
#[derive(Deserialize)]
struct Called {
    tool: String,
}

impl Scope {
    /// Leaves out a branch that did not count when the run came by here before. What it did is neither done nor told
    /// again, and what it used counts.
    pub fn leave_out(&self, place: &Place) {
        let branch = Path::join(self.path(), &place.name, place.repetition);
        self.recount(|path| path.is_within(&branch));
    }

    /// Counts what happened below this scope, whose own outcome is known.
    pub(super) fn recount_below(&self) {
        let own = self.path();
        self.recount(|path| path.is_within(own) && path != own);
    }

    fn recount(&self, is_meant: impl Fn(&Path) -> bool) {
        let Some(journal) = self.journal() else { return };
        for slot in journal.index.finished_where(is_meant) {
            journal.index.mark_used();
            let outcome =
                slot.finished.as_ref().and_then(|entry| entry.outcome.as_deref()).unwrap_or_default();
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
}
