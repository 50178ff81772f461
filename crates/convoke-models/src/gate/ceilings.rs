//! Ceilings: limits that the user sets on requests.

use std::time::Duration;

/// Limits of a gate that the user sets, whatever the provider would allow.
///
/// ```
/// use std::time::Duration;
/// use convoke_models::gate::Ceilings;
///
/// let modest = Ceilings::none().requests(30, Duration::from_mins(1)).concurrent(4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ceilings {
    /// The least time between two requests.
    pub(super) interval: Option<Duration>,
    pub(super) concurrent: Option<usize>,
}

impl Ceilings {
    /// How many requests are under way at most if nothing is set: as many as a process can usually have connections.
    pub(super) const CONCURRENT: usize = 500;

    /// The longest interval there is. Times stay within what a clock can show.
    const LONGEST_INTERVAL: Duration = Duration::from_hours(24);

    /// None besides the provider's, but for 500 requests under way at a time.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Limits requests to this many in this time, evenly spread; 0 counts as 1. One a day is the least.
    #[must_use]
    pub fn requests(mut self, count: u32, per: Duration) -> Self {
        self.interval = Some((per / count.max(1)).min(Self::LONGEST_INTERVAL));
        self
    }

    /// Limits concurrent requests to this many; 0 counts as 1.
    #[must_use]
    pub fn concurrent(mut self, requests: usize) -> Self {
        self.concurrent = Some(requests.max(1));
        self
    }
}
