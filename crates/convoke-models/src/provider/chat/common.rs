//! Shared parts of requests in both of OpenAI's protocols.

use convoke_core::{
    CallContext, Digest, Media, MediaSource, ModelError, ModelParams, ModelRequest, ReasoningEffort,
    ToolChoice, ToolResult,
};
use http::{HeaderMap, HeaderValue};
use serde_json::{Map, Value};

use crate::provider::json::invalid;

/// The longest name a schema may have.
const LONGEST_NAME: usize = 64;

/// The key that marks all attempts at a call of this model as the same one. Another model that takes over the call is sent
/// another body, and the same key with another body is an error, or the first one's reply.
pub(in crate::provider) fn headers(model: &str, call: &CallContext) -> HeaderMap {
    let key = Digest::of_parts(&[call.key.as_str().as_bytes(), model.as_bytes()]);
    let mut headers = HeaderMap::new();
    if let Ok(key) = HeaderValue::from_str(&key.to_string()) {
        headers.insert("idempotency-key", key);
    }
    headers
}

/// Adds a member, if there is a value for it.
pub(in crate::provider) fn put(body: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body.insert(name.to_owned(), value.into());
    }
}

/// Adds how to sample: what both protocols call by the same name.
pub(in crate::provider) fn put_sampling(body: &mut Map<String, Value>, params: &ModelParams) {
    let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
    put(body, "temperature", finite(params.temperature));
    put(body, "top_p", finite(params.top_p));
}

/// Adds whether tools may be called. Without tools there is nothing to choose from.
pub(in crate::provider) fn put_tool_choice(
    body: &mut Map<String, Value>,
    request: &ModelRequest,
) -> Result<(), ModelError> {
    let choice = match request.tool_choice {
        ToolChoice::Required if request.tools.is_empty() => {
            return Err(invalid(
                "a tool call is required, but there are no tools; add one, or let it choose",
            ));
        }
        _ if request.tools.is_empty() => None,
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none"),
        ToolChoice::Required => Some("required"),
    };
    put(body, "tool_choice", choice);
    Ok(())
}

/// How much to think, in OpenAI's words.
pub(in crate::provider) fn effort(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::Off => "none",
        ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
    }
}

/// Whether this is one of OpenAI's models that think: they take other parameters than the rest.
pub(in crate::provider) fn reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    let leading_number = |text: &str| -> Option<u32> {
        let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().ok()
    };
    if let Some(rest) = name.strip_prefix("gpt-") {
        return leading_number(rest).is_some_and(|generation| generation >= 5) && !rest.starts_with("5-chat");
    }
    name.starts_with("codex-") || name.strip_prefix('o').is_some_and(|rest| leading_number(rest).is_some())
}

/// Whether an address is at this domain or below it.
pub(in crate::provider) fn is_at(url: &str, domain: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let server = authority.rsplit('@').next().unwrap_or_default();
    let host = server.split(':').next().unwrap_or_default().to_ascii_lowercase();
    host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// A schema's name with the characters that are allowed in one.
pub(in crate::provider) fn schema_name(name: &str) -> String {
    let allowed = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    let name: String = name
        .chars()
        .map(|character| if allowed(character) { character } else { '_' })
        .take(LONGEST_NAME)
        .collect();
    if name.is_empty() { "answer".to_owned() } else { name }
}

/// Where a picture or document is, or the thing itself.
pub(in crate::provider) fn media_url(media: &Media) -> String {
    match &media.source {
        MediaSource::Url(url) => url.clone(),
        MediaSource::Base64(content) => format!("data:{};base64,{content}", media.media_type),
    }
}

/// A document's name; there must be one.
pub(in crate::provider) fn file_name(media: &Media) -> String {
    media.name.clone().unwrap_or_else(|| {
        let ending = match media.media_type.as_str() {
            "application/pdf" => ".pdf",
            "text/plain" => ".txt",
            _ => "",
        };
        format!("document{ending}")
    })
}

/// What a tool gave back. There is no other place to say that it failed.
pub(in crate::provider) fn result_text(result: &ToolResult) -> String {
    let says_so = result.content.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if result.is_error && !says_so { format!("Error: {}", result.content) } else { result.content.clone() }
}

/// A text within a value; an empty one if there is none.
pub(in crate::provider) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
