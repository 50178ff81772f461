//! Exponential backoff: the wait after each failure, up to a limit.
//!
//! Only arithmetic. How often to try, and whether the other side has asked for another wait, is for those to know that try.

use std::time::Duration;

/// Waits that grow from one failure to the next.
///
/// ```
/// use std::time::Duration;
///
/// use convoke_core::Backoff;
///
/// const PAUSES: Backoff = Backoff::doubling(Duration::from_millis(200), Duration::from_secs(1));
/// let waits: Vec<_> = (0..4).map(|failed| PAUSES.after(failed).as_millis()).collect();
/// assert_eq!(waits, [200, 400, 800, 1_000]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    multiplier: f64,
}

impl Backoff {
    /// Waits that begin with `first`, double each time, and are never longer than `longest`.
    pub const fn doubling(first: Duration, longest: Duration) -> Self {
        Self { first, longest, multiplier: 2.0 }
    }

    /// Sets how much longer each wait is than the one before.
    pub const fn multiplier(mut self, factor: f64) -> Self {
        self.multiplier = factor;
        self
    }

    /// The wait after a failure that this many came before.
    #[must_use]
    pub fn after(&self, failures: u32) -> Duration {
        // The longest waits there are do not survive being a floating-point number.
        Duration::try_from_secs_f64(self.seconds(failures)).unwrap_or(self.longest).min(self.longest)
    }

    /// The same in seconds, before it is rounded to what clocks can show: for whoever varies it.
    #[must_use]
    pub fn seconds(&self, failures: u32) -> f64 {
        if self.first.is_zero() {
            return 0.0;
        }
        let exponent = i32::try_from(failures).unwrap_or(i32::MAX);
        let plain = self.first.as_secs_f64() * self.multiplier.powi(exponent);
        plain.min(self.longest.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_their_limit_and_no_number_of_failures_is_too_many() {
        let backoff = Backoff::doubling(Duration::from_secs(1), Duration::from_secs(30));
        let waits: Vec<_> = (0..7).map(|failures| backoff.after(failures).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(backoff.after(u32::MAX), Duration::from_secs(30));
        assert_eq!(backoff.multiplier(3.0).after(2), Duration::from_secs(9));
        assert_eq!(Backoff::doubling(Duration::ZERO, Duration::MAX).after(u32::MAX), Duration::ZERO);
        assert_eq!(Backoff::doubling(Duration::MAX, Duration::MAX).after(3), Duration::MAX);
    }
}
