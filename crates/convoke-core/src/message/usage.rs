//! Tokens and money.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// An amount of money in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(u64);

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// An amount in millionths of a dollar.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// An amount in cents.
    #[must_use]
    pub const fn from_cents(cents: u64) -> Self {
        Self(cents * 10_000)
    }

    /// An amount in whole dollars.
    #[must_use]
    pub const fn from_dollars(dollars: u64) -> Self {
        Self(dollars * 1_000_000)
    }

    /// Parses an amount of dollars with up to six decimals, exactly: `2`, `0.5`, `.000001`.
    #[must_use]
    pub fn parse_dollars(text: &str) -> Option<Self> {
        let (dollars, decimals) = text.split_once('.').unwrap_or((text, ""));
        if decimals.len() > 6 || (dollars.is_empty() && decimals.is_empty()) {
            return None;
        }
        let dollars: u64 = if dollars.is_empty() { 0 } else { dollars.parse().ok()? };
        let micros: u64 = format!("{decimals:0<6}").parse().ok()?;
        dollars.checked_mul(1_000_000)?.checked_add(micros).map(Self)
    }

    /// Millionths of a dollar.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Subtracts `other`; never less than nothing.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Money {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, micros) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if micros % 10_000 == 0 {
            write!(formatter, "${dollars}.{:02}", micros / 10_000)
        } else {
            write!(formatter, "${}", format!("{dollars}.{micros:06}").trim_end_matches('0'))
        }
    }
}

/// Tokens and money that model calls used. An unknown cost is `None`. Counts of a reply whose provider did not report them are
/// [estimated](Self::is_estimated); other counts that are not reported are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read, cached ones included.
    #[serde(skip_serializing_if = "is_zero")]
    pub input_tokens: u64,
    /// Tokens written, reasoning included.
    #[serde(skip_serializing_if = "is_zero")]
    pub output_tokens: u64,
    /// Of the input, tokens read from the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_input_tokens: u64,
    /// Of the input, tokens written to the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Of the output, tokens the model thought with.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// What it cost, as far as prices are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Whether tokens in it are estimated, because a model did not say how many it used.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_estimated: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// A usage of these tokens in and out, at an unknown price.
    #[must_use]
    pub const fn tokens(input: u64, output: u64) -> Self {
        Self {
            input_tokens: input,
            output_tokens: output,
            cached_input_tokens: 0,
            cache_write_tokens: 0,
            reasoning_tokens: 0,
            cost: None,
            is_estimated: false,
        }
    }

    /// Tokens in and out together.
    #[must_use]
    pub const fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        // Counts come from outside: however large they are, they must not wrap round.
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cached_input_tokens: self.cached_input_tokens.saturating_add(other.cached_input_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(other.reasoning_tokens),
            cost: match (self.cost, other.cost) {
                (Some(one), Some(two)) => Some(one + two),
                (known, None) | (None, known) => known,
            },
            is_estimated: self.is_estimated || other.is_estimated,
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(usages: I) -> Self {
        usages.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_prints_cents_or_as_many_digits_as_it_has() {
        assert_eq!(Money::from_dollars(3).to_string(), "$3.00");
        assert_eq!(Money::from_cents(5).to_string(), "$0.05");
        assert_eq!(Money::from_micros(1_250).to_string(), "$0.00125");
    }

    #[test]
    fn usage_adds_up_and_keeps_what_is_known_of_the_cost() {
        let priced = Usage { cost: Some(Money::from_cents(1)), ..Usage::tokens(1, 2) };
        let sum: Usage = [priced, Usage::tokens(10, 20)].into_iter().sum();
        assert_eq!((sum.total_tokens(), sum.cost), (33, Some(Money::from_cents(1))));
    }

    #[test]
    fn hostile_counts_stop_at_the_largest_number() {
        const MOST: u64 = u64::MAX;
        let most = Usage {
            input_tokens: MOST,
            output_tokens: MOST,
            cached_input_tokens: MOST,
            cache_write_tokens: MOST,
            reasoning_tokens: MOST,
            cost: Some(Money::from_micros(MOST)),
            is_estimated: true,
        };
        assert_eq!(most + most, most);
        assert_eq!(most.total_tokens(), MOST);
        let dear = Money::from_micros(MOST);
        assert_eq!(crate::Price::new(dear, dear).of(&most), dear);
    }
}
