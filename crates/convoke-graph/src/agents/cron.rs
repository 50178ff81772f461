//! Cron expressions: five fields, or `@hourly` and the like, or `@every 10m`.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};

use convoke_text::duration;
use jiff::ToSpan;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Years within which there must be a time, or there is none: the 29th of February of a century is the farthest.
const YEARS: i16 = 9;

/// The times of something that is repeated: minute, hour, day of the month, month and day of the week, each `*`, a number, a range,
/// a step or a list of these; months and days have names too. Where both days are limited, either will do.
///
/// ```
/// use convoke_graph::agents::Cron;
///
/// assert!(Cron::new("*/15 9-17 * * MON-FRI", Some("UTC")).is_ok());
/// assert!(Cron::new("@every 10m", None).is_ok());
/// let error = Cron::new("0 25 * * *", None).unwrap_err();
/// assert_eq!(error.to_string(), "invalid cron expression `0 25 * * *`: hour `25` is not within 0 to 23");
/// ```
#[derive(Debug, Clone)]
pub struct Cron {
    text: String,
    zone: Option<String>,
    times: Times,
}

#[derive(Debug, Clone)]
enum Times {
    Every(Duration),
    Calendar(Box<Calendar>),
}

/// Which minutes, hours, days and so on, a bit each.
#[derive(Debug, Clone)]
struct Calendar {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Both kinds of days are limited.
    either_day: bool,
    zone: TimeZone,
}

/// A text that is no cron expression, or not one with a time in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid cron expression `{text}`: {problem}")]
pub struct CronError {
    text: String,
    problem: String,
}

impl Cron {
    /// Reads an expression, with the name of the time zone it is meant in; UTC unless one is given. Zones are those that the machine
    /// knows.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(text: &str, zone: Option<&str>) -> Result<Self, CronError> {
        let times =
            read(text.trim(), zone).map_err(|problem| CronError { text: text.to_owned(), problem })?;
        let cron = Self { text: text.trim().to_owned(), zone: zone.map(str::to_owned), times };
        match cron.next(SystemTime::now()) {
            Some(_) => Ok(cron),
            None => Err(CronError { text: cron.text, problem: "there is no such day".to_owned() }),
        }
    }

    /// The first time after another.
    #[must_use]
    pub fn next(&self, after: SystemTime) -> Option<SystemTime> {
        match &self.times {
            Times::Every(pause) => after.checked_add(*pause),
            Times::Calendar(calendar) => calendar.next(after),
        }
    }

    /// The expression, as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The name of its time zone, if one was given.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

fn read(text: &str, zone: Option<&str>) -> Result<Times, String> {
    if let Some(pause) = text.strip_prefix("@every ") {
        let pause = duration::parse(pause).map_err(|error| error.to_string())?;
        return if pause.is_zero() {
            Err("it would never pause".to_owned())
        } else {
            Ok(Times::Every(pause))
        };
    }
    let fields = match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        fields => fields,
    };
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields[..] else {
        return Err(
            "write five fields (minute, hour, day, month, day of the week), `@daily` or `@every 10m`"
                .to_owned(),
        );
    };
    let weekdays = field("day of the week", weekday, 0..=7, &WEEKDAYS)?;
    let zone = match zone {
        None => TimeZone::UTC,
        Some(name) => TimeZone::get(name).map_err(|_| format!("there is no time zone `{name}`"))?,
    };
    Ok(Times::Calendar(Box::new(Calendar {
        minutes: field("minute", minute, 0..=59, &[])?,
        hours: field("hour", hour, 0..=23, &[])?,
        days: field("day", day, 1..=31, &[])?,
        months: field("month", month, 1..=12, &MONTHS)?,
        // Sunday is 0 and 7.
        weekdays: weekdays | (weekdays >> 7 & 1),
        either_day: !day.starts_with('*') && !weekday.starts_with('*'),
        zone,
    })))
}

/// The names of what is counted, from 0.
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const MONTHS: [&str; 13] =
    ["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// A bit for every number that a field names.
fn field(what: &str, text: &str, all: RangeInclusive<u8>, names: &[&str]) -> Result<u64, String> {
    let number = |text: &str| {
        let named = names.iter().position(|name| !name.is_empty() && name.eq_ignore_ascii_case(text));
        let number = named.and_then(|place| u8::try_from(place).ok()).or_else(|| text.parse().ok());
        number
            .filter(|number| all.contains(number))
            .ok_or_else(|| format!("{what} `{text}` is not within {} to {}", all.start(), all.end()))
    };
    let mut bits = 0_u64;
    for part in text.split(',') {
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (*all.start(), *all.end()),
            Some((first, last)) => (number(first)?, number(last)?),
            None if step.is_some() => (number(range)?, *all.end()),
            None => (number(range)?, number(range)?),
        };
        let step = match step.map(str::parse::<usize>) {
            None => 1,
            Some(Ok(step)) if step > 0 => step,
            Some(_) => return Err(format!("{what} `{part}` has no step that could be taken")),
        };
        if first > last {
            return Err(format!("{what} `{part}` ends before it begins"));
        }
        bits |= (first..=last).step_by(step).fold(0, |bits, number| bits | 1 << number);
    }
    Ok(bits)
}

impl Calendar {
    fn next(&self, after: SystemTime) -> Option<SystemTime> {
        let after = jiff::Timestamp::try_from(after).ok()?;
        let begin = after.to_zoned(self.zone.clone()).datetime();
        let mut at = begin.date().at(begin.hour(), begin.minute(), 0, 0).checked_add(1.minute()).ok()?;
        while at.year() - begin.year() < YEARS {
            if has(self.months, at.month())
                && self.has_day(at)
                && has(self.hours, at.hour())
                && has(self.minutes, at.minute())
            {
                // An hour that a clock leaves out is the one after it; one that comes twice is the first.
                let found = at.to_zoned(self.zone.clone()).ok()?.timestamp();
                if found > after {
                    return Some(found.into());
                }
            }
            at = self.later(at)?;
        }
        None
    }

    /// The next minute that may fit.
    fn later(&self, at: DateTime) -> Option<DateTime> {
        if !has(self.months, at.month()) {
            return Some(at.date().last_of_month().tomorrow().ok()?.at(0, 0, 0, 0));
        }
        if !self.has_day(at) {
            return Some(at.date().tomorrow().ok()?.at(0, 0, 0, 0));
        }
        if !has(self.hours, at.hour()) {
            return at.date().at(at.hour(), 0, 0, 0).checked_add(1.hour()).ok();
        }
        at.checked_add(1.minute()).ok()
    }

    fn has_day(&self, at: DateTime) -> bool {
        let day = has(self.days, at.day());
        let weekday = has(self.weekdays, at.weekday().to_sunday_zero_offset());
        if self.either_day { day || weekday } else { day && weekday }
    }
}

fn has(bits: u64, number: i8) -> bool {
    bits >> number & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(text: &str, zone: Option<&str>, after: &str) -> String {
        let after: jiff::Timestamp = after.parse().unwrap();
        let next = Cron::new(text, zone).unwrap().next(after.into()).unwrap();
        jiff::Timestamp::try_from(next).unwrap().to_string()
    }

    #[test]
    fn the_next_time_is_the_first_that_fits() {
        for (text, after, then) in [
            ("* * * * *", "2026-01-05T10:00:30Z", "2026-01-05T10:01:00Z"),
            ("*/15 9-17 * * MON-FRI", "2026-01-09T17:50:00Z", "2026-01-12T09:00:00Z"),
            ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("30 6 13 * 5", "2026-01-01T00:00:00Z", "2026-01-02T06:30:00Z"),
            ("5,10 0 1 JAN,JUL *", "2026-01-01T00:05:00Z", "2026-01-01T00:10:00Z"),
            ("0 12 * * 7", "2026-01-05T00:00:00Z", "2026-01-11T12:00:00Z"),
            ("@monthly", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"),
            ("@every 90s", "2026-01-31T00:00:00Z", "2026-01-31T00:01:30Z"),
        ] {
            assert_eq!(next(text, None, after), then, "{text}");
        }
    }

    #[test]
    fn hours_are_those_of_the_zone_also_when_its_clock_is_changed() {
        let berlin = Some("Europe/Berlin");
        if TimeZone::get("Europe/Berlin").is_err() {
            return; // This machine knows no time zones.
        }
        assert_eq!(next("0 9 * * *", berlin, "2026-03-28T12:00:00Z"), "2026-03-29T07:00:00Z");
        assert_eq!(next("30 2 * * *", berlin, "2026-03-28T12:00:00Z"), "2026-03-29T01:30:00Z", "left out");
        assert_eq!(next("30 2 * * *", berlin, "2026-10-25T00:30:00Z"), "2026-10-26T01:30:00Z", "not twice");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, problem) in [
            ("", "five fields"),
            ("* * * *", "five fields"),
            ("60 * * * *", "minute `60`"),
            ("* * 0 * *", "day `0`"),
            ("* * * * nosuch", "day of the week `nosuch`"),
            ("*/0 * * * *", "no step"),
            ("9-5 * * * *", "ends before it begins"),
            ("0 0 31 2 *", "there is no such day"),
            ("@every 5x", "invalid duration `5x`"),
            ("@every 0s", "never pause"),
        ] {
            let error = Cron::new(text, None).unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
        assert!(Cron::new("* * * * *", Some("Mars/Olympus")).unwrap_err().to_string().contains("time zone"));
    }
}
