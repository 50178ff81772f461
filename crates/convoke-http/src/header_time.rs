//! Parses waits and points in time in headers (`retry-after`, rate-limit resets) into durations from now.

use std::time::{Duration, SystemTime};

use convoke_text::{date, duration};
use http::HeaderMap;

/// Numbers from here on are points in time rather than waits: seconds, and milliseconds, since 1970.
const SECONDS_SINCE_1970: f64 = 1e9;
const MILLISECONDS_SINCE_1970: f64 = 1e11;

/// Nothing is further away than this: times stay within what a clock can show.
pub const LONGEST_WAIT: Duration = Duration::from_hours(365 * 24);

/// Returns how long the server asks to wait, if at all: `retry-after-ms`, or `retry-after` in every form that [`parse_wait`] knows.
#[must_use]
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let milliseconds = count(headers, "retry-after-ms").map(Duration::from_millis);
    milliseconds.or_else(|| parse_wait(text(headers, "retry-after")?, server_clock(headers, now)))
}

/// Returns the server's time by its `date` header, or else ours.
#[must_use]
pub fn server_clock(headers: &HeaderMap, now: SystemTime) -> SystemTime {
    text(headers, "date").and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now)
}

/// A whole number at the beginning of a header; some say more after it.
#[must_use]
pub fn count(headers: &HeaderMap, name: &str) -> Option<u64> {
    let text = text(headers, name)?;
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Returns a header's value, if it is text.
#[must_use]
pub fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Parses a wait or a point in time into the duration from now: a number of seconds, a span like `6m0s`, a point in time as a number, in RFC 3339 or as
/// HTTP writes dates. A point in the past gives zero.
#[must_use]
pub fn parse_wait(text: &str, now: SystemTime) -> Option<Duration> {
    any_form(text, now).map(|wait| wait.min(LONGEST_WAIT))
}

fn any_form(text: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(number) = text.parse::<f64>() {
        return of_number(number, now);
    }
    if let Ok(span) = duration::parse(text) {
        return Some(span);
    }
    let time = date::parse(text).or_else(|| httpdate::parse_http_date(text).ok())?;
    Some(time.duration_since(now).unwrap_or_default())
}

fn of_number(number: f64, now: SystemTime) -> Option<Duration> {
    let since_1970 = if number >= MILLISECONDS_SINCE_1970 {
        number / 1_000.0
    } else if number >= SECONDS_SINCE_1970 {
        number
    } else {
        return Duration::try_from_secs_f64(number).ok();
    };
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(since_1970).ok()?)?;
    Some(time.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(text: &str) -> Option<f64> {
        let now = httpdate::parse_http_date("Sun, 15 Nov 2026 10:00:00 GMT").unwrap();
        parse_wait(text, now).map(|wait| wait.as_secs_f64())
    }

    #[test]
    fn waits_come_as_numbers_and_as_spans() {
        assert_eq!(seconds("7"), Some(7.0));
        assert_eq!(seconds("0.25"), Some(0.25));
        assert_eq!(seconds("1s"), Some(1.0));
        assert_eq!(seconds("6m0s"), Some(360.0));
        assert_eq!(seconds("20ms"), Some(0.02));
        assert_eq!(seconds("1h2m3.5s"), Some(3_723.5));
        assert_eq!(seconds("1d"), Some(86_400.0));
        assert_eq!(seconds("150µs"), Some(0.000_15));
    }

    #[test]
    fn points_in_time_come_in_four_forms_and_are_never_negative() {
        assert_eq!(seconds("2026-11-15T10:00:30Z"), Some(30.0));
        assert_eq!(seconds("2026-11-15T10:00:30.5Z"), Some(30.5));
        assert_eq!(seconds("2026-11-15T11:00:30+01:00"), Some(30.0));
        assert_eq!(seconds("2026-11-15T04:30:30-05:30"), Some(30.0));
        assert_eq!(seconds("2026-11-15T09:00:00Z"), Some(0.0));
        assert_eq!(seconds("Sun, 15 Nov 2026 10:00:30 GMT"), Some(30.0));
        assert_eq!(seconds("1794736830"), Some(30.0));
        assert_eq!(seconds("1794736830500"), Some(30.5));
        assert_eq!(seconds("1000000000"), Some(0.0));
    }

    #[test]
    fn what_is_none_of_these_is_nothing() {
        for text in [
            "",
            "soon",
            "-3",
            "1x",
            "s",
            "1s2",
            "NaN",
            "inf",
            "2026-13-01T00:00:00Z",
            "2026-02-31T00:00:00Z",
            "2026-01-01",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn waits_are_read_in_every_form() {
        let now = httpdate::parse_http_date("Sun, 15 Nov 2026 10:00:00 GMT").unwrap();
        let headers = |pairs: &[(&'static str, &'static str)]| -> HeaderMap {
            let header = |(name, value): &(&'static str, &'static str)| {
                (http::HeaderName::from_static(name), http::HeaderValue::from_static(value))
            };
            pairs.iter().map(header).collect()
        };
        let wait = |pairs: &[(&'static str, &'static str)]| retry_after(&headers(pairs), now);
        assert_eq!(wait(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(wait(&[("retry-after", "1.5")]), Some(Duration::from_millis(1_500)));
        assert_eq!(
            wait(&[("retry-after", "7"), ("retry-after-ms", "250")]),
            Some(Duration::from_millis(250))
        );
        assert_eq!(wait(&[("retry-after", "Sun, 15 Nov 2026 10:00:30 GMT")]), Some(Duration::from_secs(30)));
        assert_eq!(wait(&[("retry-after", "Sun, 15 Nov 2026 09:00:00 GMT")]), Some(Duration::ZERO));
        assert_eq!(wait(&[("retry-after", "soon")]), None);
        assert_eq!(wait(&[("retry-after", "-3")]), None);
        assert_eq!(wait(&[("retry-after", "1m30s")]), Some(Duration::from_secs(90)));
        assert_eq!(wait(&[("retry-after", "1794736830")]), Some(Duration::from_secs(30)));
        let date = ("date", "Sun, 15 Nov 2026 10:00:20 GMT");
        assert_eq!(
            wait(&[date, ("retry-after", "Sun, 15 Nov 2026 10:00:30 GMT")]),
            Some(Duration::from_secs(10)),
            "by the provider's clock"
        );
        assert_eq!(wait(&[]), None);
    }
    proptest! {
        #[test]
        fn nothing_makes_it_fail(text in any::<String>()) {
            let _ = seconds(&text);
        }
    }
}
