//! The policies that hold together: the folder's, and the user's own above it.
//!
//! The folder's may have come with somebody else's project. So it never stands alone: a user without a policy of their own
//! has the defaults, and only what the user wrote, or named, allows more than they do.

use std::path::{Path, PathBuf};

use super::{CommandNetwork, Policy, PolicyErrors, PolicyGate, RulePlace, Sandboxing};
#[cfg(target_os = "linux")]
use crate::network::HostRules;
#[cfg(target_os = "linux")]
use crate::sandbox::{Confinement, Network, Sandbox, SandboxError};
use crate::workspace::{Protected, Workspace};

/// The hint how to have what a folder cannot give itself.
pub const ONLY_THE_USER: &str =
    "which only you can: say so in your own policy.toml, or name the file with --policy";

/// The files of policies, each if there is one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyFiles {
    /// The folder's. It may have come with somebody else's project.
    pub folder: Option<PathBuf>,
    /// The user's own.
    pub own: Option<PathBuf>,
    /// One that the user has named. It holds instead of the folder's.
    pub named: Option<PathBuf>,
}

impl PolicyFiles {
    /// The folder's policy and the user's own.
    #[must_use]
    pub fn new(folder: Option<PathBuf>, own: Option<PathBuf>) -> Self {
        Self { folder, own, named: None }
    }

    /// A file that the user has named, which holds instead of the folder's.
    #[must_use]
    pub fn named(mut self, file: Option<PathBuf>) -> Self {
        self.named = file;
        self
    }
}

/// A policy that cannot be read: then nothing is allowed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{} is not valid, so nothing is allowed", file.display())]
pub struct InvalidPolicy {
    /// The file.
    pub file: PathBuf,
    /// The problem.
    pub errors: PolicyErrors,
}

/// Reads a folder's policy. One from above the working folder is about the paths of its own folder.
fn load_folders(path: &Path) -> Result<Policy, PolicyErrors> {
    let policy = Policy::load_existing(path)?;
    Ok(match path.parent().filter(|folder| folder.is_absolute()) {
        Some(folder) => policy.seen_from(folder),
        None => policy,
    })
}

/// The policies that hold, of which the strictest decides. There is at least one.
#[derive(Debug, Clone)]
pub struct PolicySet {
    all: Vec<Policy>,
    /// Whether the first of them is the folder's, which nobody has named.
    has_folders: bool,
    /// The files they are from, if there are any.
    files: Vec<PathBuf>,
}

impl PolicySet {
    /// Reads those that hold.
    ///
    /// # Errors
    /// If one of them is not valid.
    pub fn load(files: PolicyFiles) -> Result<Self, InvalidPolicy> {
        let PolicyFiles { folder, own, named } = files;
        let folders = folder.filter(|_| named.is_none());
        let (has_folders, has_users) = (folders.is_some(), named.is_some() || own.is_some());
        let read = |file: &Path, policy: Result<Policy, PolicyErrors>| {
            policy.map_err(|errors| InvalidPolicy { file: file.to_owned(), errors })
        };
        let mut all = Vec::new();
        if let Some(file) = &folders {
            all.push(read(file, load_folders(file))?);
        }
        let users: Vec<PathBuf> = named.into_iter().chain(own).collect();
        for file in &users {
            all.push(read(file, Policy::load_existing(file))?);
        }
        if !has_users {
            all.push(Policy::default());
        }
        Ok(Self { all, has_folders, files: folders.into_iter().chain(users).collect() })
    }

    /// The files they are from, if there are any.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns these policies, with another one as the user's own, which is in this file.
    #[must_use]
    pub fn with_own(&self, file: &Path, own: Policy) -> Vec<Policy> {
        let mut all = self.all.clone();
        match self.files.iter().position(|other| other == file) {
            Some(place) => all[place] = own,
            // The defaults stand in for one that is not there.
            None => {
                all.truncate(self.files.len());
                all.push(own);
            }
        }
        all
    }

    /// Each of them, the folder's first.
    pub fn iter(&self) -> impl Iterator<Item = &Policy> {
        self.all.iter()
    }

    /// The folder's policy, if the defaults stand above it for want of a policy of the user's own.
    #[must_use]
    pub fn bounded(&self) -> Option<&Policy> {
        match (&*self.files, &*self.all) {
            ([_], [folders, _defaults]) => Some(folders),
            _ => None,
        }
    }

    /// The policies that may open folders to commands: those that the user wrote or named.
    #[cfg(target_os = "linux")]
    pub fn of_the_user(&self) -> impl Iterator<Item = &Policy> {
        self.all.iter().skip(usize::from(self.has_folders))
    }

    /// Says that the folder's policy opens folders to commands, which it cannot.
    #[must_use]
    pub fn opens_in_vain(&self) -> Option<String> {
        let folders = self.all.first().filter(|_| self.has_folders)?;
        folders.readable().next()?;
        Some(format!("the folder's policy opens more folders to commands (`readable`), {ONLY_THE_USER}"))
    }

    /// The gate that asks all of them.
    #[must_use]
    pub fn gate(&self) -> PolicyGate {
        let mut policies = self.all.iter().cloned();
        let first = PolicyGate::new(policies.next().unwrap_or_default());
        policies.fold(first, PolicyGate::and)
    }

    /// Adds the files that the policies protect to these.
    #[must_use]
    pub fn protect(&self, protected: Protected) -> Protected {
        self.iter().fold(protected, |protected, policy| policy.protect(protected))
    }

    /// The sandbox that commands run in.
    ///
    /// # Errors
    /// If there is no place for what they write.
    #[cfg(target_os = "linux")]
    pub fn sandbox(&self, workspace: &Workspace) -> Result<Sandbox, SandboxError> {
        let sandbox = self.iter().fold(Sandbox::new(workspace)?, |sandbox, policy| policy.confine(sandbox));
        let confinement = if self.open_sandbox() { Confinement::Off } else { Confinement::Best };
        Ok(sandbox.confinement(confinement).network(self.network()).landlock_will_do(self.landlock_will_do()))
    }

    /// Returns whether commands run with all the rights of this process.
    #[must_use]
    pub fn open_sandbox(&self) -> bool {
        self.iter().all(|policy| policy.sandbox() == Sandboxing::Off)
    }

    /// Returns whether Landlock alone will do where there are no views, for root as well.
    #[must_use]
    pub fn landlock_will_do(&self) -> bool {
        self.iter().all(|policy| policy.sandbox() != Sandboxing::Required)
    }

    /// Returns the network that commands may reach: as much as the strictest lets them.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn network(&self) -> Network {
        match self.iter().map(Policy::command_network).max() {
            Some(CommandNetwork::Open) => Network::Open,
            Some(CommandNetwork::Hosts) => Network::Hosts(HostRules::new(self.all.clone())),
            Some(CommandNetwork::None) | None => Network::None,
        }
    }

    /// Returns notes for the user about what holds.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.open_sandbox() {
            notes.push("the sandbox is off: commands of agents can do whatever you can".to_owned());
        }
        if let Some(folders) = self.bounded() {
            let wanted = [
                (folders.sandbox() == Sandboxing::Off, "turns the sandbox off"),
                (folders.command_network() != CommandNetwork::None, "gives commands the network"),
                (lets_through(folders), "cannot let through more than the defaults do"),
            ];
            let wanted = wanted.into_iter().filter_map(|(is_so, what)| is_so.then_some(what));
            notes.extend(wanted.map(|what| format!("the folder's policy {what}, {ONLY_THE_USER}")));
        }
        notes.extend(self.opens_in_vain());
        notes
    }
}

/// Whether a file says of anything that it is allowed or asked about.
fn lets_through(policy: &Policy) -> bool {
    policy.settings().iter().any(|setting| {
        let list = setting.key.rsplit('.').next().unwrap_or_default();
        let words = ["allow", "ask"];
        setting.place != RulePlace::BuiltIn && (words.contains(&list) || words.contains(&&*setting.value))
    })
}
