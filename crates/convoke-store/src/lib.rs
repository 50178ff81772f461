//! Where Convoke keeps its runs.
//!
//! Two implementations of [`Store`](convoke_core::Store), and a suite that any further one must pass:
//!
//! - [`SqliteStore`]: one file, durable. Many runs share one `fsync` (group commit); several processes may use the
//!   same file, and a run taken over by one of them is closed to the others.
//! - [`MemoryStore`]: the same behaviour for runs that need not outlive the process.
//! - `contract` (feature `contract`): one function per promise a store makes. Run it in the tests of a new backend.
//!
//! ```
//! use convoke_core::Store;
//! use convoke_store::SqliteStore;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("runs.db");
//! let store = SqliteStore::open(path)?;
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! assert!(store.runs(&Default::default()).await?.is_empty());
//! # Ok::<(), convoke_core::StoreError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A store keeps what it is given. It never looks into requests, outcomes or content, performs no effect, and starts
//! no run.

mod batch;
mod board;
#[cfg(feature = "contract")]
pub mod contract;
mod holder;
mod memory;
mod sqlite;

pub use memory::MemoryStore;
pub use sqlite::{SqliteStore, real_path};
