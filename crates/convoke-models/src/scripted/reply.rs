//! One scripted reply.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::{FinishReason, ModelError, ModelRequest, ToolCall, Usage};
use serde_json::Value;

use super::fault::Fault;
use super::{Chunks, fit};

/// A scripted reply: text, tool calls, reasoning; in what pieces, how slowly, and whether it breaks.
///
/// A text is a reply, and so is a [`ModelError`]: wherever a reply is expected, `"sunny"` will do.
///
/// ```
/// use std::time::Duration;
/// use convoke_models::Reply;
/// use serde_json::json;
///
/// let reply = Reply::text("Let me look.")
///     .and_tool("weather", json!({"city": "Oslo"}))
///     .and_tool("weather", json!({"city": "Bergen"}))
///     .reasoning("Two cities, two calls.")
///     .delay(Duration::from_millis(200))
///     .delay_per_chunk(Duration::from_millis(20));
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Reply {
    pub(super) computed: Option<Computed>,
    pub(super) text: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) signature: Option<String>,
    pub(super) calls: Vec<ScriptedCall>,
    pub(super) usage: Option<Usage>,
    pub(super) finish: Option<FinishReason>,
    pub(super) chunks: Option<Chunks>,
    pub(super) delay: Option<Duration>,
    pub(super) delay_per_chunk: Option<Duration>,
    pub(super) fault: Option<Fault>,
}

/// A reply made from the request.
type Computed = Arc<dyn Fn(&ModelRequest) -> Reply + Send + Sync>;

/// A tool call of a reply.
#[derive(Debug, Clone)]
pub(super) struct ScriptedCall {
    /// `None` for an id made from the call's place in the conversation.
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Value,
}

/// Arguments as the model writes them: JSON, or a text that was meant to be.
pub(super) fn argument_text(arguments: &Value) -> Cow<'_, str> {
    match arguments {
        Value::String(raw) => Cow::Borrowed(raw),
        json => Cow::Owned(json.to_string()),
    }
}

/// What is said.
impl Reply {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and_text(text)
    }

    /// A JSON document, as compact text: what a model answers that was given an output schema.
    pub fn json(value: Value) -> Self {
        Self::text(value.to_string())
    }

    /// Nothing at all: neither text nor tool calls. The kernel does not take that for an answer.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A tool call. Arguments that are a string are sent as they are: so a model writes that does not know JSON.
    pub fn tool(name: impl Into<String>, arguments: Value) -> Self {
        Self::default().and_tool(name, arguments)
    }

    /// A reply made from the request. What is set on it afterwards takes precedence over what the function sets.
    ///
    /// ```
    /// use convoke_core::{Message, ModelRequest};
    /// use convoke_models::{Reply, ScriptedModel};
    ///
    /// let echo = Reply::with(|request: &ModelRequest| {
    ///     request.messages.last().map(Message::text).unwrap_or_default()
    /// });
    /// let model = ScriptedModel::builder().otherwise(echo).build();
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// assert_eq!(model.answer(ModelRequest::new("Hello?")).await?.text(), "Hello?");
    /// # Ok::<(), convoke_core::ModelError>(())
    /// # }).unwrap();
    /// ```
    pub fn with<R: Into<Reply>>(make: impl Fn(&ModelRequest) -> R + Send + Sync + 'static) -> Self {
        let computed: Computed = Arc::new(move |request| make(request).into());
        Self { computed: Some(computed), ..Self::default() }
    }

    /// Creates a reply that fits the request: a value of the shape that is asked for, or some text if none is. What is set on it afterwards takes
    /// precedence.
    ///
    /// ```
    /// use convoke_core::{ModelRequest, OutputSchema};
    /// use convoke_models::{Reply, ScriptedModel};
    /// use serde_json::json;
    ///
    /// let mut request = ModelRequest::new("How many?");
    /// let schema = json!({"type": "object", "properties": {"count": {"type": "integer"}}});
    /// request.output = Some(OutputSchema { name: "Count".into(), description: String::new(), schema });
    /// let model = ScriptedModel::builder().otherwise(Reply::fitting()).build();
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// assert_eq!(model.answer(request).await?.text(), r#"{"count":1}"#);
    /// # Ok::<(), convoke_core::ModelError>(())
    /// # }).unwrap();
    /// ```
    pub fn fitting() -> Self {
        Self::with(fit::answer)
    }

    /// Sets the text.
    pub fn and_text(self, text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..self }
    }

    /// Adds a tool call. Its id tells its place in the conversation, so the same conversation gives the same ids.
    pub fn and_tool(mut self, name: impl Into<String>, arguments: Value) -> Self {
        self.calls.push(ScriptedCall { id: None, name: name.into(), arguments });
        self
    }

    /// Adds a tool call with an id of your own, be it an empty one or one that was there before.
    pub fn and_call(mut self, call: ToolCall) -> Self {
        self.calls.push(ScriptedCall { id: Some(call.id), name: call.name, arguments: call.arguments });
        self
    }

    /// Sets what the model thinks before it speaks.
    pub fn reasoning(self, text: impl Into<String>) -> Self {
        Self { reasoning: Some(text.into()), ..self }
    }

    /// Sets the provider's proof for the reasoning.
    pub fn reasoning_signature(self, signature: impl Into<String>) -> Self {
        Self { signature: Some(signature.into()), ..self }
    }

    /// Sets what the call uses. Otherwise every word of the conversation and of the reply is a token.
    pub fn usage(self, usage: Usage) -> Self {
        Self { usage: Some(usage), ..self }
    }

    /// Sets why the model stops. Otherwise it is tool calls if there are any, or because it is done.
    pub fn finish(self, reason: FinishReason) -> Self {
        Self { finish: Some(reason), ..self }
    }
}

/// How it is said. A chunk is a piece of text or reasoning, the beginning of a tool call, or a piece of its arguments.
impl Reply {
    /// Sets how texts and arguments are cut into pieces; by words otherwise.
    pub fn chunks(self, chunks: Chunks) -> Self {
        Self { chunks: Some(chunks), ..self }
    }

    /// Waits this long before the first chunk, or before the error. The clock is tokio's: paused time works.
    pub fn delay(self, wait: Duration) -> Self {
        Self { delay: Some(wait), ..self }
    }

    /// Waits this long before each further chunk. The clock is tokio's: paused time works.
    pub fn delay_per_chunk(self, wait: Duration) -> Self {
        Self { delay_per_chunk: Some(wait), ..self }
    }
}

impl Reply {
    /// The reply itself, once everything that is made from the request is made.
    pub(super) fn resolve(mut self, request: &ModelRequest) -> Self {
        while let Some(make) = self.computed.take() {
            self = self.or(make(request));
        }
        self
    }

    /// This reply, with what it does not set taken from `defaults`.
    pub(super) fn or(self, defaults: Self) -> Self {
        Self {
            computed: self.computed.or(defaults.computed),
            text: self.text.or(defaults.text),
            reasoning: self.reasoning.or(defaults.reasoning),
            signature: self.signature.or(defaults.signature),
            calls: if self.calls.is_empty() { defaults.calls } else { self.calls },
            usage: self.usage.or(defaults.usage),
            finish: self.finish.or(defaults.finish),
            chunks: self.chunks.or(defaults.chunks),
            delay: self.delay.or(defaults.delay),
            delay_per_chunk: self.delay_per_chunk.or(defaults.delay_per_chunk),
            fault: self.fault.or(defaults.fault),
        }
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<ModelError> for Reply {
    fn from(error: ModelError) -> Self {
        Self::error(error)
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Reply")
            .field("computed", &self.computed.is_some())
            .field("text", &self.text)
            .field("calls", &self.calls)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}
