//! The points where the parent may kill the child.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Names the point to stop at, as `label:occurrence`.
pub(crate) const KILL_AT: &str = "CONVOKE_KILL_AT";

static REACHED: Mutex<BTreeMap<&'static str, usize>> = Mutex::new(BTreeMap::new());

/// Counts a point, and says whether it is the one to die at.
pub(crate) fn is_due(label: &'static str) -> bool {
    let mut reached = REACHED.lock().unwrap_or_else(PoisonError::into_inner);
    let count = reached.entry(label).or_default();
    *count += 1;
    std::env::var(KILL_AT).is_ok_and(|wanted| wanted == format!("{label}:{count}"))
}

/// Tells the parent that the point is reached, and waits to be killed.
pub(crate) fn die() -> ! {
    println!("AT");
    let _ = std::io::stdout().flush();
    loop {
        std::thread::park();
    }
}

/// A point without anything around it.
pub(crate) fn point(label: &'static str) {
    if is_due(label) {
        die();
    }
}

/// Tells the parent how often each point was reached.
pub(crate) fn report() {
    for (label, count) in &*REACHED.lock().unwrap_or_else(PoisonError::into_inner) {
        println!("POINT {label}:{count}");
    }
}
