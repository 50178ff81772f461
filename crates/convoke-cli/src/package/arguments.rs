//! The command lines of `convoke pack` and its kin.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum PackageCommand {
    /// Pack a folder with an Agentfile in it into one file.
    Pack(Pack),
    /// Say who vouches for a package, and what is in it. Fails unless it is verified.
    Verify(Verify),
    /// Unpack a package to where packages are kept.
    Install(Install),
    /// List the packages that are installed.
    Packages,
    /// Remove an installed package: one version of it, or all.
    Uninstall(Uninstall),
    /// Make a key to sign packages with.
    Keygen(Keygen),
    /// List the keys whose packages are trusted, or trust one more.
    Trust(Trust),
}

const AFTER_PACK: &str = "\
Hidden files, keys, credentials, databases and other packages are left out. A manifest.json in the folder can say what \
     the Agentfile cannot: version, description, author, license, dependencies. The same folder gives the same file, unless \
     SOURCE_DATE_EPOCH is set: then the package says that it was made at that time.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_PACK)]
pub(crate) struct Pack {
    /// The folder.
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Where to write it; NAME.agent otherwise.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The private key to sign it with; `convoke keygen` makes one. Without it, the package is not signed.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Its version.
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The package.
    pub(crate) file: PathBuf,
    /// Trust this public key, and no other.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// The package.
    pub(crate) file: PathBuf,
    /// Trust this public key, and no other.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Install it even if it is not signed, or with a key that is not known. One whose signature is wrong is never
    /// installed.
    #[arg(long)]
    pub(crate) allow_unsigned: bool,
    /// Where packages are kept; it becomes FOLDER/NAME/VERSION.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) target: Option<PathBuf>,
    /// Replace this version if it is there already.
    #[arg(long)]
    pub(crate) force: bool,
    /// Check everything and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    /// Its name, as `convoke packages` lists it; with `@VERSION`, only that version.
    #[arg(value_name = "NAME[@VERSION]")]
    pub(crate) package: String,
}

#[derive(Debug, Args)]
pub(crate) struct Keygen {
    /// Where to write the private key; the public one is written beside it, with the extension `pub`. Without this, where
    /// this user's settings are.
    pub(crate) path: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The public key to trust.
    #[arg(value_name = "KEY", requires = "name")]
    pub(crate) key: Option<PathBuf>,
    /// Whose it is.
    #[arg(long = "as", value_name = "NAME", requires = "key")]
    pub(crate) name: Option<String>,
}
