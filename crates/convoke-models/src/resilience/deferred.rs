//! A model that is opened on its first request.

use std::fmt;
use std::sync::Arc;

use convoke_core::{
    BoxFuture, CallContext, Model, ModelError, ModelErrorKind, ModelRequest, Price, Reality, ReplyDelta,
    ReplyStream, Usage,
};
use futures_util::{TryStreamExt, stream};
use tokio::sync::OnceCell;

/// A model on its way.
type Opening = BoxFuture<'static, Result<Arc<dyn Model>, ModelError>>;

/// A model that is opened when it is first asked, for one that is dear to open and may never be needed: the last of a
/// [`Fallback`](super::Fallback), say.
///
/// It is opened once, however many ask at the same time. If that fails, the call fails with that error, and the next call
/// (or one that was waiting) tries again. If whoever opens it gives up, so does the opening, and the next one begins anew.
///
/// What it is called, what it costs and whether it is real must be known before it is open, so they are what is said here.
/// What a call is charged is by the price of the opened model, if that knows one.
///
/// ```
/// use std::sync::Arc;
///
/// use convoke_core::{Model, ModelError};
/// use convoke_models::ScriptedModel;
/// use convoke_models::resilience::{Deferred, Fallback};
///
/// let first = Arc::new(ScriptedModel::replies(["Hello!"]));
/// let second = Deferred::new("local/small", || async {
///     // Reading gigabytes of weights, for instance.
///     let opened: Arc<dyn Model> = Arc::new(ScriptedModel::replies(["Hello, slowly."]));
///     Ok::<_, ModelError>(opened)
/// });
/// let model = Fallback::new(first).or(Arc::new(second));
/// ```
pub struct Deferred {
    name: String,
    price: Option<Price>,
    reality: Reality,
    open: Box<dyn Fn() -> Opening + Send + Sync>,
    opened: OnceCell<Arc<dyn Model>>,
}

impl Deferred {
    /// The model of this name, opened like this. Unless told otherwise, it is a real one, and what it costs is not known.
    #[must_use]
    pub fn new<O, F>(name: impl Into<String>, open: O) -> Self
    where
        O: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<Arc<dyn Model>, ModelError>> + Send + 'static,
    {
        Self {
            name: name.into(),
            price: None,
            reality: Reality::Live,
            open: Box::new(move || Box::pin(open())),
            opened: OnceCell::new(),
        }
    }

    /// Sets its price.
    #[must_use]
    pub fn price(mut self, price: Price) -> Self {
        self.price = Some(price);
        self
    }

    /// Declares it simulated. If it turns out to be one, it is not asked.
    #[must_use]
    pub fn simulated(mut self) -> Self {
        self.reality = Reality::Simulated;
        self
    }

    /// The model, which is opened now unless it is open.
    async fn opened(&self) -> Result<&dyn Model, ModelError> {
        let model = self.opened.get_or_try_init(|| (self.open)()).await?;
        if self.reality == Reality::Simulated && model.reality() == Reality::Live {
            return Err(ModelError::new(
                ModelErrorKind::Forbidden,
                format!(
                    "`{}` was said to be simulated, and is a real model; say so where it is set up",
                    self.name
                ),
            ));
        }
        Ok(&**model)
    }
}

impl Model for Deferred {
    fn name(&self) -> &str {
        &self.name
    }

    fn reply<'a>(&'a self, request: ModelRequest, call: CallContext) -> ReplyStream<'a> {
        let opened = stream::once(self.opened());
        let pieces = opened.map_ok(move |model| {
            model.reply(request.clone(), call.clone()).map_ok(|piece| match piece {
                ReplyDelta::Usage(usage) => ReplyDelta::Usage(charged(usage, model.price())),
                other => other,
            })
        });
        Box::pin(pieces.try_flatten())
    }

    fn reality(&self) -> Reality {
        self.reality
    }

    fn price(&self) -> Option<Price> {
        self.price
    }
}

impl fmt::Debug for Deferred {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Deferred")
            .field("name", &self.name)
            .field("is_open", &self.opened.initialized())
            .finish_non_exhaustive()
    }
}

/// What was used, at the price of the opened model if that knows one.
fn charged(usage: Usage, price: Option<Price>) -> Usage {
    Usage { cost: usage.cost.or_else(|| price.map(|price| price.of(&usage))), ..usage }
}
