//! Packages: `convoke pack`, `verify`, `install`, `packages`, `uninstall`, `keygen`, `trust`, and Agentfiles that are read out of packages.

mod arguments;
mod install;
mod installed;
mod keys;
mod pack;
mod verify;

pub(crate) use arguments::PackageCommand;
pub(crate) use installed::{meant, name_files};

use std::path::{Path, PathBuf};

use convoke_config::Environment;
use convoke_host::{packages_folder, trust_only, trust_store};
use convoke_package::{KeyError, Package, PackageError, TrustStore, Verification};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::Output;

/// Does what a command says.
pub(crate) fn command(
    arguments: &Arguments,
    command: &PackageCommand,
    output: &mut Output,
) -> Result<(), Failure> {
    match command {
        PackageCommand::Pack(wanted) => pack::run(arguments, wanted, output),
        PackageCommand::Verify(wanted) => verify::run(arguments, wanted, output),
        PackageCommand::Install(wanted) => install::run(arguments, wanted, output),
        PackageCommand::Packages => installed::list(arguments, output),
        PackageCommand::Uninstall(wanted) => installed::remove(arguments, wanted, output),
        PackageCommand::Keygen(wanted) => keys::generate(arguments, wanted, output),
        PackageCommand::Trust(wanted) => keys::trust(arguments, wanted, output),
    }
}

/// Where packages are unpacked to.
fn home() -> Result<PathBuf, Failure> {
    packages_folder(&Environment::process()).ok_or_else(|| no_home("packages"))
}

/// Only this key, or everybody this user trusts.
fn trust(key: Option<&Path>) -> Result<TrustStore, Failure> {
    Ok(key.map_or_else(|| trust_store(&Environment::process()), trust_only)?)
}

fn no_home(what: &str) -> Failure {
    Failure::failed(format!("there is no place for {what}: home directory unavailable"))
        .hint("set HOME, or say where with an option")
}

/// The package's name and version.
fn title(package: &Package) -> String {
    format!("{} {}", package.manifest().name, package.manifest().version)
}

impl From<PackageError> for Failure {
    fn from(error: PackageError) -> Self {
        let message = error.to_string();
        match error {
            PackageError::Agentfile { problems } => {
                let failure = Self::failed("the Agentfile cannot be packed");
                let failure = problems.into_iter().fold(failure, Self::detail);
                failure.hint("everything it names must be in the folder; `convoke validate` explains the rest")
            }
            PackageError::Refused { verification: Verification::Invalid { .. } } => {
                Self::failed(message).hint("it was changed after it was signed: get it again from where it is from")
            }
            PackageError::Refused { verification: Verification::Unsigned } => {
                Self::failed(message).hint("look at what is in it; `--allow-unsigned` installs it all the same")
            }
            PackageError::Refused { .. } => Self::failed(message).hint(
                "get the public key of whoever made it, and `convoke trust KEY --as NAME`; or `--allow-unsigned`",
            ),
            PackageError::Exists { .. } => Self::failed(message).hint("`--force` replaces it"),
            PackageError::Path { .. } | PackageError::Content { .. } => {
                Self::failed(message).hint("nothing was written; do not trust where it is from")
            }
            PackageError::Version { .. } => Self::failed(message).hint("such as `--version 1.2.0`"),
            PackageError::Folder { .. } => {
                Self::failed(message).hint("name a folder with an Agentfile and only what belongs to it")
            }
            _ => Self::failed(message),
        }
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        let failure = Self::failed(error.to_string());
        match &error {
            KeyError::Exposed { path, .. } => failure.hint(format!("`chmod 600 {}`", path.display())),
            KeyError::Exists { .. } => failure.hint("keys are never overwritten; name another file"),
            KeyError::Invalid { .. } => failure.hint("`convoke keygen` makes keys"),
            _ => failure,
        }
    }
}
