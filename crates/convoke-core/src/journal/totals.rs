//! Usage totals of a run, from its journal.

use std::collections::HashSet;

use super::{EffectKind, Entry, Phase, RecordedCall};
use crate::Path;
use crate::message::Usage;
use crate::store::Totals;

/// What these entries of a run say it has used. The store's own sum is brought up to date only when the run's status
/// changes, so of a run that was killed only the journal knows.
pub(crate) fn totals_of(entries: &[Entry]) -> Totals {
    totals_with(Totals::default(), entries)
}

/// The same, for a run that has used this much before.
pub(crate) fn totals_with(mut totals: Totals, entries: &[Entry]) -> Totals {
    let mut begun: HashSet<(&Path, u32)> = HashSet::new();
    for entry in entries {
        let address = (&entry.path, entry.ordinal);
        match (entry.effect, entry.phase) {
            (EffectKind::Model, Phase::Finished) => add_model_call(&mut totals, entry),
            (EffectKind::Model, Phase::Superseded) if entry.outcome.is_some() => {
                add_model_call(&mut totals, entry);
            }
            (EffectKind::Tool, Phase::Started) => {
                begun.insert(address);
                totals.tool_calls += 1;
            }
            (EffectKind::Tool, Phase::Finished) => match (begun.remove(&address), entry.was_made()) {
                (false, true) => totals.tool_calls += 1,
                (true, false) => totals.tool_calls -= 1,
                _ => {}
            },
            (EffectKind::Tool, Phase::Superseded) => drop(begun.remove(&address)),
            (EffectKind::Receive, Phase::Started) => totals.tool_calls += entry.awaited_calls().len() as u64,
            _ => {}
        }
    }
    totals
}

fn add_model_call(totals: &mut Totals, entry: &Entry) {
    match serde_json::from_slice::<RecordedCall>(entry.outcome.as_deref().unwrap_or_default()) {
        Ok(call) if call.was_made() => totals.add_model_call(call.usage(), call.is_priced()),
        Ok(_) => {}
        // Another version wrote it: that a call was made is all that is known.
        Err(_) => totals.add_model_call(Usage::default(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Digest, Labels, Timestamp};

    const GIVEN: &str = r#"{"ok":{"content":"done"}}"#;
    const DENIED: &str = r#"{"err":{"type":"denied","reason":"no"}}"#;

    fn entry(effect: EffectKind, phase: Phase, outcome: &str) -> Entry {
        Entry {
            seq: 1,
            path: Path::from("main"),
            ordinal: 0,
            effect,
            phase,
            digest: Digest::of_parts(&[]),
            at: Timestamp::from_micros(0),
            request: None,
            outcome: (!outcome.is_empty()).then(|| outcome.to_owned().into()),
            labels: Labels::default(),
        }
    }

    #[test]
    fn every_call_of_a_tool_that_was_made_counts_once_also_if_nobody_knows_how_it_ended() {
        use Phase::{Finished, Started, Superseded};
        for (entries, calls) in [
            (vec![(Started, "")], 1),
            (vec![(Finished, GIVEN)], 1),
            (vec![(Finished, DENIED)], 0),
            (vec![(Started, ""), (Finished, GIVEN)], 1),
            (vec![(Started, ""), (Finished, DENIED)], 0),
            (vec![(Started, ""), (Superseded, ""), (Finished, GIVEN)], 2),
            (vec![(Started, ""), (Superseded, ""), (Started, ""), (Finished, GIVEN)], 2),
            (vec![(Started, ""), (Finished, GIVEN), (Superseded, ""), (Finished, DENIED)], 1),
        ] {
            let of = |(phase, outcome): &(Phase, &str)| entry(EffectKind::Tool, *phase, outcome);
            let journal: Vec<_> = entries.iter().map(of).collect();
            assert_eq!(totals_of(&journal).tool_calls, calls, "{entries:?}");
        }
    }

    #[test]
    fn calls_that_are_made_elsewhere_count_where_they_are_waited_for_first() {
        let waits = |request: &'static str| Entry {
            request: Some(request.into()),
            ..entry(EffectKind::Receive, Phase::Started, "")
        };
        let journal = [
            waits(r#"{"channel":"results","calls":["look","look"]}"#),
            entry(EffectKind::Receive, Phase::Finished, r#"{"ok":{"payload":1,"at":0,"number":1}}"#),
            waits(r#"{"channel":"results"}"#),
            waits(r#"{"channel":"results","calls":["go"]}"#),
        ];
        assert_eq!(totals_of(&journal).tool_calls, 3);
    }

    #[test]
    fn a_call_of_a_model_counts_with_what_it_used_if_it_was_made_also_when_it_is_made_anew() {
        use Phase::{Finished, Superseded};
        let broke_off = r#"{"err":{"type":"failed","message":"no","category":"transient","usage":{"input_tokens":3,"output_tokens":4}}}"#;
        for (phase, outcome, calls, tokens) in [
            (Finished, broke_off, 1, 7),
            (Finished, DENIED, 0, 0),
            (Finished, r#"{"of another version":1}"#, 1, 0),
            (Superseded, broke_off, 1, 7),
            (Superseded, "", 0, 0),
        ] {
            let totals = totals_of(&[entry(EffectKind::Model, phase, outcome)]);
            assert_eq!((totals.model_calls, totals.usage.total_tokens()), (calls, tokens), "{outcome}");
        }
    }
}
