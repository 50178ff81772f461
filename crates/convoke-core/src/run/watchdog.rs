//! The watchdog thread for runs whose steps may block.
//!
//! A timer would not do: the thread that a step blocks may be the very one that drives the timers. There is one watchdog in
//! a process, made when it is first needed and asleep while there is nothing to look after. It ends with the process; it
//! owns nothing and keeps no run alive.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{Builder, Thread};
use std::time::Duration;

use super::polls::Polls;

/// How often to look.
const INTERVAL: Duration = Duration::from_secs(1);

static WATCHED: Mutex<Vec<Weak<Polls>>> = Mutex::new(Vec::new());
static WATCHDOG: OnceLock<Option<Thread>> = OnceLock::new();

/// Looks after a run as long as somebody has its polls.
pub(super) fn watch(polls: &Arc<Polls>) {
    watched().push(Arc::downgrade(polls));
    // Where no thread can be had, runs are not looked after; they work all the same.
    let watchdog = WATCHDOG.get_or_init(|| {
        let spawned = Builder::new().name("convoke-watchdog".to_owned()).spawn(watch_all);
        spawned.ok().map(|handle| handle.thread().clone())
    });
    if let Some(watchdog) = watchdog {
        watchdog.unpark();
    }
}

fn watch_all() {
    loop {
        let runs: Vec<Arc<Polls>> = {
            let mut watched = watched();
            watched.retain(|polls| polls.strong_count() > 0);
            watched.iter().filter_map(Weak::upgrade).collect()
        };
        if runs.is_empty() {
            std::thread::park();
        } else {
            runs.iter().for_each(|polls| polls.check());
            drop(runs);
            std::thread::sleep(INTERVAL);
        }
    }
}

fn watched() -> MutexGuard<'static, Vec<Weak<Polls>>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}
