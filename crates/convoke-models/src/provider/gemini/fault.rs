//! Classifies Gemini's errors, before a reply or in the middle of one.

use std::time::Duration;

use convoke_core::{ModelError, ModelErrorKind};
use serde_json::Value;

/// The error in a body, if it has one. Replies that are not streamed as events come as an array.
pub(super) fn in_body(status: u16, body: &Value) -> Option<ModelError> {
    let body = body.get(0).unwrap_or(body);
    Some(of(status, body.get("error")?))
}

/// What an `error` object means. `status` is the reply's own, if the error does not name another.
pub(super) fn of(status: u16, error: &Value) -> ModelError {
    let code = error["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(status);
    let name = error["status"].as_str().unwrap_or_default();
    let message = match error["message"].as_str().map(str::trim) {
        Some(message) if !message.is_empty() => message,
        _ if !name.is_empty() => name,
        _ => "it gave no reason",
    };
    let mut fault = ModelError::of_status(code, message);
    let wait = wait(error);
    if let Some(kind) = kind(name, message, error, wait) {
        fault.kind = kind;
    }
    fault.retry_after = wait;
    fault
}

/// What kind of failure it is, where the status alone does not tell.
fn kind(name: &str, message: &str, error: &Value, wait: Option<Duration>) -> Option<ModelErrorKind> {
    let says = |sign: &str| message.to_lowercase().contains(sign);
    let is_bad_key = details(error).any(|detail| detail["reason"] == "API_KEY_INVALID");
    match name {
        "UNAUTHENTICATED" | "PERMISSION_DENIED" => Some(ModelErrorKind::Authentication),
        "INVALID_ARGUMENT" if is_bad_key || says("api key not valid") => Some(ModelErrorKind::Authentication),
        "INVALID_ARGUMENT" if says("token count") && says("exceeds") => Some(ModelErrorKind::ContextTooLong),
        "FAILED_PRECONDITION" if says("billing") => Some(ModelErrorKind::Quota),
        "RESOURCE_EXHAUSTED" if is_used_up(error) => Some(ModelErrorKind::Quota),
        // Without a word on what is exhausted and when it comes back, the words are all there is.
        "RESOURCE_EXHAUSTED" if wait.is_none() && violations(error).next().is_none() => {
            (says("billing") || says("credits")).then_some(ModelErrorKind::Quota)
        }
        "RESOURCE_EXHAUSTED" => Some(ModelErrorKind::RateLimited),
        "DEADLINE_EXCEEDED" => Some(ModelErrorKind::TimedOut),
        "UNAVAILABLE" | "INTERNAL" => Some(ModelErrorKind::Overloaded),
        _ => None,
    }
}

/// Whether waiting a little is no use: the day's share is used up, or there was none.
fn is_used_up(error: &Value) -> bool {
    violations(error).any(|violation| {
        let is_daily = violation["quotaId"].as_str().is_some_and(|id| id.contains("PerDay"));
        is_daily || violation["quotaValue"] == "0"
    })
}

fn violations(error: &Value) -> impl Iterator<Item = &Value> {
    details(error).filter_map(|detail| detail["violations"].as_array()).flatten()
}

fn details(error: &Value) -> impl Iterator<Item = &Value> {
    error["details"].as_array().into_iter().flatten()
}

/// How long Gemini wants us to wait: `"7s"` or `"34.07s"`.
fn wait(error: &Value) -> Option<Duration> {
    let delay = details(error).find_map(|detail| detail["retryDelay"].as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}
