//! Reads values that are more than JSON: money and tokens.

use convoke_core::{Money, Price, Usage};

use super::section::Section;
use crate::price::dollars;
use crate::scripted::ScriptError;

pub(super) const PRICE_KEYS: [&str; 3] = ["input", "output", "cached_input"];
pub(super) const USAGE_KEYS: [&str; 5] =
    ["input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens"];

const DOLLARS: &str = "dollars per million tokens, such as 3 or 0.25";

/// Dollars per million tokens. Cached input costs as much as other input unless it says so.
pub(super) fn price(mut section: Section) -> Result<Price, ScriptError> {
    let input = dollars(&mut section, "input")?.ok_or_else(|| section.missing("input", DOLLARS))?;
    let output = dollars(&mut section, "output")?.ok_or_else(|| section.missing("output", DOLLARS))?;
    let cached_input = dollars(&mut section, "cached_input")?.unwrap_or(input);
    Ok(Price { cached_input, ..Price::new(input, output) })
}

fn dollars(section: &mut Section, key: &str) -> Result<Option<Money>, ScriptError> {
    section.read(key, DOLLARS, |value| dollars::of(value.as_f64()?))
}

pub(super) fn usage(mut section: Section) -> Result<Usage, ScriptError> {
    let mut count = |key| section.count(key).map(|count| count.unwrap_or_default() as u64);
    Ok(Usage {
        input_tokens: count("input_tokens")?,
        output_tokens: count("output_tokens")?,
        cached_input_tokens: count("cached_input_tokens")?,
        cache_write_tokens: count("cache_write_tokens")?,
        reasoning_tokens: count("reasoning_tokens")?,
        ..Usage::default()
    })
}
