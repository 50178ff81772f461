//! Listens for the request to cancel a run while it is at work.

use std::convert::Infallible;

use futures_util::StreamExt;

use super::Run;
use crate::scope::Canceller;
use crate::store::{CANCEL_CHANNEL, Store};

/// Listens as long as the run is at work.
pub(super) struct Listener<'a> {
    run: &'a Run,
    store: &'a dyn Store,
    canceller: &'a Canceller,
}

impl<'a> Listener<'a> {
    /// Somebody who listens, if the run can be told anything.
    pub(super) fn of(run: &'a Run, canceller: &'a Canceller) -> Option<Self> {
        let store = &**run.journal.as_ref()?.store();
        Some(Self { run, store, canceller })
    }

    /// Looks once.
    pub(super) async fn look(&self) {
        // A store that fails is noticed by whoever has something to write.
        let Ok(told) = self.store.mail(&self.run.id, CANCEL_CHANNEL, 0, 1).await else { return };
        if let Some(mail) = told.first() {
            let reason = mail.read::<String>().unwrap_or_default();
            // Whoever comes second finds a reason already.
            let _ = self.run.ended_for_good.set(());
            self.canceller.cancel(reason);
        }
    }

    /// Looks whenever there is something to look at.
    pub(super) async fn listen(self) -> Infallible {
        let mut watch = self.store.watch(Some(&self.run.id));
        loop {
            self.look().await;
            if watch.next().await.is_none() || self.run.ended_for_good.get().is_some() {
                return std::future::pending().await;
            }
        }
    }
}
