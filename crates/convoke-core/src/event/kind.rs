//! The kinds of events.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Visibility;
use crate::ask::{Answer, Question, QuestionId};
use crate::message::{Message, Transcript, Usage};
use crate::model::{FinishReason, ModelParams};
use crate::store::{RunStatus, Totals};

/// The kinds of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// The run begins, or goes on.
    RunStarted {
        /// The workflow's name.
        workflow: String,
        /// Whether it had been started before.
        resumed: bool,
    },
    /// The run continues with its next generation: its steps begin anew, with what they were given.
    RunContinued {
        /// Which generation, counted from 1.
        generation: u32,
    },
    /// The run is over, or waits for answers. Always the last event.
    RunEnded(RunEnd),

    /// A step begins.
    StepStarted {
        /// Its kind: `func`, `prompt`, `chain`, ...
        kind: String,
    },
    /// A step is over.
    StepEnded(StepEnd),
    /// A step had failed, and its parent goes on without it.
    StepSkipped {
        /// What went wrong.
        error: String,
    },

    /// An agent begins to work: what is done in this scope and below it, its turns, is its doing.
    AgentStarted {
        /// The agent's name.
        name: String,
    },

    /// A model is about to be called. Told of every call, also of those whose replies nobody is shown.
    ModelCallStarted(ModelCall),
    /// A call of a model is over.
    ModelCallEnded {
        /// The call.
        id: String,
        /// What it used, with its cost as far as that is known; `None` if nobody knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// What became of it.
        #[serde(flatten)]
        end: ModelCallEnd,
    },

    /// A model begins to speak.
    MessageStarted {
        /// The message's id, unique in the run.
        id: String,
        /// The model.
        model: String,
    },
    /// It said more.
    MessageDelta {
        /// The message.
        id: String,
        /// What it said.
        text: String,
    },
    /// It thought more.
    ReasoningDelta {
        /// The message.
        id: String,
        /// What it thought.
        text: String,
    },
    /// What it said so far is void: the message begins anew, perhaps by another model.
    MessageRestarted {
        /// The message.
        id: String,
        /// The model that speaks now.
        model: String,
        /// Why.
        reason: String,
    },
    /// It is done.
    MessageEnded {
        /// The message.
        id: String,
        /// Why it stopped; `None` if it was cut off.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish: Option<FinishReason>,
        /// What it used.
        #[serde(default)]
        usage: Usage,
        /// The whole of what it said.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },

    /// A tool call begins to be known.
    ToolCallStarted {
        /// The call's id.
        id: String,
        /// The tool.
        tool: String,
        /// The message the call is part of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// More of its arguments.
    ToolCallArguments {
        /// The call.
        id: String,
        /// JSON text.
        delta: String,
    },
    /// It may be executed.
    ToolCallApproved {
        /// The call.
        id: String,
    },
    /// It may not be executed.
    ToolCallRejected {
        /// The call.
        id: String,
        /// Why.
        reason: String,
    },
    /// It is being executed.
    ToolCallExecuting {
        /// The call.
        id: String,
    },
    /// It is over.
    ToolCallEnded {
        /// The call.
        id: String,
    },
    /// What it gave.
    ToolCallResult {
        /// The call.
        id: String,
        /// The result.
        content: String,
        /// Whether it is a failure.
        is_error: bool,
    },

    /// A person is asked something.
    QuestionAsked {
        /// The question's id.
        id: QuestionId,
        /// The question.
        question: Question,
    },
    /// The person answered.
    QuestionAnswered {
        /// The question's id.
        id: QuestionId,
        /// The answer.
        answer: Answer,
    },

    /// Mail was taken.
    MailReceived {
        /// The channel.
        channel: String,
        /// Who sent it; empty if nobody said.
        sender: String,
        /// What it says.
        payload: Value,
    },

    /// A router chose.
    RouteSelected {
        /// The route's name.
        route: String,
    },
    /// A loop goes round.
    LoopIteration {
        /// Which time, from 1.
        iteration: u64,
    },

    /// Something is tried.
    RetryAttempt {
        /// Which time, from 1.
        attempt: u32,
    },
    /// It failed.
    RetryFailed {
        /// Which time.
        attempt: u32,
        /// Why.
        error: String,
        /// Whether trying again may help.
        retryable: bool,
    },
    /// It will be tried again.
    RetryScheduled {
        /// The attempt that failed.
        attempt: u32,
        /// After this long.
        delay: Duration,
    },
    /// It worked.
    RetrySucceeded {
        /// Which time.
        attempt: u32,
    },
    /// It will not be tried again.
    RetryExhausted {
        /// How often it was tried.
        attempts: u32,
        /// Why the last one failed.
        error: String,
    },

    /// The whole state.
    StateSnapshot {
        /// As JSON.
        state: Value,
    },
    /// What changed in the state since it was last told.
    StateDelta {
        /// RFC 6902 operations, never empty.
        patch: Value,
    },

    /// Something only the user knows about.
    Custom {
        /// What it is called.
        name: String,
        /// What it says.
        value: Value,
    },
}

/// A call of a model that is about to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelCall {
    /// The call's id, unique in the run; that of its message, if it is streamed.
    pub id: String,
    /// The model that is asked.
    pub model: String,
    /// Who gets to see the reply.
    #[serde(default)]
    pub visibility: Visibility,
    /// How it is to answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub params: ModelParams,
    /// Whether its answer must have a certain shape.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_schema: bool,
    /// What it is told; for those who listen in this process only.
    #[serde(skip)]
    pub messages: Transcript,
}

/// The end of a model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelCallEnd {
    /// The model replied.
    Replied {
        /// The model that answered.
        model: String,
        /// Why it stopped.
        finish: FinishReason,
        /// The provider's id for the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        /// What it said; for those who listen in this process only.
        #[serde(skip)]
        message: Option<Arc<Message>>,
    },
    /// It did not.
    Failed {
        /// Why.
        error: String,
        /// One word for it: an HTTP status, or what kind of failure it is.
        kind: String,
    },
    /// Nobody waits for it any more: whoever made it was dropped.
    Dropped,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The end of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepEnd {
    /// Well.
    Completed,
    /// With an error; whether that matters is its parent's business.
    Failed {
        /// What went wrong.
        error: String,
    },
    /// It waits for an answer.
    Suspended,
    /// It was cut short: cancelled, or out of time.
    Interrupted {
        /// Why.
        reason: String,
    },
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// Where it stands now.
    pub status: RunStatus,
    /// What went wrong, if anything did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The workflow, of a run that was refused before it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The final state, as JSON, if it could be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// What the run used.
    pub totals: Totals,
}

impl EventKind {
    /// Whether it tells of something that is under way, and that the journal knows of only when it is over.
    pub(crate) fn is_under_way(&self) -> bool {
        match self {
            Self::ToolCallStarted { message, .. } => message.is_some(),
            Self::ModelCallStarted(_)
            | Self::MessageStarted { .. }
            | Self::MessageDelta { .. }
            | Self::ReasoningDelta { .. }
            | Self::MessageRestarted { .. }
            | Self::ToolCallArguments { .. }
            | Self::ToolCallExecuting { .. } => true,
            _ => false,
        }
    }
}
