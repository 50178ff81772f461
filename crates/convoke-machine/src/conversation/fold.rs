//! The outcome of a turn, folded from its calls.
//!
//! A call that the journal answers is not made again, so nothing may happen in a call. What calls come to is computed from the
//! messages instead, in call order: while the agent works, to refuse what cannot be, and after it, to let happen what can.

use convoke_agent::{Agent, AnsweredCall, answered_calls};
use convoke_core::{Message, ToolCall};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::tools::arguments_of;
use crate::workflow::{
    Act, Command, Compiled, Context, SET_ARTIFACT, TRANSITION, TransitionSlot, WorkflowEvent, advance,
    artifact_arguments,
};

/// What calls have come to so far.
pub(super) struct Fold<'a> {
    compiled: &'a Compiled,
    pub(super) context: Context,
    pub(super) slot: TransitionSlot,
    /// The artifacts that were set.
    pub(super) events: Vec<WorkflowEvent>,
    /// The events whose transitions were refused, and why.
    pub(super) refused: Vec<(String, String)>,
    /// Whether there were calls that the budget does not have.
    pub(super) is_over_budget: bool,
    at: Timestamp,
}

impl<'a> Fold<'a> {
    pub(super) fn new(compiled: &'a Compiled, context: &Context, at: Timestamp) -> Self {
        let (slot, events, refused) = (TransitionSlot::default(), Vec::new(), Vec::new());
        Self { compiled, context: context.clone(), slot, events, refused, is_over_budget: false, at }
    }

    /// Takes every call in these messages that has been answered.
    pub(super) fn take_all<'m>(mut self, messages: impl Iterator<Item = &'m Message>) -> Self {
        for answered in answered_calls(messages, Some(Agent::DEFAULT_REPEAT_LIMIT)) {
            self.take(answered.call, Some(answered));
        }
        self
    }

    /// Why a call in the last of these messages must not be made, nothing if it may be; and how many calls there are with it.
    pub(super) fn refusal<'m>(
        mut self,
        messages: impl Iterator<Item = &'m Message>,
        wanted: &ToolCall,
    ) -> (Option<String>, u64) {
        let messages: Vec<&Message> = messages.collect();
        let mut refusal = None;
        if let Some((last, earlier)) = messages.split_last() {
            self = self.take_all(earlier.iter().copied());
            for call in last.tool_calls() {
                refusal = self.take(call, None);
                if call.id == wanted.id {
                    break;
                }
                refusal = None;
            }
        }
        (refusal, self.context.total_tool_calls())
    }

    /// Takes a call, with its result once there is one. Gives why it is refused.
    fn take(&mut self, call: &ToolCall, answered: Option<AnsweredCall<'_>>) -> Option<String> {
        if let Some(max) = self.compiled.budget().max_tool_calls
            && self.context.total_tool_calls() >= max
        {
            self.is_over_budget = true;
            let used = self.context.total_tool_calls();
            return Some(format!("workflow budget exhausted: max_tool_calls {used} reached limit {max}"));
        }
        if answered.is_some_and(|answered| answered.is_refused_repeat) {
            // It was not made, and does not count.
            return None;
        }
        // Counting is never refused.
        let _ = advance(self.compiled, &mut self.context, Command::at(self.at, Act::ToolCalls(1)));
        let failed = answered.is_some_and(|answered| answered.result.is_error);
        let arguments = arguments_of(&call.arguments);
        let outcome = match call.name.as_str() {
            TRANSITION => {
                let mut slot = self.slot.clone();
                let asked = slot.request(self.compiled, &self.context, &arguments);
                // A call that somebody else refused is not one.
                if asked.is_ok() && !failed {
                    self.slot = slot;
                }
                asked.map(drop).map_err(|refusal| {
                    let event = arguments.get("event").and_then(Value::as_str).unwrap_or_default().to_owned();
                    self.refused.push((event, refusal.to_string()));
                    refusal.to_string()
                })
            }
            SET_ARTIFACT if !failed => self.set_artifact(&arguments),
            _ => Ok(()),
        };
        outcome.err()
    }

    fn set_artifact(&mut self, arguments: &Map<String, Value>) -> Result<(), String> {
        let (name, value) = artifact_arguments(arguments)?;
        let command = Command::at(self.at, Act::SetArtifact { name, value });
        let events = advance(self.compiled, &mut self.context, command).map_err(|error| error.to_string())?;
        self.events.extend(events);
        Ok(())
    }
}
