//! Effects as interceptors see them: the request and the outcome.

use serde::Serialize;
use serde_json::Value;

use super::Labels;
use crate::ask::{Answer, Question};
use crate::effect::ReceivedMail;
use crate::model::{ModelReply, ModelRequest};
use crate::tool::{Origin, ToolSpec};
use crate::{Error, Scope};

/// An effect, as an interceptor is told about it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct InterceptedEffect<'a> {
    /// A scope of the interceptor's own: what it asks a model or a person there is an effect like any other. Other
    /// interceptors are told about those, this one is not.
    pub scope: &'a Scope,
    /// What is asked for.
    pub request: &'a EffectRequest<'a>,
    /// What the scope of the effect has learnt so far.
    pub labels: &'a Labels,
}

/// The request of an effect, as the journal has it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum EffectRequest<'a> {
    /// A reply of a model.
    Model {
        /// The model's name.
        model: &'a str,
        /// What it is asked.
        request: &'a ModelRequest,
    },
    /// A call of a tool.
    Tool {
        /// The tool.
        spec: &'a ToolSpec,
        /// The arguments, checked.
        arguments: &'a Value,
        /// Where its result comes from.
        origin: Origin,
    },
    /// An answer of a person.
    Ask {
        /// The question.
        question: &'a Question,
    },
    /// Mail.
    Receive {
        /// The channel it comes on.
        channel: &'a str,
    },
    /// What the user's own code does.
    Custom {
        /// The effect's name.
        name: &'a str,
        /// What goes into it.
        request: &'a Value,
    },
}

/// The outcome of an effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectOutcome {
    /// A model's reply.
    Model(ModelReply),
    /// A tool's result.
    Tool(String),
    /// A person's answer.
    Ask(Answer),
    /// Mail.
    Receive(ReceivedMail),
    /// What the user's own code gave.
    Custom(Value),
}

/// The output of a tool beside its result: questions, events, remarks and notes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SideOutput {
    /// It asks a person.
    Question(Box<Question>),
    /// It reports an event of its own.
    Event {
        /// The event's name.
        name: String,
        /// What it tells.
        value: Value,
    },
    /// It says what is wrong with its arguments, or what became of a call that was interrupted.
    Remark(String),
    /// It keeps something with a call: what was before it, or a note.
    Note(Value),
}

/// What one kind of effect gives.
pub(crate) trait OutcomeOfKind: Sized {
    fn wrapped(self) -> EffectOutcome;
    fn unwrapped(outcome: EffectOutcome) -> Option<Self>;

    /// What interceptors made of an outcome.
    ///
    /// # Errors
    /// If that is what another kind of effect gives.
    fn read(outcome: EffectOutcome) -> Result<Self, Error> {
        Self::unwrapped(outcome).ok_or_else(|| {
            Error::Refused(
                "an interceptor gave the outcome of another kind of effect; let its `after` keep the kind"
                    .into(),
            )
        })
    }
}

macro_rules! outcome_of {
    ($($kind:ident: $type:ty),*) => {$(
        impl OutcomeOfKind for $type {
            fn wrapped(self) -> EffectOutcome {
                EffectOutcome::$kind(self)
            }

            fn unwrapped(outcome: EffectOutcome) -> Option<Self> {
                if let EffectOutcome::$kind(own) = outcome { Some(own) } else { None }
            }
        }
    )*};
}

outcome_of!(Model: ModelReply, Tool: String, Ask: Answer, Receive: ReceivedMail, Custom: Value);
