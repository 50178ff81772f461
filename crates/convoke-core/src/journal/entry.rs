//! Journal entries.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{RecordedCall, STEP_TIMEOUT};
use crate::budget::BudgetExhausted;
use crate::effect::StoredReceive;
use crate::error::RecordedError;
use crate::intercept::Labels;
use crate::{Digest, Error, Path, RunId, Timestamp};

/// The kinds of effect a scope offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectKind {
    /// A call of a model.
    Model,
    /// A call of a tool.
    Tool,
    /// A question to a person.
    Ask,
    /// A wait.
    Sleep,
    /// A look at the clock.
    Now,
    /// Something the user's own code did to the world.
    Custom,
    /// A choice that depended on timing (which branch won, whether a step timed out).
    Decision,
    /// Mail that was taken.
    Receive,
    /// The end of a generation: the run continues with the next.
    Continue,
}

impl EffectKind {
    /// Every kind, in the order of [`code`](Self::code).
    pub const ALL: [Self; 9] = [
        Self::Model,
        Self::Tool,
        Self::Ask,
        Self::Sleep,
        Self::Now,
        Self::Custom,
        Self::Decision,
        Self::Receive,
        Self::Continue,
    ];

    /// The kind's name as users see it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Ask => "ask",
            Self::Sleep => "sleep",
            Self::Now => "now",
            Self::Custom => "custom",
            Self::Decision => "decision",
            Self::Receive => "receive",
            Self::Continue => "continue",
        }
    }

    /// The number stores keep for this kind. Numbers are never reused.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The kind with this number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl fmt::Display for EffectKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The progress of an effect when the entry was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// About to touch the world; without a later [`Finished`](Self::Finished) its outcome is in doubt.
    Started,
    /// Done, with its outcome.
    Finished,
    /// The entries before this one at the same address no longer count; the effect is to be performed anew.
    Superseded,
}

impl Phase {
    /// The number stores keep for this phase.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The phase with this number.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Started),
            1 => Some(Self::Finished),
            2 => Some(Self::Superseded),
            _ => None,
        }
    }
}

/// An entry of a run's journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The position in the journal, from 1, without gaps.
    pub seq: u64,
    /// The scope that performed the effect.
    pub path: Path,
    /// The effect's number within its scope, from 0.
    pub ordinal: u32,
    /// What kind of effect it is.
    pub effect: EffectKind,
    /// How far it had come.
    pub phase: Phase,
    /// The digest of what was asked for.
    pub digest: Digest,
    /// When the entry was made.
    pub at: Timestamp,
    /// What was asked for, as JSON; on the first entry of an effect only.
    pub request: Option<Bytes>,
    /// What became of it, the JSON of a [`RecordedOutcome`]; on [`Phase::Finished`] only.
    pub outcome: Option<Bytes>,
    /// What is known of where it came from; on [`Phase::Finished`] only.
    pub labels: Labels,
}

/// What the journal keeps of a request whose key is not derived from its own path.
#[derive(Deserialize)]
struct KeyedAs {
    keyed_as: Option<Path>,
}

impl Entry {
    /// Returns where the effect's key is derived from, if that is not its own path: it is another attempt at an earlier one.
    #[must_use]
    pub fn keyed_as(&self) -> Option<Path> {
        let request = self.request.as_deref()?;
        serde_json::from_slice::<KeyedAs>(request).ok()?.keyed_as
    }
}

impl Entry {
    /// Returns whether it says that its step ran out of time while it performed no effect.
    #[must_use]
    pub fn is_step_timeout(&self) -> bool {
        self.ordinal == STEP_TIMEOUT
    }

    /// Returns whether it says that the effect failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.says(b"{\"err\"")
    }

    /// Returns whether it says that the effect gave something.
    #[must_use]
    pub fn has_succeeded(&self) -> bool {
        self.says(b"{\"ok\"")
    }

    /// The scope whose time was up, if that is how the effect ended.
    pub(crate) fn limit_out_of_time(&self) -> Option<Path> {
        match self.error()? {
            RecordedError::TimedOut(timed_out) => Some(timed_out.owner),
            _ => None,
        }
    }

    /// The limit that the effect did not fit into, if that is how it ended.
    pub(crate) fn exhausted_budget(&self) -> Option<BudgetExhausted> {
        match self.error()? {
            RecordedError::Budget(exhausted) => Some(exhausted),
            _ => None,
        }
    }

    fn error(&self) -> Option<RecordedError> {
        let outcome = self.outcome.as_deref().filter(|_| self.has_failed())?;
        match serde_json::from_slice::<RecordedOutcome<serde::de::IgnoredAny>>(outcome) {
            Ok(RecordedOutcome::Err(error)) => Some(error),
            _ => None,
        }
    }

    /// How [`RecordedOutcome`] begins. Many entries are asked; to read all of them would take longer than anything else.
    fn says(&self, beginning: &[u8]) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| outcome.starts_with(beginning))
    }
}

/// What the journal keeps of a tool's outcome, as far as it says whether the call was made, and failed.
#[derive(Deserialize)]
struct CallEnd {
    #[serde(default)]
    refused: bool,
    #[serde(default)]
    denied: bool,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    taken_over: bool,
    #[serde(default)]
    in_doubt: bool,
}

impl Entry {
    /// Of the end of a call of a model or a tool: whether it was made. One that there was no time for, that was not allowed,
    /// whose arguments were refused, or whose result is that of an earlier attempt, was not.
    #[must_use]
    pub fn was_made(&self) -> bool {
        let outcome = self.outcome.as_deref().unwrap_or_default();
        match serde_json::from_slice::<RecordedCall<CallEnd>>(outcome) {
            Ok(RecordedCall::Ok(end)) => !end.refused && !end.taken_over,
            Ok(failed) => failed.was_made(),
            Err(_) => true,
        }
    }

    /// Whether it is the end of a tool's call that was made, and failed.
    pub(crate) fn is_failed_call(&self) -> bool {
        let end = self.call_end();
        matches!(end, Some(CallEnd { is_error: true, denied: false, refused: false, .. }))
    }

    /// Whether it is the end of a tool's call of which nobody knows whether it took effect.
    pub(crate) fn leaves_doubt(&self) -> bool {
        self.limit_out_of_time().is_some() || self.call_end().is_some_and(|end| end.in_doubt)
    }

    fn call_end(&self) -> Option<CallEnd> {
        let is_call = self.effect == EffectKind::Tool && self.has_succeeded();
        let outcome = self.outcome.as_deref().filter(|_| is_call)?;
        match serde_json::from_slice::<RecordedOutcome<CallEnd>>(outcome) {
            Ok(RecordedOutcome::Ok(end)) => Some(end),
            _ => None,
        }
    }
}

impl Entry {
    /// Returns the tools whose calls are made elsewhere and counted with this entry, at which the run began to
    /// [wait](crate::AwaitedCalls) for what they give; one name for each call.
    #[must_use]
    pub fn awaited_calls(&self) -> Vec<String> {
        let is_wait = self.effect == EffectKind::Receive && self.phase == Phase::Started;
        let request = self.request.as_deref().filter(|_| is_wait).unwrap_or_default();
        serde_json::from_slice::<StoredReceive>(request).ok().and_then(|wait| wait.calls).unwrap_or_default()
    }
}

/// The outcome of an effect as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedOutcome<T> {
    /// It gave this.
    Ok(T),
    /// It failed like this.
    Err(RecordedError),
}

impl<T> RecordedOutcome<T> {
    /// The outcome, as whoever asked for the effect gets it.
    pub(crate) fn into_result(self) -> Result<T, Error> {
        match self {
            Self::Ok(value) => Ok(value),
            Self::Err(error) => Err(error.into()),
        }
    }
}

/// A piece of content stored once per run under its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// The content's digest.
    pub digest: Digest,
    /// The content.
    pub content: Bytes,
}

/// The key that marks every attempt at one effect as the same attempt.
///
/// It is fixed before the effect is first performed and never changes: not on retry (of the same request), not after a
/// crash, not when another machine resumes the run. Hand it to whatever you call (`Idempotency-Key` and its kin).
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The key of the effect at this address in the first generation of a run.
    #[must_use]
    pub fn derive(run: &RunId, path: &Path, ordinal: u32) -> Self {
        Self::derive_in(run, 0, path, ordinal)
    }

    /// The key of the effect at this address in a generation of a run: addresses come again in each, keys never do.
    #[must_use]
    pub fn derive_in(run: &RunId, generation: u32, path: &Path, ordinal: u32) -> Self {
        let (ordinal, generation) = (ordinal.to_le_bytes(), generation.to_le_bytes());
        let parts: [&[u8]; 4] = [run.as_str().as_bytes(), path.as_str().as_bytes(), &ordinal, &generation];
        // Those of the first are what they were before there were any others.
        let is_first = generation == [0; 4];
        Self(Digest::of_parts(if is_first { &parts[..3] } else { &parts }).to_string())
    }

    /// The key of a call that is made anew after this many replies to it were of no use: another call than those.
    pub(crate) fn after_refused(self, refused: u32) -> Self {
        match refused {
            0 => self,
            _ => Self(Digest::of_parts(&[self.0.as_bytes(), &refused.to_le_bytes()]).to_string()),
        }
    }

    /// The key as text: 32 hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "IdempotencyKey({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_stable_and_round_trip() {
        let codes: Vec<u8> = EffectKind::ALL.iter().map(|kind| kind.code()).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(EffectKind::ALL.iter().all(|kind| EffectKind::from_code(kind.code()) == Some(*kind)));
        for phase in [Phase::Started, Phase::Finished, Phase::Superseded] {
            assert_eq!(Phase::from_code(phase.code()), Some(phase));
        }
        assert_eq!(EffectKind::from_code(9), None);
    }

    #[test]
    fn keys_of_the_first_generation_are_what_they_were_and_no_other_has_them() {
        let (run, path): (RunId, _) = ("run-1".parse().unwrap(), Path::from("main/pay"));
        let first = IdempotencyKey::derive(&run, &path, 3);
        let parts: [&[u8]; 3] = [b"run-1", b"main/pay", &[3, 0, 0, 0]];
        assert_eq!(first.as_str(), Digest::of_parts(&parts).to_string());
        assert_eq!(first, IdempotencyKey::derive_in(&run, 0, &path, 3));
        let later: Vec<_> = (1..4).map(|number| IdempotencyKey::derive_in(&run, number, &path, 3)).collect();
        assert!(!later.contains(&first) && later[0] != later[1] && later[1] != later[2]);
    }

    #[test]
    fn a_call_has_the_key_of_its_place_until_replies_to_it_were_of_no_use() {
        let key = IdempotencyKey::derive(&"run-1".parse().unwrap(), &Path::from("main/pay"), 3);
        assert_eq!(key.clone().after_refused(0), key);
        let anew = [1, 2].map(|refused| key.clone().after_refused(refused));
        assert!(anew[0] != key && anew[1] != key && anew[0] != anew[1]);
        assert_eq!(format!("{key:?}"), format!("IdempotencyKey({key})"));
    }

    /// The end of an effect, with this outcome.
    fn ended(effect: EffectKind, outcome: &'static str) -> Entry {
        Entry {
            seq: 1,
            path: Path::from("main"),
            ordinal: 0,
            effect,
            phase: Phase::Finished,
            digest: Digest::of_parts(&[]),
            at: Timestamp::from_micros(0),
            request: None,
            outcome: Some(Bytes::from_static(outcome.as_bytes())),
            labels: Labels::default(),
        }
    }

    #[test]
    fn only_a_call_of_a_tool_that_was_made_and_gave_an_error_is_a_failed_one() {
        let of = |effect, outcome| ended(effect, outcome).is_failed_call();
        assert!(of(EffectKind::Tool, r#"{"ok":{"content":"no such order","is_error":true}}"#));
        assert!(!of(EffectKind::Tool, r#"{"ok":{"content":"sent"}}"#));
        assert!(!of(EffectKind::Tool, r#"{"ok":{"is_error":true,"denied":true}}"#));
        assert!(!of(EffectKind::Tool, r#"{"ok":{"is_error":true,"refused":true}}"#));
        assert!(!of(EffectKind::Custom, r#"{"ok":{"is_error":true}}"#), "what a step gave looks as it likes");
        assert!(!of(EffectKind::Tool, r#"{"err":{"failed":{}}}"#));
    }

    #[test]
    fn an_outcome_says_at_its_beginning_whether_it_is_one_of_success_or_of_failure() {
        let of = |outcome| {
            let entry = ended(EffectKind::Now, outcome);
            (entry.has_succeeded(), entry.has_failed())
        };
        assert_eq!((of(r#"{"ok":1}"#), of(r#"{"err":{}}"#)), ((true, false), (false, true)));
        assert_eq!(of("{}"), (false, false));
    }
}
