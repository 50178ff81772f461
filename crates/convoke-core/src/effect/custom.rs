//! Custom effects: the user's own code, journaled.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::doubt::DoubtResolution;
use super::{NumberedEffect, Past, shortened};
use crate::intercept::{EffectRequest, Labels};
use crate::journal::Attachments;
use crate::run::EarlierOutcome;
use crate::tool::Repeat;
use crate::{Digest, EffectKind, Error, IdempotencyKey, RecordedError, Scope};

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
    request: Result<Value, Error>,
    repeat: Repeat,
}

impl Scope {
    /// Begins an effect of the user's own code. **Durable**: what it gave is journaled and given again on resume.
    ///
    /// It is not repeated after a crash in the middle of it unless declared [`repeatable`](CustomEffect::repeatable):
    /// a person is asked what became of it, or the run stops, as the runtime is configured. Nor is it by another attempt at the same, which
    /// is given what the first one was.
    pub fn custom<'a>(&'a self, name: &'a str) -> CustomEffect<'a> {
        CustomEffect { scope: self, name, request: Ok(Value::Null), repeat: Repeat::Never }
    }
}

impl<'a> CustomEffect<'a> {
    /// Sets what goes into the effect. A resumed run whose code passes something else is told so instead of going on with
    /// an outcome that does not fit.
    pub fn request(mut self, request: &impl Serialize) -> Self {
        self.request = crate::json::to_value(request);
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
    /// What the code fails with (as [`Error::Effect`], the same on replay), [`Error::Denied`] by an interceptor, and stops.
    pub async fn perform<T, E, F, Fut>(self, code: F) -> Result<T, Error>
    where
        T: Serialize + DeserializeOwned,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        F: FnOnce(IdempotencyKey) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let Self { scope, name, request, repeat } = self;
        let asked_for = request?;
        let effect = scope.number_act(EffectKind::Custom, Digest::of_request(name, &asked_for));
        if repeat == Repeat::Never {
            effect.acts();
        }
        let asked = || json!({"name": name, "request": asked_for});
        let past = effect.past(|| shortened(&asked().to_string()))?;
        let mut in_doubt = match past {
            Past::Finished(outcome) => {
                effect.keep_as_begun();
                effect.keep_given(repeat, &outcome)?;
                return outcome;
            }
            Past::InDoubt => true,
            Past::Unknown => false,
        };
        let request = effect.dated(asked())?;
        effect.check((!in_doubt).then_some(&request))?;
        if !in_doubt && repeat == Repeat::Never {
            match effect.earlier() {
                EarlierOutcome::Open => {}
                EarlierOutcome::Begun => {
                    effect.start(request.clone(), Attachments::default()).await?;
                    in_doubt = true;
                }
                EarlierOutcome::Done(given) => {
                    let given = serde_json::from_slice(&given)?;
                    return effect.finish(Some(request), Ok(given), Attachments::default());
                }
            }
        }
        let about = EffectRequest::Custom { name, request: &asked_for };
        if in_doubt && repeat == Repeat::Never {
            // What it gave is lost; `done` can only be said of something that has a value for that.
            let lost = |text: Value| {
                serde_json::from_value(Value::Null).or_else(|_| serde_json::from_value::<T>(text))
            };
            let options: &[&str] =
                if lost(json!("")).is_ok() { &["done", "again", "stop"] } else { &["again", "stop"] };
            match scope.resolve_doubt(name, &effect, asked(), options, None).await? {
                DoubtResolution::Done(text) => {
                    let given = Ok(lost(Value::String(text))?);
                    let (given, labels) = scope.judged_custom(&effect, &about, given).await;
                    effect.keep_given(repeat, &given)?;
                    return effect.finish(None, given, Attachments { labels, ..Attachments::default() });
                }
                DoubtResolution::Again => {}
            }
        }
        if let Some(reason) = effect.denied(&about).await? {
            let request = (!in_doubt).then_some(request);
            return effect.finish(request, Err(Error::Denied(reason.into())), Attachments::default());
        }
        let request = match repeat {
            Repeat::Never => {
                effect.keep_for_later(EarlierOutcome::Begun);
                effect.start(request, Attachments::default()).await?;
                None
            }
            _ => {
                effect.settle().await?;
                (!in_doubt).then_some(request)
            }
        };
        let outcome = tokio::select! {
            biased;
            outcome = AssertUnwindSafe(async { code(effect.key()).await }).catch_unwind() => match outcome {
                Ok(outcome) => outcome.map_err(Error::failed).and_then(|value| scope.storable(name, value)),
                Err(panic) => Err(Error::panicked(scope.path(), &*panic)),
            },
            stop = scope.out_of_time() => Err(stop),
        };
        let (outcome, labels) = scope.judged_custom(&effect, &about, outcome).await;
        effect.keep_given(repeat, &outcome)?;
        effect.finish(request, outcome, Attachments { labels, ..Attachments::default() })
    }
}

impl NumberedEffect<'_> {
    /// Keeps for later attempts what an effect gave that must not be performed twice. Who stopped it does not know how far it had come.
    fn keep_given<T: Serialize>(&self, repeat: Repeat, given: &Result<T, Error>) -> Result<(), Error> {
        if repeat != Repeat::Never || !self.may_be_tried_again() {
            return Ok(());
        }
        let became = match given {
            Ok(given) => EarlierOutcome::Done(serde_json::to_vec(given)?.into()),
            Err(stop) if matches!(RecordedError::of(stop), None | Some(RecordedError::TimedOut(_))) => {
                return Ok(());
            }
            Err(_) => EarlierOutcome::Open,
        };
        self.keep_for_later(became);
        Ok(())
    }
}

impl Scope {
    /// What interceptors make of what the user's code gave, which they know as JSON.
    async fn judged_custom<T: Serialize + DeserializeOwned>(
        &self,
        effect: &NumberedEffect<'_>,
        about: &EffectRequest<'_>,
        outcome: Result<T, Error>,
    ) -> (Result<T, Error>, Labels) {
        if self.around.is_none() {
            return (outcome, Labels::new());
        }
        let value = outcome.and_then(|value| crate::json::to_value(&value));
        let (value, labels) = effect.judged(about, value).await;
        (value.and_then(|value| Ok(serde_json::from_value(value)?)), labels)
    }

    /// What the journal would give back for a value: a run must not go on with something a resumed one could not have.
    fn storable<T: Serialize + DeserializeOwned>(&self, name: &str, value: T) -> Result<T, Error> {
        if self.journal().is_none() {
            return Ok(value);
        }
        let json = crate::json::to_value(&value)?;
        serde_json::from_value(json).map_err(|error| {
            Error::failed(format!(
                "what `{name}` gives cannot be read back from JSON: {error}; give something that can"
            ))
        })
    }
}
