//! The request rate where the provider does not tell its limits.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// How many requests it remembers.
const REMEMBERED: usize = 4_096;

/// The least time it looks back.
const SECOND: Duration = Duration::from_secs(1);

/// No slower than this, in requests per second: one in ten seconds.
const SLOWEST: f64 = 0.1;

/// What went before the first refusal says nothing about a slower pace than this: it may have been a single request.
const SLOWEST_GUESS: f64 = 1.0;

/// What a success adds, in requests per second: at full pace a twentieth in a second, but no more than a hundredth at a
/// time, so that of fewer requests too only every seventieth or so goes too far.
const MORE: f64 = 0.05;
const MORE_SHARE: f64 = 0.01;

/// Very slow ones would take for ever that way. Within this time a pace grows by about as much again.
const AS_MUCH_AGAIN: Duration = Duration::from_secs(90);

/// Timers are a little late; this much may be made up for.
const SLACK: Duration = Duration::from_millis(10);

/// A pace that halves with every refusal and grows with every success.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Requests per second, once there was a refusal.
    rate: Option<f64>,
    /// When the latest should have gone, had no timer been late. Nothing counts from before a refusal.
    latest: Option<Instant>,
    /// When it last grew.
    grown: Option<Instant>,
    /// When the latest requests went.
    recent: VecDeque<Instant>,
}

impl Pace {
    /// When the next may go. `least` is the shortest interval that the user allows.
    pub(super) fn opens(&self, least: Option<Duration>) -> Option<Instant> {
        let interval = self.rate.map(|rate| Duration::from_secs_f64(1.0 / rate)).max(least)?;
        Some(self.latest? + interval)
    }

    /// One goes now.
    pub(super) fn record_request(&mut self, now: Instant, least: Option<Duration>) {
        self.latest = Some(self.opens(least).max(now.checked_sub(SLACK)).unwrap_or(now).min(now));
        self.recent.push_back(now);
        if self.recent.len() > REMEMBERED {
            self.recent.pop_front();
        }
    }

    /// The request that went at this time was one too many, and the gate is closed for so long. It was opened at `opened`,
    /// if it was ever closed before.
    ///
    /// How fast was too fast? What went in a time as long as the wait, had it been spread over that time and the wait. That
    /// finds a limit per minute as well as one per second, give or take the factor of two by which a pace changes anyway.
    /// It cannot be told if the gate was closed for a part of that time.
    pub(super) fn refused(&mut self, went: Instant, wait: Duration, opened: Option<Instant>) {
        let period = wait.max(SECOND);
        let was_open = opened.is_none_or(|opened| went.duration_since(opened) >= period);
        let in_period = |time: &&Instant| **time <= went && went.duration_since(**time) < period;
        let spread = || {
            let count = self.recent.iter().filter(in_period).count() as f64;
            (count / period.as_secs_f64() / 2.0).max(SLOWEST_GUESS)
        };
        let halved = self.rate.map(|rate| rate / 2.0);
        let rate = halved.into_iter().chain(was_open.then(spread)).reduce(f64::min);
        self.rate = Some(rate.unwrap_or(SLOWEST).max(SLOWEST));
        (self.latest, self.grown) = (None, None);
    }

    /// It was not too fast, and more could have gone.
    pub(super) fn accepted(&mut self, now: Instant) {
        let grown = self.grown.replace(now).unwrap_or(now);
        if let Some(rate) = &mut self.rate {
            let by_time = now.duration_since(grown).div_duration_f64(AS_MUCH_AGAIN).min(1.0);
            *rate += (MORE_SHARE * *rate).min(MORE).max(by_time * *rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    /// A pace at which these many requests went, one in a tenth of a second, and when the last one went.
    fn after(requests: u32) -> (Pace, Instant) {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let last = (0..requests)
            .map(|number| start + 100 * MILLI * number)
            .inspect(|at| pace.record_request(*at, None))
            .last();
        (pace, last.unwrap_or(start))
    }

    fn rate(pace: &Pace) -> f64 {
        (pace.rate.unwrap() * 1_000.0).round() / 1_000.0
    }

    #[test]
    fn without_a_refusal_only_the_users_interval_counts_and_late_timers_are_made_up_for() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let least = Some(100 * MILLI);
        assert_eq!((pace.opens(None), pace.opens(least)), (None, None), "nothing has gone yet");
        pace.record_request(start, least);
        assert_eq!((pace.opens(None), pace.opens(least)), (None, Some(start + 90 * MILLI)));
        pace.record_request(start + 95 * MILLI, least);
        assert_eq!(pace.opens(least), Some(start + 190 * MILLI), "a timer was a little late");
        pace.record_request(start + 300 * MILLI, least);
        assert_eq!(pace.opens(least), Some(start + 390 * MILLI), "more is not made up for");
        pace.record_request(start + 350 * MILLI, least);
        assert_eq!(pace.opens(least), Some(start + 450 * MILLI), "nothing is ahead of its time");
    }

    #[test]
    fn a_first_refusal_halves_what_went_in_a_time_as_long_as_the_wait() {
        for (requests, wait, expected) in
            [(30, 1, 5.0), (30, 2, 5.0), (12, 2, 3.0), (30, 60, 1.0), (1, 1, 1.0)]
        {
            let (mut pace, last) = after(requests);
            pace.refused(last, Duration::from_secs(wait), None);
            assert_eq!(rate(&pace), expected, "{requests} requests, {wait} s");
            assert_eq!(pace.opens(None), None, "nothing counts from before");
            pace.record_request(last, None);
            let opens = last - SLACK;
            assert_eq!(pace.opens(None), Some(opens + Duration::from_secs_f64(1.0 / expected)));
            assert_eq!(pace.opens(Some(2_000 * MILLI)), Some(opens + 2_000 * MILLI), "the longer of both");
        }
        let (mut pace, last) = after(30);
        pace.refused(last - 1_000 * MILLI, 100 * MILLI, None);
        assert_eq!(
            rate(&pace),
            5.0,
            "what went later was not too much, and less than a second is not looked at"
        );
    }

    #[test]
    fn a_further_refusal_halves_the_pace_and_one_of_a_gate_that_was_closed_says_no_more() {
        let second = Duration::from_secs(1);
        let (mut pace, last) = after(30);
        pace.refused(last, second, Some(last - second));
        assert_eq!(rate(&pace), 5.0, "it was open for as long as the wait");
        pace.refused(last, second, Some(last));
        assert_eq!(rate(&pace), 2.5);
        pace.refused(last, second, None);
        assert_eq!(rate(&pace), 1.25, "the slower of both");
        (0..9).for_each(|_| pace.refused(last, second, None));
        assert_eq!(rate(&pace), 0.1, "no slower than that");
        let (mut fresh, last) = after(30);
        fresh.refused(last, second, Some(last - 999 * MILLI));
        assert_eq!(rate(&fresh), 0.1, "nothing is known of it");
    }

    #[test]
    fn a_success_makes_it_a_little_faster_and_a_slow_one_as_fast_again_in_a_minute_and_a_half() {
        let of = |rate| Pace { rate: Some(rate), ..Pace::default() };
        let start = Instant::now();
        for (before, later) in [(10.0, 10.05), (2.0, 2.02)] {
            let mut pace = of(before);
            pace.accepted(start);
            assert_eq!(rate(&pace), later);
        }
        for (seconds, later) in [(0, 1.02), (45, 1.515), (90, 2.02), (900, 2.02)] {
            let mut pace = of(1.0);
            pace.accepted(start);
            pace.accepted(start + Duration::from_secs(seconds));
            assert_eq!(rate(&pace), later, "after {seconds} s");
        }
        let mut free = Pace::default();
        free.accepted(start);
        assert_eq!(free.rate, None);
    }
}
