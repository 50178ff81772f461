//! Errors of the sandbox.

use std::io;

use super::{Confinement, Network, Sandbox};
use crate::network::{NO_NETWORK_OF_ITS_OWN, closed_note};
use crate::workspace::FileError;

/// Errors of running a command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// There is nothing to confine it with.
    #[error(
        "denied: there is no sandbox here, so nothing is run: {why}. Let Convoke have user namespaces, use Linux 6.2 or \
         later with Landlock, or, if the model may do whatever you may do, set `sandbox = \"off\"`"
    )]
    Unavailable {
        /// What is missing.
        why: String,
    },
    /// There is only Landlock, and this process is root.
    #[error(
        "denied: {why}, and Landlock alone does not hold root: it could change modes and owners of every file. Run Convoke \
         as an ordinary user, let it have namespaces (a container needs CAP_SYS_ADMIN or unconfined seccomp), or, if you \
         accept that, set `sandbox = \"landlock\"` in your policy"
    )]
    OnlyLandlock {
        /// Why there is no view.
        why: String,
    },
    /// Its changes are to be reviewed, and it would work on the workspace itself.
    #[error(
        "denied: the policy has changes reviewed before they come out (`commands.review = \"changes\"`), and that takes a view: \
         here commands would change the workspace itself ({why}), so nothing was run. Use the file tools; a person can let \
         Convoke have user namespaces, or give up the review"
    )]
    Unreviewable {
        /// Why there is no view.
        why: &'static str,
    },
    /// Its confinement failed, so it was not started.
    #[error("denied: the sandbox could not be set up ({step}: {why}), so nothing was run")]
    Setup {
        /// What was to be done.
        step: &'static str,
        /// What went wrong.
        why: String,
    },
    /// Another process has taken its run over, and has had its view closed.
    #[error("nothing that the command changed was taken over: another process has taken over its run")]
    TakenOver,
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
    /// Says that commands reach no host at all here, though the policy opens some to them, if that is so.
    #[must_use]
    pub fn hosts_unheld(&self) -> Option<&'static str> {
        let is_by_host = matches!(self.network, Network::Hosts(_)) && self.confinement != Confinement::Off;
        (is_by_host && !self.has_views().unwrap_or(false)).then_some(NO_NETWORK_OF_ITS_OWN)
    }

    /// Says what of the policy cannot be held to here, and what happens instead.
    #[must_use]
    pub fn unheld(&self) -> Vec<&'static str> {
        let review = "bash is refused, because the policy has changes reviewed before they come out, and there is no view to hold \
            them back in";
        let is_unreviewable = self.is_reviewed() && !self.has_views().unwrap_or(false);
        self.hosts_unheld().into_iter().chain(is_unreviewable.then_some(review)).collect()
    }

    /// What a program that could not find another machine could not know: that the network is closed to it.
    pub(crate) fn closed(&self, said: &str) -> Option<String> {
        if self.confinement == Confinement::Off {
            return None;
        }
        match &self.network {
            Network::None => closed_note(said).map(str::to_owned),
            // In a view the proxy tells which hosts it refused; elsewhere there is a note of its own.
            Network::Hosts(_) | Network::Open => None,
        }
    }

    /// What a program that was refused something could not know: why. `said` is what it wrote about it.
    pub(crate) fn refusal(&self, said: &str) -> Option<String> {
        let refused = ["Permission denied", "Operation not permitted", "Read-only file system"];
        if self.confinement == Confinement::Off || !refused.iter().any(|words| said.contains(words)) {
            return None;
        }
        let network = if self.network != Network::Open { ", and reach no other machine" } else { "" };
        let is_open = !self.readable.is_empty() || !self.programs.is_empty();
        let opened = if is_open { ", and the tool chains and folders that were opened to them" } else { "" };
        Some(format!(
            "denied by the sandbox, unless the file's own mode forbids it: commands may change the workspace, except \
             protected files, and read the system's programs{opened}{network}; nothing else"
        ))
    }
}
