//! Drives a run in a task of its own, and cancels it when nobody waits for it any more.

use std::sync::Arc;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::JoinHandle;

use super::polls::Polls;
use super::watchdog::watch;
use crate::scope::Canceller;
use crate::step::BoxFuture;
use crate::{Error, Path};

/// Runs work on a task of its own and waits for it, watching for steps that block. Dropping this cancels the run.
///
/// On a runtime with a single thread nobody could watch while that thread is blocked, so the work runs right here.
pub(super) fn attended<T: Send + 'static>(
    work: BoxFuture<'static, Result<T, Error>>,
    polls: Arc<Polls>,
    canceller: Canceller,
) -> BoxFuture<'static, Result<T, Error>> {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::CurrentThread) | Err(_) => work,
        Ok(_) => watched(tokio::spawn(work), polls, canceller),
    }
}

/// Waits for a task, watching for steps that block. Dropping this cancels the run.
pub(super) fn watched<T: Send + 'static>(
    task: JoinHandle<Result<T, Error>>,
    polls: Arc<Polls>,
    canceller: Canceller,
) -> BoxFuture<'static, Result<T, Error>> {
    watch(&polls);
    let guard = CancelOnDrop(Some(canceller));
    Box::pin(async move {
        let mut task = task;
        let joined = tokio::select! {
            biased;
            joined = &mut task => joined,
            blocked = polls.found_blocked() => return Err(blocked),
        };
        guard.disarm();
        joined.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => Err(Error::panicked(&Path::from(""), &*panic)),
            Err(_) => Err(Error::Cancelled("the runtime was shut down".into())),
        })
    })
}

/// Cancels a run that nobody waits for any more.
struct CancelOnDrop(Option<Canceller>);

impl CancelOnDrop {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(canceller) = &self.0 {
            canceller.leave("nobody waits for the run any more");
        }
    }
}
