//! Memory that outlives a run: findings, insights and lessons, and conversations that come back.
//!
//! A memory is for a workspace or for the user in all workspaces; it says which run said it, where and when; it may
//! expire; and the same thing is kept once, however often it is said. What is remembered is found again by its words.
//!
//! Whatever a model remembers may have come from a page or a file: results of recall are labelled as coming from memory,
//! and each says which run it is from.
//!
//! **What it must never do.** Show a workspace the memories of another; take a query for anything but words.

mod assemble;
mod kind;
mod meaning;
mod remarks;
mod session;
mod store;
mod tools;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::Timestamp;
use convoke_sqlite::Triggers;

pub use crate::database::StorageError;
use crate::database::{Database, FileSchema};
use crate::embedding::LazyEmbedder;

pub use remarks::RememberedConversation;
pub use session::{ConversationMemory, check_name};
pub use tools::all;

const LAYOUT: FileSchema = FileSchema {
    application: 0x436e_766d,
    steps: &[include_str!("1.sql"), include_str!("2.sql"), include_str!("3.sql"), include_str!("4.sql")],
    // They keep the index of words.
    triggers: Triggers::Ours,
};

type Clock = dyn Fn() -> Timestamp + Send + Sync;

/// The memories of a user, seen from one workspace.
///
/// Several processes may have the file open at once.
///
/// ```
/// use std::time::Duration;
/// use convoke_core::Toolset;
/// use convoke_tools::memory::{self, Memory};
///
/// let folder = tempfile::tempdir()?;
/// let memory = Memory::open(folder.path().join("memory.db"), "/home/ann/shop")?
///     .lifetime(Duration::from_secs(365 * 24 * 3600));
/// let mut tools = Toolset::new();
/// for tool in memory::all(&memory) {
///     tools.add(tool)?;
/// }
/// assert!(tools.get("recall").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Memory {
    database: Database,
    /// What stands for the workspace in the file.
    workspace: Arc<str>,
    lifetime: Option<Duration>,
    clock: Arc<Clock>,
    embedder: LazyEmbedder,
}

impl Memory {
    /// Opens the file, or makes it. The workspace is known by this name, which should be its absolute path.
    ///
    /// # Errors
    /// If that cannot be done, if the file is something else, or if the name is empty: that would be the user's.
    pub fn open(path: impl AsRef<Path>, workspace: &str) -> Result<Self, StorageError> {
        Self::of(workspace, || Database::open(path.as_ref(), &LAYOUT))
    }

    /// Opens the file, and makes it if it is not there, when it is first needed.
    ///
    /// # Errors
    /// If the name is empty: that would be the user's.
    pub fn at(path: impl AsRef<Path>, workspace: &str) -> Result<Self, StorageError> {
        Self::of(workspace, || Ok(Database::at(path.as_ref(), &LAYOUT)))
    }

    fn of(
        workspace: &str,
        database: impl FnOnce() -> Result<Database, StorageError>,
    ) -> Result<Self, StorageError> {
        if workspace.is_empty() {
            return Err(StorageError::Unfit("a workspace must have a name".to_owned()));
        }
        let (workspace, clock) = (Arc::from(workspace), Arc::new(Timestamp::now));
        Ok(Self {
            database: database()?,
            workspace,
            lifetime: None,
            clock,
            embedder: LazyEmbedder::default(),
        })
    }

    /// Sets how long something is remembered when nobody says. For ever, unless this is set.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = Some(lifetime);
        self
    }

    /// Finds what is remembered by what it means too, and not by its words only.
    #[must_use]
    pub fn embedder(mut self, embedder: LazyEmbedder) -> Self {
        self.embedder = embedder;
        self
    }

    /// Goes by another clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Memory").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}
