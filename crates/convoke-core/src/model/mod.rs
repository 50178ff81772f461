//! Models: one streaming primitive, and a whole reply as its fold.

mod absent;
mod error;
mod fold;
mod request;

use std::pin::Pin;

use futures_util::Stream;
use serde::{Deserialize, Serialize};

pub(crate) use absent::AbsentModel;
pub use error::{ModelError, ModelErrorKind};
pub use fold::ReplyBuilder;
pub(crate) use request::StoredRequest;
pub use request::{ModelParams, ModelRequest, OutputSchema, ReasoningEffort, ToolChoice};

use crate::IdempotencyKey;
use crate::message::{Message, Money, ToolCall, Usage};

/// A stream of a reply's pieces.
pub type ReplyStream<'a> = Pin<Box<dyn Stream<Item = Result<ReplyDelta, ModelError>> + Send + 'a>>;

/// A model that answers requests.
///
/// Steps do not call it: they go through [`Scope::model`](crate::Scope::model), which journals the reply.
pub trait Model: Send + Sync {
    /// The model's name, as prices, events and digests use it: `anthropic/claude-…`, `scripted`.
    fn name(&self) -> &str;

    /// Begins a reply. Dropping the stream abandons the call.
    ///
    /// A good stream ends with [`ReplyDelta::Finished`]; one that ends without it counts as cut off.
    fn reply<'a>(&'a self, request: ModelRequest, call: CallContext) -> ReplyStream<'a>;

    /// Whether it calls a real model, which tests can forbid.
    fn reality(&self) -> Reality {
        Reality::Live
    }

    /// What it costs, if that is known. A model that stands for several, at several prices, has none: it gives what it
    /// [reports](ReplyDelta::Usage) its cost itself, and what it reports without one is of unknown cost.
    fn price(&self) -> Option<Price> {
        None
    }

    /// What it costs at most, as far as that is known. Budgets reserve by it, and nobody is charged by it.
    fn highest_price(&self) -> Option<Price> {
        self.price()
    }
}

/// The reality of a model: live or simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reality {
    /// It costs money or computing time.
    Live,
    /// It is scripted or recorded.
    Simulated,
}

/// The context of a call, besides the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallContext {
    /// The key that marks every attempt at this call as the same call, for providers and gateways that honour one.
    pub key: IdempotencyKey,
}

/// Money per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// For a million tokens read.
    pub input: Money,
    /// For a million tokens written.
    pub output: Money,
    /// For a million tokens read from the provider's cache.
    pub cached_input: Money,
    /// For a million tokens written to the provider's cache.
    pub cache_write: Money,
}

impl Price {
    /// The price of a model that costs nothing.
    pub const FREE: Self = Self::new(Money::ZERO, Money::ZERO);

    /// A price for a million tokens in and out, with no other price for what goes through the provider's cache.
    ///
    /// ```
    /// use convoke_core::{Money, Price, Usage};
    ///
    /// let price = Price::new(Money::from_dollars(3), Money::from_dollars(15));
    /// assert_eq!(price.of(&Usage::tokens(1_000_000, 100_000)), Money::from_cents(450));
    /// ```
    #[must_use]
    pub const fn new(input: Money, output: Money) -> Self {
        Self { input, output, cached_input: input, cache_write: input }
    }

    /// Returns the cost of this usage.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> Money {
        let cached = usage.cached_input_tokens.saturating_add(usage.cache_write_tokens);
        let parts = [
            (usage.input_tokens.saturating_sub(cached), self.input),
            (usage.cached_input_tokens, self.cached_input),
            (usage.cache_write_tokens, self.cache_write),
            (usage.output_tokens, self.output),
        ];
        // Counts come from outside: however large they are, they must not wrap round.
        let micros = parts.into_iter().fold(0_u128, |sum, (tokens, price)| {
            sum.saturating_add(u128::from(tokens) * u128::from(price.as_micros()))
        });
        Money::from_micros(u64::try_from(micros / 1_000_000).unwrap_or(u64::MAX))
    }
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ReplyDelta {
    /// More text.
    Text(String),
    /// More of what the model thinks.
    Reasoning(String),
    /// The provider's proof for the reasoning so far.
    ReasoningSignature(String),
    /// A tool call begins.
    ToolCallStarted {
        /// The call's position among the calls of this reply.
        index: usize,
        /// The provider's id for it; may be empty or repeat an earlier one.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// More of a tool call's arguments.
    ToolCallArguments {
        /// The call's position.
        index: usize,
        /// JSON text.
        delta: String,
    },
    /// What was used so far, earlier attempts at this reply included. A cost in it takes precedence over the model's price.
    Usage(Usage),
    /// What came so far is void: the reply begins anew, perhaps by another model.
    Restarted {
        /// The model that answers now.
        model: String,
        /// Why, for people.
        reason: String,
    },
    /// The end.
    Finished {
        /// Why the model stopped.
        reason: FinishReason,
        /// The provider's id for the request.
        request_id: Option<String>,
    },
}

/// The reason why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// It had said what it wanted to say.
    Stop,
    /// It wants tools called.
    ToolCalls,
    /// It ran out of tokens.
    Length,
    /// The provider refused.
    ContentFilter,
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// What the model said.
    pub message: Message,
    /// Why it stopped.
    pub finish: FinishReason,
    /// What it used.
    #[serde(default)]
    pub usage: Usage,
    /// The model that answered.
    pub model: String,
    /// The provider's id for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl ModelReply {
    /// The reply's text.
    #[must_use]
    pub fn text(&self) -> String {
        self.message.text()
    }

    /// The tool calls in it.
    #[must_use]
    pub fn tool_calls(&self) -> Vec<ToolCall> {
        self.message.tool_calls().cloned().collect()
    }

    /// The reply, unless it was cut off or refused: half an answer is not an answer.
    ///
    /// # Errors
    /// [`ModelErrorKind::Truncated`] or [`ModelErrorKind::Refused`].
    pub fn whole(self) -> Result<Self, ModelError> {
        match self.finish {
            FinishReason::Length => Err(ModelError::new(
                ModelErrorKind::Truncated,
                format!("the reply of {} was cut off; allow more output tokens", self.model),
            )),
            FinishReason::ContentFilter => Err(ModelError::new(
                ModelErrorKind::Refused,
                format!("{} refused to answer; rephrase the prompt or use another model", self.model),
            )),
            FinishReason::Stop | FinishReason::ToolCalls => Ok(self),
        }
    }
}
