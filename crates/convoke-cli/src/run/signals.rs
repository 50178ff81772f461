//! Signals that tell this process to stop.

use crate::failure::Failure;

/// How the shell calls a process that was interrupted.
pub(crate) const INTERRUPTED: i32 = 130;

/// What tells this process to stop: Ctrl-C, whoever sends it a request to end, and the end of its terminal.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    /// The end of the terminal; `None` if whoever started this process wants it to outlive that.
    #[cfg(unix)]
    hang_up: Option<tokio::signal::unix::Signal>,
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
            let hang_up =
                if ignores_hang_up() { None } else { Some(signal(SignalKind::hangup()).map_err(failed)?) };
            Ok(Self { interrupt, terminate, hang_up })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Waits to be told to stop; gives by what.
    pub(crate) async fn next(&mut self) -> &'static str {
        #[cfg(unix)]
        {
            let hang_up = async {
                match &mut self.hang_up {
                    Some(hang_up) => hang_up.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.interrupt.recv() => "Ctrl-C",
                _ = self.terminate.recv() => "SIGTERM",
                _ = hang_up => "SIGHUP",
            }
        }
        #[cfg(not(unix))]
        {
            let _ = tokio::signal::ctrl_c().await;
            "Ctrl-C"
        }
    }
}

/// From now on, a file that grows beyond what its user may write (`ulimit -f`) is an error of that write, with words of its own, and
/// not the end of the process.
pub(crate) fn outlive_file_limits(runtime: &tokio::runtime::Runtime) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let _inside = runtime.enter();
        // Whoever cannot listen dies of it as before.
        let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
    }
    #[cfg(not(unix))]
    let _ = runtime;
}

/// Whether this process was started so that it outlives its terminal (`nohup`).
#[cfg(unix)]
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The first signal is the lowest bit.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}
