//! Effects: everything a step may do that is not a pure function of its state.
//!
//! All of them work alike. The scope gives the effect its number; the journal is asked whether it has happened already;
//! if so, the recorded outcome is the outcome. If not, everything the run has learnt so far is made durable, the effect
//! is performed, and its outcome is taken down. A request that differs from the recorded one is a
//! [`Divergence`](crate::Divergence), never a silent second call.

mod ask;
mod awaited_calls;
mod clock;
mod continue_with;
mod custom;
mod decision;
mod doubt;
mod model;
mod note;
mod prior_questions;
mod receive;
mod skipped;
mod tool;
mod version;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use awaited_calls::AwaitedCalls;
pub use custom::CustomEffect;
pub(crate) use decision::LeafProgress;
pub use decision::PendingDecision;
pub use doubt::OnDoubt;
pub use model::Visibility;
pub use note::StepNote;
pub use receive::ReceivedMail;
pub(crate) use receive::StoredReceive;
pub use tool::LostResult;

use crate::event::LogicalTime;
use crate::intercept::Labels;
use crate::journal::{Attachments, Draft, FailedCall, RecordedCall, RecordedOutcome, RunJournal};
use crate::run::{EarlierOutcome, Likeness};
use crate::scope::{Child, LeafReplay};
use crate::{
    ComposingScope, Digest, Divergence, EffectKind, Entry, Error, IdempotencyKey, Path, Phase, RecordedError,
    Scope, Timestamp,
};

/// The longest request shown in a divergence.
const SHOWN_REQUEST: usize = 600;

/// An effect that has its number, and whose past is known.
pub(crate) struct NumberedEffect<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) path: &'a Path,
    pub(crate) ordinal: u32,
    effect: EffectKind,
    pub(crate) digest: Digest,
    /// Where its key is derived from, if that is not its own path.
    keyed_as: Option<Path>,
    /// Whether the attempt before did not ask for it here.
    is_another: bool,
}

/// What the journal says about an effect.
pub(crate) enum Past<O> {
    /// It happened, with this outcome.
    Finished(O),
    /// It was begun before a crash.
    InDoubt,
    /// It was never begun.
    Unknown,
}

impl Scope {
    /// Gives an effect its number. Must come first in every effect, before anything is awaited.
    fn number(&self, effect: EffectKind, digest: Digest) -> NumberedEffect<'_> {
        let ordinal = self.node.next_ordinal.fetch_add(1, Ordering::Relaxed);
        NumberedEffect {
            scope: self,
            path: self.path(),
            ordinal,
            effect,
            digest,
            keyed_as: None,
            is_another: false,
        }
    }

    /// Gives an effect its number that others may know by its key: another attempt at it has the key of the first.
    fn number_act(&self, effect: EffectKind, digest: Digest) -> NumberedEffect<'_> {
        let mut effect = self.number(effect, digest);
        if self.node.retried.load(Ordering::Relaxed) {
            (effect.keyed_as, effect.is_another) = effect.attempted_as();
        }
        effect
    }

    /// Whether the journal has the outcome of the effect that is begun next in this scope.
    fn next_is_recorded(&self) -> bool {
        let next = self.node.next_ordinal.load(Ordering::Relaxed);
        let slot = self.journal().and_then(|journal| journal.index.get(self.path(), next));
        slot.is_some_and(|slot| slot.finished.is_some())
    }

    /// What the journal knows the effect by that is begun next in this scope.
    pub(crate) fn next_digest(&self) -> Option<Digest> {
        let next = self.node.next_ordinal.load(Ordering::Relaxed);
        let slot = self.journal()?.index.get(self.path(), next)?;
        slot.first().map(|entry| entry.digest)
    }

    /// Counts a finished effect as told.
    fn mark_replayed(&self, journal: &RunJournal) {
        journal.index.mark_used();
        if let Some(replay) = self.node.replay.get() {
            replay.replayed();
        }
        if let Some(ahead) = &self.node.ahead {
            ahead.replayed();
        }
    }

    /// From now on this scope, and whatever is opened below it, gets as far as its journal goes and no further.
    pub(crate) fn replay_only(&self) -> Arc<LeafReplay> {
        let finished = self.journal().map_or(0, |journal| journal.index.finished_within(self.path()));
        Arc::clone(self.node.replay.get_or_init(|| Arc::new(LeafReplay::new(finished))))
    }

    /// The key of the effect at an address in the generation that the run is in.
    fn key_of(&self, path: &Path, ordinal: u32) -> IdempotencyKey {
        IdempotencyKey::derive_in(self.run_id(), self.generation(), path, ordinal)
    }

    pub(crate) fn journal(&self) -> Option<&RunJournal> {
        self.node.run.journal.as_ref()
    }
}

impl ComposingScope<'_> {
    /// Returns whether the journal has an effect of this very scope: what happens here was decided before, and whoever decides
    /// by what changes from one moment to the next (a budget shared with others) must not decide again.
    #[must_use]
    pub fn has_past(&self) -> bool {
        self.journal().is_some_and(|journal| journal.index.knows_from(self.path(), 0))
    }

    /// Returns whether the journal has an effect of this scope or of any below it.
    #[must_use]
    pub fn has_past_within(&self) -> bool {
        self.journal().is_some_and(|journal| journal.index.knows_within(self.path()))
    }

    /// Returns the time that effects of this scope, and of those below it, took before the run was gone on with.
    #[must_use]
    pub fn time_used_before(&self) -> Duration {
        let journal = self.journal().filter(|journal| journal.is_live());
        journal.map_or(Duration::ZERO, |journal| journal.index.time_used(self.path()))
    }

    /// Returns how long this scope, and those below it, have waited for people and for mail in this generation of the run, in waits
    /// that were over by then. From the same instant the same follows in every replay. Without a store nothing is known of it.
    #[must_use]
    pub fn time_waited(&self, until: Timestamp) -> Duration {
        self.journal().map_or(Duration::ZERO, |journal| journal.time_waited(self.path(), until))
    }

    /// Returns whether the journal has the outcome of the effect that is begun next in this very scope: it happened before, whatever else
    /// has happened since.
    #[must_use]
    pub fn next_has_ended(&self) -> bool {
        self.next_is_recorded()
    }

    /// Returns whether the journal has an effect of the first scope of this name below this one, which need not be open.
    #[must_use]
    pub fn has_past_in(&self, name: &str) -> bool {
        self.narrowed(Child { repetition: Some(1), ..Child::named(name) }).composing().has_past()
    }

    /// Returns whether the journal has a later effect of this very scope than those asked for so far: what is to be decided now
    /// was decided before, and the scope went on.
    #[must_use]
    pub fn has_later_effects(&self) -> bool {
        let next = self.node.next_ordinal.load(Ordering::Relaxed);
        self.journal().is_some_and(|journal| journal.index.knows_from(self.path(), next))
    }
}

impl<'a> NumberedEffect<'a> {
    fn key(&self) -> IdempotencyKey {
        let path = self.keyed_as.as_ref().unwrap_or(self.path);
        self.scope.key_of(path, self.ordinal)
    }

    /// Where its key is derived from, if not from its own path, and whether the attempt before did not ask for it. One that was begun
    /// before keeps the key it has.
    fn attempted_as(&self) -> (Option<Path>, bool) {
        let node = &self.scope.node;
        let first = node.key_path();
        let likeness = node.run.attempted.compare(first, self.ordinal, self.digest);
        let is_another = likeness != Likeness::Same && first != self.path;
        if is_another && let Some(parent) = &node.parent {
            parent.went_own_way.store(true, Ordering::Relaxed);
        }
        let may_share = likeness != Likeness::Other;
        let slot = self.scope.journal().and_then(|journal| journal.index.get(self.path, self.ordinal));
        let keyed_as = match slot.and_then(|slot| slot.started) {
            Some(begun) => begun.keyed_as(),
            None => (may_share && first != self.path).then(|| first.clone()),
        };
        (keyed_as, is_another)
    }

    /// Says that it changes something, so that after one that was not asked for before nothing is taken over.
    fn acts(&self) {
        if self.is_another
            && let Some(parent) = &self.scope.node.parent
        {
            parent.acted_otherwise.store(true, Ordering::Relaxed);
        }
    }

    /// What became of it in an earlier attempt, as long as this one goes the same way: what looks the same after something
    /// else was done need not be.
    fn earlier(&self) -> EarlierOutcome {
        let node = &self.scope.node;
        match &self.keyed_as {
            Some(first) if !node.goes_own_way() => node.run.attempted.became(first, self.ordinal),
            _ => EarlierOutcome::Open,
        }
    }

    /// Keeps for later attempts what became of it.
    fn keep_for_later(&self, became: EarlierOutcome) {
        let node = &self.scope.node;
        if self.may_be_tried_again() {
            node.run.attempted.keep(node.key_path(), self.ordinal, self.digest, became);
        }
    }

    /// Whether there may be another attempt at what it is part of.
    fn may_be_tried_again(&self) -> bool {
        self.scope.node.retried.load(Ordering::Relaxed)
    }

    /// Keeps that the journal says it was begun, until it is known what became of it.
    fn keep_as_begun(&self) {
        if self.attempts() > 0 {
            self.keep_for_later(EarlierOutcome::Begun);
        }
    }

    /// A request with the time it was made, for effects whose only entry is made when they have ended, and with where
    /// its key is derived from.
    fn dated(&self, mut request: serde_json::Value) -> Result<Bytes, Error> {
        request["began"] = serde_json::to_value(Timestamp::now())?;
        if let Some(path) = &self.keyed_as {
            request["keyed_as"] = serde_json::to_value(path)?;
        }
        Ok(serde_json::to_vec(&request)?.into())
    }

    /// Whether the journal has anything about it.
    fn is_known(&self) -> bool {
        let slot = self.scope.journal().and_then(|journal| journal.index.get(self.path, self.ordinal));
        slot.is_some_and(|slot| slot.first().is_some())
    }

    /// How often it was begun, as far as the journal knows.
    fn attempts(&self) -> u32 {
        let slot = self.scope.journal().and_then(|journal| journal.index.get(self.path, self.ordinal));
        slot.map_or(0, |slot| slot.attempts)
    }

    /// What was kept with the attempt that was begun last, for whoever has to find out what became of it.
    fn kept_before(&self) -> Option<serde_json::Value> {
        let slot = self.scope.journal()?.index.get(self.path, self.ordinal)?;
        let mut request: serde_json::Value =
            serde_json::from_slice(slot.started?.request.as_deref()?).ok()?;
        Some(request.get_mut("before")?.take())
    }

    /// What the journal says. `request` is what a divergence would show of the request made now.
    fn past<T: DeserializeOwned>(
        &self,
        request: impl FnOnce() -> String,
    ) -> Result<Past<Result<T, Error>>, Error> {
        Ok(match self.recorded::<RecordedOutcome<T>>(request)? {
            Past::Finished((recorded, entry)) => {
                self.reach(entry);
                Past::Finished(recorded.into_result())
            }
            Past::InDoubt => Past::InDoubt,
            Past::Unknown => Past::Unknown,
        })
    }

    /// What follows in this scope follows from an entry.
    fn reach(&self, entry: u64) {
        self.scope.node.reach(LogicalTime::of_entry(entry));
    }

    /// What the journal says, in the form it keeps, and the number of the entry that says it.
    fn recorded<O: DeserializeOwned>(
        &self,
        request: impl FnOnce() -> String,
    ) -> Result<Past<(O, u64)>, Error> {
        let Some(journal) = self.scope.journal() else { return Ok(Past::Unknown) };
        self.emit_prior_questions();
        let past = match journal.index.get(self.path, self.ordinal) {
            Some(slot) if slot.first().is_some() => {
                self.compare(slot.first(), request)?;
                match slot.finished {
                    Some(entry) => {
                        self.scope.mark_replayed(journal);
                        self.learn_again(entry);
                        Past::Finished((decode(entry.outcome.as_deref())?, entry.seq))
                    }
                    None => Past::InDoubt,
                }
            }
            _ => Past::Unknown,
        };
        if !self.may_go_on() && !matches!(past, Past::Finished(_)) {
            return Err(Error::NotRecorded {
                path: self.path.clone(),
                ordinal: self.ordinal,
                effect: self.effect,
            });
        }
        Ok(past)
    }

    /// Whether what the journal does not know may happen.
    fn may_go_on(&self) -> bool {
        let is_live = self.scope.journal().is_none_or(RunJournal::is_live);
        is_live && self.scope.node.replay.get().is_none()
    }

    fn compare(&self, recorded: Option<&Entry>, request: impl FnOnce() -> String) -> Result<(), Error> {
        match recorded {
            Some(entry) if entry.digest != self.digest || entry.effect != self.effect => {
                let recorded = entry.request.as_deref().map_or("(not kept)".into(), String::from_utf8_lossy);
                Err(Error::Diverged(Box::new(Divergence {
                    path: self.path.clone(),
                    ordinal: self.ordinal,
                    effect: self.effect,
                    recorded: format!("{} {}", entry.effect, shortened(&recorded)),
                    asked: format!("{} {}", self.effect, shortened(&request())),
                })))
            }
            _ => Ok(()),
        }
    }

    /// Whether there is time for the effect. That there is none is kept as its outcome: whoever set the limit may cope
    /// with it, and must find the same when the run is resumed.
    fn check(&self, request: Option<&Bytes>) -> Result<(), Error> {
        self.scope.check().or_else(|stop| match request {
            Some(request) => self.give_up(request.clone(), stop, Attachments::default()),
            // It was begun before.
            None => self.finish(None, Err(stop), Attachments::default()),
        })
    }

    /// Takes down that there was no time to begin the effect, or no budget for it.
    fn give_up<T: Serialize>(
        &self,
        request: Bytes,
        stop: Error,
        attached: Attachments<'_>,
    ) -> Result<T, Error> {
        let Some(error) = RecordedError::of(&stop) else { return Err(stop) };
        let no_time = matches!(error, RecordedError::TimedOut(_));
        let unmade = RecordedCall::Err(FailedCall { no_time, ..FailedCall::new(error, None) });
        self.keep(Some(request), &unmade, attached)?;
        unmade.into_result()
    }

    /// Makes everything learnt so far durable, and makes sure that the run is still ours: the last thing before the world is
    /// touched.
    async fn settle(&self) -> Result<(), Error> {
        self.scope.confirm().await
    }

    /// Takes down that the effect is about to happen, durably.
    async fn start(&self, request: Bytes, attached: Attachments<'_>) -> Result<(), Error> {
        self.append(Phase::Started, Some(request), None, attached);
        self.settle().await
    }

    /// Takes down what became of the effect, and gives it back in the form a replay would give.
    ///
    /// A stop (cancellation, a failing store) is not an outcome: nothing is taken down, and the effect happens anew, or
    /// is in doubt, when the run is resumed.
    fn finish<T: Serialize>(
        &self,
        request: Option<Bytes>,
        outcome: Result<T, Error>,
        attached: Attachments<'_>,
    ) -> Result<T, Error> {
        let recorded = match outcome {
            Ok(value) => RecordedOutcome::Ok(value),
            Err(error) => match RecordedError::of(&error) {
                Some(recorded) => RecordedOutcome::Err(recorded),
                None => return Err(error),
            },
        };
        self.keep(request, &recorded, attached)?;
        recorded.into_result()
    }

    /// Takes down what became of the effect, in the form it is read back in, and what is known of it.
    fn keep(
        &self,
        request: Option<Bytes>,
        outcome: &impl Serialize,
        mut attached: Attachments<'_>,
    ) -> Result<(), Error> {
        if self.effect == EffectKind::Tool {
            // A call that the journal answers is not made again, and nothing is learnt in it then.
            attached.labels.join(&self.scope.learnt());
        }
        let labels = attached.labels.clone();
        if self.scope.journal().is_some() {
            let json = serde_json::to_vec(outcome)?;
            let entry = self.append(Phase::Finished, request, Some(json.into()), attached);
            entry.into_iter().for_each(|entry| self.reach(entry));
        }
        self.learn(&labels);
        Ok(())
    }

    /// Takes down what an effect had come to when it was interrupted. That is no outcome: it is performed anew when the run goes on.
    fn keep_interrupted(
        &self,
        request: Bytes,
        so_far: &impl Serialize,
        attached: Attachments<'_>,
    ) -> Result<(), Error> {
        if self.scope.journal().is_some() {
            let json = serde_json::to_vec(so_far)?;
            self.append(Phase::Superseded, Some(request), Some(json.into()), attached);
        }
        Ok(())
    }

    fn learn(&self, labels: &Labels) {
        match self.effect {
            EffectKind::Tool => self.scope.learn_from_call(labels),
            _ => self.scope.learn(labels),
        }
    }

    /// What the journal answers is learnt as it was, and what interceptors did about it is not done again. A tool's call sees
    /// to the latter itself, together with what else was done in it.
    fn learn_again(&self, entry: &Entry) {
        self.learn(&entry.labels);
        if self.scope.around.is_some() && self.effect != EffectKind::Tool {
            self.scope.recount_within(&self.scope.path_of_interceptors(self.ordinal));
        }
    }

    /// Takes an entry down. Gives its number.
    fn append(
        &self,
        phase: Phase,
        request: Option<Bytes>,
        outcome: Option<Bytes>,
        mut attached: Attachments<'_>,
    ) -> Option<u64> {
        let draft = Draft {
            path: self.path,
            ordinal: self.ordinal,
            effect: self.effect,
            phase,
            digest: self.digest,
            request,
            outcome,
            labels: std::mem::take(&mut attached.labels),
        };
        self.scope.journal()?.append(draft, attached)
    }
}

/// Reads a recorded outcome.
fn decode<O: DeserializeOwned>(outcome: Option<&[u8]>) -> Result<O, Error> {
    let outcome = outcome.unwrap_or(b"null");
    serde_json::from_slice(outcome).map_err(|error| {
        Error::Refused(
            format!(
                "the journal has an outcome this code cannot read: {error}. It was written by other code: run it with \
                 that, or let the type read what that wrote (serde's `default` and `alias`). The outcome: {}",
                shortened(&String::from_utf8_lossy(outcome))
            )
            .into(),
        )
    })
}

/// Cuts a long text for showing, and says that it did.
fn shortened(text: &str) -> String {
    if text.len() <= SHOWN_REQUEST {
        return text.to_owned();
    }
    let cut: String = text.chars().take(SHOWN_REQUEST).collect();
    format!("{cut}… ({} bytes in all)", text.len())
}
