//! Parses RFC 3339 timestamps. Days that no calendar has are refused.
//!
//! Only reads: what is written is written by `convoke_core::Timestamp`, for every year a journal can hold.

use std::time::SystemTime;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Reads `2026-11-15T10:00:30.5Z`, or with an offset instead of the `Z`.
///
/// ```
/// use std::time::{Duration, SystemTime};
///
/// use convoke_text::date;
///
/// let hour = SystemTime::UNIX_EPOCH + Duration::from_secs(3_600);
/// assert_eq!(date::parse("1970-01-01T02:00:00+01:00"), Some(hour));
/// assert_eq!(date::parse("2026-02-31T00:00:00Z"), None, "there is no such day");
/// ```
#[must_use]
pub fn parse(text: &str) -> Option<SystemTime> {
    text.parse::<Timestamp>().ok().map(SystemTime::from)
}

/// Reads the same, and what says nothing about where it holds as being in UTC: `2026-01-05`, `2026-01-05T09:00`,
/// `2026-01-05 09:00:30`.
#[must_use]
pub fn parse_utc(text: &str) -> Option<SystemTime> {
    let in_utc = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
    parse(text).or_else(|| in_utc().map(|zoned| zoned.timestamp().into()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn seconds(time: Option<SystemTime>) -> Option<u64> {
        time.map(|time| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
    }

    #[test]
    fn a_point_in_time_says_where_it_holds_or_is_in_utc() {
        for text in [
            "2026-11-15T10:00:30Z",
            "2026-11-15t10:00:30z",
            "2026-11-15 10:00:30.5Z",
            "2026-11-15T11:00:30+01:00",
            "2026-11-15T04:30:30-05:30",
        ] {
            assert_eq!(seconds(parse(text)), Some(1_794_736_830), "{text}");
            assert_eq!(parse_utc(text), parse(text), "{text}");
        }
        for text in ["2026-11-15T10:00:30", "2026-11-15 10:00:30"] {
            assert_eq!((parse(text), seconds(parse_utc(text))), (None, Some(1_794_736_830)), "{text}");
        }
        assert_eq!(seconds(parse_utc("2026-11-15")), Some(1_794_700_800));
        assert_eq!(seconds(parse_utc("2026-11-15T10:00")), Some(1_794_736_800));
        assert_eq!(seconds(parse_utc("2026-11-15T10:00Z")), Some(1_794_736_800));
    }

    #[test]
    fn days_that_do_not_exist_are_refused_by_every_reader() {
        for date in
            ["2026-02-29", "2026-02-31", "2100-02-29", "2026-04-31", "2026-13-01", "2026-00-10", "7", ""]
        {
            assert_eq!(parse_utc(date), None, "{date}");
            assert_eq!(parse(&format!("{date}T00:00:00Z")), None, "{date}");
        }
    }

    proptest! {
        #[test]
        fn every_second_is_read(since_1970 in 0_u64..10_000_000_000) {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(since_1970);
            let written = Timestamp::try_from(time).unwrap().to_string();
            prop_assert_eq!(parse(&written), Some(time));
        }

        #[test]
        fn nothing_makes_it_fail(text in any::<String>()) {
            let _ = parse_utc(&text);
        }
    }
}
