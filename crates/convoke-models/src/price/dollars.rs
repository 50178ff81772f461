//! Parses amounts of dollars.

use convoke_core::Money;

/// So many dollars, if that is an amount: not negative, and not beyond all reason.
pub(crate) fn of(dollars: f64) -> Option<Money> {
    let micros = dollars * 1_000_000.0;
    // Far below 2^53, where every whole number is exact.
    (0.0..1e15).contains(&micros).then(|| Money::from_micros(micros.round() as u64))
}
