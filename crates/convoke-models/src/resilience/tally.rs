//! Sums the usage of all attempts at one reply.

use convoke_core::{Money, Price, Usage};

/// Adds up attempts. A failed one has been paid for like any other.
#[derive(Debug)]
pub(super) struct Tally {
    /// What earlier attempts used. Its cost is unknown as soon as that of any of them is.
    earlier: Usage,
    current: Option<Usage>,
}

impl Tally {
    /// No attempt has been made yet, and that costs nothing.
    pub(super) fn new() -> Self {
        Self { earlier: Usage { cost: Some(Money::ZERO), ..Usage::default() }, current: None }
    }

    /// The current attempt has used this much so far; gives what all have used. Each attempt is priced by itself, because
    /// the next one may be another model's.
    pub(super) fn record(&mut self, usage: Usage, price: Option<Price>) -> Usage {
        let cost = usage.cost.or_else(|| price.map(|price| price.of(&usage)));
        let current = Usage { cost, ..usage };
        self.current = Some(current);
        sum(self.earlier, current)
    }

    /// The current attempt has failed.
    pub(super) fn failed(&mut self) {
        if let Some(current) = self.current.take() {
            self.earlier = sum(self.earlier, current);
        }
    }
}

/// Both together. A cost that is known in part would look like the whole, so it is left out.
fn sum(one: Usage, two: Usage) -> Usage {
    Usage { cost: one.cost.zip(two.cost).map(|(one, two)| one + two), ..one + two }
}
