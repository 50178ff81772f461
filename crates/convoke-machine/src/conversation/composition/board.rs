//! The board of a composition: what it was given, and what the steps before gave.

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_core::{Error, sort_keys};
use serde_json::{Map, Value};

use crate::pack::composition::{NoValue, NotANumber, Predicate, Step, resolved};
use crate::pack::template::Path;

/// Something that a composition was given, or made of it, and that does not fit what the file says.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UnfitValue(pub(super) String);

impl UnfitValue {
    /// Whether an error is about such a value: going on without another one comes to the same.
    #[must_use]
    pub fn is_behind(error: &Error) -> bool {
        error.causes().any(|cause| cause.is::<Self>() || cause.is::<NoValue>() || cause.is::<NotANumber>())
    }
}

/// What is known in a composition. A step that is missing was not run.
#[derive(Debug, Clone)]
pub(super) struct Board {
    pub(super) input: Arc<Value>,
    done: BTreeMap<Arc<str>, Done>,
}

/// What came of a step.
#[derive(Debug, Clone)]
enum Done {
    Output(Arc<Value>),
    /// The step that a branch leads to.
    Way(Option<String>),
}

impl Board {
    pub(super) fn new(input: Value) -> Self {
        Self { input: Arc::new(input), done: BTreeMap::new() }
    }

    pub(super) fn give(&mut self, step: &Arc<str>, output: Value) {
        self.done.insert(Arc::clone(step), Done::Output(Arc::new(output)));
    }

    pub(super) fn lead(&mut self, branch: &Arc<str>, to: Option<String>) {
        self.done.insert(Arc::clone(branch), Done::Way(to));
    }

    /// Takes over what came of a step on another board.
    pub(super) fn take_over(&mut self, step: &Arc<str>, from: &Self) {
        if let Some(done) = from.done.get(step) {
            self.done.insert(Arc::clone(step), done.clone());
        }
    }

    /// What a step gave.
    pub(super) fn output(&self, step: &str) -> Option<&Value> {
        match self.done.get(step)? {
            Done::Output(output) => Some(output),
            Done::Way(_) => None,
        }
    }

    /// Whether a step is to be run, once everything it waits for is over: one of those it names was run, and a branch that was taken
    /// leads to it, if any leads to it at all.
    pub(super) fn reaches(&self, step: &Step, branches: &[String]) -> bool {
        let was_run = |name: &String| self.done.contains_key(name.as_str());
        let leads = |branch: &String| matches!(self.done.get(branch.as_str()), Some(Done::Way(Some(to))) if *to == step.id);
        let named = step.depends_on.as_deref().unwrap_or_default();
        (named.is_empty() || named.iter().any(was_run)) && (branches.is_empty() || branches.iter().any(leads))
    }

    /// What a reference refers to.
    pub(super) fn look(&self, path: &Path) -> Option<&Value> {
        match path.root() {
            "input" => path.walk(1, &self.input),
            step if path.continues_with("output") => path.walk(2, self.output(step)?),
            _ => None,
        }
    }

    /// A value with its references resolved, one after the other by the names of their fields, however `serde_json` was built.
    pub(super) fn resolved(&self, value: &Value) -> Result<Value, Error> {
        let mut written = value.clone();
        sort_keys(&mut written);
        let mut resolved = resolved(&written, &|path| self.look(path)).map_err(Error::permanent)?;
        sort_keys(&mut resolved);
        Ok(resolved)
    }

    pub(super) fn resolved_fields(&self, fields: &Map<String, Value>) -> Result<Value, Error> {
        self.resolved(&Value::Object(fields.clone()))
    }

    pub(super) fn holds(&self, predicate: &Predicate) -> Result<bool, Error> {
        predicate.holds(&|path| self.look(path)).map_err(Error::permanent)
    }
}

/// What somebody says, as a value: objects and lists in JSON are what they are, anything else is a text.
pub(super) fn value_of(words: &str) -> Value {
    let trimmed = words.trim();
    let parsed = trimmed.starts_with(['{', '[']).then(|| serde_json::from_str(trimmed).ok()).flatten();
    parsed.unwrap_or_else(|| Value::String(words.to_owned()))
}

/// What a tool gave, as a value: JSON is what it is unless it would be written otherwise, anything else is a text.
pub(super) fn result_of(content: String) -> Value {
    let is_exact = |value: &Value| {
        let written = value.to_string();
        value.is_object() || value.is_array() || written == content.trim()
    };
    let value = serde_json::from_str(&content).ok().filter(is_exact);
    value.unwrap_or(Value::String(content))
}
