//! Calls of tools that clients execute: what is waited for, and which of what they send is a result.
//!
//! What is none is told to listeners and passed over: nobody can end a conversation by sending it nonsense.

use std::sync::Arc;

use convoke_agent::DelegatedCalls;
use convoke_core::{Digest, Error, Message, Part, Path, Scope, ToolCall, ToolResult, json_text};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::announce::tell;
use super::earlier::earlier_mail;
use super::machine::TOOL_RESULTS;

/// The event for listeners when a client is to execute calls, under the name of the Go program.
pub const CLIENT_REQUEST: &str = "tool.client.request";

/// The event for listeners when something was sent that is not a result.
pub const CLIENT_REFUSED: &str = "tool.client.refused";

/// How much of a channel's name the place of a conversation may be; the rest is for the step that waits there.
const LONGEST_PLACE: usize = 80;

/// From these rules on calls are limited in a turn, a validator that makes no sense does not hold, a skill that was put away stays so, and
/// a tool with the name of an agent is that agent.
pub(super) const TURN_RULES: u32 = 5;

/// Where clients send what came of calls, and which rules hold for these and other calls.
#[derive(Clone)]
pub(super) struct Clients {
    /// In runs of earlier builds clients were asked for whatever models wanted (1), agents of compositions were offered their tools in the
    /// last step too (2), all conversations of a run had one channel (3), or what [`TURN_RULES`] say was otherwise (4).
    pub(super) rules: u32,
    /// Counts what others call whom a state calls in, where the calls of the workflow are limited. In runs of earlier builds that did not
    /// count.
    pub(super) delegated: Option<Arc<DelegatedCalls>>,
    /// Conversations within others may be side by side, so each of them has one of its own.
    pub(super) channel: Arc<str>,
}

impl Clients {
    pub(super) fn of(conversation: &Path, rules: u32) -> Self {
        let place = conversation.as_str().split_once('/').map(|(_, place)| place).filter(|_| rules > 3);
        let is_plain = |place: &str| place.len() <= LONGEST_PLACE && !place.chars().any(char::is_control);
        let channel = match place {
            Some(place) if is_plain(place) => format!("{TOOL_RESULTS}/{place}"),
            Some(place) => format!("{TOOL_RESULTS}/{}", Digest::of_parts(&[place.as_bytes()])),
            None => TOOL_RESULTS.to_owned(),
        };
        Self { rules, delegated: None, channel: channel.into() }
    }
}

/// Calls whose results a client has not sent yet, as a run that waits for them [describes](Scope::receive_expected) what it expects.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientCalls {
    /// The calls, in the order in which they were made.
    pub calls: Vec<ClientCall>,
}

/// A call that a client executes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientCall {
    /// Its id; empty for a step of a composition, which calls but once.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What it is called with.
    pub arguments: Value,
}

/// The result that a client reports of a call that it has executed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ClientResult {
    /// Which of the calls, counted from 0.
    pub number: usize,
    /// What it gave.
    pub content: String,
    /// Whether that is a failure.
    pub is_error: bool,
}

impl ClientCalls {
    fn of(calls: &[ToolCall]) -> Self {
        let call = |ToolCall { id, name, arguments, .. }: &ToolCall| ClientCall {
            call_id: id.clone(),
            tool: name.clone(),
            arguments: arguments.clone(),
        };
        Self { calls: calls.iter().map(call).collect() }
    }

    /// Reads what somebody sent. Where one call waits, its id need not be there.
    ///
    /// # Errors
    /// Why it is no result of these calls, and what to send.
    pub fn result(&self, sent: &Value) -> Result<ClientResult, String> {
        let id = match &sent["call_id"] {
            Value::Null => "",
            Value::String(id) => id,
            other => return Err(format!("`call_id` is a text, not {other}")),
        };
        let number = match &self.calls[..] {
            [only] if id.is_empty() || only.call_id.is_empty() => Some(0),
            calls => calls.iter().position(|call| call.call_id == id),
        };
        let content = match &sent["content"] {
            Value::Null => return Err("a result is an object with its `content`".to_owned()),
            Value::String(text) => text.clone(),
            other => json_text(other),
        };
        let Some(number) = number else {
            let waiting = |call: &ClientCall| format!("`{}` ({})", call.call_id, call.tool);
            let waiting = self.calls.iter().map(waiting).collect::<Vec<_>>().join(", ");
            let named = if id.is_empty() { "without an id".to_owned() } else { format!("`{id}`") };
            return Err(format!("no call {named} waits for its result; there are {waiting}"));
        };
        match &sent["is_error"] {
            Value::Null => Ok(ClientResult { number, content, is_error: false }),
            Value::Bool(is_error) => Ok(ClientResult { number, content, is_error: *is_error }),
            other => Err(format!("`is_error` is true or false, not {other}")),
        }
    }

    /// Those of the calls that none of what was sent is a result of.
    #[must_use]
    pub fn without(&self, sent: &[Value]) -> Self {
        let mut open = self.clone();
        for sent in sent {
            if let Ok(result) = open.result(sent) {
                open.calls.remove(result.number);
            }
        }
        open
    }

    /// The same as it is kept: with the id of the call that it belongs to.
    ///
    /// # Errors
    /// As [`result`](Self::result), and fields that a result does not have.
    pub fn resolved(&self, sent: &Value) -> Result<Value, String> {
        let mut fields = sent.as_object().into_iter().flat_map(|sent| sent.keys());
        if let Some(other) = fields.find(|field| !["call_id", "content", "is_error"].contains(&&***field)) {
            let known = "it has its `content`, and may have `call_id` and `is_error`";
            return Err(format!("a result has no `{other}`: {known}"));
        }
        let ClientResult { number, .. } = self.result(sent)?;
        let mut resolved = sent.clone();
        if let Some(call) = self.calls.get(number).filter(|call| !call.call_id.is_empty()) {
            resolved["call_id"] = call.call_id.as_str().into();
        }
        Ok(resolved)
    }
}

/// Waits until a client has sent what came of all these calls; gives the results in the order in which they came. What `failure` finds a
/// failure in fails the wait, and whoever goes on waits for another result.
pub(super) async fn results_of_client(
    scope: &Scope,
    channel: &str,
    calls: &[ToolCall],
    failure: impl Fn(&Value) -> Option<String> + Sync,
) -> Result<Vec<ToolResult>, Error> {
    let (mut open, mut results) = (calls.to_vec(), Vec::new());
    for (_, sent) in earlier_mail(scope, &[channel]).await? {
        refuse(scope, channel, &sent.sender, "it was sent before the calls were made that wait now").await;
    }
    let mut called: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    while !open.is_empty() {
        let waiting = ClientCalls::of(&open);
        let wait = scope.composing().await_calls(channel, &called);
        // They are asked for and count once, whatever else is sent before their results.
        if !std::mem::take(&mut called).is_empty() && !wait.is_refused() {
            tell(scope, CLIENT_REQUEST, json!({"channel": channel, "calls": waiting.calls})).await;
        }
        let sent = wait.result(serde_json::to_value(&waiting)?, &failure).await?;
        match waiting.result(&sent.payload) {
            Ok(ClientResult { number, content, is_error }) => {
                let ToolCall { id, name, .. } = open.remove(number);
                results.push(ToolResult { call_id: id, name, content, is_error });
            }
            Err(reason) => refuse(scope, channel, &sent.sender, &reason).await,
        }
    }
    Ok(results)
}

/// Adds results to a conversation. Calls of the same reply that were made here have been answered already, in one message.
pub(super) fn give_results(said: &mut Vec<Message>, results: Vec<ToolResult>) {
    match said.last_mut() {
        Some(last) if last.results().next().is_some() => {
            *last = results
                .into_iter()
                .fold(last.clone(), |message, result| message.with(Part::ToolResult(result)));
        }
        _ => said.push(Message::tool_results(results)),
    }
}

async fn refuse(scope: &Scope, channel: &str, sender: &str, reason: &str) {
    tell(scope, CLIENT_REFUSED, json!({"channel": channel, "sender": sender, "reason": reason})).await;
}
