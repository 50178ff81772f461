//! A process that sees the workspace and little else.
//!
//! A command is not judged by its text. Whatever it is, and whatever it starts, runs with
//!
//! - **files**: the workspace for reading and writing, the system's programs and libraries for reading, a private folder
//!   for its temporary files, the [tool chains](Chains) and folders it is given for reading; nothing else, and nothing that
//!   is [`Protected`](crate::workspace::Protected);
//! - **network**: none, unless [`Network::Open`]; never a socket of another program on this machine;
//! - **environment**: a short list of variables, none of them from the list of keys this process has;
//! - **limits**: see [`Limits`];
//! - **an end**: when the command ends, is cancelled or runs out of time, everything it has started is killed, also what
//!   has left its process group and its session.
//!
//! Two things can confine it. [`Confinement::Landlock`] restricts a thread of ours, from which the process is started
//! and which it inherits from: no helper program, no rights needed, Linux 6.2; mounts hide secrets where we may mount.
//! [`Confinement::Bubblewrap`] uses namespaces. Where there is neither, nothing is run, unless [`Confinement::Off`] says that this is meant.
//!
//! It must never run anything with less confinement than it was asked for.

mod bubblewrap;
mod chains;
mod covers;
mod environment;
mod error;
mod filter;
mod group;
mod holes;
mod inherited;
mod kept;
mod landlock;
mod limits;
mod members;
mod notes;
mod openings;
mod output;
mod process;
mod reading;
mod start;
mod turn;
mod watch;
mod watchdog;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use chains::Chains;
pub use error::SandboxError;
pub use limits::{Exceeded, Limits};
pub use openings::{NotOpened, Openings};
pub use output::Output;

use self::environment::Private;
pub(crate) use self::turn::{Turn, interrupted};
use crate::workspace::Workspace;

/// What confines a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Confinement {
    /// Landlock and seccomp; bubblewrap where there are secrets in the workspace and it is installed, because it can
    /// hide them without costs, or where the kernel has no Landlock. Neither: nothing is run.
    #[default]
    Best,
    /// Landlock and seccomp, or nothing is run.
    Landlock,
    /// bubblewrap (with seccomp), or nothing is run.
    Bubblewrap,
    /// Nothing confines it but limits, a scrubbed environment and its end. Whoever chooses this lets the model do
    /// whatever this process may do.
    Off,
}

/// What a command may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Network {
    /// Nothing.
    #[default]
    None,
    /// Whatever this machine can reach, loopback included.
    Open,
}

/// A way to run commands in a workspace. Clones share its private folder.
#[derive(Debug, Clone)]
pub struct Sandbox {
    workspace: Workspace,
    confinement: Confinement,
    network: Network,
    limits: Limits,
    /// Open but for secrets.
    readable: Vec<PathBuf>,
    /// Open as it is.
    programs: Vec<PathBuf>,
    /// What is open, and other names of it.
    aliases: Vec<(PathBuf, PathBuf)>,
    variables: BTreeMap<String, OsString>,
    bubblewrap: Option<PathBuf>,
    mounts: bool,
    private: Arc<Private>,
}

/// A command for a sandbox.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Task {
    /// The program: a name to be found on the path, or a path.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder it starts in, from the top of the workspace.
    pub folder: PathBuf,
    /// How long it may take.
    pub time: Duration,
    /// Variables for this command only.
    pub variables: BTreeMap<String, OsString>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// Its time was up, and it was killed.
    TimedOut,
    /// It went over this limit, and was killed.
    OverLimit(Exceeded),
}

/// What a command gave.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// What it wrote to its output.
    pub stdout: Output,
    /// What it wrote to its error output.
    pub stderr: Output,
    /// What is worth knowing about the confinement: files that were put back, folders that could not be written.
    pub notes: Vec<String>,
}

impl Sandbox {
    /// A sandbox on a workspace: confined as well as can be, without network.
    ///
    /// # Errors
    /// If the private folder for its commands cannot be made.
    pub fn new(workspace: &Workspace) -> Result<Self, SandboxError> {
        Ok(Self {
            workspace: workspace.clone(),
            confinement: Confinement::default(),
            network: Network::default(),
            limits: Limits::default(),
            readable: Vec::new(),
            programs: Vec::new(),
            aliases: Vec::new(),
            variables: BTreeMap::new(),
            bubblewrap: bubblewrap::on_path(workspace.path()),
            mounts: true,
            private: Arc::new(Private::make()?),
        })
    }

    /// Says what confines commands.
    #[must_use]
    pub fn confinement(mut self, confinement: Confinement) -> Self {
        self.confinement = confinement;
        self
    }

    /// Says what commands may reach.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Sets the limits of each command.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Lets commands read and execute what is in this folder too, but for secrets, or this file. Whether that should be is for
    /// [`Openings`] to say.
    #[must_use]
    pub fn readable(mut self, path: impl Into<PathBuf>) -> Self {
        self.readable.push(path.into());
        self
    }

    /// Lets commands use these tool chains, and tells them where they are.
    #[must_use]
    pub fn chains(mut self, chains: &Chains) -> Self {
        self.readable.extend(chains.folders.iter().cloned());
        self.programs.extend(chains.whole.iter().cloned());
        self.aliases.extend(chains.aliases.iter().cloned());
        self.variables.extend(chains.variables.clone());
        self
    }

    /// The folders that can be read but for secrets, as they are now. One that is not there any more, or cannot be looked
    /// through, is not opened: nobody knows what is in it.
    fn opened(&self) -> impl Iterator<Item = (Workspace, holes::Holes)> + '_ {
        self.readable.iter().filter(|path| !path.is_file()).filter_map(|path| {
            // The same names are secrets here.
            let folder = Workspace::open_with(path, self.workspace.protected().clone()).ok()?;
            let holes = holes::Holes::beyond(&folder).ok()?;
            Some((folder, holes))
        })
    }

    /// What can be read as it is.
    fn opened_whole(&self) -> impl Iterator<Item = &PathBuf> {
        self.readable.iter().filter(|path| path.is_file()).chain(&self.programs)
    }

    /// Gives commands a variable. Its value is seen by the command and by whatever it starts: never a key.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Says where the program bubblewrap is, if it is not on the path.
    #[must_use]
    pub fn bubblewrap_at(mut self, program: impl Into<PathBuf>) -> Self {
        self.bubblewrap = Some(program.into());
        self
    }

    /// Keeps Landlock from being helped by mounts, which hide secrets where this process may mount. Without them, commands
    /// cannot make, rename or remove anything directly in the folders above a secret.
    #[must_use]
    pub fn without_mounts(mut self) -> Self {
        self.mounts = false;
        self
    }

    /// The workspace.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The most a command may use.
    #[must_use]
    pub fn limited(&self) -> &Limits {
        &self.limits
    }

    /// What commands may reach.
    #[must_use]
    pub fn reaches(&self) -> Network {
        self.network
    }

    /// The folders, from the top of the workspace, in which commands can make, rename and remove nothing as things are now:
    /// there are secrets beneath them, and nothing here can hide these. The top itself is an empty path.
    ///
    /// # Errors
    /// If nothing can confine commands as asked, or the workspace cannot be gone through.
    pub fn closed_folders(&self) -> Result<Vec<PathBuf>, SandboxError> {
        start::closed_folders(self)
    }

    /// Keeps an output where later commands can read it, and says where.
    pub(crate) fn store(&self, output: &Output) -> Option<String> {
        let folder = self.private.outputs();
        let number = std::fs::read_dir(&folder).ok()?.count() + 1;
        let path = folder.join(format!("{number}.txt"));
        std::fs::write(&path, output.stored()).ok()?;
        Some(path.display().to_string())
    }

    /// Runs a command to its end. Dropping the future kills it, with everything it has started.
    ///
    /// # Errors
    /// If it cannot be confined as asked, or not be started. That it failed is a result.
    pub async fn run(&self, task: Task) -> Result<Finished, SandboxError> {
        let turn = self.turn().await?;
        self.run_in(task, &turn).await
    }

    /// Runs a command to its end, in a turn that was waited for before.
    pub(crate) async fn run_in(&self, task: Task, turn: &Turn) -> Result<Finished, SandboxError> {
        process::run(self.clone(), task, turn.mark()).await
    }
}

impl Task {
    /// A command in the workspace's top folder, with two minutes of time.
    #[must_use]
    pub fn new<A: Into<OsString>>(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            folder: PathBuf::from("."),
            time: Duration::from_secs(120),
            variables: BTreeMap::new(),
        }
    }

    /// Says how long it may take.
    #[must_use]
    pub fn time(mut self, limit: Duration) -> Self {
        self.time = limit;
        self
    }

    /// Says where it starts.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// Gives it a variable.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }
}
