//! Classifies Ollama's errors. They are words only, in refusals and in the middle of a reply alike.

use convoke_core::{ModelError, ModelErrorKind};
use http::StatusCode;
use serde_json::Value;

/// Reads an error, if this is one.
pub(super) fn read(value: &Value, status: Option<StatusCode>) -> Option<ModelError> {
    let said = value.get("error")?.as_str()?.trim();
    let says = |sign: &str| said.contains(sign);
    let is_unknown = says("not found") && (status == Some(StatusCode::NOT_FOUND) || says("try pulling"));
    let advice = if is_unknown {
        format!("; run `ollama pull {}`", quoted(said).unwrap_or("NAME"))
    } else if says("does not support tools") {
        String::new()
    } else if says("does not support thinking") {
        "; leave `reasoning` unset, or use another model".to_owned()
    } else if says("context length") || says("context size") {
        let message = format!("{said}; `extra` can give it more: {{\"options\": {{\"num_ctx\": 32768}}}}");
        return Some(ModelError::new(ModelErrorKind::ContextTooLong, message));
    } else {
        return match status {
            // The status says what kind it is.
            Some(status) => Some(ModelError::of_status(status.as_u16(), said)),
            None => Some(ModelError::new(ModelErrorKind::Overloaded, said)),
        };
    };
    Some(ModelError::new(ModelErrorKind::InvalidRequest, format!("{said}{advice}")))
}

/// What stands in quotation marks.
fn quoted(text: &str) -> Option<&str> {
    let from = text.find(['"', '\''])?;
    let mark = &text[from..=from];
    text[from + 1..].split_once(mark).map(|(inside, _)| inside)
}
