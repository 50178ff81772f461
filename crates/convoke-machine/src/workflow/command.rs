//! Commands to a machine: events, and the time they come at.

use jiff::Timestamp;

use super::Status;

/// Something that happens to a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command<'a> {
    /// When.
    pub at: Timestamp,
    /// What.
    pub act: Act<'a>,
}

/// The acts that move a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act<'a> {
    /// An event: the machine moves.
    Event(&'a str),
    /// An artifact is set, or appended to.
    SetArtifact {
        /// Its name.
        name: &'a str,
        /// The value.
        value: &'a str,
    },
    /// Tools were called this many times.
    ToolCalls(u64),
    /// Nothing was done since then, and that time does not count against the budget.
    Waited {
        /// Since when.
        since: Timestamp,
    },
    /// Something ends the workflow where it is.
    Conclude(Status),
}

impl<'a> Command<'a> {
    /// An act at a time.
    #[must_use]
    pub fn at(at: Timestamp, act: Act<'a>) -> Self {
        Self { at, act }
    }
}
