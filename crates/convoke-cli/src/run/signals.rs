//! Being told to stop.

use crate::failure::Failure;

/// What tells this process to stop: Ctrl-C, and whoever sends it a request to end.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// From now on, being told to stop does not end the process by itself.
    pub(crate) fn listen() -> Result<Self, Failure> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let failed = |error| Failure::failed(format!("this process cannot listen to signals: {error}"));
            let interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
            let terminate = signal(SignalKind::terminate()).map_err(failed)?;
            Ok(Self { interrupt, terminate })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Waits to be told to stop; gives by what.
    pub(crate) async fn next(&mut self) -> &'static str {
        #[cfg(unix)]
        {
            tokio::select! {
                _ = self.interrupt.recv() => "Ctrl-C",
                _ = self.terminate.recv() => "SIGTERM",
            }
        }
        #[cfg(not(unix))]
        {
            let _ = tokio::signal::ctrl_c().await;
            "Ctrl-C"
        }
    }
}
