//! Accounting for recorded effects that a resumed run does not ask for again, because the outcome of the call around them is known.
//!
//! They have happened all the same: what they used is charged, and they are no sign that the code has changed.

use serde::Deserialize;
use serde_json::Value;

use crate::ask::{Answer, Question, QuestionId};
use crate::budget::Charge;
use crate::journal::{RecordedCall, RecordedOutcome, RunJournal, Slot};
use crate::message::Usage;
use crate::scope::ReservedScope;
use crate::{ComposingScope, EffectKind, Entry, Path, Scope};

/// What the journal keeps of a tool's request, as far as it matters here.
#[derive(Deserialize)]
struct StoredToolRequest {
    tool: String,
}

impl Scope {
    /// Counts what happened in a call that has this number in its scope, and whose outcome is known: there and below.
    pub(super) fn recount_call(&self, ordinal: u32) {
        let Some(journal) = self.journal() else { return };
        let is_inside = |slot: &Slot<'_>| slot.first().is_some_and(|entry| entry.ordinal != ordinal);
        let inside = journal.index.slots_at(self.path()).filter(is_inside);
        self.recount(journal, inside.chain(journal.index.slots_below(self.path())));
    }

    /// Counts what happened below a path.
    pub(super) fn recount_within(&self, path: &Path) {
        if let Some(journal) = self.journal() {
            self.recount(journal, journal.index.slots_below(path));
        }
    }

    /// Gives up what an interrupted call had asked: what became of the call is known without.
    pub(crate) fn withdraw_asked_by_call(&self) {
        if let Some(journal) = self.journal() {
            journal.close_questions(self.left_unanswered(journal).into_iter());
        }
    }

    /// What was asked at or below this scope, now or before the run went on, and may have no answer.
    pub(crate) fn left_unanswered(&self, journal: &RunJournal) -> Vec<QuestionId> {
        let (index, own) = (&journal.index, self.path());
        let open = index.slots_at(own).chain(index.slots_below(own)).filter(|slot| slot.finished.is_none());
        let asked = open.filter_map(|slot| slot.first()).filter(|begun| begun.effect == EffectKind::Ask);
        let asked = asked.map(|begun| self.key_of(&begun.path, begun.ordinal));
        asked.chain(self.node.run.waiting.left_unanswered(own)).collect()
    }

    /// What an interrupted call was asking a person when it was, if nothing it asked was approved since it was begun last.
    pub(super) fn was_asking(&self, call: &Entry) -> Option<Value> {
        let (index, own) = (&self.journal()?.index, self.path());
        let is_question = |slot: &Slot<'_>| slot.first().is_some_and(|begun| begun.effect == EffectKind::Ask);
        let asked: Vec<Slot<'_>> =
            index.slots_at(own).chain(index.slots_below(own)).filter(is_question).collect();
        let is_approved = |slot: &Slot<'_>| {
            slot.finished.is_some_and(|answered| {
                let answer = serde_json::from_slice(answered.outcome.as_deref().unwrap_or_default());
                answered.seq > call.seq
                    && !matches!(answer, Ok(RecordedOutcome::<Answer>::Ok(answer)) if !answer.is_approval())
            })
        };
        if asked.iter().any(is_approved) {
            return None;
        }
        let open = asked.iter().filter(|slot| slot.finished.is_none()).filter_map(Slot::first);
        let last = open.max_by_key(|begun| begun.seq)?;
        let question: Question = serde_json::from_slice(last.request.as_deref()?).ok()?;
        Some(question.subject)
    }

    fn recount<'a>(&self, journal: &RunJournal, slots: impl Iterator<Item = Slot<'a>>) {
        let mut withdrawn = Vec::new();
        for slot in slots {
            match (slot.first(), slot.finished) {
                (_, Some(_)) => {
                    self.mark_replayed(journal);
                    self.charge_again(slot);
                }
                (Some(begun), None) if begun.effect == EffectKind::Ask => {
                    withdrawn.push(self.key_of(&begun.path, begun.ordinal));
                }
                _ => {}
            }
        }
        journal.close_questions(withdrawn.into_iter());
    }

    fn charge_again(&self, slot: Slot<'_>) {
        let outcome = slot.finished.and_then(|entry| entry.outcome.as_deref()).unwrap_or_default();
        let request = slot.first().and_then(|entry| entry.request.as_deref()).unwrap_or_default();
        match slot.first().map(|entry| entry.effect) {
            Some(EffectKind::Model) => match serde_json::from_slice::<RecordedCall>(outcome) {
                // Which model it was is known by name only, so a cost that was estimated is not known here.
                Ok(call) => self.count_model_call(&call, None),
                Err(_) => self.charge_model_call(Usage::default(), false, None),
            },
            Some(EffectKind::Tool) if slot.finished.is_some_and(Entry::was_made) => {
                if let Ok(StoredToolRequest { tool }) = serde_json::from_slice(request) {
                    self.count_attempts(slot.attempts, &Charge::tools(&[&tool]));
                }
            }
            Some(EffectKind::Receive) => {
                let called = slot.started.map(Entry::awaited_calls).unwrap_or_default();
                let called: Vec<&str> = called.iter().map(String::as_str).collect();
                self.count_attempts(slot.attempts, &Charge::tools(&called));
            }
            _ => {}
        }
    }
}

impl ComposingScope<'_> {
    /// Gives up what was asked at or below this scope before the run went on, and has no answer yet.
    pub fn withdraw_earlier_questions(&self) {
        self.withdraw_asked_by_call();
    }

    /// Leaves out a branch that did not count when the run came by here before. What it did is neither done nor told
    /// again, what it used counts, and what it asked is withdrawn.
    pub fn leave_out(&self, branch: &ReservedScope) {
        self.leave_out_all(std::iter::once(branch));
    }

    /// Leaves out several branches.
    pub fn leave_out_all<'a>(&self, branches: impl Iterator<Item = &'a ReservedScope>) {
        let Some(journal) = self.journal() else { return };
        let own = self.path();
        let paths: Vec<Path> = branches.map(|place| Path::join(own, &place.name, place.repetition)).collect();
        let index = &journal.index;
        self.recount(
            journal,
            paths.iter().flat_map(|path| index.slots_at(path).chain(index.slots_below(path))),
        );
    }
}
