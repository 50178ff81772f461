//! Translates refusals (status, headers, and the words of the body) into typed errors.

use std::time::{Duration, SystemTime};

use convoke_core::{Category, ModelError, ModelErrorKind};
use convoke_http::header_time::{LONGEST_WAIT, retry_after};
use http::header::LOCATION;
use http::{HeaderMap, StatusCode, Uri};
use serde_json::Value;

use super::structured::{names_shape, sign_of_shape};
use super::{Protocol, excerpt};

/// How much of a body that is no JSON is shown.
const SHOWN: usize = 300;

/// Headers in which providers give their id for a request.
const REQUEST_IDS: [&str; 4] = ["request-id", "x-request-id", "x-goog-request-id", "cf-ray"];

/// What a refusal means.
pub(super) fn of_reply(
    protocol: &dyn Protocol,
    name: &str,
    status: StatusCode,
    headers: &HeaderMap,
    body: &str,
) -> ModelError {
    if status.is_redirection() {
        return sent_on(name, status, headers);
    }
    let value: Value = serde_json::from_str(body).unwrap_or(Value::Null);
    let mut error = protocol
        .failure(status, &value)
        .unwrap_or_else(|| ModelError::of_status(status.as_u16(), words(&value, body)));
    // Some say what they refuse beside their words.
    if let Some(sign) = sign_of_shape(body).filter(|_| !names_shape(&error.message)) {
        error.message.push_str(&format!(" ({sign})"));
    }
    if error.kind == ModelErrorKind::InvalidRequest && is_too_long(&error.message) {
        error.kind = ModelErrorKind::ContextTooLong;
    }
    let advice = if error.kind == ModelErrorKind::InvalidRequest && refuses_tools(&error.message) {
        WITHOUT_TOOLS
    } else {
        advice(error.kind)
    };
    error.message = format!("{name}: {} (HTTP {}){advice}", error.message, status.as_u16());
    error.status = Some(status.as_u16());
    error.retry_after = error.retry_after.or_else(|| retry_after(headers, SystemTime::now()));
    if let Some(wait) = error.retry_after.filter(|wait| wait.as_secs() >= 1) {
        error.message.push_str(&format!("; it asks {}", in_words(wait)));
    }
    error.request_id = error.request_id.or_else(|| request_id(headers));
    if error.retry_after.is_some_and(|wait| wait >= LONGEST_WAIT) {
        return lasting(error);
    }
    if headers.get("x-should-retry").is_some_and(|value| value == "false") {
        error.message.push_str("; it says that trying again will not help");
        return lasting(error);
    }
    error
}

/// The service is elsewhere. Only the user can say whether the key and the conversation may go there. Of the new address
/// only the host is shown: the rest may carry secrets.
fn sent_on(name: &str, status: StatusCode, headers: &HeaderMap) -> ModelError {
    let target = headers.get(LOCATION).and_then(|value| value.to_str().ok()?.trim().parse::<Uri>().ok());
    let place = target.and_then(|target| {
        let port = target.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        Some(format!("{}://{}{port}", target.scheme_str()?, target.host()?))
    });
    let advice = match place {
        Some(place) => {
            format!("it sends requests on to {place}; if they may go there, set base_url to an address there")
        }
        None => "it sends requests on to another path; check base_url".to_owned(),
    };
    let mut error = ModelError::new(
        ModelErrorKind::InvalidRequest,
        format!("{name}: {advice} (HTTP {})", status.as_u16()),
    );
    error.status = Some(status.as_u16());
    error.request_id = request_id(headers);
    error
}

/// The error as one that does not pass: the provider itself says that trying again is no use, or is so only when nobody waits any
/// more. A kind or status that would say otherwise is left out (the message still has the status).
fn lasting(mut error: ModelError) -> ModelError {
    error.retry_after = None;
    if error.category() == Category::Transient {
        error.kind = match error.kind {
            ModelErrorKind::RateLimited => ModelErrorKind::Quota,
            _ => ModelErrorKind::Other,
        };
    }
    if error.category() == Category::Transient {
        error.status = None;
    }
    error
}

/// What the body says in its own words.
pub(crate) fn words(value: &Value, body: &str) -> String {
    let error = value.get("error").unwrap_or(value);
    let said = error.get("message").or_else(|| error.get("detail")).unwrap_or(error);
    match said.as_str().map(str::trim) {
        Some(said) if !said.is_empty() => said.to_owned(),
        _ if body.trim().is_empty() => "it gave no reason".to_owned(),
        _ => excerpt(body.trim(), SHOWN),
    }
}

/// Words by which servers of many kinds say that a conversation does not fit.
fn is_too_long(message: &str) -> bool {
    const SIGNS: [&str; 8] = [
        "context length",
        "context_length",
        "context window",
        "prompt is too long",
        "too many tokens",
        "maximum context",
        "exceed_context_size",
        "exceeds the maximum number of tokens",
    ];
    let message = message.to_lowercase();
    SIGNS.iter().any(|sign| message.contains(sign))
}

/// What to do about a model that can call no tools.
const WITHOUT_TOOLS: &str = "; ask it without tools (`TOOLS none` in an Agentfile), or use another model";

/// Words by which servers of many kinds say that there can be no tools.
fn refuses_tools(message: &str) -> bool {
    const SIGNS: [&str; 5] = [
        "support tool",
        "support function",
        "tools are not supported",
        "tool choice requires",
        "tool use is not supported",
    ];
    let message = message.to_lowercase();
    SIGNS.iter().any(|sign| message.contains(sign))
}

/// What to do about it.
fn advice(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::Authentication => "; check the key (`convoke doctor` shows where it is looked for)",
        ModelErrorKind::Quota => "; the account has no credit left",
        ModelErrorKind::ContextTooLong => "; shorten the conversation or use a model with a longer context",
        _ => "",
    }
}

/// A time to wait, as people say it; never less than it is. The furthest there is stands for all beyond it.
fn in_words(wait: Duration) -> String {
    if wait >= LONGEST_WAIT {
        return "for a wait of a year or more, which is longer than is waited for: ask another model, or this one again later".to_owned();
    }
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let minutes = seconds.div_ceil(60);
    match seconds {
        ..120 => format!("to try again in {seconds} s"),
        120..7_200 => format!("to try again in {minutes} min"),
        _ => format!("to try again in {} h {} min", minutes / 60, minutes % 60),
    }
}

/// The provider's id for the request.
pub(super) fn request_id(headers: &HeaderMap) -> Option<String> {
    REQUEST_IDS.iter().find_map(|name| Some(headers.get(*name)?.to_str().ok()?.to_owned()))
}
