//! Retries with backoff.

use std::time::Duration;

use convoke_core::{Error, SharedStep, Step};
use convoke_steps::RetryPolicy;
use std::sync::Arc;

use crate::agentfile::model::Retry;

/// How long to wait before the second try when nothing is said.
const USUAL_WAIT: Duration = Duration::from_secs(1);

/// A step that is tried again as often as is said. What a failed try did to the state is undone; its time and its budget
/// are those of all tries together.
pub(super) fn retried<S: Clone + Send + 'static>(
    step: impl Step<S> + 'static,
    retry: Option<Retry>,
) -> Result<SharedStep<S>, Error> {
    let Some(retry) = retry.filter(|retry| retry.times > 0) else { return Ok(Arc::new(step)) };
    let policy = RetryPolicy::attempts(retry.times.saturating_add(1))?
        .initial(retry.after.unwrap_or(USUAL_WAIT))
        .maximum(retry.after.unwrap_or_default().max(Duration::from_secs(60)));
    Ok(Arc::new(convoke_steps::Retry::new(step, policy).in_place().with_rollback()))
}
