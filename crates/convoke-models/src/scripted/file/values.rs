//! Values that are more than JSON: durations, money, tokens.

use std::time::Duration;

use convoke_core::{Money, Price, Usage};

use super::section::Section;
use crate::price::dollars;
use crate::scripted::ScriptError;

pub(super) const PRICE_KEYS: [&str; 3] = ["input", "output", "cached_input"];
pub(super) const USAGE_KEYS: [&str; 5] =
    ["input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens"];

const DOLLARS: &str = "dollars per million tokens, such as 3 or 0.25";

/// `250ms`, `1.5s`, `2m`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|character: char| character.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.trim().parse::<f64>().ok()? * seconds).ok()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_number_and_a_unit() {
        assert_eq!(duration("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(duration("1.5s"), Some(Duration::from_millis(1_500)));
        assert_eq!(duration("2 m"), Some(Duration::from_secs(120)));
        for wrong in ["", "2", "s", "-1s", "2h", "nans", "1e400s", "2s 3s"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }
}
