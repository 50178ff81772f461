//! The gist of a run: what it was given and what it came to, as text.
//!
//! The state of a run of an Agentfile has much in it that nobody asked for: the whole file, descriptions of tools. This
//! takes out what the user gave and what the user gets, once for every command that shows it.

use convoke_core::RunStatus;
use convoke_goals::agentfile::Agentfile;
use convoke_goals::{GoalState, Values};
use convoke_history::History;
use convoke_history::account::Gist;
use convoke_machine::conversation::MachineState;
use serde_json::{Map, Value};

use crate::Manifest;
use crate::chat::{self, Chat};

/// The gist of a stored run.
#[must_use]
pub fn gist(history: &History) -> Gist {
    let (record, ending) = (&history.record, history.ending.as_ref());
    let input: Value = serde_json::from_slice(&record.input).unwrap_or_default();
    let completed = ending.filter(|_| record.status == RunStatus::Completed);
    let state = completed.and_then(|ending| ending.state.as_ref());
    if let Some((_, kept)) = Manifest::of_kinds(record, std::iter::once(crate::pack::NAME)) {
        let machine = |value: Value| serde_json::from_value::<MachineState>(value).ok();
        let given = machine(input).unwrap_or_default();
        let mut inputs = given.variables;
        inputs.extend(given.opening.map(|opening| (crate::pack::MESSAGE.to_owned(), opening.into())));
        let result = state.and_then(|state| machine(state.clone())?.last);
        return Gist::new(Some(kept.path), inputs, result.map(Value::String));
    }
    if let Some((_, kept)) = Manifest::of_kinds(record, std::iter::once(crate::graph::NAME)) {
        let (inputs, result) = crate::graph::gist(&kept.text, &input, state);
        return Gist::new(Some(kept.path), inputs, result);
    }
    if let Some(kept) = Manifest::of(record) {
        let given: GoalState = serde_json::from_value(input).unwrap_or_default();
        let made: Option<GoalState> = state.and_then(|state| serde_json::from_value(state.clone()).ok());
        let result = kept.agentfile().zip(made).and_then(|(file, made)| last_text(&file, &made));
        return Gist::new(Some(kept.path), by_name(&given.inputs), result.map(Value::String));
    }
    if record.workflow == chat::NAME {
        let chat = |value: Value| serde_json::from_value::<Chat>(value).ok();
        let last = state.and_then(|state| chat(state.clone())?.last);
        let said = chat(input).unwrap_or_default();
        let inputs = [("system", said.system), ("opening", said.opening)];
        let inputs = inputs.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into())));
        return Gist::new(None, inputs.collect(), last.map(|reply| reply.text().into()));
    }
    let inputs = match input {
        Value::Object(members) => members,
        Value::Null => Map::new(),
        other => Map::from_iter([("input".to_owned(), other)]),
    };
    Gist::new(None, inputs, state.cloned())
}

fn by_name(values: &Values) -> Map<String, Value> {
    values.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// Returns the result of the last goal that was not skipped.
#[must_use]
pub fn last_text(file: &Agentfile, state: &GoalState) -> Option<String> {
    let goals = file.steps.iter().flat_map(|step| &step.goals).map(|id| &file.goal(*id).name);
    goals.rev().find_map(|name| {
        let made = state.outputs.get(name)?;
        Some(made.as_str().map_or_else(|| convoke_core::json_text(made), str::to_owned))
    })
}
