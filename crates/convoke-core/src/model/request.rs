//! Requests to models.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Hasher;
use crate::message::Transcript;
use crate::tool::ToolDefinition;
use crate::{Digest, Timestamp};

/// A request to a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelRequest {
    /// The conversation so far.
    pub messages: Transcript,
    /// The tools it may call, in declared order.
    pub tools: Vec<ToolDefinition>,
    /// Whether it may, must or must not call them.
    pub tool_choice: ToolChoice,
    /// The shape its answer must have.
    pub output: Option<OutputSchema>,
    /// How to sample.
    pub params: ModelParams,
}

/// Sampling parameters. What is not set is the model's default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelParams {
    /// At most this many tokens of output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Randomness; 0 is a real value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Only the likeliest tokens that make up this share of the probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Where randomness begins, for models that can repeat themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// How much to think before answering.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ReasoningEffort>,
    /// Stop when one of these is written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// What only this provider understands, passed on as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<Value>,
}

impl ModelParams {
    /// Returns these parameters, overridden by whatever `over` sets.
    #[must_use]
    pub fn overridden_by(&self, over: &Self) -> Self {
        Self {
            max_tokens: over.max_tokens.or(self.max_tokens),
            temperature: over.temperature.or(self.temperature),
            top_p: over.top_p.or(self.top_p),
            seed: over.seed.or(self.seed),
            reasoning: over.reasoning.or(self.reasoning),
            stop: if over.stop.is_empty() { self.stop.clone() } else { over.stop.clone() },
            extra: over.extra.clone().or_else(|| self.extra.clone()),
        }
    }

    /// Sets the randomness.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets where randomness begins.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets how much to think.
    #[must_use]
    pub fn reasoning(mut self, effort: ReasoningEffort) -> Self {
        self.reasoning = Some(effort);
        self
    }

    /// Sets the most tokens of output.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }
}

/// The effort a model spends on thinking before it answers, for models that can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningEffort {
    /// Not at all.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// A lot.
    High,
}

/// The rule whether a model may, must or must not call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It must not.
    None,
    /// It must.
    Required,
}

/// The shape an answer must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// The shape's name.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// JSON Schema.
    pub schema: Value,
}

/// What the journal keeps of a request; the messages are stored under their digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredRequest {
    pub(crate) model: String,
    pub(crate) messages: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) options: Option<Digest>,
    /// The beginning of the last message, so that a divergence can show what was asked.
    #[serde(default, rename = "last message", skip_serializing_if = "String::is_empty")]
    pub(crate) last_message: String,
    /// When the call began; the entry is made when it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) began: Option<Timestamp>,
}

impl ModelRequest {
    /// A request with this conversation.
    #[must_use]
    pub fn new(messages: impl Into<Transcript>) -> Self {
        Self { messages: messages.into(), ..Self::default() }
    }

    /// The digest of what is asked. Which model is asked is not part of it: a run may go on with another model than it
    /// began with, and keeps the replies it has.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        hasher.digest(&self.messages.digest());
        if let Some(options) = self.options() {
            hasher.json(&options);
        }
        hasher.finish()
    }

    /// Everything but the conversation, if there is anything besides it.
    pub(crate) fn options(&self) -> Option<Value> {
        let mut options = serde_json::Map::new();
        let mut put = |key: &str, value: serde_json::Result<Value>| {
            // Plain data with text keys always serialises; a NaN temperature becomes null, which is as good as unset.
            options.insert(key.to_owned(), value.unwrap_or(Value::Null));
        };
        if !self.tools.is_empty() {
            put("tools", serde_json::to_value(&self.tools));
        }
        if self.tool_choice != ToolChoice::Auto {
            put("tool_choice", serde_json::to_value(self.tool_choice));
        }
        if let Some(output) = &self.output {
            put("output", serde_json::to_value(output));
        }
        if self.params != ModelParams::default() {
            put("params", serde_json::to_value(&self.params));
        }
        (!options.is_empty()).then_some(Value::Object(options))
    }
}
