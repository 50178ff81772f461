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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn reading(unit: Unit, limit: Option<u64>, remaining: u64, full_in: u32) -> QuotaReading {
        QuotaReading { quota: 0, unit, limit, remaining, full_in: SECOND * full_in }
    }

    fn total(requests: u64, tokens: u64) -> AdmittedTotal {
        AdmittedTotal { requests, tokens }
    }

    #[test]
    fn what_was_let_through_since_is_taken_off_in_the_quotas_own_unit() {
        let now = Instant::now();
        let of = |unit, remaining| Quota::new(&reading(unit, Some(100), remaining, 5), total(3, 50), now);
        let full = QuotaRoom::Until(now + 5 * SECOND);
        for (gone, room) in [(3, QuotaRoom::Enough), (4, QuotaRoom::Enough), (5, full)] {
            assert_eq!(of(Unit::Requests, 2).room(90, total(gone, 1_000), 0, now), room, "{gone} requests");
        }
        for (gone, room) in [(50, QuotaRoom::Enough), (60, QuotaRoom::Enough), (61, full)] {
            assert_eq!(of(Unit::Tokens, 20).room(10, total(1_000, gone), 0, now), room, "{gone} tokens");
        }
        assert_eq!(
            of(Unit::Tokens, 100).room(500, total(3, 50), 0, now),
            QuotaRoom::Enough,
            "larger than all"
        );
        assert_eq!(of(Unit::Tokens, 99).room(500, total(3, 50), 0, now), full);
    }

    #[test]
    fn a_quota_that_is_full_again_lets_its_limit_through_and_then_waits_for_word() {
        let now = Instant::now();
        let mut quota = Quota::new(&reading(Unit::Requests, Some(2), 0, 5), total(1, 0), now);
        let later = now + 5 * SECOND;
        assert_eq!(quota.room(1, total(1, 0), 0, later - SECOND / 10), QuotaRoom::Until(later));
        assert_eq!(quota.room(1, total(4, 0), 1, later), QuotaRoom::Enough);
        assert_eq!(quota.room(1, total(5, 0), 2, later), QuotaRoom::Enough);
        assert_eq!(quota.room(1, total(6, 0), 1, later), QuotaRoom::WhenAnswered);
        assert_eq!(quota.room(1, total(6, 0), 0, later), QuotaRoom::Unknown, "nobody will tell");
        let mut endless = Quota::new(&reading(Unit::Requests, None, 0, 5), total(1, 0), now);
        assert_eq!(endless.room(1, total(1, 0), 1, later), QuotaRoom::Unknown);
    }

    #[test]
    fn only_what_was_said_to_a_later_request_is_new() {
        let now = Instant::now();
        let mut quota = Quota::new(&reading(Unit::Requests, Some(9), 3, 5), total(4, 0), now);
        for earlier in [3, 4] {
            quota.update(&reading(Unit::Requests, Some(9), 0, 5), total(earlier, 0), now);
            assert_eq!(quota.remaining, 3);
        }
        quota.update(&reading(Unit::Requests, Some(9), 1, 5), total(5, 0), now);
        assert_eq!((quota.remaining, quota.counted), (1, total(5, 0)));
    }

    #[test]
    fn what_lies_too_far_ahead_is_not_waited_for() {
        let now = Instant::now();
        let of = |remaining, full_in| {
            Quota::new(&reading(Unit::Requests, Some(9), remaining, full_in), total(1, 0), now)
        };
        assert_eq!(of(0, 75).room(1, total(1, 0), 0, now), QuotaRoom::Until(now + 75 * SECOND));
        assert_eq!(of(0, 76).room(1, total(1, 0), 0, now), QuotaRoom::Enough);
        assert_eq!((of(0, 75).used_up_for(now), of(0, 76).used_up_for(now)), (Some(75 * SECOND), None));
        assert_eq!((of(1, 5).used_up_for(now), of(0, 5).used_up_for(now + 5 * SECOND)), (None, None));
    }
}
