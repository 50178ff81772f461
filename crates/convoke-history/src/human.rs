//! Human-readable numbers: what [`convoke_text::human`] has, and ages, times, costs and what was spent.
//!
//! ```
//! use convoke_core::{Money, Usage};
//! use convoke_history::{Spent, human};
//!
//! assert_eq!(human::cost(Money::from_cents(2)), "$0.0200");
//! let usage = Usage { cost: Some(Money::from_cents(2)), ..Usage::tokens(120, 45) };
//! assert_eq!(human::usage(&usage), "120 tokens in, 45 out, $0.0200");
//! assert_eq!(human::spent_cost(&Spent::default()), "", "nothing was called");
//! ```

use std::time::Duration;

use convoke_core::store::Totals;
use convoke_core::{Money, Timestamp, Usage};
pub use convoke_text::human::*;

use super::Spent;

/// The placeholder where there is nothing to say.
pub const NOTHING: &str = "–";
/// The placeholder where something is not known.
pub const UNKNOWN: &str = "?";

/// Times further back than this are given as a date.
const RECENT: Duration = Duration::from_secs(30 * 86_400);

/// A duration, or a dash.
#[must_use]
pub fn maybe_duration(known: Option<Duration>) -> String {
    known.map_or_else(|| NOTHING.to_owned(), duration)
}

/// `just now`, `12 s ago`, `3 min ago`, `5 h ago`, `12 d ago`; a date if it is long past or yet to come.
#[must_use]
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    let age = now.since(then);
    if then > now || age >= RECENT {
        return date(then);
    }
    let seconds = age.as_secs();
    match seconds {
        0..2 => "just now".to_owned(),
        2..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

/// `2026-01-05`
#[must_use]
pub fn date(time: Timestamp) -> String {
    time.to_string().split('T').next().unwrap_or_default().to_owned()
}

/// `09:00:00.000`, in UTC.
#[must_use]
pub fn clock(time: Timestamp) -> String {
    let text = time.to_string();
    text.split('T').nth(1).unwrap_or_default().trim_end_matches('Z').to_owned()
}

/// `2026-01-05 09:00:00 UTC`
#[must_use]
pub fn moment(time: Timestamp) -> String {
    let clock = clock(time);
    format!("{} {} UTC", date(time), clock.split('.').next().unwrap_or_default())
}

/// Returns what stands before tokens that are estimated, because a model did not say how many it used.
#[must_use]
pub fn about(usage: &Usage) -> &'static str {
    if usage.is_estimated { "≈" } else { "" }
}

/// `$0.0123`, `$1.23`, rounded; what is more than nothing never becomes nothing.
#[must_use]
pub fn cost(cost: Money) -> String {
    dollars(cost.as_micros())
}

/// The cost of a part of a run: exact, at least, unknown, or nothing to speak of.
#[must_use]
pub fn spent_cost(spent: &Spent) -> String {
    match (spent.whole_cost(), spent.usage.cost) {
        _ if spent.model_calls == 0 => String::new(),
        (Some(whole), _) => cost(whole),
        (None, Some(known)) => format!("≥{}", cost(known)),
        (None, None) => UNKNOWN.to_owned(),
    }
}

/// The cost of a run as the store knows it.
#[must_use]
pub fn totals_cost(totals: &Totals) -> String {
    match (totals.whole_cost(), totals.usage.cost) {
        (Some(whole), _) => cost(whole),
        (None, Some(known)) => format!("≥{}", cost(known)),
        (None, None) if totals.model_calls > 0 => UNKNOWN.to_owned(),
        (None, None) => NOTHING.to_owned(),
    }
}

/// `120 tokens in, 45 out, $0.0012`
#[must_use]
pub fn usage(usage: &Usage) -> String {
    let (read, written) = (tokens(usage.input_tokens), tokens(usage.output_tokens));
    let cost = usage.cost.map_or_else(|| "at an unknown price".to_owned(), cost);
    format!("{}{read} tokens in, {written} out, {cost}", about(usage))
}

#[cfg(test)]
mod tests {
    use convoke_core::Usage;

    use super::*;

    #[test]
    fn times_are_relative_while_that_means_something() {
        let now = Timestamp::from_micros(1_767_603_600_000_000);
        let shown = |seconds| ago(now - Duration::from_secs(seconds), now);
        assert_eq!(shown(1), "just now");
        assert_eq!(shown(12), "12 s ago");
        assert_eq!(shown(3_599), "59 min ago");
        assert_eq!(shown(7_200), "2 h ago");
        assert_eq!(shown(86_400 * 29), "29 d ago");
        assert_eq!(shown(86_400 * 30), "2025-12-06");
        assert_eq!(ago(now + Duration::from_secs(9), now), "2026-01-05", "clocks differ");
        assert_eq!(moment(now), "2026-01-05 09:00:00 UTC");
        assert_eq!(clock(now), "09:00:00.000");
    }

    #[test]
    fn tokens_are_short_and_money_is_rounded() {
        assert_eq!(
            [tokens(999), tokens(12_345), tokens(999_999), tokens(1_250_000)],
            ["999", "12.3k", "999.9k", "1.2M"]
        );
        let shown = |micros| cost(Money::from_micros(micros));
        assert_eq!(
            [shown(0), shown(99), shown(387), shown(12_345), shown(999_951), shown(1_239_000)],
            ["$0", "<$0.0001", "$0.0004", "$0.0123", "$1.00", "$1.24"]
        );
    }

    #[test]
    fn a_cost_that_is_not_known_is_never_shown_as_nothing() {
        let mut spent = Spent::default();
        assert_eq!(spent_cost(&spent), "");
        spent.model_calls = 2;
        assert_eq!(spent_cost(&spent), "$0");
        spent.unpriced_calls = 1;
        assert_eq!(spent_cost(&spent), "?");
        spent.usage.cost = Some(Money::from_cents(2));
        assert_eq!(spent_cost(&spent), "≥$0.0200");
        let totals = Totals { model_calls: 1, ..Totals::default() };
        assert_eq!(totals_cost(&totals), "?");
        let usage = Usage { cost: Some(Money::from_cents(2)), ..Usage::default() };
        let partly = Totals { model_calls: 2, unpriced_calls: 1, usage, ..Totals::default() };
        assert_eq!(totals_cost(&partly), "≥$0.0200");
        assert_eq!(totals_cost(&Totals { unpriced_calls: 0, ..partly }), "$0.0200");
    }
}
