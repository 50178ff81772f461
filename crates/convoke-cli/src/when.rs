//! Points in time, as people write them.

use std::str::FromStr;
use std::time::Duration;

use convoke_core::Timestamp;

use crate::human;

/// A point in time: so long ago, or a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// So long ago.
    Ago(Duration),
    /// Then.
    At(Timestamp),
}

impl When {
    /// The point in time, seen from `now`.
    pub(crate) fn from(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(duration) => now - duration,
            Self::At(time) => time,
        }
    }
}

impl FromStr for When {
    type Err = String;

    /// Reads `7d`, `2026-01-05`, `2026-01-05T09:00`, `2026-01-05 09:00:30`, all in UTC.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if let Ok(duration) = human::parse_duration(text) {
            return Ok(Self::Ago(duration));
        }
        time(text).map(Self::At).ok_or_else(|| {
            "give how long ago, such as 90s, 30min, 12h, 7d or 4w, or a time in UTC, such as 2026-01-05 or \
             2026-01-05T09:00"
                .to_owned()
        })
    }
}

fn time(text: &str) -> Option<Timestamp> {
    let (date, clock) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let date = numbers::<3>(date, '-')?;
    let clock = clock.strip_suffix('Z').unwrap_or(clock);
    let clock = if clock.matches(':').count() == 1 { format!("{clock}:00") } else { clock.to_owned() };
    let [hour, minute, second] = numbers::<3>(&clock, ':')?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = days(date)? * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(Timestamp::from_micros(seconds * 1_000_000))
}

/// Exactly so many numbers, without signs.
fn numbers<const N: usize>(text: &str, between: char) -> Option<[i64; N]> {
    let number = |part: &str| {
        let is_number = (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse().ok().filter(|_| is_number)
    };
    let numbers: Option<Vec<i64>> = text.split(between).map(number).collect();
    numbers?.try_into().ok()
}

/// The days from 1970 to a date of the Gregorian calendar. `None` if there is no such date.
fn days([year, month, day]: [i64; 3]) -> Option<i64> {
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let index = usize::try_from(month - 1).ok().filter(|index| *index < 12)?;
    let before = BEFORE[index] + i64::from(is_leap && month > 2);
    let end = BEFORE.get(index + 1).copied().unwrap_or(365) + i64::from(is_leap && month >= 2);
    if year < 1970 || day < 1 || day > end - before {
        return None;
    }
    let past = year - 1;
    let leap_days = |years: i64| years / 4 - years / 100 + years / 400;
    Some((year - 1970) * 365 + leap_days(past) - leap_days(1969) + before + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_ages_and_as_dates() {
        assert_eq!("7d".parse(), Ok(When::Ago(Duration::from_secs(7 * 86_400))));
        let shown = |text: &str| match text.parse::<When>() {
            Ok(When::At(time)) => time.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(shown("2026-01-05"), "2026-01-05T00:00:00.000Z");
        assert_eq!(shown("2024-02-29T23:59"), "2024-02-29T23:59:00.000Z");
        assert_eq!(shown("2100-03-01 09:00:30"), "2100-03-01T09:00:30.000Z");
        assert_eq!(shown("2026-12-31T00:00:00Z"), "2026-12-31T00:00:00.000Z");
    }

    #[test]
    fn days_that_do_not_exist_and_other_words_are_refused() {
        for text in [
            "2026-02-29",
            "2100-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-04-31",
            "yesterday",
            "7",
            "2026-1-+5",
            "",
        ] {
            assert!(text.parse::<When>().is_err(), "{text}");
        }
    }
}
