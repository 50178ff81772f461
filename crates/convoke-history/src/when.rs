//! Reads points in time as people write them: `2h`, `3d`, a date.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use convoke_core::Timestamp;
use convoke_text::{date, duration};

/// A point in time: so long ago, or a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// So long ago.
    Ago(Duration),
    /// Then.
    At(Timestamp),
}

impl When {
    /// The point in time, seen from `now`.
    #[must_use]
    pub fn from(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(duration) => now - duration,
            Self::At(time) => time,
        }
    }
}

impl FromStr for When {
    type Err = InvalidWhen;

    /// Reads `7d`, `2026-01-05`, `2026-01-05T09:00`, `2026-01-05 09:00:30`, in UTC unless an offset is given.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if let Ok(duration) = duration::parse(text) {
            return Ok(Self::Ago(duration));
        }
        date::parse_utc(text).map(|time| Self::At(time.into())).ok_or(InvalidWhen)
    }
}

/// A text that is neither an age nor a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidWhen;

impl fmt::Display for InvalidWhen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "give how long ago, such as 90s, 30min, 12h, 7d or 4w, or a time in UTC, such as 2026-01-05 or 2026-01-05T09:00",
        )
    }
}

impl std::error::Error for InvalidWhen {}

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
        assert_eq!(shown("2026-01-05T09:00:00+01:00"), "2026-01-05T08:00:00.000Z");
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
