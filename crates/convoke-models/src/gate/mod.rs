//! The rate limiter: one gate per provider and key, shared by everything in the process.
//!
//! **What it is for.** A provider counts what a key sends, whoever sends it. So everything in a process that uses the same
//! key at the same place passes the same [`Gate`], in the order it came, at the pace the provider allows. The gate learns
//! that pace from the headers of every reply; where a provider says nothing, from what it refuses.
//!
//! How it decides whether the one who has waited longest may go:
//! - **Ceilings** that the user sets ([`Ceilings`]).
//! - **Quotas**: what replies say is left, of requests and of tokens, and when it is full again. What was let through since
//!   is taken off. At the end of a quota, everybody waits for it to be full again.
//! - **Refusals**: one 429 closes the gate for everybody, for as long as the provider asks, or for a second, then two, and
//!   so on. Refusals of requests that were on their way before count as the same one. A provider that asks for much
//!   more than a minute is not waited for here: requests pass, and whoever sent them is told.
//! - **Width**: how many requests may be unanswered at a time. Few at first; more with every success while others wait;
//!   half as many after a refusal. So a thousand callers do not find out all at once that it was too much.
//! - **Pace**: none until the first refusal, then about half of what had been too much; a little more with every success
//!   while others wait; half of it after a refusal. If the gate was opened in vain, one request goes ahead of all others.
//!
//! Measured with a thousand callers against fifty requests a second: where replies say what is left, next to nothing is
//! refused; where nothing is ever said, one to five in a hundred. Only limits of a few requests a minute that are never
//! spoken of take more refusals to keep within.
//!
//! **What it must never do.** Let somebody pass out of turn; hold a lock while it waits; need a task of its own; be held by
//! anybody for longer than one request is under way. An [`Admission`] covers one request, never the tool calls that
//! follow: so agents within agents cannot wait for one another.

mod ceilings;
mod pace;
mod queue;
mod quota;
mod rate_limit_headers;
mod shared;
mod state;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

pub use ceilings::Ceilings;
use rate_limit_headers::RateLimitInfo;
use state::{AdmissionDecision, AdmittedRequest, State, WaitingRequest};

use crate::http::ApiKey;

/// A rate limiter that admits requests to one provider with one key at the pace the provider allows, first come, first served.
///
/// ```
/// use std::time::Duration;
/// use convoke_models::ApiKey;
/// use convoke_models::gate::{Ceilings, Gate};
///
/// let gate = Gate::shared("https://api.example.com/v1", Some(&ApiKey::new("sk-1")));
/// gate.limit(Ceilings::none().requests(50, Duration::from_secs(1)).concurrent(20));
/// ```
#[derive(Default)]
pub struct Gate {
    shared: Arc<Shared>,
}

/// What a gate, those who wait and those who have passed have in common.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
}

impl Gate {
    /// A gate of its own.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The gate for this place and key. It lives, with what it knows and the ceilings it was given, for as long as anybody
    /// holds it.
    #[must_use]
    pub fn shared(base_url: &str, key: Option<&ApiKey>) -> Arc<Self> {
        shared::find(base_url, key)
    }

    /// Sets what the user allows at most, whatever the provider would.
    pub fn limit(&self, ceilings: Ceilings) {
        let mut state = self.shared.state();
        state.limit(ceilings);
        state.queue.call_first();
    }

    /// Waits until a request that will use about this many tokens may be sent. Dropping the future gives up its turn.
    pub async fn admit(&self, tokens: u64) -> Admission {
        let turn = Turn::take(&self.shared);
        let asked = WaitingRequest { number: turn.number, tokens, since: Instant::now() };
        loop {
            let decision = self.shared.state().decide(asked, Instant::now());
            match decision {
                AdmissionDecision::Admit(passed) => {
                    return Admission { shared: Arc::clone(&self.shared), passed, is_answered: false };
                }
                AdmissionDecision::Until(time) => tokio::select! {
                    () = sleep_until(time) => {}
                    () = turn.called.notified() => {}
                },
                AdmissionDecision::WhenCalled => turn.called.notified().await,
            }
        }
    }

    /// Returns how many requests are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.shared.state().under_way()
    }

    /// Returns how many requests wait for their turn.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.shared.state().queue.len()
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Gate")
            .field("under way", &self.under_way())
            .field("waiting", &self.waiting())
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Nothing under this lock runs code of others: a poisoned one is as good as any.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the queue, given up when dropped.
struct Turn<'a> {
    shared: &'a Shared,
    number: u64,
    called: Arc<Notify>,
}

impl<'a> Turn<'a> {
    fn take(shared: &'a Shared) -> Self {
        let (number, called) = shared.state().queue.join();
        Self { shared, number, called }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Whoever has passed is not in the queue any more, and the next has been called.
        self.shared.state().queue.leave(self.number);
    }
}

/// The permission to have one request under way. Dropped when its reply is whole or given up, at any time.
pub struct Admission {
    shared: Arc<Shared>,
    passed: AdmittedRequest,
    is_answered: bool,
}

impl Admission {
    /// Records the provider's response, whose headers may tell rate limits.
    pub fn record_response(&mut self, status: StatusCode, headers: &HeaderMap) {
        let info = RateLimitInfo::read(status, headers, SystemTime::now());
        let mut state = self.shared.state();
        if !std::mem::replace(&mut self.is_answered, true) {
            state.answered();
        }
        state.record_response(self.passed, &info, Instant::now());
        state.queue.call_first();
    }
}

impl Admission {
    /// Records that the provider refused and wants this wait, where it says so in words only and not in the
    /// headers that [`record_response`](Self::record_response) reads.
    pub fn record_retry_after(&mut self, wait: Duration) {
        let mut state = self.shared.state();
        state.record_retry_after(self.passed, wait, Instant::now());
        state.queue.call_first();
    }

    /// How long nobody is let through, if the gate is closed.
    pub(crate) fn closed_for(&self) -> Option<Duration> {
        self.shared.state().closed_for(Instant::now())
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        if !self.is_answered {
            state.answered();
        }
        state.ended();
        state.queue.call_first();
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Admission").field("answered", &self.is_answered).finish_non_exhaustive()
    }
}
