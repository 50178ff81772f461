#![doc = include_str!("../README.md")]
//!
//! # The format
//! A ZIP archive whose entries are stored as they are:
//!
//! | entry | what it is |
//! |---|---|
//! | `manifest.json` | what the package is: a [`Manifest`] |
//! | `content.tar.gz` | the files |
//! | `signature` | 64 bytes, if it is signed: Ed25519 over SHA-256 of the manifest's bytes and SHA-256 of the content's |
//!
//! The same folder gives the same bytes, on any machine, on any day.
//!
//! # Where to find what
//! | module | what it is for |
//! |---|---|
//! | `package` | a package, read and written; its signature |
//! | `pack` | from a folder to a package: what goes in, what is left out |
//! | `content` | the files of a package, read within [`Limits`] |
//! | `archive_path` | which paths a package may have in it |
//! | `install` | unpacking: all or nothing, never outside |
//! | `library` | what is installed, by name and version |
//! | `loader` | Agentfiles that are read out of packages |
//! | `key`, `trust` | keys, and whose are trusted |
//!
//! **What it may know.** The Agentfile language, the file system.
//!
//! **What it must never do.** Call a package verified whose signature was not checked against a trusted key; write
//! outside of the folder it was given; follow or make links; unpack more than its limits; hash anything but bytes as they
//! are stored.

mod archive_path;
mod container;
mod content;
mod error;
mod excluded;
mod install;
mod key;
mod library;
mod limits;
mod loader;
mod manifest;
mod pack;
mod package;
mod pem;
mod trust;

pub use error::{KeyError, PackageError};
pub use install::{InstallOptions, InstalledPackage};
pub use key::{Fingerprint, PublicKey, SigningKey};
pub use library::{InstalledVersion, installed, versions};
pub use limits::Limits;
pub use loader::{PackageFiles, PackageLoader};
pub use manifest::{Author, InputInfo, Manifest, OutputInfo, Requires};
pub use pack::{ExcludedFile, PackOptions, PackResult};
pub use package::{FileInfo, Package};
pub use trust::{TrustStore, Verification};
