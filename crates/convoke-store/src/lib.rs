#![doc = include_str!("../README.md")]
//!
//! Two implementations of [`Store`](convoke_core::Store), and a suite that any further one must pass:
//!
//! - [`SqliteStore`]: one file, durable. Many runs share one `fsync` (group commit); several processes may use the
//!   same file, and a run taken over by one of them is closed to the others.
//! - [`MemoryStore`]: the same behaviour for runs that need not outlive the process.
//! - `contract` (feature `contract`): one function per promise a store makes. Run it in the tests of a new backend.
//!
//! A store keeps what it is given. It never looks into requests, outcomes or content, performs no effect, and starts
//! no run.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod batch;
#[cfg(feature = "contract")]
pub mod contract;
#[cfg_attr(not(feature = "sqlite"), allow(dead_code, reason = "memory is not shared with other processes"))]
mod lease_owner;
mod memory;
#[cfg_attr(not(feature = "sqlite"), allow(dead_code, reason = "memory is not shared with other processes"))]
mod notifier;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use memory::MemoryStore;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
