//! Errors of making a view.

use std::io;

/// Errors of starting a program in a view.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// A part of the view could not be made.
    #[error("{step}: {source}")]
    Setup {
        /// What was to be done.
        step: String,
        /// What the system said.
        source: io::Error,
    },
    /// The view stands, and the program could not be started in it.
    #[error("it could not be started: {0}")]
    Start(io::Error),
    /// A path that no system call takes.
    #[error("`{path}` has a NUL character in it")]
    Path {
        /// The path.
        path: String,
    },
}

/// The reason why there are no views on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("namespaces cannot be had here ({why})")]
pub struct Unavailable {
    /// What failed, and what the system said.
    pub why: String,
}
