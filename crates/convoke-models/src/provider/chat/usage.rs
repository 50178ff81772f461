//! Token usage as servers of many kinds report it.

use convoke_core::{Money, Usage};
use serde_json::Value;

/// What a chunk says was used: in a member of its own, or (Groq, Moonshot) in a place of their own.
pub(super) fn in_chunk(chunk: &Value) -> Option<Usage> {
    let places = [chunk.get("usage"), chunk.pointer("/x_groq/usage"), chunk.pointer("/choices/0/usage")];
    places.into_iter().flatten().find(|usage| usage.is_object()).map(read)
}

fn read(usage: &Value) -> Usage {
    let count = |place: &str| usage.pointer(place).and_then(Value::as_u64);
    let input = count("/prompt_tokens").unwrap_or_default();
    let total = count("/total_tokens").unwrap_or_default();
    Usage {
        input_tokens: input,
        // Some leave thoughts out of the completion and count them in the total only.
        output_tokens: count("/completion_tokens").unwrap_or_default().max(total.saturating_sub(input)),
        cached_input_tokens: count("/prompt_tokens_details/cached_tokens")
            .or(count("/prompt_cache_hit_tokens"))
            .or(count("/cached_tokens"))
            .unwrap_or_default(),
        cache_write_tokens: count("/prompt_tokens_details/cache_write_tokens").unwrap_or_default(),
        reasoning_tokens: count("/completion_tokens_details/reasoning_tokens").unwrap_or_default(),
        cost: cost(usage),
        ..Usage::default()
    }
}

/// Gateways (OpenRouter) say what they charge, in dollars. With the user's own key at the real provider that is only
/// their share, so the cost counts as unknown.
fn cost(usage: &Value) -> Option<Money> {
    let own_key = usage.get("is_byok").and_then(Value::as_bool).unwrap_or(false);
    let micros = usage.get("cost")?.as_f64().filter(|cost| *cost >= 0.0 && !own_key)? * 1_000_000.0;
    // Not negative, and too much saturates.
    Some(Money::from_micros(micros.round() as u64))
}
