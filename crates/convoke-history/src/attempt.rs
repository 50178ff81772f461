//! Attempts at an effect.

use super::detail::{self, DecodedEntry, Detail};
use super::{Conversations, Spent};
use convoke_core::journal::is_priced;
use convoke_core::{EffectKind, Entry, Money, Phase, RecordedError, Timestamp, Usage};

/// An entry of the journal: its number and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryMark {
    /// The number.
    pub seq: u64,
    /// When it was written.
    pub at: Timestamp,
}

impl From<&Entry> for EntryMark {
    fn from(entry: &Entry) -> Self {
        Self { seq: entry.seq, at: entry.at }
    }
}

/// An attempt at an effect. There is more than one if a failed run was resumed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Attempt {
    /// Where the journal says that it was about to begin. Effects that are harmless to repeat have no such entry.
    pub begun: Option<EntryMark>,
    /// When it began, as far as that was written down.
    pub began: Option<Timestamp>,
    /// Where the journal says what became of it.
    pub ended: Option<EntryMark>,
    /// Where the journal says that this attempt no longer counts.
    pub superseded: Option<EntryMark>,
    /// What was asked, and what it gave.
    pub detail: Detail,
    /// What it failed with.
    pub error: Option<RecordedError>,
    /// What a model call that failed had used until then.
    used_in_vain: Option<Usage>,
    /// Whether a model or a tool was not called after all.
    was_not_made: bool,
    /// Whether it is a call of a model that was given up when the run was stopped.
    is_interrupted: bool,
    /// How many calls of tools, which are made elsewhere, it began to wait for.
    awaited_calls: u64,
}

impl Attempt {
    /// The attempt that begins with this entry.
    pub(super) fn new(entry: &Entry, conversations: &Conversations) -> Self {
        let DecodedEntry { detail, error, used_in_vain } =
            detail::decode(entry, entry.request.as_deref(), conversations);
        let mut attempt = Self {
            begun: None,
            began: None,
            ended: None,
            superseded: None,
            detail,
            error,
            used_in_vain,
            was_not_made: false,
            is_interrupted: false,
            awaited_calls: entry.awaited_calls().len() as u64,
        };
        attempt.mark(entry);
        attempt
    }

    /// Adds what a later entry of the same attempt says.
    pub(super) fn add(&mut self, entry: &Entry, request: Option<&[u8]>, conversations: &Conversations) {
        if entry.phase == Phase::Finished {
            let decoded = detail::decode(entry, entry.request.as_deref().or(request), conversations);
            DecodedEntry { detail: self.detail, error: self.error, used_in_vain: self.used_in_vain } =
                decoded;
        }
        self.mark(entry);
    }

    fn mark(&mut self, entry: &Entry) {
        let mark = Some(EntryMark::from(entry));
        match entry.phase {
            Phase::Started => {
                self.begun = mark;
                self.began = Some(entry.at);
            }
            Phase::Finished => {
                self.ended = mark;
                self.was_not_made = !entry.was_made();
                self.began = self.began.or_else(|| written_beginning(entry));
            }
            // A call of a model that was interrupted has this entry alone: how far it had come.
            Phase::Superseded if entry.outcome.is_some() => {
                self.ended = mark;
                self.is_interrupted = true;
                self.began = written_beginning(entry);
            }
            Phase::Superseded => self.superseded = mark,
        }
    }

    /// Where and when it began: at its first entry, or before its only one.
    pub(super) fn beginning(&self) -> Option<EntryMark> {
        let seq = self.begun.or(self.ended)?.seq;
        self.began.map(|at| EntryMark { seq, at })
    }

    /// Its entries, in order.
    pub fn marks(&self) -> impl Iterator<Item = EntryMark> {
        [self.begun, self.ended, self.superseded].into_iter().flatten()
    }

    /// The number of its first entry: fork there to have it performed anew.
    #[must_use]
    pub fn first_seq(&self) -> u64 {
        self.marks().map(|mark| mark.seq).min().unwrap_or(0)
    }

    /// Returns whether it was given up when the run was stopped, so that it has no outcome.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// Returns what a model used to answer, or until it failed; `None` if this is no call of a model, or one that failed without
    /// saying what it used.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        match &self.detail {
            Detail::Model { reply: Some(reply), .. } => Some(reply.usage),
            _ => self.used_in_vain,
        }
    }

    /// Returns whether it failed, or is a tool's failure that the model got to read.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        let told = matches!(&self.detail, Detail::Tool { result: Some(result), .. } if result.is_error);
        told || self.error.is_some()
    }

    /// What it spent.
    pub(super) fn spent(&self, kind: EffectKind) -> Spent {
        let is_call = kind == EffectKind::Model && !self.was_not_made && self.ended.is_some();
        let is_unpriced = is_call && !is_priced(self.usage(), self.error.as_ref());
        let mut usage = self.usage().unwrap_or_default();
        // A call that was refused before it could cost anything is known to have cost nothing.
        usage.cost = usage.cost.or((is_call && !is_unpriced).then_some(Money::ZERO));
        let is_within_budget = !matches!(self.error, Some(RecordedError::Budget(_)));
        Spent {
            model_calls: u64::from(is_call),
            unpriced_calls: u64::from(is_unpriced),
            tool_calls: u64::from(kind == EffectKind::Tool && !self.was_not_made) + self.awaited_calls,
            usage,
            failures: u64::from(self.is_failure() && is_within_budget && !self.is_interrupted),
        }
    }
}

/// An effect that is harmless to repeat has one entry, made at its end, whose request says when it began.
fn written_beginning(entry: &Entry) -> Option<Timestamp> {
    #[derive(serde::Deserialize)]
    struct Beginning {
        began: Timestamp,
    }
    let request = entry.request.as_deref()?;
    serde_json::from_slice::<Beginning>(request).ok().map(|beginning| beginning.began)
}
