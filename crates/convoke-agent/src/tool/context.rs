//! The context of a tool call, as the function behind the tool sees it.

use convoke_core::{IdempotencyKey, Invocation, Preparation, Scope};

/// The context of a tool call, as the function behind it sees it.
///
/// The scope is the call's own: what the function does through it (ask a model, ask a person, run a step) appears below
/// the call in the run. Such a tool should declare [`Repeat::Reenter`](convoke_core::Repeat::Reenter): after a crash it
/// is entered again, and what it had done answers from the journal.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolContext {
    /// The call's own scope.
    pub scope: Scope,
    /// Marks every attempt at this call as the same one. Pass it on to whatever the tool calls.
    pub key: IdempotencyKey,
    /// What was made [ready](super::FunctionTool::prepare) for the call.
    pub prepared: Preparation,
}

impl ToolContext {
    pub(super) fn of(invocation: &Invocation<'_>) -> Self {
        let prepared = invocation.prepared.clone();
        Self { scope: invocation.scope.clone(), key: invocation.key.clone(), prepared }
    }
}
