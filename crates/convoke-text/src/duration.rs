//! Parses and formats durations as people write them: `250ms`, `1.5s`, `90 s`, `5m`, `1h30m`, `2d`, `4w`.
//!
//! The one grammar of the command line, of configuration files, Agentfiles, scripts of models and headers: the same text
//! means the same everywhere. A number always has a unit; a place that takes numbers without one reads them itself.

use std::time::Duration;

use crate::{is_invisible, one_line_of};

/// Units and their length in nanoseconds; those up to `d` are written, the longest first.
const UNITS: [(&str, u128); 11] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
    ("w", 7 * 86_400_000_000_000),
    ("min", 60_000_000_000),
    ("µs", 1_000),
    ("μs", 1_000),
];

/// How many of the units are written.
const WRITTEN: usize = 7;

/// Nothing is longer: clocks can still be put forward by this.
const LONGEST: u128 = u64::MAX as u128 * 1_000_000;

/// Digits behind a point that count. More would not change a nanosecond of any unit by much.
const DIGITS: usize = 18;

/// Characters of a text that an error repeats.
const LONGEST_QUOTE: usize = 40;

/// A text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// There is no number, no unit, or no such unit.
    #[error("invalid duration `{text}`: write `30s`, `5m`, `1h30m`")]
    Invalid {
        /// What was written.
        text: String,
    },
    /// No clock goes that far.
    #[error("invalid duration `{text}`: it is too long")]
    TooLong {
        /// What was written.
        text: String,
    },
}

/// Reads a duration: numbers, each with its unit, the blanks between them being optional.
///
/// ```
/// use std::time::Duration;
///
/// use convoke_text::duration;
///
/// assert_eq!(duration::parse("1h 30m"), Ok(Duration::from_secs(5_400)));
/// assert_eq!(
///     duration::parse("5x").unwrap_err().to_string(),
///     "invalid duration `5x`: write `30s`, `5m`, `1h30m`"
/// );
/// ```
///
/// # Errors
/// If it is none, or longer than clocks go.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let trimmed = text.trim();
    let written = trimmed.strip_prefix('+').unwrap_or(trimmed);
    let (nanos, rest) = parts(written);
    if written.is_empty() || !rest.is_empty() {
        return Err(DurationError::Invalid { text: quoted(trimmed) });
    }
    of_nanos(nanos).ok_or_else(|| DurationError::TooLong { text: quoted(trimmed) })
}

/// Returns the length in bytes of the duration a text begins with; 0 if it begins with none. For readers of texts in which
/// something else may follow.
#[must_use]
pub fn leading(text: &str) -> usize {
    let (_, rest) = parts(text);
    text[..text.len() - rest.len()].trim_end().len()
}

/// Writes a duration exactly, such that [`parse`] reads it back: `1h30m`, `1s500ms`, `0s`.
#[must_use]
pub fn exact(duration: Duration) -> String {
    let mut nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, size) in &UNITS[..WRITTEN] {
        if nanos >= *size {
            text.push_str(&format!("{}{unit}", nanos / size));
            nanos %= size;
        }
    }
    text
}

/// Writes a duration for people, in its two largest units: `320 ms`, `1.2 s`, `3 min 05 s`, `2 h 05 min`, `3 d 04 h`.
#[must_use]
pub fn rounded(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 if duration.is_zero() => "0 ms".to_owned(),
        0 if duration.as_millis() == 0 => "<1 ms".to_owned(),
        0 => format!("{} ms", duration.as_millis()),
        // Cut, not rounded up: 59.96 s must not become 60.0 s.
        1..60 => format!("{seconds}.{} s", duration.subsec_millis() / 100),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {:02} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {:02} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// A text as an error quotes it: in one short line, and nothing in it commands a terminal.
fn quoted(text: &str) -> String {
    one_line_of(text, LONGEST_QUOTE).replace(is_invisible, "\u{fffd}")
}

/// The sum of the numbers with units that a text begins with, and what follows them.
fn parts(text: &str) -> (u128, &str) {
    let (mut nanos, mut rest) = (0_u128, text);
    while let Some((part, after)) = part(rest) {
        nanos = nanos.saturating_add(part);
        rest = after.trim_start();
    }
    (nanos, rest)
}

/// A number and its unit. A number without any digit, or with two points, is none.
fn part(text: &str) -> Option<(u128, &str)> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let rest = rest.trim_start();
    let (unit, rest) = split_where(rest, |character| !character.is_alphabetic());
    let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let fraction = &fraction[..fraction.len().min(DIGITS)];
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    Some((number(whole).saturating_mul(*size).saturating_add(number(fraction) * size / scale), rest))
}

fn digits(text: &str) -> (&str, &str) {
    split_where(text, |character| !character.is_ascii_digit())
}

fn split_where(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

/// Digits as a number; too many of them as the greatest, none as zero.
fn number(digits: &str) -> u128 {
    if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u128::MAX) }
}

fn of_nanos(nanos: u128) -> Option<Duration> {
    let seconds = u64::try_from(nanos / 1_000_000_000).ok()?;
    let below = u32::try_from(nanos % 1_000_000_000).ok()?;
    (nanos <= LONGEST).then(|| Duration::new(seconds, below))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_have_units_and_add_up() {
        for (text, millis) in [
            ("250ms", 250),
            ("30s", 30_000),
            ("90 s", 90_000),
            ("1.5s", 1_500),
            (".5s", 500),
            ("2.s", 2_000),
            ("+2s", 2_000),
            ("5m", 300_000),
            ("30min", 1_800_000),
            ("1h30m", 5_400_000),
            (" 1 h 30 min ", 5_400_000),
            ("1h1.5s", 3_601_500),
            ("2d", 172_800_000),
            ("0.5d", 43_200_000),
            ("4w", 2_419_200_000),
            ("1500us", 1),
            ("0s", 0),
        ] {
            let read = parse(text).map(|duration| duration.as_millis());
            assert_eq!(read, Ok(millis), "{text}");
        }
        assert_eq!(parse("150µs"), Ok(Duration::from_micros(150)));
        assert_eq!(parse("1.9ns"), Ok(Duration::from_nanos(1)));
    }

    #[test]
    fn everything_else_is_refused_with_an_example() {
        for text in
            ["", " ", "30", "s", "5x", "-3s", "1h30", "1.2.3s", ".s", "1e3s", "1h-", "s 3", "2S", "1h,2m"]
        {
            let refused = parse(text);
            assert_eq!(refused, Err(DurationError::Invalid { text: text.trim().to_owned() }), "{text}");
        }
        for text in ["99999999999999999999s", "9999999999999999d", "18446744073709551616ms"] {
            assert_eq!(parse(text), Err(DurationError::TooLong { text: text.to_owned() }));
        }
        let many = "9".repeat(60);
        assert!(matches!(parse(&format!("{many}w")), Err(DurationError::TooLong { .. })));
        let error = parse(&format!("\u{1b}[31m{many}")).unwrap_err().to_string();
        assert!(error.starts_with("invalid duration `\u{fffd}[31m999") && error.len() < 100, "{error}");
    }

    #[test]
    fn what_follows_a_duration_is_left() {
        for (text, length) in
            [("5m TOOLS none", 2), ("1h 30m # so", 6), ("90 s", 4), ("5 tools", 0), ("5m 3", 2), ("x", 0)]
        {
            assert_eq!(leading(text), length, "{text}");
        }
    }

    #[test]
    fn durations_read_naturally_at_every_size() {
        let shown = |millis| rounded(Duration::from_millis(millis));
        assert_eq!(shown(0), "0 ms");
        assert_eq!(rounded(Duration::from_micros(3)), "<1 ms");
        assert_eq!(shown(320), "320 ms");
        assert_eq!(shown(1_290), "1.2 s");
        assert_eq!(shown(59_990), "59.9 s");
        assert_eq!(shown(185_000), "3 min 05 s");
        assert_eq!(shown(7_500_000), "2 h 05 min");
        assert_eq!(shown(273_600_000), "3 d 04 h");
    }

    #[test]
    fn short_texts_are_written() {
        for text in ["500ms", "30s", "5m", "1h30m", "2d", "1s500ms", "1ms500us", "0s"] {
            assert_eq!(parse(text).map(exact).as_deref(), Ok(text));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(seconds in 0..=u64::MAX / 1_000, nanos in 0..1_000_000_000_u32) {
            let duration = Duration::new(seconds, nanos);
            prop_assume!(duration.as_nanos() <= LONGEST);
            prop_assert_eq!(parse(&exact(duration)), Ok(duration));
        }

        #[test]
        fn nothing_makes_it_fail(text in "[0-9.a-zµ +-]{0,12}|.*") {
            let _ = (parse(&text), leading(&text));
        }
    }
}
