//! Cancellation with a reason.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::run::WhenDropped;

/// Ends a run, or a part of it, from outside.
///
/// ```
/// use convoke_core::Canceller;
///
/// let canceller = Canceller::new();
/// canceller.cancel("the user closed the page");
/// assert!(canceller.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct Canceller(Arc<Cancel>);

impl Canceller {
    /// A canceller that has not cancelled anything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends it. Only the first reason counts.
    pub fn cancel(&self, reason: impl Into<String>) {
        self.0.cancel(reason);
    }

    /// Returns whether it was ended.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// One that can be ended alone, and is ended with the outer one.
    pub(crate) fn narrower(outer: &Arc<Cancel>, when_dropped: WhenDropped) -> Self {
        Self(Arc::new(Cancel {
            token: OnceLock::new(),
            reason: OnceLock::new(),
            outer: Some(Arc::clone(outer)),
            when_dropped,
            is_left: AtomicBool::new(false),
        }))
    }

    /// Ends it because nobody waits for it any more.
    pub(crate) fn leave(&self, reason: &str) {
        let may_be_left = self.0.when_dropped == WhenDropped::Leave && !self.is_cancelled();
        self.0.is_left.store(may_be_left, Ordering::Relaxed);
        self.cancel(reason);
    }

    /// Whether it ended for no other reason than that nobody waited, and others are to go on with it.
    pub(crate) fn is_left(&self) -> bool {
        self.0.is_left.load(Ordering::Relaxed)
    }

    pub(crate) fn inner(&self) -> &Arc<Cancel> {
        &self.0
    }
}

impl std::fmt::Debug for Canceller {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Canceller").field("reason", &self.0.reason.get()).finish()
    }
}

#[derive(Default)]
pub(crate) struct Cancel {
    /// Made when somebody waits for it, or cancels: most branches are over before that.
    token: OnceLock<CancellationToken>,
    reason: OnceLock<Box<str>>,
    outer: Option<Arc<Cancel>>,
    when_dropped: WhenDropped,
    is_left: AtomicBool,
}

impl Cancel {
    pub(crate) fn cancel(&self, reason: impl Into<String>) {
        // Whoever comes second finds a reason already; the first one stands.
        let _ = self.reason.set(reason.into().into());
        self.token().cancel();
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_cancelled() { Err(self.error()) } else { Ok(()) }
    }

    pub(crate) async fn cancelled(&self) -> Error {
        self.token().cancelled().await;
        self.error()
    }

    fn is_cancelled(&self) -> bool {
        self.further_out().any(|cancel| cancel.token.get().is_some_and(CancellationToken::is_cancelled))
    }

    fn token(&self) -> &CancellationToken {
        self.token.get_or_init(|| match &self.outer {
            Some(outer) => outer.token().child_token(),
            None => CancellationToken::new(),
        })
    }

    /// This one, and those with which it is ended.
    fn further_out(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |cancel| cancel.outer.as_deref())
    }

    fn error(&self) -> Error {
        let reason = self.further_out().filter_map(|cancel| cancel.reason.get()).last();
        Error::Cancelled(reason.cloned().unwrap_or_else(|| "no reason was given".into()))
    }
}
