//! State carried over from one generation of a run to the next.
//!
//! It is in the record of the run, so that whoever goes on with it need read nothing of what was before.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::Run;
use super::grants::Approved;
use crate::budget::{Budget, BudgetUsage};
use crate::intercept::Labels;
use crate::message::Money;
use crate::store::{Generation, RunRecord, Totals};
use crate::{Digest, Error, Path};

/// What a generation has from those before it: nothing, if there are none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Carryover {
    /// What was used.
    pub(super) totals: Totals,
    /// The same as budgets count it.
    pub(super) used: BudgetUsage,
    /// The time that steps with a limit have used which the run continued out of, by their places.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) times: BTreeMap<Path, Duration>,
    /// How far the mail of each channel was taken.
    pub(super) mail: BTreeMap<String, u64>,
    /// What a person has approved for the whole run.
    pub(super) approved: Approved,
    /// Where the long texts of the state stand in its JSON: whoever goes on does not look for their ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) long_texts: Vec<Range<usize>>,
    /// The ends of conversations that are stored.
    pub(super) conversations: Vec<Digest>,
    /// The state that the run began with, as a digest: what it is known by to whoever starts it once more.
    pub(super) began_with: Option<Digest>,
    /// What is known of where the state came from.
    pub(super) learnt: Labels,
    /// How the generation before began: whoever reads what the run does, and has not come to its end, reads on there.
    pub(super) before: Option<PreviousGeneration>,
}

/// How a generation began, as JSON that is read only where it is asked for: all that was said before may be in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PreviousGeneration(Bytes);

/// The same, read.
#[derive(Serialize, Deserialize)]
struct Beginning {
    number: u32,
    begins_at: u64,
    version: u32,
    seed: u64,
    /// The state, as JSON.
    input: String,
    /// What it had from those before it, as far as steps may go by it.
    learnt: Labels,
    used: BudgetUsage,
}

impl PreviousGeneration {
    pub(super) fn of(record: &RunRecord, carried: &Carryover) -> Result<Self, Error> {
        let Generation { number, begins_at, .. } = record.generation;
        let input = String::from_utf8_lossy(&record.input).into_owned();
        let (learnt, used) = (carried.learnt.clone(), carried.used.clone());
        let (version, seed) = (record.version, record.seed);
        let beginning = Beginning { number, begins_at, version, seed, input, learnt, used };
        Ok(Self(serde_json::to_vec(&beginning)?.into()))
    }

    /// The record that the run had then, as far as its past is concerned.
    pub(super) fn record(self, now: &RunRecord) -> Result<RunRecord, Error> {
        let beginning = serde_json::from_slice(&self.0)?;
        let Beginning { number, begins_at, version, seed, input, learnt, used } = beginning;
        let carried = Carryover { learnt, used, ..Carryover::default() }.stored()?;
        let generation = Generation { number, begins_at, carried: Some(carried) };
        Ok(RunRecord { version, seed, input: input.into(), generation, ..now.clone() })
    }
}

impl Serialize for PreviousGeneration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json: &RawValue = serde_json::from_slice(&self.0).map_err(S::Error::custom)?;
        json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PreviousGeneration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(Bytes::copy_from_slice(json.get().as_bytes())))
    }
}

/// How the generation before begins in what is stored, where it is last: nothing before it can look so, because every quote in a text is
/// escaped.
const BEFORE: &[u8] = b",\"before\":{\"number\":";

/// What is stored without the generation before, and that, where it can be seen without looking through all of it: it may have a whole
/// conversation in it that nobody asks for.
fn parted(stored: &Bytes) -> Option<(Vec<u8>, Bytes)> {
    let place = stored.windows(BEFORE.len()).position(|part| part == BEFORE)?;
    let begins = place + b",\"before\":".len();
    let ends = stored.len() - usize::from(stored.ends_with(b"}"));
    Some(([&stored[..place], b"}"].concat(), stored.slice(begins..ends)))
}

impl Carryover {
    /// What a run's record says.
    pub(super) fn of(record: &RunRecord) -> Result<Self, Error> {
        record.generation.carried.as_ref().map_or_else(|| Ok(Self::default()), Self::read)
    }

    fn read(stored: &Bytes) -> Result<Self, Error> {
        Ok(match parted(stored) {
            Some((own, before)) => {
                Self { before: Some(PreviousGeneration(before)), ..serde_json::from_slice(&own)? }
            }
            None => serde_json::from_slice(stored)?,
        })
    }

    /// What the generation after this one has.
    pub(super) fn onwards(&self, run: &Run, budget: Option<&Budget>) -> Self {
        let totals = run.totals();
        let journal = run.journal.as_ref();
        Self {
            totals,
            used: budget.map_or_else(|| self.unbudgeted(&totals), Budget::used),
            times: run.times_used(),
            mail: journal.map(|journal| journal.mailbox.taken()).unwrap_or_default(),
            approved: run.grants.approved(),
            conversations: journal.map(|journal| journal.ends_of_conversations()).unwrap_or_default(),
            long_texts: Vec::new(),
            began_with: self.began_with,
            learnt: self.learnt.clone(),
            before: self.before.clone(),
        }
    }

    /// What budgets would have counted, had there been any, as far as sums tell. Limits may be set later.
    fn unbudgeted(&self, totals: &Totals) -> BudgetUsage {
        let cost = |totals: &Totals| totals.usage.cost.unwrap_or(Money::ZERO).as_micros();
        let mut used = self.used.clone();
        used.model_calls += totals.model_calls - self.totals.model_calls;
        used.tool_calls += totals.tool_calls - self.totals.tool_calls;
        used.tokens += totals.usage.total_tokens() - self.totals.usage.total_tokens();
        used.cost += Money::from_micros(cost(totals) - cost(&self.totals));
        used
    }

    /// What a fork of the run has: it is another run, for which nobody has approved anything.
    pub(super) fn for_fork(self) -> Self {
        Self { approved: Approved::new(), began_with: None, before: None, long_texts: Vec::new(), ..self }
    }

    /// As the record keeps it.
    pub(super) fn stored(&self) -> Result<Bytes, Error> {
        Ok(serde_json::to_vec(self)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_the_generation_before_began_is_not_looked_at_and_is_kept_as_it_is() {
        let tricky = r#"a,"before":{"number":"#.to_owned();
        let beginning =
            r#"{"number":3,"begins_at":9,"version":1,"seed":5,"input":"[1]","learnt":"","used":{}}"#;
        let before = Some(PreviousGeneration(Bytes::from_static(beginning.as_bytes())));
        let carried = Carryover {
            mail: [(tricky, 7)].into(),
            long_texts: vec![3..2_000, 2_100..4_000],
            before,
            ..Carryover::default()
        };
        let stored = carried.stored().unwrap();
        let read = Carryover::read(&stored).unwrap();
        assert_eq!(read, carried);
        assert!(stored.as_ptr_range().contains(&read.before.unwrap().0.as_ptr()), "nothing is copied");
        // Nobody would read a text with this in it.
        let mut spoilt = stored.to_vec();
        let place = spoilt.len() - 3;
        spoilt[place] = 0;
        assert_eq!(Carryover::read(&spoilt.into()).unwrap().mail, carried.mail);
        // The order of earlier builds, or of nobody, is read too.
        let other = Bytes::from(format!("{{\"before\":{beginning},\"mail\":{{\"b\":1}}}}"));
        let read = Carryover::read(&other).unwrap();
        assert_eq!((read.before, read.mail.get("b")), (carried.before, Some(&1)));
        let first = Carryover::default();
        assert_eq!(Carryover::read(&first.stored().unwrap()).unwrap(), first);
    }
}
