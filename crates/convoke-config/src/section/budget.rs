//! What a run may use.

use std::time::Duration;

use convoke_core::Limits;

use crate::{Setting, Value};

/// The limits that are set.
pub(crate) fn limits(settings: &[Setting]) -> Limits {
    settings.iter().fold(Limits::default(), |limits, setting| match (setting.key.path, &setting.value) {
        ("budgets.cost_usd", Value::Money(cost)) => limits.cost(*cost),
        ("budgets.tokens", Value::Whole(tokens)) => limits.tokens(*tokens),
        ("budgets.model_calls", Value::Whole(calls)) => limits.model_calls(*calls),
        ("budgets.tool_calls", Value::Whole(calls)) => limits.tool_calls(*calls),
        ("budgets.turns", Value::Whole(turns)) => limits.turns(*turns),
        ("budgets.per_tool.*", Value::Whole(calls)) => {
            limits.calls_of(setting.own_name().unwrap_or_default(), *calls)
        }
        _ => limits,
    })
}

/// How long a run may take.
pub(crate) fn wall_time(settings: &[Setting]) -> Option<Duration> {
    settings.iter().find_map(|setting| match (setting.key.path, &setting.value) {
        ("budgets.wall_time", Value::Time(time)) => Some(*time),
        _ => None,
    })
}
