//! Retry policies: how often to try, and how long to wait in between.

use std::num::NonZeroU32;
use std::time::Duration;

use convoke_core::{Backoff, Error};
use serde::{Deserialize, Serialize};

/// A retry policy: how often to try, and how long to wait in between: exponential, with jitter, never shorter than the other side asked.
///
/// ```
/// use convoke_steps::RetryPolicy;
/// use std::time::Duration;
///
/// let policy = RetryPolicy::attempts(5)?.initial(Duration::from_millis(100)).jitter(0.0);
/// assert_eq!(policy.delay(0, 0.5), Duration::from_millis(100));
/// assert_eq!(policy.delay(3, 0.5), Duration::from_millis(800));
/// assert!(RetryPolicy::attempts(0).is_err());
/// # Ok::<(), convoke_steps::InvalidRetryPolicy>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetryPolicy {
    attempts: NonZeroU32,
    initial: Duration,
    maximum: Duration,
    multiplier: f64,
    jitter: f64,
}

/// The error of a policy with zero attempts: nothing would ever be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a retry needs at least one attempt; the first call counts")]
pub struct InvalidRetryPolicy;

impl From<InvalidRetryPolicy> for Error {
    fn from(error: InvalidRetryPolicy) -> Self {
        Self::failed(error)
    }
}

impl Default for RetryPolicy {
    /// Ten attempts, waiting one second, then twice as long each time, one minute at most, give or take a tenth.
    fn default() -> Self {
        Self {
            attempts: const { NonZeroU32::new(10).unwrap() },
            initial: Duration::from_secs(1),
            maximum: Duration::from_secs(60),
            multiplier: 2.0,
            jitter: 0.1,
        }
    }
}

impl RetryPolicy {
    /// A policy of so many attempts, the first included.
    ///
    /// # Errors
    /// If there would be none.
    pub fn attempts(attempts: u32) -> Result<Self, InvalidRetryPolicy> {
        Ok(Self { attempts: NonZeroU32::new(attempts).ok_or(InvalidRetryPolicy)?, ..Self::default() })
    }

    /// Sets the first wait.
    #[must_use]
    pub fn initial(mut self, wait: Duration) -> Self {
        self.initial = wait;
        self
    }

    /// Sets the longest wait.
    #[must_use]
    pub fn maximum(mut self, wait: Duration) -> Self {
        self.maximum = wait;
        self
    }

    /// Sets how much longer each wait is than the one before; less than 1 counts as 1.
    #[must_use]
    pub fn multiplier(mut self, factor: f64) -> Self {
        self.multiplier = if factor.is_finite() { factor.max(1.0) } else { 1.0 };
        self
    }

    /// Sets by which fraction waits vary, from 0 to 1.
    #[must_use]
    pub fn jitter(mut self, fraction: f64) -> Self {
        self.jitter = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
        self
    }

    /// Returns how often to try.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        self.attempts.get()
    }

    pub(crate) fn longest_wait(&self) -> Duration {
        self.maximum
    }

    /// Returns how long to wait after the `failed`-th failure, counted from 0. `chance` is a random number from 0 to 1.
    #[must_use]
    pub fn delay(&self, failed: u32, chance: f64) -> Duration {
        let backoff = Backoff::doubling(self.initial, self.maximum).multiplier(self.multiplier);
        let seconds = backoff.seconds(failed) * (1.0 + self.jitter * (2.0 * chance - 1.0));
        // The longest waits there are do not survive being a floating-point number.
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}
