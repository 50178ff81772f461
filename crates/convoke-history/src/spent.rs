//! Spending of a run, or a part of it.

use std::ops::{Add, AddAssign};

use convoke_core::{Money, Usage};

/// The spending of a run, or of a part of it. Attempts that failed and were made again count too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Spent {
    /// Model calls.
    pub model_calls: u64,
    /// Of these, calls whose cost is not known: answers without a price, and failures that may have cost something.
    pub unpriced_calls: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Tokens, and what is known of the cost.
    pub usage: Usage,
    /// Effects that failed, and tool calls that gave the model an error to read.
    pub failures: u64,
}

impl Spent {
    /// The whole cost; `None` if the cost of any call is unknown. [`usage`](Self::usage) has what is known of it.
    #[must_use]
    pub fn whole_cost(&self) -> Option<Money> {
        (self.unpriced_calls == 0).then(|| self.usage.cost.unwrap_or(Money::ZERO))
    }
}

impl Add for Spent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            model_calls: self.model_calls + other.model_calls,
            unpriced_calls: self.unpriced_calls + other.unpriced_calls,
            tool_calls: self.tool_calls + other.tool_calls,
            usage: self.usage + other.usage,
            failures: self.failures + other.failures,
        }
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_that_is_partly_unknown_is_not_the_whole_cost() {
        let priced = Spent {
            model_calls: 1,
            usage: Usage { cost: Some(Money::from_cents(2)), ..Usage::tokens(10, 5) },
            ..Spent::default()
        };
        let unpriced =
            Spent { model_calls: 1, unpriced_calls: 1, usage: Usage::tokens(1, 1), ..Spent::default() };
        assert_eq!(priced.whole_cost(), Some(Money::from_cents(2)));
        let both = priced + unpriced;
        assert_eq!((both.model_calls, both.usage.total_tokens()), (2, 17));
        assert_eq!(both.whole_cost(), None);
        assert_eq!(both.usage.cost, Some(Money::from_cents(2)), "what is known of it stays");
        assert_eq!(Spent::default().whole_cost(), Some(Money::ZERO));
    }
}
