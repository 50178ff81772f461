//! The state of a goal workflow: values by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_core::{Digest, json_text};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::tree::Name;

/// Values by name, in the order they were made. Making one again keeps its place.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Values {
    entries: Vec<(Name, Value)>,
}

impl Values {
    /// No values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.entries.iter().find(|(entry, _)| &**entry == name).map(|(_, value)| value)
    }

    /// Gives a name a value.
    pub fn set(&mut self, name: impl Into<Name>, value: impl Into<Value>) {
        let (name, value) = (name.into(), value.into());
        match self.entries.iter_mut().find(|(entry, _)| *entry == name) {
            Some((_, old)) => *old = value,
            None => self.entries.push((name, value)),
        }
    }

    /// Takes a name's value away.
    pub fn unset(&mut self, name: &str) {
        self.entries.retain(|(entry, _)| &**entry != name);
    }

    /// Names and values, in the order they were made.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(name, value)| (&**name, value))
    }

    /// Returns the number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<N: Into<Name>, V: Into<Value>> FromIterator<(N, V)> for Values {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(values: I) -> Self {
        let mut all = Self::new();
        for (name, value) in values {
            all.set(name, value);
        }
        all
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Values;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("values by name")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Values, A::Error> {
                let mut values = Values::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    values.set(Arc::<str>::from(name), value);
                }
                Ok(values)
            }
        }

        deserializer.deserialize_map(Visitor)
    }
}

/// The values of a workflow: its inputs, and what its goals have made so far.
///
/// Secret inputs are not in here: what stands in their place is a mark that becomes the secret only on its way out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct GoalState {
    /// The inputs.
    pub inputs: Values,
    /// What goals and agents made: their results by their names, and their outputs. Outputs of those that a goal uses
    /// are called `goal.agent.output`.
    pub outputs: Values,
    /// Convergences and loops that came to their limit, and the limit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unconverged: BTreeMap<String, u32>,
    /// Outputs that goals and agents were to give and did not, by who was to give them. An agent that a goal uses is called
    /// `goal.agent`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, Vec<String>>,
    /// Goals and agents whose work was cut short by a limit, and by which: what they had by then is their result.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cut_short: BTreeMap<String, String>,
    /// Goals whose condition did not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// The [digest](crate::PreparedWorkflow::digest) of the workflow that the run began with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Digest>,
}

impl GoalState {
    /// The value of a name: an output, or else an input.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.outputs.get(name).or_else(|| self.inputs.get(name))
    }

    /// The value of a name as text: texts as they are, anything else as JSON.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(text_of)
    }
}

impl GoalState {
    /// Notes that a goal was not pursued.
    pub(crate) fn skip(&mut self, goal: &str) {
        if !self.skipped.iter().any(|skipped| skipped == goal) {
            self.skipped.push(goal.to_owned());
        }
    }

    /// Notes what somebody's answer lacks, and what cut it short.
    pub(crate) fn note(&mut self, name: &str, missing: Vec<String>, cut_short: Option<&str>) {
        self.missing.remove(name);
        self.cut_short.remove(name);
        if !missing.is_empty() {
            self.missing.insert(name.to_owned(), missing);
        }
        if let Some(reason) = cut_short {
            self.cut_short.insert(name.to_owned(), reason.to_owned());
        }
    }

    /// What became of an earlier state on the way to this one.
    pub(crate) fn changes_since(self, before: &Self) -> StateChanges {
        let gone = before.outputs.iter().filter(|(name, _)| self.outputs.get(name).is_none());
        let pursued = before.skipped.iter().filter(|goal| !self.skipped.contains(goal));
        StateChanges {
            gone: gone.map(|(name, _)| name.to_owned()).collect(),
            converged: gone_from(&before.unconverged, &self.unconverged),
            given: gone_from(&before.missing, &self.missing),
            finished: gone_from(&before.cut_short, &self.cut_short),
            pursued: pursued.cloned().collect(),
            made: self.made_since(before),
        }
    }

    /// What is here and was not, or not the same, in an earlier state this one came from.
    pub(crate) fn made_since(self, before: &Self) -> Self {
        let mut outputs = Values::new();
        for (name, value) in self.outputs.entries {
            if before.outputs.get(&name) != Some(&value) {
                outputs.set(name, value);
            }
        }
        let skipped = self.skipped.into_iter();
        Self {
            inputs: Values::new(),
            outputs,
            unconverged: new_in(self.unconverged, &before.unconverged),
            missing: new_in(self.missing, &before.missing),
            cut_short: new_in(self.cut_short, &before.cut_short),
            skipped: skipped.filter(|goal| !before.skipped.contains(goal)).collect(),
            plan: None,
        }
    }

    /// Takes over what a branch changed.
    pub(crate) fn take_over(&mut self, changes: StateChanges) {
        changes.gone.iter().for_each(|name| self.outputs.unset(name));
        self.unconverged.retain(|name, _| !changes.converged.contains(name));
        self.missing.retain(|name, _| !changes.given.contains(name));
        self.cut_short.retain(|name, _| !changes.finished.contains(name));
        self.skipped.retain(|goal| !changes.pursued.contains(goal));
        self.absorb(changes.made);
    }

    /// Adds what was [made](Self::made_since).
    pub(crate) fn absorb(&mut self, made: Self) {
        for (name, value) in made.outputs.entries {
            self.outputs.set(name, value);
        }
        self.unconverged.extend(made.unconverged);
        self.missing.extend(made.missing);
        self.cut_short.extend(made.cut_short);
        for goal in made.skipped {
            self.skip(&goal);
        }
    }
}

/// The changes of a state.
pub(crate) struct StateChanges {
    made: GoalState,
    /// Values that were there and are not.
    gone: Vec<String>,
    /// What had come to its limit and has not since.
    converged: Vec<String>,
    /// Whose outputs were missing and are not any more.
    given: Vec<String>,
    /// Whose work had been cut short and is not any more.
    finished: Vec<String>,
    /// What had been skipped and was done since.
    pursued: Vec<String>,
}

/// The names that were there before and are not now.
fn gone_from<V>(before: &BTreeMap<String, V>, now: &BTreeMap<String, V>) -> Vec<String> {
    before.keys().filter(|name| !now.contains_key(*name)).cloned().collect()
}

/// What is there now and was not, or not the same.
fn new_in<V: PartialEq>(now: BTreeMap<String, V>, before: &BTreeMap<String, V>) -> BTreeMap<String, V> {
    now.into_iter().filter(|(name, value)| before.get(name) != Some(value)).collect()
}

/// A value as text: texts as they are, anything else as JSON in one line.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => json_text(other),
    }
}
