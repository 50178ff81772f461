//! Listens for the request to cancel a run while it is at work.

use std::convert::Infallible;

use futures_util::StreamExt;

use super::Run;
use crate::scope::Canceller;
use crate::store::{CANCEL_CHANNEL, Store};

/// Listens for a cancel request as long as the run is at work.
pub(super) struct CancelListener<'a> {
    run: &'a Run,
    store: &'a dyn Store,
    canceller: &'a Canceller,
}

impl<'a> CancelListener<'a> {
    /// A listener, if the run has a store to be reached through.
    pub(super) fn of(run: &'a Run, canceller: &'a Canceller) -> Option<Self> {
        let store = &**run.journal.as_ref()?.store();
        Some(Self { run, store, canceller })
    }

    /// Checks once.
    pub(super) async fn check(&self) {
        // A store that fails is noticed by whoever has something to write.
        let Ok(requests) = self.store.mail(&self.run.id, CANCEL_CHANNEL, 0, 1).await else { return };
        if let Some(mail) = requests.first() {
            let reason = mail.read::<String>().unwrap_or_default();
            // Whoever comes second finds a reason already.
            let _ = self.run.ended_for_good.set(());
            self.canceller.cancel(reason);
        }
    }

    /// Checks whenever the store says that something has happened.
    pub(super) async fn listen(self) -> Infallible {
        let mut watch = self.store.watch(Some(&self.run.id));
        loop {
            self.check().await;
            if watch.next().await.is_none() || self.run.ended_for_good.get().is_some() {
                return std::future::pending().await;
            }
        }
    }
}
