//! Limits as people write them, in the way of Agentfiles: `1.50 usd, 200000 tokens`.

use convoke_core::{Limits, Money};

/// The units there are.
const UNITS: [&str; 5] = ["tokens", "usd", "calls", "tool-calls", "turns"];

/// Limits that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidLimits(String);

/// Parses limits: `1.50 usd, 200000 tokens`; also `calls`, `tool-calls` and `turns`.
///
/// # Errors
/// If a number or a unit is missing or wrong, or a unit is limited twice.
pub fn parse_limits(text: &str) -> Result<Limits, InvalidLimits> {
    text.split(',')
        .try_fold(Limits::default(), |limits, part| one(limits, part.trim()))
        .map_err(InvalidLimits)
}

/// What the user should know about a limit on money, where these models are asked whose price nobody knows.
pub(crate) fn uncounted(unpriced: &[String]) -> Option<String> {
    let has = match unpriced {
        [] => return None,
        [_] => "has",
        _ => "have",
    };
    // A script costs nothing, and no file gives it a price.
    let priceable = !unpriced.iter().all(|name| name == "scripted" || name.starts_with("scripted/"));
    let price = if priceable { ", or name a file with its price in `prices` of convoke.toml" } else { "" };
    Some(format!(
        "the limit on money cannot be kept: {} {has} no known price, so what its calls cost is not counted; limit tokens or calls as \
         well{price}",
        unpriced.join(", ")
    ))
}

fn one(limits: Limits, part: &str) -> Result<Limits, String> {
    let end = part.find(|character: char| !character.is_ascii_digit() && character != '.');
    let (number, unit) = part.split_at(end.unwrap_or(part.len()));
    let unit = unit.trim_start();
    let is_set = match unit {
        "tokens" => limits.tokens.is_some(),
        "calls" => limits.model_calls.is_some(),
        "tool-calls" => limits.tool_calls.is_some(),
        "turns" => limits.turns.is_some(),
        "usd" => limits.cost.is_some(),
        _ => false,
    };
    if is_set {
        return Err(format!("{unit} are limited twice: give one limit for each unit"));
    }
    // Without any tools something can be done still.
    if unit != "tool-calls" && UNITS.contains(&unit) && number.parse() == Ok(0.0) {
        return Err(format!(
            "a limit of {number} {unit} lets nothing be done: give more, or leave this limit out to have none"
        ));
    }
    let whole = || {
        number
            .parse::<u64>()
            .map_err(|_| format!("`{part}` must begin with a whole number, such as 20 {unit}"))
    };
    Ok(match unit {
        "tokens" => limits.tokens(whole()?),
        "calls" => limits.model_calls(whole()?),
        "tool-calls" => limits.tool_calls(whole()?),
        "turns" => limits.turns(whole()?),
        "usd" => limits.cost(
            Money::parse_dollars(number)
                .ok_or_else(|| format!("`{part}` must begin with an amount of dollars, such as 1.50 usd"))?,
        ),
        _ => {
            return Err(format!(
                "`{part}` needs a number and a unit: {}; such as 1.50 usd, 20000 tokens",
                UNITS.join(", ")
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_written_as_in_an_agentfile() {
        let all = Limits::default().cost(Money::from_cents(150)).tokens(200_000).model_calls(9).turns(4);
        assert_eq!(parse_limits("1.50 usd, 200000 tokens,9 calls, 4turns"), Ok(all));
        assert_eq!(parse_limits(".000001usd"), Ok(Limits::default().cost(Money::from_micros(1))));
        for wrong in
            ["", "5", "usd", "1.5 tokens", "1.2.3 usd", "3 euros", "0.0000001 usd", "1 calls, 2 calls"]
        {
            assert!(parse_limits(wrong).is_err(), "{wrong}");
        }
        for nothing in ["0 calls", "0 tokens", "0turns", "0.00 usd", "9 calls, 0 tokens"] {
            assert!(parse_limits(nothing).unwrap_err().0.contains("lets nothing be done"), "{nothing}");
        }
        assert_eq!(parse_limits("0 tool-calls"), Ok(Limits::default().tool_calls(0)));
    }
}
