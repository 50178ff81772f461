//! The `budgets` section: limits of a run.

use std::time::Duration;

use convoke_core::Limits;

use crate::schema::path;
use crate::{Setting, Value};

/// The limits that are set.
pub(crate) fn limits(settings: &[Setting]) -> Limits {
    settings.iter().fold(Limits::default(), |limits, setting| match (setting.key.path, &setting.value) {
        (path::BUDGETS_COST_USD, Value::Money(cost)) => limits.cost(*cost),
        (path::BUDGETS_TOKENS, Value::Whole(tokens)) => limits.tokens(*tokens),
        (path::BUDGETS_MODEL_CALLS, Value::Whole(calls)) => limits.model_calls(*calls),
        (path::BUDGETS_TOOL_CALLS, Value::Whole(calls)) => limits.tool_calls(*calls),
        (path::BUDGETS_TURNS, Value::Whole(turns)) => limits.turns(*turns),
        (path::BUDGETS_PER_TOOL, Value::Whole(calls)) => {
            limits.calls_of(setting.own_name().unwrap_or_default(), *calls)
        }
        _ => limits,
    })
}

/// How long a run may take.
pub(crate) fn wall_time(settings: &[Setting]) -> Option<Duration> {
    settings.iter().find_map(|setting| match (setting.key.path, &setting.value) {
        (path::BUDGETS_WALL_TIME, Value::Time(time)) => Some(*time),
        _ => None,
    })
}
