//! Falls back to another model when one fails for good.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convoke_core::{
    CallContext, Category, Model, ModelError, ModelErrorKind, ModelRequest, Price, Reality, ReplyStream,
};
use tokio::time::Instant;

use super::PartialReply;
use super::attempt_sequence::{AttemptPlan, FailedAttempt, NextAttempt, run_attempts};

/// A model that stands for several: the first is asked, and if it fails for good, the next.
///
/// A reply that breaks in the middle begins anew with the next model (see [`PartialReply`]), announced with
/// [`ReplyDelta::Restarted`](convoke_core::ReplyDelta::Restarted). Each model should try again by itself before it gives up:
/// wrap it in [`Retrying`](super::Retrying).
///
/// A model that turned out to have a wrong key or an empty account, or that asked to be left alone for a time, *rests*: it
/// is asked last instead of in its turn, so that not every call pays for finding out again.
///
/// Its name is the first model's. Budgets reserve by the [dearest](Model::highest_price) of all known prices; what a call
/// is charged is by the price of each model that worked on it. The cost of a call that a model of unknown price worked on
/// is unknown: give models that cost nothing [`Price::FREE`].
///
/// ```
/// use std::sync::Arc;
///
/// use convoke_core::{ModelError, ModelErrorKind};
/// use convoke_models::ScriptedModel;
/// use convoke_models::resilience::Fallback;
///
/// let strict = Arc::new(ScriptedModel::replies(["I cannot help with that."]));
/// let lenient = Arc::new(ScriptedModel::replies(["Gladly."]));
/// let model = Fallback::new(strict)
///     .or(lenient)
///     .when(|error| Fallback::another_may_help(error) || error.kind == ModelErrorKind::Refused);
/// ```
pub struct Fallback {
    choices: Vec<FallbackModel>,
    rest: Duration,
    partial: PartialReply,
    helps: Box<dyn Fn(&ModelError) -> bool + Send + Sync>,
}

/// One of the models.
struct FallbackModel {
    model: Arc<dyn Model>,
    rest: Mutex<Option<Cooldown>>,
}

/// Why a model is left alone, and until when.
struct Cooldown {
    /// `None` if that is further off than clocks go.
    until: Option<Instant>,
    why: String,
}

impl Fallback {
    /// This model first.
    #[must_use]
    pub fn new(first: Arc<dyn Model>) -> Self {
        Self {
            choices: vec![FallbackModel::new(first)],
            rest: Duration::from_mins(5),
            partial: PartialReply::default(),
            helps: Box::new(Self::another_may_help),
        }
    }

    /// Then this one.
    #[must_use]
    pub fn or(mut self, next: Arc<dyn Model>) -> Self {
        self.choices.push(FallbackModel::new(next));
        self
    }

    /// Sets which failures lead to the next model; otherwise those that [another may help
    /// with](Self::another_may_help).
    #[must_use]
    pub fn when(mut self, helps: impl Fn(&ModelError) -> bool + Send + Sync + 'static) -> Self {
        self.helps = Box::new(helps);
        self
    }

    /// Sets how long a model with a wrong key or an empty account is left alone; five minutes otherwise. No other reason
    /// to rest lasts longer.
    #[must_use]
    pub fn rest(mut self, rest: Duration) -> Self {
        self.rest = rest;
        self
    }

    /// Sets what becomes of a reply that breaks in the middle.
    #[must_use]
    pub fn partial(mut self, partial: PartialReply) -> Self {
        self.partial = partial;
        self
    }

    /// Returns whether another model may succeed where this error came from.
    ///
    /// Not if the request is wrong, unless the provider says that it is too large or that there is no such model; not if
    /// the provider refused the content: who asks elsewhere what was refused here should have meant to. A conversation
    /// that does not fit may fit another.
    #[must_use]
    pub fn another_may_help(error: &ModelError) -> bool {
        match error.kind {
            ModelErrorKind::InvalidRequest => matches!(error.status, Some(404 | 413)),
            ModelErrorKind::Refused | ModelErrorKind::Forbidden => false,
            _ => true,
        }
    }

    /// Those that do not rest in their order, then those that do.
    fn order(&self) -> Vec<usize> {
        let now = Instant::now();
        let (awake, resting): (Vec<usize>, Vec<usize>) =
            (0..self.choices.len()).partition(|at| self.choices[*at].why_resting(now).is_none());
        [awake, resting].concat()
    }

    /// How long a model that failed like this is left alone, if it is.
    fn rest_after(&self, error: &ModelError) -> Option<Duration> {
        match error.kind {
            ModelErrorKind::Authentication | ModelErrorKind::Quota => Some(self.rest),
            _ => error.retry_after.filter(|wait| !wait.is_zero()).map(|wait| wait.min(self.rest)),
        }
    }
}

impl FallbackModel {
    fn new(model: Arc<dyn Model>) -> Self {
        Self { model, rest: Mutex::new(None) }
    }

    fn why_resting(&self, now: Instant) -> Option<String> {
        self.lock()
            .as_ref()
            .filter(|rest| rest.until.is_none_or(|until| until > now))
            .map(|rest| rest.why.clone())
    }

    fn set(&self, rest: Option<Cooldown>) {
        *self.lock() = rest;
    }

    /// Only whole values are ever put in: a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, Option<Cooldown>> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for Fallback {
    fn name(&self) -> &str {
        self.choices[0].model.name()
    }

    fn reply<'a>(&'a self, request: ModelRequest, call: CallContext) -> ReplyStream<'a> {
        run_attempts(FallbackPlan { fallback: self, order: self.order(), errors: Vec::new() }, request, call)
    }

    fn reality(&self) -> Reality {
        let is_live = |choice: &FallbackModel| choice.model.reality() == Reality::Live;
        if self.choices.iter().any(is_live) { Reality::Live } else { Reality::Simulated }
    }

    /// The price of all, if they have the same.
    fn price(&self) -> Option<Price> {
        let first = self.choices[0].model.price();
        first.filter(|_| self.choices.iter().all(|choice| choice.model.price() == first))
    }

    /// The dearest.
    fn highest_price(&self) -> Option<Price> {
        self.choices.iter().filter_map(|choice| choice.model.highest_price()).reduce(|one, two| Price {
            input: one.input.max(two.input),
            output: one.output.max(two.output),
            cached_input: one.cached_input.max(two.cached_input),
            cache_write: one.cache_write.max(two.cache_write),
        })
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.choices.iter().map(|choice| choice.model.name()).collect();
        formatter.debug_struct("Fallback").field("models", &names).finish_non_exhaustive()
    }
}

/// Asks one model after the other.
struct FallbackPlan<'a> {
    fallback: &'a Fallback,
    /// Positions of the models, as they are to be asked. Never empty: there is a first model.
    order: Vec<usize>,
    /// One for each model that has failed.
    errors: Vec<ModelError>,
}

impl<'a> AttemptPlan<'a> for FallbackPlan<'a> {
    fn first(&mut self) -> NextAttempt<'a> {
        let usual = &self.fallback.choices[0];
        let announced = (self.order[0] != 0).then(|| {
            let why = usual.why_resting(Instant::now()).unwrap_or_default();
            format!("{} is left alone for a time: {why}", usual.model.name())
        });
        NextAttempt { model: &*self.current().model, wait: Duration::ZERO, announced }
    }

    fn after(
        &mut self,
        FailedAttempt { error, seen }: FailedAttempt<'_>,
    ) -> Result<NextAttempt<'a>, ModelError> {
        let failed = self.current();
        if let Some(rest) = self.fallback.rest_after(error) {
            failed
                .set(Some(Cooldown { until: Instant::now().checked_add(rest), why: error.message.clone() }));
        }
        self.errors.push(error.clone());
        let must_stay = seen && self.fallback.partial == PartialReply::Keep;
        if must_stay || self.errors.len() == self.order.len() || !(self.fallback.helps)(error) {
            return Err(self.all_failed());
        }
        let reason = format!("{} failed: {}", failed.model.name(), error.message);
        Ok(NextAttempt { model: &*self.current().model, wait: Duration::ZERO, announced: Some(reason) })
    }

    fn succeeded(&mut self) {
        self.current().set(None);
    }
}

impl<'a> FallbackPlan<'a> {
    /// The one to be asked, or that has been.
    fn current(&self) -> &'a FallbackModel {
        &self.fallback.choices[self.order[self.errors.len()]]
    }

    /// One error for all. It is of the kind of the first that may pass, if there is one: then trying again later may help,
    /// whatever is wrong with the others.
    fn all_failed(&self) -> ModelError {
        let passing = self.errors.iter().find(|error| error.category() == Category::Transient);
        // Only asked once there is an error.
        let mut error = passing.unwrap_or(&self.errors[0]).clone();
        if self.errors.len() > 1 {
            let each = self.order.iter().zip(&self.errors).map(|(at, error)| {
                let name = self.fallback.choices[*at].model.name();
                // Providers name themselves.
                if error.message.starts_with(name) {
                    error.message.clone()
                } else {
                    format!("{name}: {}", error.message)
                }
            });
            let each: Vec<_> = each.collect();
            error.message = format!("none of {} models answered: {}", each.len(), each.join("; "));
        }
        error
    }
}
