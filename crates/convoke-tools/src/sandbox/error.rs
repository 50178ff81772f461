//! Why nothing was run, or something was refused.

use std::io;

use super::{Confinement, Network, Sandbox};
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

impl Sandbox {
    /// What a program that was refused something could not know: why. `said` is what it wrote about it.
    pub(crate) fn refusal(&self, said: &str) -> Option<String> {
        let refused = ["Permission denied", "Operation not permitted", "Read-only file system"];
        if self.confinement == Confinement::Off || !refused.iter().any(|words| said.contains(words)) {
            return None;
        }
        let network = if self.reaches() == Network::None { ", and reach no other machine" } else { "" };
        let is_open = !self.readable.is_empty() || !self.programs.is_empty();
        let opened = if is_open { ", and the tool chains and folders that were opened to them" } else { "" };
        Some(format!(
            "denied by the sandbox, unless the file's own mode forbids it: commands may change the workspace, except \
             protected files, and read the system's programs{opened}{network}; nothing else"
        ))
    }
}
