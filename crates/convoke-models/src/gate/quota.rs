//! A rate-limit quota: what the provider said is left, and what has been used since.

use std::time::Duration;

use tokio::time::Instant;

use super::rate_limit_headers::{QuotaReading, Unit};
use super::state::AdmittedTotal;

/// What lies further ahead is not waited for: whoever sends a request anyway is told by the provider, and can decide. A
/// minute, which many quotas are for, and what rounding adds to it.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(75);

/// A quota of a provider.
#[derive(Debug)]
pub(super) struct Quota {
    unit: Unit,
    limit: Option<u64>,
    remaining: u64,
    /// Up to which request `remaining` has counted what was let through.
    counted: AdmittedTotal,
    /// When it is full again. Not known from when it was last full until a reply to something sent since then comes.
    full_at: Option<Instant>,
}

/// The room that is left in a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuotaRoom {
    Enough,
    Until(Instant),
    /// Requests on their way will tell.
    WhenAnswered,
    /// Nobody can tell: the quota is of no more use.
    Unknown,
}

impl Quota {
    pub(super) fn new(reading: &QuotaReading, total: AdmittedTotal, now: Instant) -> Self {
        Self {
            unit: reading.unit,
            limit: reading.limit,
            remaining: reading.remaining,
            counted: total,
            full_at: Some(now + reading.full_in),
        }
    }

    /// Takes what the reply to the request at this total says. Replies overtake each other: only what was said to a later
    /// request than before is new.
    pub(super) fn update(&mut self, reading: &QuotaReading, total: AdmittedTotal, now: Instant) {
        if total.requests > self.counted.requests {
            *self = Self::new(reading, total, now);
        }
    }

    /// Whether there is room for one more request, of so many tokens, after all up to `latest`.
    pub(super) fn room(
        &mut self,
        tokens: u64,
        latest: AdmittedTotal,
        unanswered: usize,
        now: Instant,
    ) -> QuotaRoom {
        if self.full_at.is_some_and(|time| time <= now) {
            let Some(limit) = self.limit else { return QuotaRoom::Unknown };
            (self.remaining, self.counted, self.full_at) = (limit, latest, None);
        }
        let gone = match self.unit {
            Unit::Requests => latest.requests - self.counted.requests,
            Unit::Tokens => latest.tokens - self.counted.tokens,
        };
        let needed = match self.unit {
            Unit::Requests => 1,
            Unit::Tokens => tokens,
        };
        // A request that is larger than the limit may go when nothing else has: it is for the provider to refuse it.
        let needed = needed.min(self.limit.unwrap_or(u64::MAX));
        if self.remaining.saturating_sub(gone) >= needed {
            return QuotaRoom::Enough;
        }
        match self.full_at {
            Some(time) if time.duration_since(now) > LONGEST_WAIT => QuotaRoom::Enough,
            Some(time) => QuotaRoom::Until(time),
            None if unanswered > 0 => QuotaRoom::WhenAnswered,
            None => QuotaRoom::Unknown,
        }
    }

    /// How long it is until it is full again, if nothing is left of it now and that is worth waiting for.
    pub(super) fn used_up_for(&self, now: Instant) -> Option<Duration> {
        let wait = self.full_at.filter(|_| self.remaining == 0)?.duration_since(now);
        (!wait.is_zero() && wait <= LONGEST_WAIT).then_some(wait)
    }
}
