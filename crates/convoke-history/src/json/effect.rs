//! Effects and entries, as JSON.

use convoke_core::{Message, ModelReply, Phase, RecordedError};
use serde::Serialize;
use serde_json::Value;

use super::question::{AnswerView, question_json};
use super::{UsageView, seconds, time};
use crate::{Attempt, Detail, Effect, EffectStatus, History, PromptDeltas, TimelineEntry, ToolOutcome};

/// An effect with all its entries.
#[derive(Debug, Serialize)]
pub struct EffectView<'a> {
    /// The number of its first entry.
    seq: u64,
    /// The number of its last entry.
    last_seq: u64,
    path: &'a str,
    ordinal: u32,
    kind: &'static str,
    standing: &'static str,
    is_in_doubt: bool,
    /// Whether it is from the past of the run this one was forked from.
    is_inherited: bool,
    attempts: usize,
    started: Option<String>,
    finished: Option<String>,
    duration_seconds: Option<f64>,
    #[serde(flatten)]
    detail: DetailView<'a>,
    error: Option<ErrorView<'a>>,
    /// Answers that came, and that the run ended before it went on with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unheard: Vec<AnswerView<'a>>,
}

impl<'a> EffectView<'a> {
    /// An effect. What calls of models were told is told once: by the first in the order in which effects are given.
    #[must_use]
    pub fn new(history: &'a History, effect: &'a Effect, prompts: &mut PromptDeltas<'_>) -> Self {
        let current = effect.current();
        Self {
            seq: effect.first_seq(),
            last_seq: effect.last_seq(),
            path: effect.path.as_str(),
            ordinal: effect.ordinal,
            kind: effect.kind.name(),
            standing: match effect.status() {
                EffectStatus::Finished => "finished",
                EffectStatus::Superseded => "superseded",
                _ => "begun",
            },
            is_in_doubt: history.is_in_doubt(effect),
            is_inherited: current.marks().all(|mark| history.is_inherited(mark)),
            attempts: effect.attempts.len(),
            started: current.begun.map(|mark| time(mark.at)),
            finished: current.ended.map(|mark| time(mark.at)),
            duration_seconds: history.duration(current).map(seconds),
            detail: DetailView::new(effect, current, prompts),
            error: current.error.as_ref().map(ErrorView::from),
            unheard: history.unheard(effect).iter().map(AnswerView::from).collect(),
        }
    }
}

/// One entry of the journal.
#[derive(Debug, Serialize)]
pub struct EntryView<'a> {
    seq: u64,
    path: &'a str,
    ordinal: u32,
    kind: &'static str,
    phase: Phase,
    /// Which time it was performed, from 1.
    attempt: usize,
    is_in_doubt: bool,
    is_inherited: bool,
    duration_seconds: Option<f64>,
    #[serde(flatten)]
    detail: Option<DetailView<'a>>,
    error: Option<ErrorView<'a>>,
    /// Answers that came, and that the run ended before it went on with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unheard: Vec<AnswerView<'a>>,
}

impl<'a> EntryView<'a> {
    /// An entry. What calls of models were told is told once: by the first in the order in which entries are given.
    #[must_use]
    pub fn new(history: &'a History, moment: &TimelineEntry<'a>, prompts: &mut PromptDeltas<'_>) -> Self {
        let TimelineEntry { effect, attempt, .. } = *moment;
        let is_end = moment.phase == Phase::Finished;
        let detail = match moment.phase {
            Phase::Superseded => None,
            Phase::Finished => Some(DetailView::new(effect, attempt, prompts)),
            // What came of it is told by the entry that says so.
            Phase::Started => Some(DetailView::new(effect, attempt, prompts).without_outcome()),
        };
        Self {
            seq: moment.seq,
            path: effect.path.as_str(),
            ordinal: effect.ordinal,
            kind: effect.kind.name(),
            phase: moment.phase,
            attempt: moment.number,
            is_in_doubt: moment.number == effect.attempts.len() && history.is_in_doubt(effect),
            is_inherited: history.is_inherited(moment.mark()),
            duration_seconds: history.duration(attempt).filter(|_| is_end).map(seconds),
            detail,
            error: attempt.error.as_ref().filter(|_| is_end).map(ErrorView::from),
            unheard: history.unheard(effect).iter().map(AnswerView::from).collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct ErrorView<'a> {
    message: String,
    recorded: &'a RecordedError,
}

impl<'a> From<&'a RecordedError> for ErrorView<'a> {
    fn from(recorded: &'a RecordedError) -> Self {
        Self { message: recorded.to_string(), recorded }
    }
}

/// What only effects of one kind have.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum DetailView<'a> {
    Model {
        model: &'a str,
        /// How many messages of the conversation earlier calls at this place had.
        prompt_before: Option<usize>,
        /// The messages that no earlier call at this place had; `null` if they are lost.
        prompt: Option<Vec<Message>>,
        options: Option<&'a Value>,
        reply: Option<ReplyView<'a>>,
    },
    Tool {
        tool: &'a str,
        arguments: &'a Value,
        result: Option<&'a ToolOutcome>,
    },
    Ask {
        question: Value,
        answer: Option<AnswerView<'a>>,
    },
    Sleep {
        sleep_seconds: f64,
    },
    Receive {
        channel: &'a str,
        received: Option<ReceivedView<'a>>,
    },
    Now {
        time: Option<String>,
    },
    Custom {
        name: &'a str,
        request: &'a Value,
        value: Option<&'a Value>,
    },
    Decision {
        choice: Option<&'a Value>,
    },
    Continue {
        generation: u32,
    },
    Unreadable {
        request: Option<&'a Value>,
        outcome: Option<&'a Value>,
    },
    Nothing {},
}

#[derive(Debug, Serialize)]
struct ReceivedView<'a> {
    payload: &'a Value,
    sender: &'a str,
    at: String,
}

#[derive(Debug, Serialize)]
struct ReplyView<'a> {
    text: String,
    message: &'a Message,
    finish: convoke_core::FinishReason,
    model: &'a str,
    request_id: Option<&'a str>,
    usage: UsageView,
}

impl<'a> DetailView<'a> {
    fn new(effect: &Effect, attempt: &'a Attempt, prompts: &mut PromptDeltas<'_>) -> Self {
        match &attempt.detail {
            Detail::Model { model, messages, options, reply } => {
                let prompt = prompts.next(&effect.path, *messages);
                Self::Model {
                    model,
                    prompt_before: prompt.as_ref().map(|prompt| prompt.before),
                    prompt: prompt.map(|prompt| prompt.messages),
                    options: options.as_ref(),
                    reply: reply.as_deref().map(ReplyView::from),
                }
            }
            Detail::Tool { tool, arguments, result } => {
                Self::Tool { tool, arguments, result: result.as_ref() }
            }
            Detail::Ask { question, answer } => {
                Self::Ask { question: question_json(question), answer: answer.as_ref().map(AnswerView::from) }
            }
            Detail::Sleep { duration } => Self::Sleep { sleep_seconds: seconds(*duration) },
            Detail::Receive { channel, received, .. } => {
                let received = received.as_ref().map(|it| ReceivedView {
                    payload: &it.payload,
                    sender: &it.sender,
                    at: time(it.at),
                });
                Self::Receive { channel, received }
            }
            Detail::Now { time: seen } => Self::Now { time: seen.map(time) },
            Detail::Custom { name, request, value } => Self::Custom { name, request, value: value.as_ref() },
            Detail::Continue { generation } => Self::Continue { generation: *generation },
            Detail::Decision { choice } => Self::Decision { choice: choice.as_ref() },
            Detail::Unreadable { request, outcome } => {
                Self::Unreadable { request: request.as_ref(), outcome: outcome.as_ref() }
            }
            _ => Self::Nothing {},
        }
    }

    fn without_outcome(mut self) -> Self {
        match &mut self {
            Self::Model { reply, .. } => *reply = None,
            Self::Tool { result, .. } => *result = None,
            Self::Ask { answer, .. } => *answer = None,
            Self::Custom { value, .. } => *value = None,
            _ => {}
        }
        self
    }
}

impl<'a> From<&'a ModelReply> for ReplyView<'a> {
    fn from(reply: &'a ModelReply) -> Self {
        Self {
            text: reply.text(),
            message: &reply.message,
            finish: reply.finish,
            model: &reply.model,
            request_id: reply.request_id.as_deref(),
            usage: UsageView::from(&reply.usage),
        }
    }
}
