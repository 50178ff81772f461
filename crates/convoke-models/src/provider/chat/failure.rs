//! Classifies OpenAI's error codes, and those of the servers that took them over; what has no code is classified for all providers.

use convoke_core::{ModelError, ModelErrorKind};
use http::StatusCode;
use serde_json::Value;

use super::common::text;
use crate::provider::excerpt;
use crate::provider::failure::words;

/// How much a gateway may quote of the provider behind it.
const QUOTED: usize = 300;

/// A reply whose status says that it failed, if its body says more than the status.
pub(in crate::provider) fn of_reply(status: StatusCode, body: &Value) -> Option<ModelError> {
    let error = error_in(body);
    let kind = match kind_of(error)? {
        // Groq: the request alone is more than what is allowed in a minute; waiting does not help.
        ModelErrorKind::RateLimited if status == StatusCode::PAYLOAD_TOO_LARGE => {
            ModelErrorKind::ContextTooLong
        }
        kind => kind,
    };
    Some(ModelError::new(kind, message(body)))
}

/// An error that came in the middle of a reply, or in place of one.
pub(in crate::provider) fn in_stream(body: &Value) -> ModelError {
    let error = error_in(body);
    let code = error.get("code").or_else(|| error.get("status")).and_then(Value::as_u64);
    let kind = kind_of(error).unwrap_or_else(|| match code.and_then(|code| u16::try_from(code).ok()) {
        Some(status @ 400..=599) => ModelError::of_status(status, "").kind,
        _ if names(error).any(|name| name.contains("invalid_request") || name == "badrequesterror") => {
            ModelErrorKind::InvalidRequest
        }
        // Whatever it was, the request had been accepted.
        _ => ModelErrorKind::Overloaded,
    });
    ModelError::new(kind, message(body))
}

fn error_in(body: &Value) -> &Value {
    body.get("error").filter(|error| error.is_object()).unwrap_or(body)
}

/// The names an error goes by, in lower case.
fn names(error: &Value) -> impl Iterator<Item = String> {
    let inner = error.pointer("/innererror/code").and_then(Value::as_str).unwrap_or_default();
    [text(error, "code"), text(error, "type"), inner]
        .into_iter()
        .map(str::to_lowercase)
        .filter(|name| !name.is_empty())
}

fn kind_of(error: &Value) -> Option<ModelErrorKind> {
    if error.pointer("/metadata/flagged_input").is_some() {
        return Some(ModelErrorKind::Refused);
    }
    names(error).find_map(|name| {
        Some(match name.as_str() {
            "insufficient_quota"
            | "billing_hard_limit_reached"
            | "billing_not_active"
            | "insufficient_balance"
            | "insufficient_credits" => ModelErrorKind::Quota,
            "invalid_api_key" | "invalid_authentication" | "authentication_error" | "authenticationerror" => {
                ModelErrorKind::Authentication
            }
            "rate_limit_exceeded" | "rate_limit_error" | "rate_limited" | "too_many_requests" => {
                ModelErrorKind::RateLimited
            }
            "context_length_exceeded" | "exceed_context_size_error" | "context_window_exceeded" => {
                ModelErrorKind::ContextTooLong
            }
            "content_filter"
            | "content_policy_violation"
            | "moderation_blocked"
            | "responsibleaipolicyviolation"
            | "invalid_prompt"
            | "cyber_policy" => ModelErrorKind::Refused,
            "server_error"
            | "server_is_overloaded"
            | "overloaded_error"
            | "internal_server_error"
            | "slow_down" => ModelErrorKind::Overloaded,
            _ => return None,
        })
    })
}

/// What the error says, with what the provider behind a gateway said.
fn message(body: &Value) -> String {
    let said = words(body, &body.to_string());
    match body.pointer("/error/metadata/raw").and_then(Value::as_str) {
        Some(raw) => format!("{said}: {}", excerpt(raw, QUOTED)),
        None => said,
    }
}
