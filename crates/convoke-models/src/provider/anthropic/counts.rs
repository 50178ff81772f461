//! Token usage as Anthropic counts it.
//!
//! What is read from the provider's cache or written to it is not part of its input, but of ours. What is written for an
//! hour costs twice as much as fresh input, where [`Price`] has one price for all writes, that for five minutes. So a
//! reply with such writes brings its cost along, if the model's price is known; any other is priced like everybody's.

use convoke_core::{Money, Price, Usage};
use serde_json::Value;

/// How much dearer than fresh input it is to write a token for an hour.
const HOUR: u64 = 2;

/// The counts so far.
#[derive(Debug, Default)]
pub(super) struct UsageCounts {
    input: u64,
    from_cache: u64,
    to_cache: u64,
    /// How much of that is to be kept for an hour.
    for_an_hour: u64,
    output: u64,
    thinking: u64,
}

impl UsageCounts {
    /// Later counts go before earlier ones; what is not counted again stands.
    pub(super) fn update(&mut self, usage: &Value) {
        for (count, value) in [
            (&mut self.input, &usage["input_tokens"]),
            (&mut self.from_cache, &usage["cache_read_input_tokens"]),
            (&mut self.to_cache, &usage["cache_creation_input_tokens"]),
            (&mut self.for_an_hour, &usage["cache_creation"]["ephemeral_1h_input_tokens"]),
            (&mut self.output, &usage["output_tokens"]),
            (&mut self.thinking, &usage["output_tokens_details"]["thinking_tokens"]),
        ] {
            *count = value.as_u64().unwrap_or(*count);
        }
    }

    /// What was used, by a model of this price.
    pub(super) fn usage(&self, price: Option<Price>) -> Usage {
        let input = |to_cache: u64| self.input.saturating_add(self.from_cache).saturating_add(to_cache);
        let usage = |to_cache: u64| Usage {
            input_tokens: input(to_cache),
            output_tokens: self.output,
            cached_input_tokens: self.from_cache,
            cache_write_tokens: to_cache,
            reasoning_tokens: self.thinking,
            ..Usage::default()
        };
        let for_an_hour = self.for_an_hour.min(self.to_cache);
        let cost = price.filter(|_| for_an_hour > 0).map(|price| {
            let dearer = Money::from_micros(price.input.as_micros().saturating_mul(HOUR));
            let kept = Price::new(dearer, Money::ZERO).of(&Usage::tokens(for_an_hour, 0));
            let rest = price.of(&usage(self.to_cache - for_an_hour));
            Money::from_micros(kept.as_micros().saturating_add(rest.as_micros()))
        });
        Usage { cost, ..usage(self.to_cache) }
    }
}
