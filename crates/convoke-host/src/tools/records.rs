//! The records of agents: notes of one run beside the store, and memories where this user's data is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_config::Config;
use convoke_core::Tool;
use convoke_tools::memory;
use convoke_tools::scratchpad::{self, Scratchpad};

use crate::HostError;

/// The notes of the runs in a store. Ids of runs are told apart in a store only, so each has its own, whichever way it is
/// named.
#[must_use]
pub fn scratchpad_file(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push("-scratchpad");
    PathBuf::from(name)
}

/// The tools for both. Files are made when they are first needed.
pub(super) fn tools(
    config: &Config,
    workspace: &Path,
    store: &Path,
) -> Result<Vec<Arc<dyn Tool>>, HostError> {
    let mut tools = scratchpad::all(&Scratchpad::at(scratchpad_file(store)));
    if let Some(memory) = crate::memory::of(config, workspace)? {
        tools.extend(memory::all(&memory));
    }
    Ok(tools)
}
