//! Why nothing was run.

use std::io;

use crate::workspace::FileError;

/// Why a command was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// There is nothing to confine it with.
    #[error(
        "denied: there is no sandbox here, so nothing is run: {why}. Install bubblewrap, use Linux 6.2 or later with \
         Landlock, or, if the model may do whatever you may do, set `sandbox = \"off\"`"
    )]
    Unavailable {
        /// What is missing.
        why: String,
    },
    /// Its confinement failed, so it was not started.
    #[error("denied: the sandbox could not be set up ({step}: {why}), so nothing was run")]
    Setup {
        /// What was to be done.
        step: &'static str,
        /// What went wrong.
        why: String,
    },
    /// The folder it should start in.
    #[error(transparent)]
    File(#[from] FileError),
    /// It could not be started.
    #[error("`{program}` could not be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// It was killed, and something of it is still there.
    #[error("{left} processes of the command could not be ended; look for them on this machine")]
    Left {
        /// How many.
        left: usize,
    },
}

impl SandboxError {
    pub(super) fn setup(step: &'static str, why: impl std::fmt::Display) -> Self {
        Self::Setup { step, why: why.to_string() }
    }
}
