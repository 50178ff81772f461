//! What a run was given and what it came to, as text.
//!
//! The state of a run of an Agentfile has much in it that nobody asked for: the whole file, descriptions of tools. This
//! takes out what the user gave and what the user gets, once for every command that shows it.

use convoke_core::RunStatus;
use convoke_core::store::RunRecord;
use convoke_goals::agentfile::{self, Agentfile};
use convoke_goals::{GoalState, Values};
use convoke_history::{Ending, History};
use serde_json::{Map, Value};

use crate::chat::{self, Chat};
use crate::render::{Block, words};
use crate::run::Manifest;

/// What a run was given and what it came to.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Gist {
    /// The Agentfile it is a run of.
    pub(crate) file: Option<String>,
    /// What it was given, by name.
    pub(crate) inputs: Map<String, Value>,
    /// What it came to.
    pub(crate) result: Option<String>,
}

impl Gist {
    /// The gist of a stored run.
    pub(crate) fn of(history: &History) -> Self {
        Self::from_parts(&history.record, history.ending.as_ref())
    }

    fn from_parts(record: &RunRecord, ending: Option<&Ending>) -> Self {
        let input: Value = serde_json::from_slice(&record.input).unwrap_or_default();
        let completed = ending.filter(|_| record.status == RunStatus::Completed);
        let state = completed.and_then(|ending| ending.state.as_ref());
        if let Some(kept) = Manifest::of(record) {
            let given: GoalState = serde_json::from_value(input).unwrap_or_default();
            let made: Option<GoalState> = state.and_then(|state| serde_json::from_value(state.clone()).ok());
            let source = agentfile::Source::new(&*kept.path, &*kept.text);
            let (file, _) = agentfile::read(&source, &kept.beside);
            let result = file.zip(made).and_then(|(file, made)| last_text(&file, &made));
            return Self { file: Some(kept.path), inputs: by_name(&given.inputs), result };
        }
        if record.workflow == chat::NAME {
            let chat = |value: Value| serde_json::from_value::<Chat>(value).ok();
            let last = state.and_then(|state| chat(state.clone())?.last);
            let said = chat(input).unwrap_or_default();
            let inputs = [("system", said.system), ("opening", said.opening)];
            let inputs = inputs.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into())));
            return Self { file: None, inputs: inputs.collect(), result: last.map(|reply| reply.text()) };
        }
        let inputs = match input {
            Value::Object(members) => members,
            Value::Null => Map::new(),
            other => Map::from_iter([("input".to_owned(), other)]),
        };
        Self { file: None, inputs, result: state.map(words) }
    }

    /// What it was given, for people to read.
    pub(crate) fn given(&self) -> Vec<Block> {
        let file = self.file.iter().map(|file| Block::new("file", file.clone()));
        let inputs = (!self.inputs.is_empty())
            .then(|| Block::new("inputs", words(&Value::Object(self.inputs.clone()))));
        file.chain(inputs).collect()
    }

    /// What it came to, for people to read.
    pub(crate) fn came_to(&self) -> Option<Block> {
        self.result.as_ref().map(|result| Block::new("result", result.clone()))
    }
}

fn by_name(values: &Values) -> Map<String, Value> {
    values.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// What the last goal that was not skipped came to.
pub(crate) fn last_text(file: &Agentfile, state: &GoalState) -> Option<String> {
    let goals = file.steps.iter().flat_map(|step| &step.goals).map(|id| &file.goal(*id).name);
    goals.rev().find_map(|name| {
        let made = state.outputs.get(name)?;
        Some(made.as_str().map_or_else(|| convoke_core::json_text(made), str::to_owned))
    })
}
