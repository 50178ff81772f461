//! Settings of a composition that only we know: how its steps are run, and which event follows from what they give.

use std::num::NonZeroUsize;

use serde::Deserialize;
use serde_json::Value;

/// The settings of a composition.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Engine {
    /// How many steps are run at once; as many as can be without a word.
    pub concurrency: Option<NonZeroUsize>,
    /// What becomes of steps under way when another one fails.
    pub on_failure: OnFailure,
    /// Which events follow from what steps give: the first whose predicate holds and that the state has.
    pub on_output: Vec<OutputRule>,
}

/// What becomes of steps under way when another one fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// They finish.
    #[default]
    Finish,
    /// They are cancelled.
    Cancel,
}

/// An event that follows if something holds.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct OutputRule {
    /// What must hold, see [`Predicate::parse`](super::Predicate::parse); nothing holds always.
    pub predicate: Option<Value>,
    /// The event.
    pub event: String,
}
