//! The knowledge of a project: where it is kept, and what compares meanings.

use std::path::PathBuf;
use std::sync::Arc;

use convoke_config::Config;
use convoke_core::Embedder;
use convoke_knowledge::Knowledge;

use crate::{Host, HostError, models};

/// The file with the knowledge of this project; `None` for a user without a home.
pub(crate) fn file(config: &Config) -> Option<PathBuf> {
    Some(config.locations().project.data_folder()?.join("knowledge.db"))
}

/// The knowledge of this project, which need not be there yet; `None` for a user without a home.
pub(crate) fn of(config: &Config) -> Option<Knowledge> {
    Some(Knowledge::at(file(config)?).embedder(|| embedder().ok()))
}

/// What compares meanings in this process, or why nothing does.
pub(crate) fn embedder() -> Result<Arc<dyn Embedder>, String> {
    models::local::embedder()
}

impl Host {
    /// The knowledge of this project, and why it is searched by words alone, if it is.
    ///
    /// # Errors
    /// If there is no place for it.
    pub fn knowledge(&self) -> Result<(Knowledge, Option<String>), HostError> {
        let knowledge = of(self.config()).ok_or(HostError::NoStorePlace)?;
        Ok((knowledge, models::local::embedder_missing()))
    }

    /// Makes the place of this project's knowledge.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn make_knowledge_place(&self) -> Result<(), HostError> {
        let file = file(self.config()).ok_or(HostError::NoStorePlace)?;
        crate::store::make_place(&self.config().locations().project, &file)
    }
}
