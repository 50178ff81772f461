//! Times in headers, in all forms that providers give them: how long from now?

use std::time::{Duration, SystemTime};

/// Numbers from here on are points in time rather than waits: seconds, and milliseconds, since 1970.
const SECONDS_SINCE_1970: f64 = 1e9;
const MILLISECONDS_SINCE_1970: f64 = 1e11;

/// Nothing is further away than this: times stay within what a clock can show.
pub(crate) const FURTHEST: Duration = Duration::from_hours(365 * 24);

/// How long it is until then: a number of seconds, a span like `6m0s`, a point in time as a number, in RFC 3339 or as
/// HTTP writes dates. What is past is no time at all.
pub(super) fn read(text: &str, now: SystemTime) -> Option<Duration> {
    any_form(text, now).map(|wait| wait.min(FURTHEST))
}

fn any_form(text: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(number) = text.parse::<f64>() {
        return of_number(number, now);
    }
    if let Some(span) = of_span(text) {
        return Some(span);
    }
    let time = of_rfc_3339(text).or_else(|| httpdate::parse_http_date(text).ok())?;
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

/// Numbers with units, one after the other.
fn of_span(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut span = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|character: char| character.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let seconds = match unit {
            "d" => 86_400.0,
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
        span = span.checked_add(part)?;
        rest = after;
    }
    (!text.is_empty()).then_some(span)
}

/// `2026-11-15T10:00:30.5Z`, or with an offset instead of the `Z`.
fn of_rfc_3339(text: &str) -> Option<SystemTime> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let [year, month, day] = numbers(date, '-')?;
    let zone = time.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = time.split_at(zone);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(time, ':')?;
    let offset = match zone.split_at(1) {
        ("+", offset) => numbers(offset, ':').map(|[hours, minutes]| hours * 3_600 + minutes * 60)?,
        ("-", offset) => -numbers(offset, ':').map(|[hours, minutes]| hours * 3_600 + minutes * 60)?,
        _ => 0,
    };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset;
    let fraction =
        format!("0.{fraction}").parse().ok().and_then(|part| Duration::try_from_secs_f64(part).ok())?;
    SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_secs(u64::try_from(seconds).ok()?))?
        .checked_add(fraction)
}

/// Exactly so many numbers without signs.
fn numbers<const COUNT: usize>(text: &str, separator: char) -> Option<[i64; COUNT]> {
    let parts = text.split(separator).map(|part| part.parse::<u32>().map(i64::from));
    parts.collect::<Result<Vec<_>, _>>().ok()?.try_into().ok()
}

/// Days since 1970-01-01 in the Gregorian calendar, by the usual arithmetic with years that begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(text: &str) -> Option<f64> {
        let now = httpdate::parse_http_date("Sun, 15 Nov 2026 10:00:00 GMT").unwrap();
        read(text, now).map(|wait| wait.as_secs_f64())
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
        for text in ["", "soon", "-3", "1x", "s", "1s2", "NaN", "inf", "2026-13-01T00:00:00Z", "2026-01-01"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn dates_agree_with_those_of_http(since_1970 in 0_u64..10_000_000_000) {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(since_1970);
            let (days_since, rest) = (since_1970 / 86_400, since_1970 % 86_400);
            let date = httpdate::fmt_http_date(time);
            let [day, month, year] = [&date[5..7], &date[8..11], &date[12..16]];
            let month = 1 + ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
                .iter().position(|name| *name == month).unwrap();
            let clock = (rest / 3_600, rest / 60 % 60, rest % 60);
            let text = format!("{year}-{month:02}-{day}T{:02}:{:02}:{:02}Z", clock.0, clock.1, clock.2);
            prop_assert_eq!(of_rfc_3339(&text), Some(time), "{} days", days_since);
        }

        #[test]
        fn nothing_makes_it_fail(text in any::<String>()) {
            let _ = seconds(&text);
        }
    }
}
