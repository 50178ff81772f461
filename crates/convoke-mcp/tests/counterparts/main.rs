//! Tests against software that others wrote: reference servers, and the official conformance suite.
//!
//! `scripts/counterparts` installs it and says where; these tests look for it in `CONVOKE_COUNTERPARTS` and are passed
//! over without it, saying so.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that fails, or is passed over, should say so"
)]

#[path = "../common/mod.rs"]
mod common;

mod servers;
mod suite;

use std::path::PathBuf;

/// Where the counterparts are. Says so if they are not.
pub(crate) fn counterparts() -> Option<PathBuf> {
    let place = std::env::var_os("CONVOKE_COUNTERPARTS").map(PathBuf::from);
    if place.is_none() {
        eprintln!(
            "passed over: CONVOKE_COUNTERPARTS is not set; scripts/counterparts says what to set it to"
        );
    }
    place
}

/// A program of theirs, with the Node it needs first on the path.
pub(crate) fn path(place: &std::path::Path) -> String {
    let bin = place.join("node_modules/.bin");
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}
