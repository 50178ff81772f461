//! How many gates are open in this process: what comes out of a view is not to stop halfway because the process ends.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

static OPEN: Mutex<usize> = Mutex::new(0);
static CLOSED: Condvar = Condvar::new();

/// One that is open as long as this lives.
pub(super) struct OpenGate(());

impl OpenGate {
    pub(super) fn new() -> Self {
        *OPEN.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Self(())
    }
}

impl Drop for OpenGate {
    fn drop(&mut self) {
        *OPEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        CLOSED.notify_all();
    }
}

/// Waits until everything has come out that was coming out of views, for whoever is about to end the process without waiting for its
/// threads. Not for longer than this.
pub fn wait_for_changes(longest: Duration) {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    // It is the end of the process either way.
    drop(CLOSED.wait_timeout_while(open, longest, |open| *open > 0));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn whoever_waits_waits_until_no_gate_is_open_and_not_for_longer_than_told() {
        let (gate, is_done) = (OpenGate::new(), Arc::new(AtomicBool::new(false)));
        wait_for_changes(Duration::from_millis(1));
        let done = Arc::clone(&is_done);
        let bringing = std::thread::spawn(move || {
            let _gate = gate;
            std::thread::sleep(Duration::from_millis(50));
            done.store(true, Ordering::Relaxed);
        });
        wait_for_changes(Duration::from_secs(60));
        assert!(is_done.load(Ordering::Relaxed));
        bringing.join().expect("it ends");
    }
}
