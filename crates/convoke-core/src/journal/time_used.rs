//! The time a scope was at work before its run was gone on with, as far as the journal knows.
//!
//! Time passes in effects: every one that takes time says when it began, so what was used follows from the entries there are, also from
//! those of older versions, and nothing is written down for it. While nobody works on a run none of its effects is under way, and
//! waiting for people and for mail is no work: that time does not count.

use std::time::Duration;

use serde::Deserialize;

use super::{EffectKind, Entry, JournalIndex, Slot};
use crate::{Path, Timestamp};

/// When an effect began whose only entry was made when it had ended.
#[derive(Deserialize)]
struct Dated {
    began: Option<Timestamp>,
}

impl JournalIndex {
    /// The time that effects at or below a path took; those that ran side by side count once. A limit that ended the run is given anew
    /// to whoever goes on with it, so what a scope used before that does not count against its limit.
    pub(crate) fn time_used(&self, path: &Path) -> Duration {
        let since = self.renewed(path);
        let finished = self.slots_within(path).filter_map(|slot| self.span(slot));
        let superseded = self.superseded_within(path).filter_map(|call| Some((call, began(call)?)));
        let spans = finished.chain(superseded).filter(|(end, _)| since < Some(end.seq));
        let mut spans: Vec<(Timestamp, Timestamp)> = spans.map(|(end, began)| (began, end.at)).collect();
        spans.sort_unstable();
        let mut used = Duration::ZERO;
        let mut counted = Timestamp::default();
        for (began, ended) in spans {
            used += ended.since(began.max(counted));
            counted = counted.max(ended);
        }
        used
    }

    /// When an effect ended, and when it had begun, if it was at work all the time in between.
    fn span<'a>(&self, slot: Slot<'a>) -> Option<(&'a Entry, Timestamp)> {
        let end = slot.finished?;
        let began = match (end.effect, slot.started) {
            (EffectKind::Model | EffectKind::Tool | EffectKind::Custom, None) => began(end),
            // It may have ended long after it was interrupted; what it is made of is counted by itself.
            (EffectKind::Tool | EffectKind::Custom, Some(begun)) => {
                (!self.was_interrupted(slot, begun)).then_some(begun.at)
            }
            // A wait that was over while nobody worked on the run took no longer than it was to take.
            (EffectKind::Sleep, Some(begun)) => {
                let wanted: Duration = serde_json::from_slice(begun.request.as_deref()?).ok()?;
                Some(begun.at.max(end.at - wanted))
            }
            _ => None,
        };
        began.map(|began| (end, began))
    }

    /// Whether a call has parts of its own, or a person was asked what became of it, between its beginning and its end.
    fn was_interrupted(&self, slot: Slot<'_>, begun: &Entry) -> bool {
        let doubt = Path::join(&begun.path, "in doubt", slot.attempts);
        let is_part = |other: Slot<'_>| {
            let is_call = |entry: &Entry| entry.path == begun.path && entry.ordinal == begun.ordinal;
            other.finished.is_some_and(|other| other.seq > begun.seq && !is_call(other))
        };
        let has_parts = begun.effect == EffectKind::Tool && self.slots_within(&begun.path).any(is_part);
        has_parts || self.knows_from(&doubt, 0)
    }
}

fn began(entry: &Entry) -> Option<Timestamp> {
    serde_json::from_slice::<Dated>(entry.request.as_deref()?).ok()?.began
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Digest, Labels, Phase};

    /// An entry that was made this many seconds after the run began.
    fn entry(effect: EffectKind, phase: Phase, path: &str, at: i64) -> Entry {
        Entry {
            seq: 0,
            path: Path::from(path),
            ordinal: 0,
            effect,
            phase,
            digest: Digest::of_parts(&[]),
            at: Timestamp::from_micros(at * 1_000_000),
            request: None,
            outcome: (phase == Phase::Finished).then(|| br#"{"ok":null}"#.as_slice().into()),
            labels: Labels::default(),
        }
    }

    fn asking(request: serde_json::Value, entry: Entry) -> Entry {
        Entry { request: Some(request.to_string().into()), ..entry }
    }

    /// A call of a model from one second to another.
    fn model(path: &str, began: i64, ended: i64) -> Entry {
        let began = serde_json::json!({"began": began * 1_000_000});
        asking(began, entry(EffectKind::Model, Phase::Finished, path, ended))
    }

    fn seconds_used(entries: impl IntoIterator<Item = Entry>) -> u64 {
        let numbered = entries.into_iter().zip(1..).map(|(entry, seq)| Entry { seq, ..entry });
        JournalIndex::new(numbered.collect()).time_used(&Path::from("main/part")).as_secs()
    }

    #[test]
    fn effects_within_a_scope_count_and_those_side_by_side_count_once() {
        let side_by_side = [("main/part/a", 0, 60), ("main/part/b", 30, 90), ("main/part/c", 40, 50)];
        assert_eq!(seconds_used(side_by_side.map(|(path, began, ended)| model(path, began, ended))), 90);
        let apart =
            [("main/part/a", 0, 60), ("main/part", 1_000, 1_001), ("main/partner", 0, 500), ("main", 0, 900)];
        assert_eq!(seconds_used(apart.map(|(path, began, ended)| model(path, began, ended))), 61);
        assert_eq!(seconds_used([model("main/part", 60, 0)]), 0, "a clock that was set back");
    }

    #[test]
    fn waiting_for_people_and_for_mail_does_not_count() {
        use EffectKind::{Ask, Now, Receive};
        for effect in [Ask, Receive, Now] {
            let waited = [(Phase::Started, 0), (Phase::Finished, 86_400)];
            assert_eq!(seconds_used(waited.map(|(phase, at)| entry(effect, phase, "main/part", at))), 0);
        }
    }

    #[test]
    fn a_wait_counts_no_longer_than_it_was_to_take() {
        for (ended, counted) in [(30, 30), (60, 60), (86_400, 60)] {
            let begun = entry(EffectKind::Sleep, Phase::Started, "main/part", 0);
            let begun = asking(serde_json::to_value(Duration::from_secs(60)).unwrap(), begun);
            let ended = entry(EffectKind::Sleep, Phase::Finished, "main/part", ended);
            assert_eq!(seconds_used([begun, ended]), counted);
        }
    }

    #[test]
    fn a_call_counts_from_when_it_was_begun_last_and_one_that_was_in_doubt_not_at_all() {
        let call = |phase, at| entry(EffectKind::Tool, phase, "main/part/pay", at);
        let asked =
            |name: &str, at| entry(EffectKind::Ask, Phase::Finished, &format!("main/part/pay/{name}"), at);
        assert_eq!(seconds_used([call(Phase::Started, 0), call(Phase::Finished, 20)]), 20);
        let again = [(Phase::Started, 0), (Phase::Started, 900), (Phase::Finished, 920)];
        assert_eq!(seconds_used(again.map(|(phase, at)| call(phase, at))), 20);
        let approved = [asked("gate", 800), call(Phase::Started, 900), call(Phase::Finished, 920)];
        assert_eq!(seconds_used(approved), 20, "somebody was asked before it began");
        let in_doubt = [call(Phase::Started, 0), asked("in doubt", 86_400), call(Phase::Finished, 86_401)];
        assert_eq!(seconds_used(in_doubt), 0);
        let custom = |phase, at| entry(EffectKind::Custom, phase, "main/part", at);
        let doubt = entry(EffectKind::Ask, Phase::Finished, "main/part/in doubt", 86_400);
        assert_eq!(seconds_used([custom(Phase::Started, 0), custom(Phase::Finished, 20)]), 20);
        assert_eq!(seconds_used([custom(Phase::Started, 0), doubt, custom(Phase::Finished, 86_401)]), 0);
    }

    #[test]
    fn a_call_that_is_made_of_effects_counts_as_long_as_these() {
        let call = |phase, at| entry(EffectKind::Tool, phase, "main/part/sage", at);
        let inner = [model("main/part/sage/turn", 1, 11), model("main/part/sage/turn#2", 80_000, 80_020)];
        let whole = [call(Phase::Started, 0)].into_iter().chain(inner).chain([call(Phase::Finished, 80_021)]);
        assert_eq!(seconds_used(whole), 30);
    }

    #[test]
    fn calls_that_are_made_anew_have_taken_their_time_until_the_limit_that_they_exceeded_is_given_anew() {
        let failed = |path, error: &str| Entry {
            outcome: Some(format!(r#"{{"err":{error}}}"#).into()),
            ..model(path, 100, 150)
        };
        let superseded = |path| entry(EffectKind::Model, Phase::Superseded, path, 200);
        let timed_out = |owner: &str| {
            let limit = crate::error::TimedOut { owner: Path::from(owner), limit: Duration::from_secs(150) };
            serde_json::to_string(&crate::RecordedError::TimedOut(limit)).unwrap()
        };
        let used = |error: &str, later: Option<Entry>| {
            let past =
                [model("main/part/a", 0, 100), failed("main/part/b", error), superseded("main/part/b")];
            seconds_used(past.into_iter().chain(later))
        };
        assert_eq!(used(&timed_out("main"), None), 150, "it was the limit of another");
        assert_eq!(used(&timed_out("main/part"), None), 0);
        assert_eq!(used(&timed_out("main/part"), Some(model("main/part/b", 300, 310))), 10);
        let interrupted = Entry { phase: Phase::Superseded, ..model("main/part", 0, 40) };
        assert_eq!(seconds_used([interrupted]), 40);
        let both = Entry { phase: Phase::Superseded, ..failed("main/part", &timed_out("main/part")) };
        assert_eq!(seconds_used([both]), 0, "interrupted by its own limit");
    }
}
