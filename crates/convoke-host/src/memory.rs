//! The memory of a user: what agents remember, and conversations that come back.

use std::path::{Path, PathBuf};

use convoke_config::Config;
use convoke_tools::memory::Memory;

use crate::{Host, HostError, knowledge};

/// The memories of this user; `None` for a user without a home.
pub(crate) fn file(config: &Config) -> Option<PathBuf> {
    Some(config.locations().project.data.as_ref()?.join("memory.db"))
}

/// The memory as it is seen from a workspace; `None` for a user without a home. Its file is made when it is first needed.
///
/// Like the runs, it belongs to the whole project: a folder of it knows what another was told.
pub(crate) fn of(config: &Config, workspace: &Path) -> Result<Option<Memory>, HostError> {
    let Some(file) = file(config) else { return Ok(None) };
    let project = &config.locations().project.folder;
    let owner = if workspace.starts_with(project) { project } else { workspace };
    let memory = Memory::at(file, &owner.display().to_string());
    let memory = memory.map_err(|error| HostError::Tools(error.to_string()))?;
    Ok(Some(memory.embedder(knowledge::embedder())))
}

impl Host {
    /// Returns the memory of this user, as it is seen from the workspace.
    ///
    /// # Errors
    /// If there is no place for it.
    pub fn memory(&self) -> Result<Memory, HostError> {
        let workspace = self.config().workspace().path;
        // The name by which tools know it.
        let workspace = workspace.canonicalize().unwrap_or(workspace);
        of(self.config(), &workspace)?.ok_or(HostError::NoStorePlace)
    }
}
