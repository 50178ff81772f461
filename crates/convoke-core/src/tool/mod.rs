//! Tools: what a model may have done in the world.
//!
//! A tool says what it does before it does it: its [`ToolEffects`] decide which calls may run side by side, what is
//! journaled, and what may be repeated after a crash. Steps do not call tools; they go through
//! [`Scope::tool`](crate::Scope::tool).

mod effects;
mod origin;
mod preparation;
mod spec;
mod toolset;

use serde_json::Value;

pub use effects::{Access, AccessMode, ToolEffect, ToolEffects};
pub use origin::Origin;
pub use preparation::Preparation;
pub use spec::{Execution, Repeat, Timeout, ToolDefinition, ToolSpec};
pub use toolset::{DuplicateTool, Toolset};

use crate::step::BoxFuture;
use crate::{Error, IdempotencyKey, Scope};

/// A tool that a model can call.
pub trait Tool: Send + Sync {
    /// What it is called, what it takes and what it does to the world.
    fn spec(&self) -> &ToolSpec;

    /// Checks the arguments before anything happens.
    ///
    /// # Errors
    /// What is wrong with them, in words the model can act on.
    fn check(&self, arguments: &Value) -> Result<(), String> {
        let _ = arguments;
        Ok(())
    }

    /// Makes ready for a call that must not be repeated blindly, before it is written down as begun: waits for its turn,
    /// looks what things are like. A call that is interrupted meanwhile was not made, and nobody is asked about it.
    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Preparation> {
        let _ = arguments;
        Box::pin(async { Preparation::default() })
    }

    /// Does it.
    ///
    /// # Errors
    /// What went wrong. The model gets to read it, unless the tool is declared fatal.
    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>>;

    /// Says what became of a call that was interrupted, if the tool can find out: by its key, or by what it
    /// [kept](Preparation::keeping) before, which journals of older versions do not have. What may still live of the call is kept from
    /// doing anything more: the process that made it may only have been stopped.
    fn reconcile<'a>(
        &'a self,
        key: &'a IdempotencyKey,
        arguments: &'a Value,
        before: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<Reconciliation, Error>> {
        let _ = (key, arguments, before);
        Box::pin(async { Ok(Reconciliation::Unknown) })
    }

    /// Whether a call that asks a person about this, in its own scope, has done nothing as long as there is no answer. One that
    /// is interrupted then was not made: it is made again when the run goes on, and nobody is asked what became of it.
    fn is_undone_while_asking(&self, about: &Value) -> bool {
        let _ = about;
        false
    }

    /// Hears what a call [left](Scope::leave_note) with its outcome, once that has counted: for tools that are workflows
    /// and gather what was done in them. A call that the journal answers is not made again, but its note is heard.
    fn noted(&self, note: &Value) {
        let _ = note;
    }

    /// What a call with these arguments touches, so that conflicting calls never run at once.
    fn accesses(&self, arguments: &Value) -> Vec<Access> {
        let _ = arguments;
        self.spec().effects.default_accesses()
    }

    /// Where the result of a call with these arguments comes from.
    fn origin(&self, arguments: &Value) -> Origin {
        let _ = arguments;
        Origin::Tool(self.spec().name().to_owned())
    }
}

/// One call of a tool.
#[derive(Debug)]
pub struct Invocation<'a> {
    /// The call's own scope. A tool that is itself a workflow works through it.
    pub scope: &'a Scope,
    /// Marks every attempt at this call as the same one. Pass it on to whatever the tool calls.
    pub key: &'a IdempotencyKey,
    /// The arguments, checked.
    pub arguments: &'a Value,
    /// What the tool has made [ready](Tool::prepare).
    pub prepared: &'a Preparation,
}

/// The reconciliation of an interrupted call: what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reconciliation {
    /// It took effect and gave this.
    Done(String),
    /// It did not take effect; it may be made again.
    NotDone,
    /// Nobody knows.
    Unknown,
    /// Nobody knows, and whoever is asked should read this.
    Ask(String),
}
