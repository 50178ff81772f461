//! Numbers for people: durations, times, tokens, money.

use std::time::Duration;

use convoke_core::store::Totals;
use convoke_core::{Money, Timestamp, Usage};
use convoke_history::Spent;

/// What stands where there is nothing to say.
pub(crate) const NOTHING: &str = "–";
/// What stands where something is not known.
pub(crate) const UNKNOWN: &str = "?";

/// Times further back than this are given as a date.
const RECENT: Duration = Duration::from_secs(30 * 86_400);

/// `320 ms`, `1.2 s`, `3 min 05 s`, `2 h 05 min`, `3 d 04 h`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 if duration.is_zero() => "0 ms".to_owned(),
        0 if duration.as_millis() == 0 => "<1 ms".to_owned(),
        0 => format!("{} ms", duration.as_millis()),
        // Cut, not rounded: 59.96 s must not become 60.0 s.
        1..60 => format!("{seconds}.{} s", duration.subsec_millis() / 100),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {:02} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {:02} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// A duration, or a dash.
pub(crate) fn maybe_duration(known: Option<Duration>) -> String {
    known.map_or_else(|| NOTHING.to_owned(), duration)
}

/// `just now`, `12 s ago`, `3 min ago`, `5 h ago`, `12 d ago`; a date if it is long past or yet to come.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
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
pub(crate) fn date(time: Timestamp) -> String {
    time.to_string().split('T').next().unwrap_or_default().to_owned()
}

/// `09:00:00.000`, in UTC.
pub(crate) fn clock(time: Timestamp) -> String {
    let text = time.to_string();
    text.split('T').nth(1).unwrap_or_default().trim_end_matches('Z').to_owned()
}

/// `2026-01-05 09:00:00 UTC`
pub(crate) fn moment(time: Timestamp) -> String {
    let clock = clock(time);
    format!("{} {} UTC", date(time), clock.split('.').next().unwrap_or_default())
}

/// `320`, `12.3k`, `1.2M`.
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// What stands before tokens that are estimated, because a model did not say how many it used.
pub(crate) fn about(usage: &Usage) -> &'static str {
    if usage.is_estimated { "≈" } else { "" }
}

/// `$0.0123`, `$1.23`, rounded; what is more than nothing never becomes nothing.
pub(crate) fn cost(cost: Money) -> String {
    let micros = cost.as_micros();
    match micros {
        0 => "$0".to_owned(),
        1..100 => "<$0.0001".to_owned(),
        100..999_950 => format!("$0.{:04}", (micros + 50) / 100),
        _ => {
            let cents = micros.saturating_add(5_000) / 10_000;
            format!("${}.{:02}", cents / 100, cents % 100)
        }
    }
}

/// The cost of a part of a run: exact, at least, unknown, or nothing to speak of.
pub(crate) fn spent_cost(spent: &Spent) -> String {
    match (spent.whole_cost(), spent.usage.cost) {
        _ if spent.model_calls == 0 => String::new(),
        (Some(whole), _) => cost(whole),
        (None, Some(known)) => format!("≥{}", cost(known)),
        (None, None) => UNKNOWN.to_owned(),
    }
}

/// The cost of a run as the store knows it.
pub(crate) fn totals_cost(totals: &Totals) -> String {
    match (totals.whole_cost(), totals.usage.cost) {
        (Some(whole), _) => cost(whole),
        (None, Some(known)) => format!("≥{}", cost(known)),
        (None, None) if totals.model_calls > 0 => UNKNOWN.to_owned(),
        (None, None) => NOTHING.to_owned(),
    }
}

/// `98 MB`, `1.1 GB`.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{} kB", count / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", count / 1_000_000),
        _ => format!("{}.{} GB", count / 1_000_000_000, count % 1_000_000_000 / 100_000_000),
    }
}

/// `120 tokens in, 45 out, $0.0012`
pub(crate) fn usage(usage: &Usage) -> String {
    let (read, written) = (tokens(usage.input_tokens), tokens(usage.output_tokens));
    let cost = usage.cost.map_or_else(|| "at an unknown price".to_owned(), cost);
    format!("{}{read} tokens in, {written} out, {cost}", about(usage))
}

/// `1,234,567`
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `2nd time`
pub(crate) fn ordinal(number: usize) -> String {
    let suffix = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{suffix} time")
}

/// `1 model call`, `2 model calls`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// Reads `90s`, `30min`, `12h`, `30d`, `4w`, and, as in an Agentfile, `500ms`, `5m`, `1h30m`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "give a number and a unit: ms, s, min, h, d or w, such as 30d or 1h30min".to_owned();
    let too_long = || "that is too long".to_owned();
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let (number, after) = rest.split_at(end_of(rest, |character| character.is_ascii_digit()));
        let after = after.trim_start();
        let (unit, after) = after.split_at(end_of(after, |character| character.is_ascii_alphabetic()));
        let millis = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 604_800_000,
            _ => return Err(wrong()),
        };
        if number.is_empty() {
            return Err(wrong());
        }
        let number: u64 = number.parse().map_err(|_| too_long())?;
        let part = number.checked_mul(millis).map(Duration::from_millis).ok_or_else(too_long)?;
        total = total.checked_add(part).ok_or_else(too_long)?;
        rest = after.trim_start();
    }
    Ok(total)
}

/// Where the characters of this kind that a text begins with end.
fn end_of(text: &str, is_so: impl Fn(char) -> bool) -> usize {
    text.find(|character| !is_so(character)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use convoke_core::Usage;

    use super::*;

    #[test]
    fn durations_read_naturally_at_every_size() {
        let shown = |millis| duration(Duration::from_millis(millis));
        assert_eq!(shown(0), "0 ms");
        assert_eq!(duration(Duration::from_micros(3)), "<1 ms");
        assert_eq!(shown(320), "320 ms");
        assert_eq!(shown(1_290), "1.2 s");
        assert_eq!(shown(59_990), "59.9 s");
        assert_eq!(shown(185_000), "3 min 05 s");
        assert_eq!(shown(7_500_000), "2 h 05 min");
        assert_eq!(shown(273_600_000), "3 d 04 h");
    }

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

    #[test]
    fn large_numbers_are_grouped_and_small_ones_counted() {
        assert_eq!(
            [grouped(0), grouped(999), grouped(1_234), grouped(1_234_567)],
            ["0", "999", "1,234", "1,234,567"]
        );
        assert_eq!(
            [ordinal(2), ordinal(3), ordinal(11), ordinal(21)],
            ["2nd time", "3rd time", "11th time", "21st time"]
        );
    }

    #[test]
    fn ages_are_read_with_a_unit_only() {
        assert_eq!(parse_duration("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(parse_duration("90 s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("1h30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(parse_duration("2min 500ms"), Ok(Duration::from_millis(120_500)));
        assert!(
            parse_duration("30").is_err() && parse_duration("").is_err() && parse_duration("1h30").is_err()
        );
        assert!(parse_duration("d").is_err());
        assert!(parse_duration("99999999999999999999d").is_err());
    }
}
