//! Which policies hold: the folder's, and the user's own above it.
//!
//! The folder's may have come with somebody else's project. So it never stands alone: a user without a policy of their own
//! has the defaults, and only what the user wrote, or named on the command line, allows more than they do.

use std::path::{Path, PathBuf};

use convoke_config::is_there;
use convoke_tools::policy::{self, Policy, PolicyErrors, PolicyGate, RulePlace, Sandboxing};

use crate::arguments::Arguments;
use crate::configuration;
use crate::failure::Failure;
use crate::terminal::Output;

/// How to have what a folder cannot give itself.
pub(crate) const ONLY_YOU: &str =
    "which only you can: say so in your own policy.toml, or name the file with --policy";

/// The files that hold if none is named: the folder's, if there is one, and the user's own.
pub(crate) fn places(arguments: &Arguments) -> (Option<PathBuf>, Option<PathBuf>) {
    let places = configuration::loader(arguments).places();
    let own = places.user.map(|user| user.with_file_name(policy::FILE)).filter(|path| is_there(path));
    (places.policy, own)
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
pub(crate) struct Policies {
    all: Vec<Policy>,
    /// Whether the first of them is the folder's, which nobody has named.
    has_folders: bool,
    /// The files they are from, if there are any.
    pub(crate) files: Vec<PathBuf>,
}

impl Policies {
    /// Reads those that hold. `named` is the file that was named on the command line.
    pub(crate) fn load(
        arguments: &Arguments,
        named: Option<&Path>,
        output: &mut Output,
    ) -> Result<Self, Failure> {
        let (folders, own) = places(arguments);
        let folders = folders.filter(|_| named.is_none());
        let (has_folders, has_own) = (folders.is_some(), own.is_some());
        let mut read = |place: &Path, policy: Result<Policy, PolicyErrors>| {
            policy.map_err(|errors| {
                output.explanation(&errors.render(output.colors_notes(), output.width().unwrap_or(100)));
                Failure::failed(format!("{} is not valid, so nothing is allowed", place.display()))
            })
        };
        let mut all = Vec::new();
        if let Some(place) = &folders {
            all.push(read(place, load_folders(place))?);
        }
        let users: Vec<PathBuf> = named.map(Path::to_owned).into_iter().chain(own).collect();
        for place in &users {
            all.push(read(place, Policy::load_existing(place))?);
        }
        if named.is_none() && !has_own {
            all.push(Policy::default());
        }
        Ok(Self { all, has_folders, files: folders.into_iter().chain(users).collect() })
    }

    /// These, with another one as the user's own, which is in this file.
    pub(crate) fn with_own(&self, file: &Path, own: Policy) -> Vec<Policy> {
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

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Policy> {
        self.all.iter()
    }

    /// The folder's policy, if the defaults stand above it for want of a policy of the user's own.
    pub(crate) fn bounded(&self) -> Option<&Policy> {
        match (&*self.files, &*self.all) {
            ([_], [folders, _defaults]) => Some(folders),
            _ => None,
        }
    }

    /// The policies that may open folders to commands: those that the user wrote or named.
    #[cfg(target_os = "linux")]
    pub(crate) fn of_the_user(&self) -> impl Iterator<Item = &Policy> {
        self.all.iter().skip(usize::from(self.has_folders))
    }

    /// Says that the folder's policy opens folders to commands, which it cannot.
    pub(crate) fn opens_in_vain(&self) -> Option<String> {
        let folders = self.all.first().filter(|_| self.has_folders)?;
        folders.readable().next()?;
        Some(format!("the folder's policy opens more folders to commands (`readable`), {ONLY_YOU}"))
    }

    /// The gate that asks all of them.
    pub(crate) fn gate(&self) -> PolicyGate {
        let mut policies = self.all.iter().cloned();
        let first = PolicyGate::new(policies.next().unwrap_or_default());
        policies.fold(first, PolicyGate::and)
    }

    /// Whether commands run with all the rights of this process.
    pub(crate) fn open_sandbox(&self) -> bool {
        self.iter().all(|policy| policy.sandbox() == Sandboxing::Off)
    }

    /// Whether commands may reach other machines.
    pub(crate) fn open_network(&self) -> bool {
        self.iter().all(Policy::command_network)
    }

    /// What the user should know about what holds.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.open_sandbox() {
            notes.push("the sandbox is off: commands of agents can do whatever you can".to_owned());
        }
        if let Some(folders) = self.bounded() {
            let wanted = [
                (folders.sandbox() == Sandboxing::Off, "turns the sandbox off"),
                (folders.command_network(), "gives commands the network"),
                (lets_through(folders), "cannot let through more than the defaults do"),
            ];
            let wanted = wanted.into_iter().filter_map(|(is_so, what)| is_so.then_some(what));
            notes.extend(wanted.map(|what| format!("the folder's policy {what}, {ONLY_YOU}")));
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
