//! Splits a model's name into provider and model, as the conventions want it.

use convoke_core::FinishReason;

/// The provider and the model's own name in `service/model`.
///
/// A name without a service stands for itself: a scripted model is provided by nobody else.
pub(crate) fn split_name(name: &str) -> (&str, &str) {
    match name.split_once('/') {
        Some((service, model)) if !service.is_empty() && !model.is_empty() => (provider(service), model),
        _ => (name, name),
    }
}

/// What the conventions call a service.
fn provider(service: &str) -> &str {
    match service {
        "gemini" | "google" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        other => other,
    }
}

/// What the conventions call the reason to stop.
pub(crate) fn finish_reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::ToolCalls => "tool_call",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content_filter",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_called_what_the_conventions_call_them() {
        assert_eq!(split_name("gemini/gemini-3.5-flash"), ("gcp.gemini", "gemini-3.5-flash"));
        assert_eq!(split_name("openrouter/meta/llama"), ("openrouter", "meta/llama"));
        assert_eq!(split_name("scripted"), ("scripted", "scripted"));
    }
}
