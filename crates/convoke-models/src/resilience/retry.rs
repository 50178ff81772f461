//! Retries failed calls.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::{CallContext, Category, Model, ModelError, ModelRequest, ReplyStream};

use super::attempt_sequence::{AttemptPlan, FailedAttempt, NextAttempt, run_attempts};
use super::{Attempts, PartialReply};

/// A model that is asked again when a failure [may pass](Category::Transient).
///
/// A stream that breaks, one that ends without an end and a reply with nothing in it are such failures too. Every further
/// attempt is announced with [`ReplyDelta::Restarted`](convoke_core::ReplyDelta::Restarted), before the wait for it, and
/// what failed attempts used is part of the [`Usage`](convoke_core::ReplyDelta::Usage) that is reported. All attempts are
/// the same call: they carry the same key.
///
/// ```
/// use std::sync::Arc;
///
/// use convoke_core::ModelError;
/// use convoke_models::resilience::{Attempts, Retrying};
/// use convoke_models::{Reply, ScriptedModel};
///
/// let flaky = ScriptedModel::replies([Reply::error(ModelError::of_status(503, "busy")), "Hello!".into()]);
/// let model = Retrying::new(Arc::new(flaky), Attempts::default());
/// ```
pub struct Retrying {
    model: Arc<dyn Model>,
    attempts: Attempts,
}

impl Retrying {
    /// This model, asked so often.
    #[must_use]
    pub fn new(model: Arc<dyn Model>, attempts: Attempts) -> Self {
        Self { model, attempts }
    }
}

impl Model for Retrying {
    crate::delegate_to_model!();

    fn reply<'a>(&'a self, request: ModelRequest, call: CallContext) -> ReplyStream<'a> {
        let plan =
            RetryPlan { model: &*self.model, attempts: &self.attempts, failed: 0, waited: Duration::ZERO };
        run_attempts(plan, request, call)
    }
}

impl fmt::Debug for Retrying {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Retrying")
            .field("model", &self.model.name())
            .field("attempts", &self.attempts)
            .finish()
    }
}

/// The same model again.
struct RetryPlan<'a> {
    model: &'a dyn Model,
    attempts: &'a Attempts,
    failed: u32,
    waited: Duration,
}

impl<'a> AttemptPlan<'a> for RetryPlan<'a> {
    fn first(&mut self) -> NextAttempt<'a> {
        NextAttempt { model: self.model, wait: Duration::ZERO, announced: None }
    }

    fn after(
        &mut self,
        FailedAttempt { error, seen }: FailedAttempt<'_>,
    ) -> Result<NextAttempt<'a>, ModelError> {
        self.failed += 1;
        let Some(wait) = self.wait(error, seen) else { return Err(self.last(error)) };
        self.waited = self.waited.saturating_add(wait);
        let next = self.failed + 1;
        let reason = format!("{}; attempt {next} of {} in {wait:.1?}", error.message, self.attempts.most);
        Ok(NextAttempt { model: self.model, wait, announced: Some(reason) })
    }
}

impl RetryPlan<'_> {
    /// How long to wait before the next attempt, if there is to be one.
    fn wait(&self, error: &ModelError, seen: bool) -> Option<Duration> {
        let must_stay = seen && self.attempts.partial == PartialReply::Keep;
        if error.category() != Category::Transient || self.failed >= self.attempts.most || must_stay {
            return None;
        }
        let wait = match error.retry_after {
            Some(asked) if asked > self.attempts.longest_retry_after => return None,
            Some(asked) if !asked.is_zero() => asked,
            _ => self.attempts.backoff(self.failed),
        };
        (self.waited.saturating_add(wait) <= self.attempts.patience).then_some(wait)
    }

    /// The error to end with.
    fn last(&self, error: &ModelError) -> ModelError {
        let mut error = error.clone();
        if self.failed > 1 {
            error.message = format!("{} (tried {} times)", error.message, self.failed);
        }
        error
    }
}
