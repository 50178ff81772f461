//! The response cache.

mod flight;
mod memory;
mod replay;

use std::fmt;
use std::sync::Arc;

use convoke_core::{
    BoxFuture, CallContext, Digest, Model, ModelReply, ModelRequest, Money, ReplyStream, Usage,
};

use flight::Flights;
pub use memory::MemoryReplies;

/// Keeps replies. Implement it to keep them longer than a process lives: a [`ModelReply`] is plain data for serde.
///
/// A store that fails keeps nothing or finds nothing; it never fails a call.
pub trait ReplyStore: Send + Sync {
    /// The reply kept under this key, if it is still good.
    fn get<'a>(&'a self, key: &'a Digest) -> BoxFuture<'a, Option<ModelReply>>;

    /// Keeps a reply under this key.
    fn put<'a>(&'a self, key: Digest, reply: &'a ModelReply) -> BoxFuture<'a, ()>;
}

/// A model that answers what it has answered before with the same reply.
///
/// Requests are the same if the model's name, the conversation, the tools, the output schema and all parameters are. Only
/// whole replies are kept: none that was cut off, refused, or ended in an error.
///
/// Unless [told otherwise](Self::at_any_temperature), it answers only requests with temperature 0: all others ask for
/// something new each time, and pass through untouched.
///
/// The same request asked by several at once is asked once, and its pieces go to all of them as they come. The call lives
/// as long as any of them does; a failure is the failure of all. One of them reports what was used, if the model said,
/// all others nothing.
///
/// A reply that was not paid for uses no tokens and costs [nothing](Money::ZERO), which no call of a model does that says
/// what it uses: see [`is_hit`](Self::is_hit). It keeps the provider's request id.
///
/// ```
/// use std::sync::Arc;
///
/// use convoke_models::ScriptedModel;
/// use convoke_models::resilience::{MemoryReplies, ResponseCache};
///
/// let model = ScriptedModel::replies(["Hello!"]);
/// let model = ResponseCache::new(Arc::new(model), Arc::new(MemoryReplies::default()));
/// ```
pub struct ResponseCache {
    model: Arc<dyn Model>,
    store: Arc<dyn ReplyStore>,
    answers: CacheScope,
    flights: Flights,
}

/// Which requests it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CacheScope {
    AtTemperatureZero,
    All,
}

impl ResponseCache {
    /// What a reply that was not paid for has used.
    const NOTHING: Usage = Usage { cost: Some(Money::ZERO), ..Usage::tokens(0, 0) };

    /// This model, with its replies kept in this store. Models that share a store must have different names.
    #[must_use]
    pub fn new(model: Arc<dyn Model>, store: Arc<dyn ReplyStore>) -> Self {
        Self { model, store, answers: CacheScope::AtTemperatureZero, flights: Flights::default() }
    }

    /// Answers requests of any temperature: whoever asks twice wants the same again.
    #[must_use]
    pub fn at_any_temperature(mut self) -> Self {
        self.answers = CacheScope::All;
        self
    }

    /// Returns whether a reply that used this came from a cache, or from another's call.
    #[must_use]
    pub fn is_hit(usage: &Usage) -> bool {
        *usage == Self::NOTHING
    }

    fn is_for(&self, request: &ModelRequest) -> bool {
        self.answers == CacheScope::All || request.params.temperature == Some(0.0)
    }
}

impl Model for ResponseCache {
    crate::delegate_to_model!();

    fn reply<'a>(&'a self, request: ModelRequest, call: CallContext) -> ReplyStream<'a> {
        if !self.is_for(&request) {
            return self.model.reply(request, call);
        }
        let key = Digest::of_parts(&[self.model.name().as_bytes(), request.digest().as_bytes()]);
        self.flights.join(key, &self.model, &self.store, request, call)
    }
}

impl fmt::Debug for ResponseCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ResponseCache")
            .field("model", &self.model.name())
            .field("answers", &self.answers)
            .finish_non_exhaustive()
    }
}
