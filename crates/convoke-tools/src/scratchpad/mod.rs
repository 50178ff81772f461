//! The scratchpad: what one run writes down for itself, by name.
//!
//! Notes belong to a run and are seen by all its agents. They are in a file of their own and not in the memory of a
//! process: a run that is resumed is not told its calls again, the journal answers them, and its notes must be there. A
//! call that is made again after a crash is known by its key.
//!
//! **What it must never do.** Show a run the notes of another.

mod store;
mod tools;

use std::fmt;
use std::path::Path;

use convoke_core::{Error, RunId};
use convoke_sqlite::Triggers;

pub use crate::database::StorageError;
use crate::database::{self, Database, FileSchema};

pub use tools::all;

const LAYOUT: FileSchema =
    FileSchema { application: 0x436e_7673, steps: &[include_str!("1.sql")], triggers: Triggers::Never };

/// The notes of all runs on this machine.
///
/// ```
/// use convoke_core::Toolset;
/// use convoke_tools::scratchpad::{self, Scratchpad};
///
/// let folder = tempfile::tempdir()?;
/// let scratchpad = Scratchpad::open(folder.path().join("scratchpad.db"))?;
/// let mut tools = Toolset::new();
/// for tool in scratchpad::all(&scratchpad) {
///     tools.add(tool)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Scratchpad {
    database: Database,
}

impl Scratchpad {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// If that cannot be done, or the file is something else.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StorageError> {
        Ok(Self { database: Database::open(path.as_ref(), &LAYOUT)? })
    }

    /// A file that is opened, and made if it is not there, when it is first needed.
    #[must_use]
    pub fn at(path: impl AsRef<Path>) -> Self {
        Self { database: Database::at(path.as_ref(), &LAYOUT) }
    }

    /// Throws away the notes of a run: it is over, or deleted. To be done before the id is used for another run.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn forget(&self, run: &RunId) -> Result<(), Error> {
        let run = run.as_str().to_owned();
        database::write(&self.database, move |transaction| store::forget(transaction, &run)).await
    }
}

impl fmt::Debug for Scratchpad {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Scratchpad")
    }
}
