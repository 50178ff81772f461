//! Classifies Anthropic's errors, in refusals and in the middle of a reply alike.

use convoke_core::{ModelError, ModelErrorKind};
use serde_json::Value;

use crate::provider::failure::words;

/// Reads an error, if this is one.
pub(super) fn read(value: &Value) -> Option<ModelError> {
    let error = value.get("error")?;
    let name = error.get("type")?.as_str()?;
    let mut said = words(value, &error.to_string());
    let kind = kind(name, &said.to_lowercase())?;
    if name == "not_found_error" {
        said.push_str("; check the model's name");
    }
    let mut error = ModelError::new(kind, said);
    error.request_id = value.get("request_id").and_then(Value::as_str).map(str::to_owned);
    Some(error)
}

fn kind(name: &str, said: &str) -> Option<ModelErrorKind> {
    use ModelErrorKind as Kind;
    let says = |signs: &[&str]| signs.iter().any(|sign| said.contains(sign));
    Some(match name {
        "invalid_request_error" if says(&["credit balance", "usage limit"]) => Kind::Quota,
        "invalid_request_error" if says(&["prompt is too long", "context limit", "context window"]) => {
            Kind::ContextTooLong
        }
        "invalid_request_error" if says(&["content filtering"]) => Kind::Refused,
        "invalid_request_error" | "not_found_error" => Kind::InvalidRequest,
        "authentication_error" | "permission_error" => Kind::Authentication,
        "billing_error" => Kind::Quota,
        "request_too_large" => Kind::ContextTooLong,
        "rate_limit_error" => Kind::RateLimited,
        "timeout_error" => Kind::TimedOut,
        "api_error" | "overloaded_error" => Kind::Overloaded,
        // Whoever knows the status knows more.
        _ => return None,
    })
}
