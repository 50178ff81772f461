//! Which policies hold: the folder's, and the user's own above it.

use std::path::{Path, PathBuf};

use convoke_tools::policy::{self, Policy, PolicyErrors, PolicyGate, Sandboxing};

use crate::arguments::Arguments;
use crate::configuration;
use crate::failure::Failure;
use crate::terminal::Output;

/// The policies that hold, of which the strictest decides. Without any file: the defaults.
pub(crate) fn all(
    arguments: &Arguments,
    named: Option<&Path>,
    output: &mut Output,
) -> Result<Vec<Policy>, Failure> {
    let mut policies = Vec::new();
    for place in places(arguments, named) {
        policies.push(load(&place).map_err(|errors| {
            output.explanation(&errors.render(output.colors_notes(), output.width().unwrap_or(100)));
            Failure::failed(format!("{} is not valid, so nothing is allowed", place.display()))
                .hint("`convoke policy check` says everything that is wrong with it")
        })?);
    }
    if policies.is_empty() {
        policies.push(Policy::default());
    }
    Ok(policies)
}

/// The files that are there: the one that was named or the folder's, then the user's own.
pub(crate) fn places(arguments: &Arguments, named: Option<&Path>) -> Vec<PathBuf> {
    let folders = Some(PathBuf::from(policy::FILE)).filter(|path| path.exists());
    let first = named.map(Path::to_owned).or(folders);
    first.into_iter().chain(own(arguments)).collect()
}

/// The user's own, if it is there.
fn own(arguments: &Arguments) -> Option<PathBuf> {
    let user = configuration::loader(arguments).places().user?;
    Some(user.with_file_name(policy::FILE)).filter(|path| path.exists())
}

/// Reads a policy that must be there.
pub(crate) fn load(path: &Path) -> Result<Policy, PolicyErrors> {
    Policy::load_existing(path)
}

/// The policies that hold for a run. There is at least one.
pub(crate) struct Policies {
    all: Vec<Policy>,
    /// The files they are from, if there are any.
    pub(crate) files: Vec<PathBuf>,
    /// Whether one of them is the user's own, or was named by the user. The folder's may have come with somebody else's
    /// project.
    is_users: bool,
}

impl Policies {
    /// Reads those that hold.
    pub(crate) fn load(
        arguments: &Arguments,
        named: Option<&Path>,
        output: &mut Output,
    ) -> Result<Self, Failure> {
        let all = all(arguments, named, output)?;
        let is_users = named.is_some() || own(arguments).is_some();
        Ok(Self { all, files: places(arguments, named), is_users })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Policy> {
        self.all.iter()
    }

    /// The gate that asks all of them.
    pub(crate) fn gate(&self) -> PolicyGate {
        let mut policies = self.all.iter().cloned();
        let first = PolicyGate::new(policies.next().unwrap_or_default());
        policies.fold(first, PolicyGate::and)
    }

    /// Whether commands run with all the rights of this process.
    pub(crate) fn open_sandbox(&self) -> bool {
        self.is_users && self.unconfined()
    }

    /// Whether commands may reach other machines.
    pub(crate) fn open_network(&self) -> bool {
        self.is_users && self.connected()
    }

    fn unconfined(&self) -> bool {
        self.iter().all(|policy| policy.sandbox() == Sandboxing::Off)
    }

    fn connected(&self) -> bool {
        self.iter().all(Policy::command_network)
    }

    /// What the user should know about what holds.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let only_user = "which only you can: say so in your own policy.toml, or name the file with --policy";
        if self.open_sandbox() {
            notes.push("the sandbox is off: commands of agents can do whatever you can".to_owned());
        } else if self.unconfined() {
            notes.push(format!("the folder's policy turns the sandbox off, {only_user}"));
        }
        if self.connected() && !self.is_users {
            notes.push(format!("the folder's policy gives commands the network, {only_user}"));
        }
        notes
    }
}
