//! The outcome of a turn, folded from its calls.
//!
//! A call that the journal answers is not made again, so nothing may happen in a call. What calls come to is computed from the
//! messages instead, in call order: while the agent works, to refuse what cannot be, and after it, to let happen what can.

use convoke_core::{Message, ToolCall, ToolResult};
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
    at: Timestamp,
}

impl<'a> Fold<'a> {
    pub(super) fn new(compiled: &'a Compiled, context: &Context, at: Timestamp) -> Self {
        let (slot, events, refused) = (TransitionSlot::default(), Vec::new(), Vec::new());
        Self { compiled, context: context.clone(), slot, events, refused, at }
    }

    /// Takes every call in these messages that has been answered.
    pub(super) fn take_all<'m>(mut self, messages: impl Iterator<Item = &'m Message>) -> Self {
        let messages: Vec<&Message> = messages.collect();
        for (number, message) in messages.iter().enumerate() {
            for call in message.tool_calls() {
                let mut later = messages[number..].iter().flat_map(|message| message.results());
                if let Some(result) = later.find(|result| result.call_id == call.id) {
                    self.take(call, Some(result));
                }
            }
        }
        self
    }

    /// Why a call in the last of these messages must not be made; nothing if it may be.
    pub(super) fn refusal<'m>(
        mut self,
        messages: impl Iterator<Item = &'m Message>,
        wanted: &ToolCall,
    ) -> Option<String> {
        let messages: Vec<&Message> = messages.collect();
        let (last, earlier) = messages.split_last()?;
        self = self.take_all(earlier.iter().copied());
        for call in last.tool_calls() {
            let refusal = self.take(call, None);
            if call.id == wanted.id {
                return refusal;
            }
        }
        None
    }

    /// Takes a call, with its result once there is one. Gives why it is refused.
    fn take(&mut self, call: &ToolCall, result: Option<&ToolResult>) -> Option<String> {
        if let Some(max) = self.compiled.budget().max_tool_calls
            && self.context.total_tool_calls() >= max
        {
            let used = self.context.total_tool_calls();
            return Some(format!("workflow budget exhausted: max_tool_calls {used} reached limit {max}"));
        }
        if result.is_some_and(is_repeat_notice) {
            return None;
        }
        // Counting is never refused.
        let _ = advance(self.compiled, &mut self.context, Command::at(self.at, Act::ToolCalls(1)));
        let failed = result.is_some_and(|result| result.is_error);
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

/// Whether a call was answered by the agent because it repeats itself: it was not made, and does not count.
pub(super) fn is_repeat_notice(result: &ToolResult) -> bool {
    result.is_error
        && result.content.contains("times in a row with these arguments and gave the same each time")
}
