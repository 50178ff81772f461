//! Reads rate limits from the status and headers of a reply, in the forms of all providers.

use std::time::{Duration, SystemTime};

use convoke_http::header_time::{count, parse_wait, retry_after, server_clock, text};
use http::{HeaderMap, StatusCode};

/// How many kinds of quota there are.
pub(super) const QUOTAS: usize = HEADERS.len();

/// The unit that a quota counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Requests,
    /// Of any kind: how many of them will be read and how many written is not known beforehand.
    Tokens,
}

/// The headers of one quota: its limit, what remains of it, and when it is full again.
const HEADERS: [(Unit, [&str; 3]); 10] = [
    // OpenAI and many that follow it.
    (
        Unit::Requests,
        ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
    ),
    (Unit::Tokens, ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"]),
    // Those that have one for the day as well.
    (
        Unit::Requests,
        [
            "x-ratelimit-limit-requests-day",
            "x-ratelimit-remaining-requests-day",
            "x-ratelimit-reset-requests-day",
        ],
    ),
    (
        Unit::Tokens,
        [
            "x-ratelimit-limit-tokens-minute",
            "x-ratelimit-remaining-tokens-minute",
            "x-ratelimit-reset-tokens-minute",
        ],
    ),
    // Anthropic.
    (
        Unit::Requests,
        [
            "anthropic-ratelimit-requests-limit",
            "anthropic-ratelimit-requests-remaining",
            "anthropic-ratelimit-requests-reset",
        ],
    ),
    (
        Unit::Tokens,
        [
            "anthropic-ratelimit-tokens-limit",
            "anthropic-ratelimit-tokens-remaining",
            "anthropic-ratelimit-tokens-reset",
        ],
    ),
    (
        Unit::Tokens,
        [
            "anthropic-ratelimit-input-tokens-limit",
            "anthropic-ratelimit-input-tokens-remaining",
            "anthropic-ratelimit-input-tokens-reset",
        ],
    ),
    (
        Unit::Tokens,
        [
            "anthropic-ratelimit-output-tokens-limit",
            "anthropic-ratelimit-output-tokens-remaining",
            "anthropic-ratelimit-output-tokens-reset",
        ],
    ),
    // Everybody else.
    (Unit::Requests, ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]),
    (Unit::Requests, ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"]),
];

/// The rate limits that one reply tells.
#[derive(Debug, PartialEq)]
pub(super) struct RateLimitInfo {
    pub(super) outcome: RateLimitOutcome,
    pub(super) readings: Vec<QuotaReading>,
}

/// The provider's decision about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateLimitOutcome {
    Accepted,
    /// It was too much, or too much for now.
    Refused {
        wait: Option<Duration>,
    },
    /// It failed for a reason that has nothing to do with pace.
    Neither,
}

/// The reading of one quota in a reply. One that does not say when it is full again is of no use, and is left out.
#[derive(Debug, PartialEq)]
pub(super) struct QuotaReading {
    /// Which of [`HEADERS`] it is.
    pub(super) quota: usize,
    pub(super) unit: Unit,
    pub(super) limit: Option<u64>,
    pub(super) remaining: u64,
    pub(super) full_in: Duration,
}

impl RateLimitInfo {
    /// Reads a reply. Times in it are by the provider's clock, if it says what that shows, and otherwise by ours.
    pub(super) fn read(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Self {
        let now = server_clock(headers, now);
        let readings = HEADERS.iter().enumerate().filter_map(|(quota, (unit, [limit, remaining, reset]))| {
            Some(QuotaReading {
                quota,
                unit: *unit,
                limit: count(headers, limit),
                remaining: count(headers, remaining)?,
                full_in: parse_wait(text(headers, reset)?, now)?,
            })
        });
        Self { readings: readings.collect(), outcome: outcome(status, headers, now) }
    }
}

fn outcome(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> RateLimitOutcome {
    // No time at all says nothing about how long.
    let wait = retry_after(headers, now).filter(|wait| !wait.is_zero());
    match status.as_u16() {
        200..=299 => RateLimitOutcome::Accepted,
        // An empty account is refused with the same status, and some say that waiting will not help.
        429 if text(headers, "x-should-retry") != Some("false") => RateLimitOutcome::Refused { wait },
        // Without a time to wait it is trouble of the provider's own, which does not pass by our going slower.
        503 | 529 if wait.is_some() => RateLimitOutcome::Refused { wait },
        _ => RateLimitOutcome::Neither,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let header = |(name, value): &(&'static str, &'static str)| {
            (http::HeaderName::from_static(name), http::HeaderValue::from_static(value))
        };
        pairs.iter().map(header).collect()
    }

    fn read(status: u16, pairs: &[(&'static str, &'static str)]) -> RateLimitInfo {
        let status = StatusCode::from_u16(status).unwrap();
        RateLimitInfo::read(status, &headers(pairs), SystemTime::UNIX_EPOCH)
    }

    fn readings(pairs: &[(&'static str, &'static str)]) -> Vec<(Unit, Option<u64>, u64, f64)> {
        let readings = read(200, pairs).readings.into_iter();
        readings.map(|read| (read.unit, read.limit, read.remaining, read.full_in.as_secs_f64())).collect()
    }

    #[test]
    fn quotas_are_read_in_the_words_of_every_provider() {
        let openai = readings(&[
            ("x-ratelimit-limit-requests", "500"),
            ("x-ratelimit-remaining-requests", "499"),
            ("x-ratelimit-reset-requests", "120ms"),
            ("x-ratelimit-limit-tokens", "30000"),
            ("x-ratelimit-remaining-tokens", "29000"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ]);
        assert_eq!(
            openai,
            [(Unit::Requests, Some(500), 499, 0.12), (Unit::Tokens, Some(30_000), 29_000, 360.0)]
        );
        let anthropic = readings(&[
            ("date", "Sun, 15 Nov 2026 10:00:00 GMT"),
            ("anthropic-ratelimit-requests-limit", "50"),
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2026-11-15T10:00:30Z"),
            ("anthropic-ratelimit-input-tokens-limit", "40000"),
            ("anthropic-ratelimit-input-tokens-remaining", "39000"),
            ("anthropic-ratelimit-input-tokens-reset", "2026-11-15T10:00:01Z"),
        ]);
        assert_eq!(
            anthropic,
            [(Unit::Requests, Some(50), 0, 30.0), (Unit::Tokens, Some(40_000), 39_000, 1.0)]
        );
        let generic = readings(&[
            ("ratelimit-limit", "100, 100;w=60"),
            ("ratelimit-remaining", "7"),
            ("ratelimit-reset", "5"),
            ("x-ratelimit-remaining", "3"),
            ("x-ratelimit-reset", "1.5"),
        ]);
        assert_eq!(generic, [(Unit::Requests, None, 3, 1.5), (Unit::Requests, Some(100), 7, 5.0)]);
    }

    #[test]
    fn what_cannot_be_read_or_does_not_say_when_is_left_out() {
        assert_eq!(readings(&[("x-ratelimit-remaining", "7")]), []);
        assert_eq!(readings(&[("x-ratelimit-remaining", "few"), ("x-ratelimit-reset", "5")]), []);
        assert_eq!(readings(&[("x-ratelimit-remaining", "7"), ("x-ratelimit-reset", "soon")]), []);
    }

    #[test]
    fn refusals_are_told_from_other_trouble() {
        let outcome = |status, pairs: &[_]| read(status, pairs).outcome;
        let refused =
            |seconds: Option<u64>| RateLimitOutcome::Refused { wait: seconds.map(Duration::from_secs) };
        assert_eq!(outcome(200, &[]), RateLimitOutcome::Accepted);
        assert_eq!(outcome(429, &[]), refused(None));
        assert_eq!(outcome(429, &[("retry-after", "7")]), refused(Some(7)));
        assert_eq!(outcome(429, &[("retry-after", "7"), ("retry-after-ms", "2000")]), refused(Some(2)));
        assert_eq!(outcome(429, &[("retry-after", "0")]), refused(None));
        assert_eq!(outcome(429, &[("x-should-retry", "false")]), RateLimitOutcome::Neither);
        assert_eq!(outcome(503, &[]), RateLimitOutcome::Neither);
        assert_eq!(outcome(529, &[("retry-after", "3")]), refused(Some(3)));
        assert_eq!(outcome(401, &[]), RateLimitOutcome::Neither);
    }
}
