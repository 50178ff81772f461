//! Runs blocking work on files off the threads that run futures.
//!
//! Such work cannot be taken away from its thread, so it is told when nobody waits for it any more and stops by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use convoke_core::Error;
use tokio::task::JoinError;

/// A flag that is set when nobody waits for the work any more.
#[derive(Debug, Clone, Default)]
pub(crate) struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Whether nobody waits for the result any more.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Does blocking work. Dropping the future tells it to stop.
pub(crate) async fn blocking<T, E, F>(work: F) -> Result<T, Error>
where
    T: Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
    F: FnOnce(&CancelFlag) -> Result<T, E> + Send + 'static,
{
    match run_blocking(move |cancel| work(cancel).map_err(Error::failed)).await {
        Ok(result) => result,
        Err(lost) => Err(Error::failed(lost)),
    }
}

/// Does blocking work and gives what it gave. An error says that the runtime was shut down before it began.
pub(crate) async fn run_blocking<T, F>(work: F) -> Result<T, JoinError>
where
    T: Send + 'static,
    F: FnOnce(&CancelFlag) -> T + Send + 'static,
{
    let cancel = CancelFlag::default();
    let _cancel_on_drop = CancelOnDrop(cancel.clone());
    match tokio::task::spawn_blocking(move || work(&cancel)).await {
        Ok(result) => Ok(result),
        Err(lost) if lost.is_panic() => std::panic::resume_unwind(lost.into_panic()),
        Err(lost) => Err(lost),
    }
}
