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
