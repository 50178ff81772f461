//! Requests and outcomes of effects, decoded.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Conversations;
use convoke_core::ask::{Answer, Question};
use convoke_core::journal::RecordedCall;
use convoke_core::{Digest, EffectKind, Entry, ModelReply, ReceivedMail, RecordedError, Timestamp, Usage};

/// The request and the outcome of an effect. What is not there (yet) is `None`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Detail {
    /// A call of a model.
    Model {
        /// The model's name.
        model: String,
        /// The conversation it was given; see [`Conversations`].
        messages: Digest,
        /// Everything else it was given: tools, sampling, the shape of the answer.
        options: Option<Value>,
        /// What it said.
        reply: Option<Box<ModelReply>>,
    },
    /// A call of a tool.
    Tool {
        /// The tool's name.
        tool: String,
        /// What it was called with.
        arguments: Value,
        /// What it gave.
        result: Option<ToolOutcome>,
    },
    /// A question to a person.
    Ask {
        /// The question.
        question: Box<Question>,
        /// What was answered.
        answer: Option<Answer>,
    },
    /// A wait.
    Sleep {
        /// How long.
        duration: Duration,
    },
    /// Mail that was taken.
    Receive {
        /// The channel.
        channel: String,
        /// What is expected there; null if nobody said.
        expected: Value,
        /// What was taken.
        received: Option<ReceivedMail>,
        /// The number of mail that was taken and failed the wait.
        refused: Option<u64>,
    },
    /// A look at the clock.
    Now {
        /// What it said.
        time: Option<Timestamp>,
    },
    /// Something the user's own code did.
    Custom {
        /// The effect's name.
        name: String,
        /// What went into it.
        request: Value,
        /// What came out.
        value: Option<Value>,
    },
    /// A choice that depended on timing.
    Decision {
        /// What was chosen.
        choice: Option<Value>,
    },
    /// The end of a generation.
    Continue {
        /// The generation that the run continued with.
        generation: u32,
    },
    /// A step ran out of time while it was performing no effect.
    StepTimeout,
    /// Something this version cannot read.
    Unreadable {
        /// What was asked for.
        request: Option<Value>,
        /// What it gave.
        outcome: Option<Value>,
    },
}

/// The outcome of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// What the model got to read.
    pub content: String,
    /// Whether it is a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// What an entry says.
pub(super) struct DecodedEntry {
    pub(super) detail: Detail,
    pub(super) error: Option<RecordedError>,
    /// What a model call that failed had used until then.
    pub(super) used_in_vain: Option<Usage>,
}

/// Reads an entry. Its request may be on an earlier one.
pub(super) fn decode(entry: &Entry, request: Option<&[u8]>, conversations: &Conversations) -> DecodedEntry {
    let request: Option<Value> =
        request.map(|json| serde_json::from_slice(json).unwrap_or_else(|_| as_text(json)));
    // No effect but a model call has a usage beside its error.
    let recorded: Option<Result<RecordedCall<Value>, Value>> =
        entry.outcome.as_deref().map(|json| serde_json::from_slice(json).map_err(|_| as_text(json)));
    let (given, failed) = match recorded {
        None => (None, None),
        Some(Ok(RecordedCall::Ok(value))) => (Some(value), None),
        Some(Ok(RecordedCall::Err(failed))) => (None, Some(failed)),
        Some(Err(outcome)) => {
            let detail = Detail::Unreadable { request, outcome: Some(outcome) };
            return DecodedEntry { detail, error: None, used_in_vain: None };
        }
    };
    let detail = read(entry, request.as_ref(), given.as_ref(), conversations)
        .unwrap_or(Detail::Unreadable { request, outcome: given });
    let used_in_vain = failed.as_ref().and_then(|failed| failed.usage);
    DecodedEntry { detail, error: failed.map(|failed| failed.error), used_in_vain }
}

fn read(
    entry: &Entry,
    request: Option<&Value>,
    given: Option<&Value>,
    conversations: &Conversations,
) -> Option<Detail> {
    Some(match entry.effect {
        EffectKind::Model => {
            let ModelRequest { model, messages, options } = typed(request)??;
            let options = options.and_then(|digest| conversations.json(&digest));
            Detail::Model { model, messages, options, reply: typed(given)?.map(Box::new) }
        }
        EffectKind::Tool => {
            let ToolRequest { tool, arguments } = typed(request)??;
            Detail::Tool { tool, arguments, result: typed(given)? }
        }
        EffectKind::Ask => Detail::Ask { question: Box::new(typed(request)??), answer: typed(given)? },
        EffectKind::Sleep => Detail::Sleep { duration: typed(request)?? },
        EffectKind::Receive => {
            let Channel { channel, expected, refused } = typed(request)??;
            Detail::Receive { channel, expected, received: typed(given)?, refused }
        }
        EffectKind::Now => Detail::Now { time: typed(given)? },
        EffectKind::Custom => {
            let CustomRequest { name, request } = typed(request)??;
            Detail::Custom { name, request, value: given.cloned() }
        }
        EffectKind::Continue => Detail::Continue { generation: typed::<Continued>(given)??.generation },
        EffectKind::Decision if entry.is_step_timeout() => Detail::StepTimeout,
        EffectKind::Decision => Detail::Decision { choice: given.cloned() },
        _ => return None,
    })
}

#[derive(Deserialize)]
struct ModelRequest {
    model: String,
    messages: Digest,
    options: Option<Digest>,
}

#[derive(Deserialize)]
struct Continued {
    generation: u32,
}

#[derive(Deserialize)]
struct ToolRequest {
    tool: String,
    arguments: Value,
}

#[derive(Deserialize)]
struct Channel {
    channel: String,
    #[serde(default)]
    expected: Value,
    #[serde(default)]
    refused: Option<u64>,
}

#[derive(Deserialize)]
struct CustomRequest {
    name: String,
    request: Value,
}

/// The value as a type of ours: `Some(None)` if there is no value, `None` if it is not of that type.
fn typed<T: DeserializeOwned>(value: Option<&Value>) -> Option<Option<T>> {
    match value {
        None => Some(None),
        Some(value) => T::deserialize(value).ok().map(Some),
    }
}

fn as_text(bytes: &[u8]) -> Value {
    Value::String(String::from_utf8_lossy(bytes).into_owned())
}
