//! The recorded form of a model call.

use serde::{Deserialize, Serialize};

use crate::error::{Error, RecordedError};
use crate::message::Usage;
use crate::model::{ModelErrorKind, ModelReply};

/// The outcome of a model call: a [`RecordedOutcome`](super::RecordedOutcome) that also knows what a failed call used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedCall<T = ModelReply> {
    /// It gave this.
    Ok(T),
    /// It failed like this.
    Err(FailedCall),
}

/// A failed model call, and what it had used until then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedCall {
    /// What it failed with.
    #[serde(flatten)]
    pub error: RecordedError,
    /// As far as the model said. Journals of older versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether there was no time left to make it. Journals of older versions do not say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_time: bool,
}

impl FailedCall {
    pub(crate) fn new(error: RecordedError, usage: Option<Usage>) -> Self {
        Self { error, usage, no_time: false }
    }
}

impl<T> RecordedCall<T> {
    /// Whether it was made at all: one that there was no time for, or that the budget or an interceptor did not allow, was
    /// not. Of one whose reply was denied it is known what it used.
    pub(crate) fn was_made(&self) -> bool {
        use RecordedError::{Budget, Denied};
        match self {
            Self::Ok(_) => true,
            Self::Err(FailedCall { error: Budget(_) | Denied { .. }, usage: None, .. }) => false,
            Self::Err(failed) => !failed.no_time,
        }
    }

    /// The outcome, as whoever asked for the call gets it.
    pub(crate) fn into_result(self) -> Result<T, Error> {
        match self {
            Self::Ok(given) => Ok(given),
            Self::Err(failed) => Err(failed.error.into()),
        }
    }
}

impl RecordedCall {
    /// What it used, as far as that is known.
    pub(crate) fn usage(&self) -> Usage {
        match self {
            Self::Ok(reply) => reply.usage,
            Self::Err(failed) => failed.usage.unwrap_or_default(),
        }
    }

    /// Whether its whole cost is known.
    pub(crate) fn is_priced(&self) -> bool {
        match self {
            Self::Ok(reply) => is_priced(Some(reply.usage), None),
            Self::Err(failed) => is_priced(failed.usage, Some(&failed.error)),
        }
    }
}

/// Returns whether the whole cost of a call is known that used this much and failed like this, if it did. What an interrupted
/// call had used when it last said so need not be all.
#[must_use]
pub fn is_priced(usage: Option<Usage>, error: Option<&RecordedError>) -> bool {
    match (usage, error) {
        (_, Some(error)) if may_cost(error) => false,
        (Some(usage), _) => usage.cost.is_some(),
        (None, error) => error.is_some(),
    }
}

/// Whether a model call that failed like this may have cost something all the same.
fn may_cost(error: &RecordedError) -> bool {
    use ModelErrorKind as Kind;
    match error {
        // These are said before the model has read or written anything.
        RecordedError::Model(error) => !matches!(
            error.kind,
            Kind::Authentication
                | Kind::Quota
                | Kind::RateLimited
                | Kind::ContextTooLong
                | Kind::Overloaded
                | Kind::InvalidRequest
                | Kind::Forbidden
                | Kind::Missing
        ),
        RecordedError::Budget(_) | RecordedError::Denied { .. } => false,
        RecordedError::TimedOut(_) | RecordedError::Failed { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;
    use crate::RecordedOutcome;
    use crate::budget::{BudgetExhausted, Resource};
    use crate::error::TimedOut;
    use crate::message::Money;
    use crate::model::ModelError;
    use crate::{Category, Path};

    fn failed(kind: ModelErrorKind, usage: Option<Usage>) -> RecordedCall {
        RecordedCall::Err(FailedCall::new(RecordedError::Model(ModelError::new(kind, "no")), usage))
    }

    #[test]
    fn a_failure_without_usage_is_kept_as_it_always_was() {
        let path = Path::from("main");
        let timed_out = TimedOut { owner: path.clone(), limit: std::time::Duration::from_millis(1_500) };
        let spent =
            BudgetExhausted { owner: path, resource: Resource::Tokens, limit: 5, used: 7, needed: None };
        for error in [
            RecordedError::Model(ModelError::of_status(503, "busy").with_request_id("r1")),
            RecordedError::TimedOut(timed_out),
            RecordedError::Budget(spent),
            RecordedError::Denied { reason: "no".into() },
            RecordedError::Failed { message: "no".into(), category: Category::Permanent, retry_after: None },
        ] {
            let plain: RecordedOutcome<ModelReply> = RecordedOutcome::Err(error.clone());
            let call: RecordedCall = RecordedCall::Err(FailedCall::new(error.clone(), None));
            assert_eq!(serde_json::to_string(&call).unwrap(), serde_json::to_string(&plain).unwrap());
            assert_eq!(from_value::<RecordedCall>(to_value(&plain).unwrap()).unwrap(), call);

            // What a failure had used comes back, and is no obstacle to whoever does not ask for it.
            let usage = Some(Usage { cost: Some(Money::from_cents(1)), ..Usage::tokens(3, 4) });
            let call: RecordedCall = RecordedCall::Err(FailedCall::new(error, usage));
            let json = to_value(&call).unwrap();
            assert_eq!(json["err"]["usage"], json!({"input_tokens": 3, "output_tokens": 4, "cost": 10_000}));
            assert_eq!(from_value::<RecordedOutcome<ModelReply>>(json.clone()).unwrap(), plain);
            assert_eq!(from_value::<RecordedCall>(json).unwrap(), call);
        }
    }

    #[test]
    fn the_cost_of_a_failure_is_known_only_if_it_ended_before_it_could_use_more_than_it_said() {
        let priced = Some(Usage { cost: Some(Money::from_cents(1)), ..Usage::tokens(3, 4) });
        assert!(failed(ModelErrorKind::Overloaded, None).is_priced());
        assert!(failed(ModelErrorKind::Overloaded, priced).is_priced());
        assert!(!failed(ModelErrorKind::Overloaded, Some(Usage::tokens(3, 4))).is_priced());
        assert!(!failed(ModelErrorKind::Interrupted, priced).is_priced());
        assert!(!failed(ModelErrorKind::Interrupted, None).is_priced());
    }
}
