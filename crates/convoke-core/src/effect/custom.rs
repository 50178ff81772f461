//! Effects of the user's own code.

use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::tool::Interrupted;
use super::{Past, shortened};
use crate::journal::Attached;
use crate::tool::Repeat;
use crate::{Digest, EffectKind, Error, IdempotencyKey, Scope};

/// An effect of the user's own code, about to be performed.
///
/// ```
/// # use convoke_core::{Error, Scope};
/// # async fn send(_: &str) -> Result<u32, Error> { Ok(7) }
/// # async fn step(scope: &Scope) -> Result<(), Error> {
/// // Never repeated behind anyone's back:
/// let receipt: u32 = scope.custom("charge").request(&30).perform(|key| async move { send(key.as_str()).await }).await?;
/// // Harmless to repeat after a crash:
/// let rate: f64 = scope.custom("exchange rate").repeatable().perform(|_| async { Ok::<_, Error>(1.09) }).await?;
/// # Ok(()) }
/// ```
#[must_use = "an effect does nothing until it is performed"]
#[derive(Debug)]
pub struct CustomEffect<'a> {
    scope: &'a Scope,
    name: &'a str,
    request: Value,
    repeat: Repeat,
}

impl Scope {
    /// Something the user's code does to the world. **Durable**: what it gave is journaled and given again on resume.
    ///
    /// It is not repeated after a crash in the middle of it unless declared [`repeatable`](CustomEffect::repeatable):
    /// a person is asked what became of it, or the run stops, as the runtime is configured.
    pub fn custom<'a>(&'a self, name: &'a str) -> CustomEffect<'a> {
        CustomEffect { scope: self, name, request: Value::Null, repeat: Repeat::Never }
    }
}

impl<'a> CustomEffect<'a> {
    /// What goes into the effect. A resumed run whose code passes something else is told so instead of going on with
    /// an outcome that does not fit.
    pub fn request(mut self, request: &impl Serialize) -> Self {
        // What cannot be written as JSON has no digest either; the name alone then identifies the effect.
        self.request = serde_json::to_value(request).unwrap_or(Value::Null);
        self
    }

    /// Declares that performing it twice does no harm.
    pub fn repeatable(mut self) -> Self {
        self.repeat = Repeat::Safe;
        self
    }

    /// Performs it, unless the journal has its outcome.
    ///
    /// # Errors
    /// What the code fails with (as [`Error::Effect`], the same on replay), and stops.
    pub async fn perform<T, E, F, Fut>(self, code: F) -> Result<T, Error>
    where
        T: Serialize + DeserializeOwned,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        F: FnOnce(IdempotencyKey) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let Self { scope, name, request, repeat } = self;
        let effect = scope.number(EffectKind::Custom, Digest::of_request(name, &request));
        let asked = || json!({"name": name, "request": request});
        let past = effect.past(|| shortened(&asked().to_string()))?;
        let in_doubt = match past {
            Past::Finished(outcome) => return outcome,
            Past::InDoubt => true,
            Past::Unknown => false,
        };
        let request = super::dated(asked())?;
        effect.check((!in_doubt).then_some(&request))?;
        if in_doubt && repeat == Repeat::Never {
            match scope.resolve_doubt(name, &effect).await? {
                Interrupted::Done(text) => {
                    let value = serde_json::from_str(&text)
                        .or_else(|_| serde_json::from_value(Value::String(text)))
                        .map_err(|error| {
                            Error::failed(format!("the answer is not what `{name}` gives: {error}"))
                        })?;
                    return effect.finish(None, Ok(value), Attached::default());
                }
                Interrupted::Again => {}
            }
        }
        let request = match repeat {
            Repeat::Never => {
                effect.start(request, Attached::default()).await?;
                None
            }
            _ => {
                effect.settle().await?;
                (!in_doubt).then_some(request)
            }
        };
        let outcome = tokio::select! {
            biased;
            outcome = code(effect.key()) => outcome.map_err(Error::failed),
            stop = scope.out_of_time() => Err(stop),
        };
        effect.finish(request, outcome, Attached::default())
    }
}
