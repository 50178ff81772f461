//! The time of scripts.
//!
//! QuickJS asks whether it may go on between two instructions of a script. Within a function of its own, `sort` of a list of four
//! thousand million items for instance, it asks nobody, and nothing in the process can end it. So a script has a thread of its own:
//! what does not end in time is left behind, with no more memory than it may have and no way to anything, and its run goes on to say
//! so. Of such there are a few at most: then no script is begun in this process until one of them has come to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::given::Given;
use super::javascript;

/// How long a script may take.
const TIME: Duration = Duration::from_secs(5);
/// How long it then has to notice that.
const GRACE: Duration = Duration::from_millis(500);
/// So many scripts may be left behind.
const MOST_LEFT: usize = 4;

static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Runs a script for as long as it may take, or until it is told to stop.
pub(super) fn within_time(source: String, given: Given, stopped: Arc<AtomicBool>) -> Result<String, String> {
    if LEFT.load(Ordering::SeqCst) >= MOST_LEFT {
        return Err(format!(
            "{MOST_LEFT} scripts that took too long still compute in this process: mend them, and end it"
        ));
    }
    let end = Instant::now() + TIME;
    let (give, made) = mpsc::channel();
    // Whoever comes second knows that the other was there.
    let is_settled = Arc::new(AtomicBool::new(false));
    let settle = Arc::clone(&is_settled);
    let work = move || {
        let is_over = move || stopped.load(Ordering::Relaxed) || Instant::now() > end;
        // Nobody may wait for it any more.
        let _ = give.send(javascript::run(&source, given, is_over));
        if settle.swap(true, Ordering::SeqCst) {
            LEFT.fetch_sub(1, Ordering::SeqCst);
        }
    };
    let begun = thread::Builder::new().name("script".to_owned()).spawn(work);
    begun.map_err(|error| format!("there is no thread for the script: {error}"))?;
    let made = match made.recv_timeout(TIME + GRACE) {
        Ok(made) => made,
        Err(_) => {
            LEFT.fetch_add(1, Ordering::SeqCst);
            if is_settled.swap(true, Ordering::SeqCst) {
                LEFT.fetch_sub(1, Ordering::SeqCst);
            }
            None
        }
    };
    made.unwrap_or_else(|| {
        Err(format!(
            "the script took longer than {} seconds: have it do less at a time, or a command do it in a `tool` node",
            TIME.as_secs()
        ))
    })
}
