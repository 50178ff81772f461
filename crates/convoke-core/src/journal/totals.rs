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
