//! The transition that was asked for and has not happened yet: there is at most one.
//!
//! A model asks for it among other calls; it happens once they have all been answered.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::redirect::land;
use super::{Act, Command, Compiled, Context, WorkflowError, WorkflowEvent, advance, matching_event};

/// A transition that was asked for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PendingTransition {
    /// The event.
    pub event: String,
    /// What the next state is told.
    pub context: String,
    /// What else the call said, for the host.
    pub host_extras: Map<String, Value>,
}

/// The reasons why a call that asks for a transition was refused, for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// One was asked for before in the same turn.
    #[error("a transition is already pending: `{pending}` was asked for first, and happens first")]
    AlreadyPending {
        /// The event of the one that was asked for first.
        pending: String,
    },
    /// The arguments are not those of the tool.
    #[error("`{argument}` must be a string")]
    Argument {
        /// Which.
        argument: &'static str,
    },
    /// The workflow does not take the event.
    #[error(transparent)]
    Workflow(#[from] WorkflowError),
}

/// The slot of the transition that was asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransitionSlot(Option<PendingTransition>);

impl PendingTransition {
    /// Reads the arguments of the tool. What is not given is empty, and what is not known is for the host.
    #[must_use]
    pub fn of_arguments(arguments: &Map<String, Value>) -> Self {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let extras = arguments.iter().filter(|(key, _)| *key != "event" && *key != "context");
        Self {
            event: text("event"),
            context: text("context"),
            host_extras: extras.map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }
}

impl TransitionSlot {
    /// Takes up a call of the tool, after checking that the state knows the event. Gives what the model is answered.
    ///
    /// # Errors
    /// Why it cannot happen, for the model; the slot is then as it was.
    pub fn request(
        &mut self,
        compiled: &Compiled,
        context: &Context,
        arguments: &Map<String, Value>,
    ) -> Result<Value, Refusal> {
        if let Some(pending) = &self.0 {
            return Err(Refusal::AlreadyPending { pending: pending.event.clone() });
        }
        let is_text = |key: &str| arguments.get(key).is_none_or(Value::is_string);
        if let Some(argument) = ["event", "context"].into_iter().find(|key| !is_text(key)) {
            return Err(Refusal::Argument { argument });
        }
        let mut asked = PendingTransition::of_arguments(arguments);
        let state = compiled.leaving(context, &asked.event)?;
        let event = matching_event(state.events(), &asked.event);
        asked.event = event.ok_or_else(|| state.unknown_event(&asked.event))?.to_string();
        let reply = preview(compiled, context, &asked.event);
        self.0 = Some(asked);
        Ok(reply)
    }

    /// Takes up a transition without looking at whether it can happen; one that was asked for before is dropped.
    pub fn schedule(&mut self, transition: PendingTransition) {
        self.0 = Some(transition);
    }

    /// The transition that was asked for.
    #[must_use]
    pub fn pending(&self) -> Option<&PendingTransition> {
        self.0.as_ref()
    }

    /// Drops the transition that was asked for.
    pub fn clear(&mut self) {
        self.0 = None;
    }

    /// Lets the transition happen that was asked for; the slot is empty afterwards, whatever comes of it. Gives what was asked for and
    /// what happened; nothing if nothing was.
    ///
    /// # Errors
    /// Why it did not happen; the context is then as it was.
    pub fn commit(
        &mut self,
        compiled: &Compiled,
        context: &mut Context,
        at: Timestamp,
    ) -> Result<Option<(PendingTransition, Vec<WorkflowEvent>)>, WorkflowError> {
        let Some(asked) = self.0.take() else { return Ok(None) };
        let mut events = advance(compiled, context, Command::at(at, Act::Event(&asked.event)))?;
        for event in &mut events {
            if let WorkflowEvent::Transitioned(transitioned) = event {
                transitioned.host_extras.clone_from(&asked.host_extras);
            }
        }
        Ok(Some((asked, events)))
    }
}

/// What the model is told of a transition that will happen: where it leads from here, and where it ends instead if that was entered
/// often enough.
fn preview(compiled: &Compiled, context: &Context, event: &str) -> Value {
    let mut reply = json!({"status": "transition_scheduled", "event": event});
    let Some((event, target)) = compiled.current(context).and_then(|state| state.target_of(event)) else {
        return reply;
    };
    reply["target_state"] = (*compiled.state(target).name).into();
    if let Ok((landing, Some(_))) = land(compiled, context, target, event) {
        reply["redirect"] = (*compiled.state(landing).name).into();
    }
    reply
}
