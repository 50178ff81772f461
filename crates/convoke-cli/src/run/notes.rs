//! What agents write down: notes of one run beside the store, and memories where this user's data is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_config::Config;
use convoke_core::Tool;
use convoke_store::real_path;
use convoke_tools::memory::{self, Memory};
use convoke_tools::scratchpad::{self, Scratchpad};

use crate::failure::Failure;

/// The notes of the runs in a store. Ids of runs are told apart in a store only, so each has its own, whichever way it is
/// named.
pub(crate) fn scratchpad_file(store: &Path) -> PathBuf {
    let mut name = real_path(store).into_os_string();
    name.push("-scratchpad");
    PathBuf::from(name)
}

/// The memories of this user; `None` for a user without a home.
pub(super) fn memory_file(config: &Config) -> Option<PathBuf> {
    let set =
        |name: &str| config.environment().get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")))?;
    Some(data.join("convoke/memory.db"))
}

/// The tools for both. Files are made when they are first needed.
pub(super) fn tools(config: &Config, workspace: &Path, store: &Path) -> Result<Vec<Arc<dyn Tool>>, Failure> {
    let mut tools = scratchpad::all(&Scratchpad::at(scratchpad_file(store)));
    if let Some(file) = memory_file(config) {
        let memory = Memory::at(file, &workspace.display().to_string());
        tools.extend(memory::all(&memory.map_err(|error| Failure::failed(error.to_string()))?));
    }
    Ok(tools)
}
