//! Calls of models, and agents that begin, as observers are told of them.
//!
//! The stream of events tells what is said, from its first word on, and nothing of calls that are part of the machinery.
//! Whoever measures needs every call, when it was really begun, and how it ended: that is told here, beside the stream.

use crate::message::Usage;
use crate::model::{ModelReply, ModelRequest};
use crate::{Error, Path, RunId, Timestamp};

/// A model is about to be called. Not told again when a journal answers instead.
#[derive(Debug, Clone, Copy)]
pub struct ModelCall<'a> {
    /// The run.
    pub run: &'a RunId,
    /// Where in the run.
    pub path: &'a Path,
    /// The call's id, unique in the run; that of its message, if it is streamed.
    pub id: &'a str,
    /// The model that is asked.
    pub model: &'a str,
    /// What it is asked.
    pub request: &'a ModelRequest,
    /// When.
    pub at: Timestamp,
}

/// A call of a model is over. Every call that was begun ends exactly once, unless its run ends before.
#[derive(Debug, Clone, Copy)]
pub struct ModelCallEnd<'a> {
    /// The run.
    pub run: &'a RunId,
    /// Where in the run.
    pub path: &'a Path,
    /// The call's id.
    pub id: &'a str,
    /// What it used, with its cost as far as that is known; `None` if nobody knows.
    pub usage: Option<Usage>,
    /// What became of it.
    pub outcome: CallOutcome<'a>,
    /// When.
    pub at: Timestamp,
}

/// What became of a call.
#[derive(Debug, Clone, Copy)]
pub enum CallOutcome<'a> {
    /// The model replied.
    Replied(&'a ModelReply),
    /// It did not.
    Failed(&'a Error),
    /// Nobody waits for it any more: whoever made it was dropped.
    Dropped,
}

/// An agent begins to work in a scope: what is done there and below, its turns, is its doing. It may be a step, or work
/// within a step or a tool of any kind.
#[derive(Debug, Clone, Copy)]
pub struct AgentStart<'a> {
    /// The run.
    pub run: &'a RunId,
    /// Where in the run.
    pub path: &'a Path,
    /// The agent's name.
    pub name: &'a str,
    /// When.
    pub at: Timestamp,
}
