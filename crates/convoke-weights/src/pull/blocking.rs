//! Runs blocking work that reports progress and can be cancelled.

use std::path::{Path, PathBuf};

use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::WeightsError;
use crate::library::Lock;

/// Reports the progress of blocking work.
pub(super) struct Reporter {
    done: watch::Sender<u64>,
    place: PathBuf,
}

impl Reporter {
    /// So many bytes are done.
    ///
    /// # Errors
    /// [`WeightsError::Stopped`] if nobody wants the rest.
    pub(super) fn done(&self, bytes: u64) -> Result<(), WeightsError> {
        self.done.send(bytes).map_err(|_| WeightsError::Stopped { path: self.place.clone() })
    }
}

/// Runs work that blocks on a thread for such work. If this future is dropped, the work ends when it next tells how far
/// it is; it holds the lock until then.
pub(super) async fn run_blocking<T: Send + 'static>(
    place: &Path,
    lock: Lock,
    work: impl FnOnce(&Reporter) -> Result<T, WeightsError> + Send + 'static,
    mut watch: impl FnMut(u64) + Send,
) -> Result<T, WeightsError> {
    let (done, mut seen) = watch::channel(0);
    let reporter = Reporter { done, place: place.to_owned() };
    let work = spawn_blocking(move || {
        let result = work(&reporter);
        drop(lock);
        result
    });
    while seen.changed().await.is_ok() {
        let bytes = *seen.borrow_and_update();
        watch(bytes);
    }
    // It has let go of its reporter, so it is at its end.
    work.await.unwrap_or_else(|_| Err(WeightsError::Stopped { path: place.to_owned() }))
}
