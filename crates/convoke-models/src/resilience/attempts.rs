//! The retry policy: number of attempts, backoff, limits.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use convoke_core::Backoff;

use super::PartialReply;

/// The retry policy: how often a call is tried, and how long is waited in between.
///
/// Waits double from one failure to the next, and each is a random part of that, so that callers that failed together do
/// not come back together. A provider that says how long to wait is obeyed instead, unless it asks for too much.
///
/// ```
/// use std::time::Duration;
/// use convoke_models::resilience::Attempts;
///
/// let patient = Attempts::at_most(8).longest_wait(Duration::from_mins(1)).patience(Duration::from_mins(10));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempts {
    pub(super) most: u32,
    first_wait: Duration,
    longest_wait: Duration,
    pub(super) longest_retry_after: Duration,
    pub(super) patience: Duration,
    pub(super) partial: PartialReply,
}

impl Default for Attempts {
    /// Four attempts. Waits of up to one second, then two, then four; up to a minute if the provider asks for it; three
    /// minutes in all.
    fn default() -> Self {
        Self {
            most: 4,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(30),
            longest_retry_after: Duration::from_mins(1),
            patience: Duration::from_mins(3),
            partial: PartialReply::default(),
        }
    }
}

impl Attempts {
    /// Creates a policy of this many attempts, the first included; 0 counts as 1.
    #[must_use]
    pub fn at_most(attempts: u32) -> Self {
        Self { most: attempts.max(1), ..Self::default() }
    }

    /// Sets the longest wait after the first failure.
    #[must_use]
    pub fn first_wait(mut self, wait: Duration) -> Self {
        self.first_wait = wait;
        self
    }

    /// Sets the longest wait after any failure.
    #[must_use]
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.longest_wait = wait;
        self
    }

    /// Sets how long a provider may ask us to wait. If it asks for more, the error is passed on at once, with
    /// [`retry_after`](convoke_core::ModelError::retry_after), and it is for the caller to decide.
    #[must_use]
    pub fn longest_retry_after(mut self, wait: Duration) -> Self {
        self.longest_retry_after = wait;
        self
    }

    /// Sets how long all waits of one call may be together. The time that attempts take does not count.
    #[must_use]
    pub fn patience(mut self, wait: Duration) -> Self {
        self.patience = wait;
        self
    }

    /// Sets what becomes of a reply that breaks in the middle.
    #[must_use]
    pub fn partial(mut self, partial: PartialReply) -> Self {
        self.partial = partial;
        self
    }

    /// How long to wait after the n-th failure, counted from 1: any time up to its limit.
    pub(super) fn backoff(&self, failed: u32) -> Duration {
        let limit = Backoff::doubling(self.first_wait, self.longest_wait).after(failed.saturating_sub(1));
        // The longest waits there are do not survive being a floating-point number.
        Duration::try_from_secs_f64(limit.as_secs_f64() * chance()).unwrap_or(limit)
    }
}

/// A number from 0 to 1. Spreading out callers needs no better randomness than a hash map's.
fn chance() -> f64 {
    let bits = RandomState::new().hash_one(()) >> 32;
    bits as f64 / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_their_limit_and_differ() {
        let attempts = Attempts::default().longest_wait(Duration::from_secs(3));
        let longest = |failed| (0..200).map(|_| attempts.backoff(failed)).max().unwrap();
        let (first, second, tenth) = (longest(1), longest(2), longest(10));
        // Of 200 random waits the longest is near the limit.
        assert!(first > Duration::from_millis(800) && first <= Duration::from_secs(1), "{first:?}");
        assert!(second > Duration::from_millis(1_600) && second <= Duration::from_secs(2), "{second:?}");
        assert!(tenth > Duration::from_millis(2_400) && tenth <= Duration::from_secs(3), "{tenth:?}");
        let shortest = (0..200).map(|_| attempts.backoff(10)).min().unwrap();
        assert!(
            shortest < Duration::from_millis(600),
            "those that failed together come back apart: {shortest:?}"
        );
    }
}
