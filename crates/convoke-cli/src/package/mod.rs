//! Packages: `convoke pack`, `verify`, `install`, `packages`, `uninstall`, `keygen`, `trust`, and Agentfiles that are read out of packages.

mod arguments;
mod install;
mod installed;
mod keys;
mod pack;
mod verify;

pub(crate) use arguments::PackageCommand;
pub(crate) use installed::name_files;

use std::path::{Path, PathBuf};

use convoke_config::Environment;
use convoke_host::{packages_folder, trust_only, trust_store};
use convoke_package::{Package, TrustStore};

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
        PackageCommand::Pack(wanted) => pack::run(wanted, output),
        PackageCommand::Verify(wanted) => verify::run(wanted, output),
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
