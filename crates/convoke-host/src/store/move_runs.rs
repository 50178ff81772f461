//! Moves runs, and what agents noted in them, from one file to another.
//!
//! Notes are copied before runs, and both are complete in the new place before either goes from the old one. Whoever is killed in between
//! leaves both: the next attempt sees that one is a copy of the other, and goes on from there. Two stores with different runs are never
//! made one.

use std::path::{Path, PathBuf};

use convoke_config::Project;
use convoke_core::store::{RunQuery, RunRecord};
use convoke_core::{RunId, Store};
use convoke_sqlite::{ExclusiveDatabase, OnExisting, place};
use convoke_store::SqliteStore;
use convoke_tools::scratchpad::Scratchpad;

use super::project_folder::{make_place, remove_place};
use crate::HostError;
use crate::tools::scratchpad_file;

/// An error in moving runs. Nothing is lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// A run is being worked on.
    #[error("run `{run}` is being worked on by {holder}: nothing was moved")]
    Held {
        /// The run.
        run: RunId,
        /// Who works on it.
        holder: String,
    },
    /// There is nothing to be moved.
    #[error("there is no store at {}", file.display())]
    Missing {
        /// The file.
        file: PathBuf,
    },
    /// They are there already.
    #[error("{} is where it is to go already", file.display())]
    Same {
        /// The file.
        file: PathBuf,
    },
    /// Somebody made the new file meanwhile.
    #[error("{} was made meanwhile: nothing was moved", file.display())]
    Made {
        /// The file.
        file: PathBuf,
    },
    /// Neither is a copy of the other.
    #[error("{} and {} both have runs, and are not made one: nothing was moved", from.display(), to.display())]
    Both {
        /// The one.
        from: PathBuf,
        /// The other.
        to: PathBuf,
    },
    /// Another process has a file open.
    #[error("another process has {} open: nothing was moved", file.display())]
    InUse {
        /// The file.
        file: PathBuf,
    },
    /// The notes of agents cannot be read.
    #[error("{0}")]
    Notes(String),
    /// A file cannot be moved, or moved to.
    #[error("{} cannot be moved, or moved to: {why}", file.display())]
    Failed {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
}

/// The runs that were moved.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct MovedRuns {
    /// How many.
    pub runs: usize,
    /// From where.
    pub from: PathBuf,
    /// Where to.
    pub to: PathBuf,
}

/// Moves the runs of one file to another, which must have none of its own.
///
/// # Errors
/// If they cannot be moved.
pub async fn move_runs(project: &Project, from: &Path, to: &Path) -> Result<MovedRuns, HostError> {
    let runs = records(from).await?;
    if let Some((run, holder)) = runs.iter().find_map(|run| Some((&run.id, run.holder.as_ref()?))) {
        return Err(MoveError::Held { run: run.clone(), holder: holder.to_string() }.into());
    }
    make_place(project, to)?;
    let there = match to.symlink_metadata() {
        Ok(_) => Some(records(to).await?),
        Err(_) => None,
    };
    let (from, to) = (real(from)?, real(to)?);
    if from == to {
        return Err(MoveError::Same { file: to }.into());
    }
    let source = exclusive(&from)?;
    let has_runs = there.as_ref().is_some_and(|there| !there.is_empty());
    if !has_runs {
        copy_notes(&from, &to)?;
        // Nobody begins a run in it while it is replaced.
        let replaced = there.map(|_| exclusive(&to)).transpose()?;
        let existing = if replaced.is_some() { OnExisting::Replace } else { OnExisting::Keep };
        if !source.copy_to(&to, existing).map_err(|error| failed(&to, &error))? {
            return Err(MoveError::Made { file: to }.into());
        }
    } else if !there.is_some_and(|there| are_all_among(&runs, &there)) {
        return Err(MoveError::Both { from, to }.into());
    }
    let notes = scratchpad_file(&from);
    if notes.symlink_metadata().is_ok() {
        exclusive(&notes)?.remove().map_err(|error| failed(&notes, &error))?;
    }
    source.remove().map_err(|error| failed(&from, &error))?;
    remove_place(project, &from);
    Ok(MovedRuns { runs: runs.len(), from, to })
}

/// All runs of a store. Opening it says whether it is one of ours, and brings it up to date.
async fn records(store: &Path) -> Result<Vec<RunRecord>, HostError> {
    if store.symlink_metadata().is_err() {
        return Err(MoveError::Missing { file: store.to_owned() }.into());
    }
    Ok(SqliteStore::open(store)?.runs(&RunQuery::default()).await?)
}

/// Whether these runs are there as well, and have not gone on since.
fn are_all_among(runs: &[RunRecord], there: &[RunRecord]) -> bool {
    let is_same = |run: &RunRecord, other: &RunRecord| {
        (&run.id, run.created, run.seed) == (&other.id, other.created, other.seed)
            && run.updated <= other.updated
    };
    runs.iter().all(|run| there.iter().any(|other| is_same(run, other)))
}

/// Without runs in the new place, notes there belong to nobody.
fn copy_notes(from: &Path, to: &Path) -> Result<(), HostError> {
    let (from, to) = (scratchpad_file(from), scratchpad_file(to));
    if from.symlink_metadata().is_err() {
        return Ok(());
    }
    // Says whether it is one of ours.
    drop(Scratchpad::open(&from).map_err(|error| MoveError::Notes(error.to_string()))?);
    exclusive(&from)?.copy_to(&to, OnExisting::Replace).map(drop).map_err(|error| failed(&to, &error))
}

fn exclusive(file: &Path) -> Result<ExclusiveDatabase, HostError> {
    let taken = ExclusiveDatabase::take(file).map_err(|error| failed(file, &error))?;
    Ok(taken.ok_or_else(|| MoveError::InUse { file: file.to_owned() })?)
}

fn real(file: &Path) -> Result<PathBuf, HostError> {
    place(file).map_err(|error| failed(file, &error))
}

fn failed(file: &Path, error: &dyn std::fmt::Display) -> HostError {
    MoveError::Failed { file: file.to_owned(), why: error.to_string() }.into()
}
