//! The stores of runs: where they are, and how runs are moved and deleted.
//!
//! Runs are kept where this user's data is, in a folder for each project, and not in the project's own folder: commands of
//! agents work there, and a folder may have come from somebody else. What somebody names takes precedence.
//!
//! | module | what it is for |
//! |---|---|
//! | `project_folder` | the folder of a project's store, and which project it belongs to |
//! | `move_runs` | taking runs from one file to another |
//! | `delete` | ending and deleting runs, with what agents noted in them |
//! | `send` | sending runs something once, by a key, and not what they could not use |
//!
//! **What it must never do.** Let agents work in a folder that has the store of their run in it, unless the user's own
//! configuration says so.

mod delete;
mod move_runs;
mod project_folder;
mod send;

use std::path::Path;

use convoke_config::{Config, may_exist};
use convoke_core::store::RunQuery;
use convoke_core::{Store, StoreError};
use convoke_store::SqliteStore;
use rustix::fs::{Access, access as access_of};

use crate::HostError;

pub use delete::{cancel_run, delete_listed, delete_notes, is_told_to_end};
pub use move_runs::{MoveError, MovedRuns, move_runs};
pub use project_folder::{KeptProject, make_place, must_be_own, projects, related_projects};
pub use send::{check_mail, client_calls, meant_channel, result_key, send, untaken_mail};

/// Returns whether the store in a file has a run with an id that begins so. A file that is not there, or was never made a store, has none.
///
/// # Errors
/// If it is no store of ours, or cannot be read.
pub async fn has_runs(file: &Path, id_prefix: &str) -> Result<bool, StoreError> {
    // No id has other letters.
    if !may_exist(file) || SqliteStore::is_uninitialized(file)? || !id_prefix.is_ascii() {
        return Ok(false);
    }
    let id_prefix = Some(id_prefix.to_owned()).filter(|prefix| !prefix.is_empty());
    let query = RunQuery { id_prefix, limit: Some(1), ..RunQuery::default() };
    Ok(!SqliteStore::open_read_only(file)?.runs(&query).await?.is_empty())
}

/// Refuses a place for runs that this user cannot write to.
///
/// # Errors
/// If they cannot.
pub fn must_be_writable(store: &Path) -> Result<(), HostError> {
    let there = store.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(store);
    let access =
        if there == store { Access::READ_OK | Access::WRITE_OK } else { Access::WRITE_OK | Access::EXEC_OK };
    access_of(there, access).map_err(|errno| HostError::StoreFolder {
        folder: store.parent().unwrap_or(store).to_owned(),
        source: errno.into(),
    })
}

/// Refuses to let agents work where they could write the store of their run.
///
/// # Errors
/// If they could.
pub fn must_be_out_of_reach(config: &Config, store: &Path) -> Result<(), HostError> {
    if !config.is_within_reach(store) {
        return Ok(());
    }
    let workspace = config.workspace().path;
    let workspace = workspace.canonicalize().unwrap_or(workspace);
    let places = config.locations();
    let own = places.project.store().filter(|own| !config.is_within_reach(own));
    let is_earlier = places.old_store.as_deref() == Some(store);
    Err(HostError::StoreWithinReach { store: store.to_owned(), workspace, own, is_earlier })
}
