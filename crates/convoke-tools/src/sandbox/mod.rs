//! The sandbox: runs a command that sees the workspace and little else.
//!
//! A command is not judged by its text. Whatever it is, and whatever it starts, runs with
//!
//! - **files**: the workspace for reading and writing, the system's programs and libraries for reading, a private folder
//!   for its temporary files, the [tool chains](Toolchains) and folders it is given for reading; nothing else, and nothing that
//!   is [`Protected`](crate::workspace::Protected);
//! - **network**: a loopback of its own, unless [`Network`] says otherwise; never a socket of another program on this machine;
//! - **environment**: a short list of variables, none of them from the list of keys this process has;
//! - **limits**: see [`CommandLimits`];
//! - **an end**: when the command ends, is cancelled or runs out of time, everything it has started is killed.
//!
//! It works in a **view** ([`convoke_view`]): namespaces of its own, in which there is nothing else, with the workspace as an
//! overlay. Secrets are not in the view, and what the command changed comes out, when all of it is over, through one gate:
//! path by path, by the rules of file tools and those on what git executes. What is refused is told. A command that is
//! cancelled has changed nothing.
//!
//! Where namespaces are not to be had, [`Confinement::Landlock`] restricts a thread of ours, from which the process is
//! started and which it inherits from, and it works on the workspace itself; less is held then: see `docs/security.md`.
//! Where there is neither, nothing is run, unless [`Confinement::Off`] says that this is meant.
//!
//! It must never run anything with less confinement than it was asked for.

mod command_processes;
mod command_slot;
mod control_group;
mod environment;
mod error;
mod filter;
mod gate;
mod in_place;
mod in_view;
mod inventory;
mod landlock;
mod layers;
mod limits;
mod made;
mod notes;
mod open_gates;
mod openings;
mod other_names;
mod output;
mod process;
mod protected_paths;
mod read_only_snapshot;
mod readable;
mod scratch;
mod service;
mod socket_memory;
mod start;
mod stream_reader;
mod system;
mod toolchains;
mod usage_monitor;
mod watchdog;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

pub use error::SandboxError;
pub use limits::{CommandLimits, Exceeded};
pub use open_gates::wait_for_changes;
pub use openings::{OpeningError, Openings};
pub use output::CapturedOutput;
pub use readable::{ReadablePaths, ReadablePathsError};
pub use service::{Service, ServiceEnd};
pub use toolchains::Toolchains;

pub(crate) use self::command_slot::{CommandSlot, interrupted};
use self::environment::PrivateFolder;
pub(crate) use self::in_view::HeldChanges;
use self::inventory::{FoundSecrets, Inventory};
use self::process::ChosenConfinement;
pub(crate) use self::process::EndedCommand;
use self::start::InPlaceConfinement;
use crate::network::{HostAsker, HostRules};
use crate::workspace::{FileError, Workspace};

/// The confinement of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Confinement {
    /// A view; where namespaces are not to be had, Landlock, but not for root. Neither: nothing is run.
    #[default]
    Best,
    /// A view, or nothing is run.
    View,
    /// Landlock and seccomp, on the workspace itself, or nothing is run.
    Landlock,
    /// Nothing confines it but limits, a scrubbed environment and its end. Whoever chooses this lets the model do
    /// whatever this process may do.
    Off,
}

/// The network that a command may reach.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Network {
    /// Nothing.
    #[default]
    None,
    /// The hosts that these rules let it reach, through a [proxy](crate::network). That takes a network of its own: where a
    /// command cannot have one, it reaches nothing, and a note says so.
    Hosts(HostRules),
    /// Whatever this machine can reach, loopback included.
    Open,
}

/// A way to run commands in a workspace. Clones share its private folder.
#[derive(Debug, Clone)]
pub struct Sandbox {
    workspace: Workspace,
    confinement: Confinement,
    network: Network,
    limits: CommandLimits,
    /// Open but for secrets.
    readable: Vec<PathBuf>,
    /// Open as it is.
    programs: Vec<PathBuf>,
    /// What is open, and other names of it.
    aliases: Vec<(PathBuf, PathBuf)>,
    variables: BTreeMap<String, OsString>,
    reviewed: bool,
    landlock_will_do: bool,
    /// What views do not show wherever it is.
    covered: Vec<PathBuf>,
    /// Folders with programs that the path leads to.
    elsewhere: Arc<OnceLock<BTreeSet<PathBuf>>>,
    private: Arc<PrivateFolder>,
    /// Where the layers of views are.
    layers: PathBuf,
    /// What was found in folders that commands see.
    inventories: Arc<Mutex<HashMap<PathBuf, Inventory>>>,
}

/// A command for a sandbox.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SandboxCommand {
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
    /// Asks a person about hosts while the command waits, if one is there.
    pub asker: Option<HostAsker>,
}

/// The end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// Its time was up, and it was killed.
    TimedOut,
    /// It went over this limit, and was killed.
    OverLimit(Exceeded),
}

/// The result of a command.
#[derive(Debug)]
#[non_exhaustive]
pub struct CommandResult {
    /// How it ended.
    pub end: CommandEnd,
    /// What it wrote to its output.
    pub stdout: CapturedOutput,
    /// What it wrote to its error output.
    pub stderr: CapturedOutput,
    /// What is worth knowing about the confinement: changes that were not taken over, folders that could not be written.
    pub notes: Vec<String>,
    /// Whether changes of it were not taken over. Which and why is among the notes.
    pub lost: LostChanges,
}

/// The changes of a command that were not taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostChanges {
    /// There are none.
    None,
    /// Somebody else had changed the same meanwhile, and no other was lost: the command may be run anew.
    Overtaken,
    /// Some may not be made.
    Refused,
}

impl Sandbox {
    /// A sandbox on a workspace: confined as well as can be, without network.
    ///
    /// # Errors
    /// If the private folder for its commands cannot be made.
    pub fn new(workspace: &Workspace) -> Result<Self, SandboxError> {
        let private = PrivateFolder::make()?;
        Ok(Self {
            workspace: workspace.clone(),
            confinement: Confinement::default(),
            network: Network::default(),
            limits: CommandLimits::default(),
            readable: Vec::new(),
            programs: Vec::new(),
            aliases: Vec::new(),
            variables: BTreeMap::new(),
            reviewed: false,
            landlock_will_do: false,
            covered: system::places_of_the_user(),
            elsewhere: Arc::default(),
            layers: layers::place(workspace.path(), private.path()),
            private: Arc::new(private),
            inventories: Arc::default(),
        })
    }

    /// Sets the confinement of commands.
    #[must_use]
    pub fn confinement(mut self, confinement: Confinement) -> Self {
        self.confinement = confinement;
        self
    }

    /// Says that Landlock will do for root where there are no views, though it leaves modes and owners of all files to root.
    #[must_use]
    pub fn landlock_will_do(mut self, will_do: bool) -> Self {
        self.landlock_will_do = will_do;
        self
    }

    /// Sets what commands may reach.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Sets the limits of each command.
    #[must_use]
    pub fn limits(mut self, limits: CommandLimits) -> Self {
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

    /// Keeps a file or a folder out of views though it lies where the system's programs are: a home, a store, settings. The home
    /// of this process, and where its user's settings and data are, need not be said.
    #[must_use]
    pub fn covered(mut self, path: impl Into<PathBuf>) -> Self {
        self.covered.push(path.into());
        self
    }

    /// Lets commands use these tool chains, and tells them where they are.
    #[must_use]
    pub fn chains(mut self, chains: &Toolchains) -> Self {
        self.readable.extend(chains.folders.iter().cloned());
        self.programs.extend(chains.whole.iter().cloned());
        self.aliases.extend(chains.aliases.iter().cloned());
        self.variables.extend(chains.variables.clone());
        self.elsewhere = Arc::default();
        self
    }

    /// The folders that can be read but for secrets, as they are now. One that is not there any more, or cannot be looked
    /// through, is not opened: nobody knows what is in it.
    fn opened(&self) -> impl Iterator<Item = (Workspace, protected_paths::ProtectedPaths)> + '_ {
        self.readable.iter().filter(|path| !path.is_file()).filter_map(|path| {
            // The same names are secrets here.
            let folder = Workspace::open_with(path, self.workspace.protected().clone()).ok()?;
            let holes = protected_paths::ProtectedPaths::beyond(&folder).ok()?;
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
        self.elsewhere = Arc::default();
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Sets where the layers of views are kept: a folder outside of the workspace, on the same file system if what commands
    /// make shall be moved and not copied.
    #[must_use]
    pub fn layers_at(mut self, folder: impl Into<PathBuf>) -> Self {
        self.layers = folder.into();
        self
    }

    /// The workspace.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The most a command may use.
    #[must_use]
    pub fn limited(&self) -> &CommandLimits {
        &self.limits
    }

    /// Returns what commands may reach.
    #[must_use]
    pub fn reaches(&self) -> Network {
        self.network.clone()
    }

    /// The folders, from the top of the workspace, in which commands can make, rename and remove nothing as things are now:
    /// there are secrets beneath them, and nothing here can hide these. The top itself is an empty path.
    ///
    /// # Errors
    /// If nothing can confine commands as asked, or the workspace cannot be gone through.
    pub fn closed_folders(&self) -> Result<Vec<PathBuf>, SandboxError> {
        let is_landlock = process::choose(self)? == ChosenConfinement::InPlace(InPlaceConfinement::Landlock);
        Ok(if is_landlock {
            protected_paths::ProtectedPaths::of(&self.workspace)?.around()
        } else {
            Vec::new()
        })
    }

    /// Returns whether commands work in a view.
    ///
    /// # Errors
    /// If nothing can confine commands as asked.
    pub fn has_views(&self) -> Result<bool, SandboxError> {
        Ok(process::choose(self)? == ChosenConfinement::View)
    }

    /// What must be hidden of a folder.
    fn look(&self, folder: &Path) -> Result<FoundSecrets, FileError> {
        let mut inventories = self.inventories.lock().unwrap_or_else(PoisonError::into_inner);
        let inventory = inventories.entry(folder.to_owned()).or_default();
        inventory.look(folder, self.workspace.protected())
    }

    /// Keeps an output where later commands can read it, and says where.
    pub(crate) fn store(&self, output: &CapturedOutput) -> Option<String> {
        let folder = self.private.outputs();
        let number = std::fs::read_dir(&folder).ok()?.count() + 1;
        let path = folder.join(format!("{number}.txt"));
        std::fs::write(&path, output.stored()).ok()?;
        let is_in_view = self.has_views().unwrap_or(false);
        let (_, shown) = self.private.shown();
        let shown = if is_in_view { Path::new(shown.at).join(path.file_name()?) } else { path };
        Some(shown.display().to_string())
    }

    /// Runs a command to its end. Dropping the future kills it, with everything it has started.
    ///
    /// # Errors
    /// If it cannot be confined as asked, or not be started. That it failed is a result.
    pub async fn run(&self, task: SandboxCommand) -> Result<CommandResult, SandboxError> {
        let turn = self.turn().await?;
        self.run_in(task, &turn).await
    }

    /// Has a person look at what a command of `bash` changed before it comes out of its view, where `reviewed` says so.
    #[must_use]
    pub fn reviewed(mut self, reviewed: bool) -> Self {
        self.reviewed = reviewed;
        self
    }

    /// Whether a person looks at what commands changed.
    pub(crate) fn is_reviewed(&self) -> bool {
        self.reviewed
    }

    /// Runs a command to its end, in a turn that was waited for before, and leaves it to the caller what comes out. Where a
    /// person is to look at that first and nothing can be held back, it is not run.
    pub(crate) async fn run_held(
        &self,
        task: SandboxCommand,
        turn: &CommandSlot,
    ) -> Result<EndedCommand, SandboxError> {
        process::run_held(self.clone(), task, turn.clone()).await
    }

    /// Runs a command to its end, in a turn that was waited for before.
    pub(crate) async fn run_in(
        &self,
        task: SandboxCommand,
        turn: &CommandSlot,
    ) -> Result<CommandResult, SandboxError> {
        process::run(self.clone(), task, turn.clone()).await
    }
}

impl SandboxCommand {
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
            asker: None,
        }
    }

    /// Lets a person be asked about hosts while it waits.
    #[must_use]
    pub fn asker(mut self, asker: Option<HostAsker>) -> Self {
        self.asker = asker;
        self
    }

    /// Sets the time limit.
    #[must_use]
    pub fn time(mut self, limit: Duration) -> Self {
        self.time = limit;
        self
    }

    /// Sets the folder it starts in.
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
