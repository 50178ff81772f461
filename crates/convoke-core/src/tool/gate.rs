//! What stands between a call and the world.
//!
//! A gate looks at every call of a tool before it is made: a policy that says what is allowed, a guard that looks at where
//! the arguments came from. Gates belong to the runtime, so no step, agent or tool can go round them. What they decide is
//! written down with the call: a run that is resumed finds the same decision, whatever the gate would say now.

use serde_json::Value;

use super::ToolSpec;
use crate::ask::Question;
use crate::step::BoxFuture;
use crate::{Error, Scope};

/// Decides whether calls may be made.
///
/// ```
/// use convoke_core::{BoxFuture, Error, Gate, GateRequest, Permission, ToolEffect};
///
/// /// Nothing leaves this machine.
/// struct Offline;
///
/// impl Gate for Offline {
///     fn judge<'a>(&'a self, request: GateRequest<'a>) -> BoxFuture<'a, Result<Permission, Error>> {
///         let permission = if request.spec.effects.contains(ToolEffect::Network) {
///             Permission::deny("there is no network here; work with what is on this machine")
///         } else {
///             Permission::Allow
///         };
///         Box::pin(async move { Ok(permission) })
///     }
/// }
/// ```
pub trait Gate: Send + Sync {
    /// Decides about one call. It is asked again when a call that was not finished is about to be made again.
    ///
    /// # Errors
    /// Whatever keeps it from deciding: the call is then not made, and the step that wanted it fails.
    fn judge<'a>(&'a self, request: GateRequest<'a>) -> BoxFuture<'a, Result<Permission, Error>>;
}

/// A call that is about to be made.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct GateRequest<'a> {
    /// A scope of the gate's own, below the call's: what it asks a model is an effect like any other.
    pub scope: &'a Scope,
    /// The tool.
    pub spec: &'a ToolSpec,
    /// The arguments, checked.
    pub arguments: &'a Value,
}

/// Whether a call may be made.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Permission {
    /// It may.
    Allow,
    /// It may not; the model gets to read why.
    Deny {
        /// Why, and what to do instead.
        reason: String,
    },
    /// It may if a person approves.
    Ask {
        /// What to ask: a question for [approval](Question::approval).
        question: Box<Question>,
    },
}

impl Permission {
    /// It may not, for this reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into() }
    }

    /// It may if a person approves.
    #[must_use]
    pub fn ask(question: Question) -> Self {
        Self::Ask { question: Box::new(question) }
    }
}
