//! Stored runs, for people: which one is meant, what it came to, what can be done about it, and with which command.
//!
//! | module | what it is for |
//! |---|---|
//! | `commands` | commands to copy: answering, resuming, forking |
//! | `find` | the run or the question that somebody means |
//! | `advice` | what to do next about a run that stands still |
//! | `answers`, `fork` | answering questions, forking runs, and what comes of that |
//! | `report` | what a run came to, and what can be done if it is not what was hoped for |
//! | `divergence` | what has changed since a run began |
//! | `show`, `questions`, `review` | a run, and what people must decide about it, as lines of text |
//! | `awaited` | the calls that clients are to make for it, as lines of text |
//!
//! **What it must never do.** Print, or ask: what it says is shown by whoever has somebody there to read it.

mod advice;
mod answers;
mod awaited;
mod commands;
mod divergence;
mod find;
mod fork;
mod questions;
mod report;
mod review;
mod show;

use std::path::Path;
use std::sync::Arc;

use convoke_config::Project;
use convoke_core::{Store, Timestamp};
use convoke_store::{MemoryStore, SqliteStore};
use convoke_text::shell_quoted;

use crate::failure::{FailureReport, NAME_ONE};
use crate::store::{make_place, related_projects};

pub use awaited::call_lines;
pub use find::{LAST, new_run_id};
pub use fork::Instead;
pub use report::{ESTIMATED, RunReport, RunSource, cut_short_note};
pub use review::{question_body, question_brief, trigger_words};
pub use show::ShownParts;

/// So many other stores are named.
const NEAR: usize = 3;

/// An open store of runs.
pub struct StoredRuns {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Its file, as it was named.
    pub place: String,
    /// The time at which it is looked at.
    pub now: Timestamp,
    /// What names it in commands, if it must be named.
    option: String,
}

/// The use that is made of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreUse {
    /// It is only read. One that is not there is not made.
    Read,
    /// It is changed. One that is not there is not made.
    Change,
    /// It is changed, and made if it is not there.
    Make,
}

impl StoredRuns {
    /// Opens the store in a file; `is_named` if commands must name it.
    ///
    /// # Errors
    /// If it is not there and not to be made, is no store of ours, or cannot be opened.
    pub fn open(
        file: &Path,
        project: &Project,
        usage: StoreUse,
        is_named: bool,
    ) -> Result<Self, FailureReport> {
        if usage != StoreUse::Make {
            must_exist(file).map_err(|failure| match project.store().as_deref() == Some(file) {
                true => near(project, failure),
                false => failure,
            })?;
        }
        let store: Arc<dyn Store> = match usage {
            // Somebody was about to make it, and did not get to: there are no runs.
            StoreUse::Read if SqliteStore::is_uninitialized(file)? => Arc::new(MemoryStore::new()),
            StoreUse::Read => Arc::new(SqliteStore::open_read_only(file)?),
            StoreUse::Change => Arc::new(SqliteStore::open(file)?),
            StoreUse::Make => {
                make_place(project, file)?;
                let made = SqliteStore::open(file);
                Arc::new(made.map_err(|error| FailureReport::from(error).hint(NAME_ONE))?)
            }
        };
        let place = file.display().to_string();
        let option = if is_named { format!("--store {} ", shell_quoted(&place)) } else { String::new() };
        Ok(Self { store, place, now: Timestamp::now(), option })
    }
}

/// Adds where runs are kept that the user may mean: a folder can become part of another project, or one of its own.
fn near(project: &Project, failure: FailureReport) -> FailureReport {
    let related = related_projects(project);
    if related.is_empty() {
        return failure
            .hint("if the project's folder was moved, `convoke store list` says where its runs are");
    }
    related.iter().take(NEAR).fold(failure, |failure, kept| {
        let store = shell_quoted(&kept.store.display().to_string());
        failure.hint(format!("runs of {} are in another file: add `--store {store}`", kept.folder.display()))
    })
}

fn must_exist(file: &Path) -> Result<(), FailureReport> {
    let place = file.display();
    match file.metadata() {
        Ok(metadata) if metadata.is_dir() => {
            Err(FailureReport::store(format!("{place} is a folder, not a store")).hint(NAME_ONE))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(FailureReport::store(format!("there is no store at {place}")).hint(NAME_ONE).hint(
                "`convoke run` makes one, and so does a program with `SqliteStore::open(path)`; this command never does",
            ))
        }
        Err(error) => {
            Err(FailureReport::store(format!("{place} cannot be read: {error}")).hint(NAME_ONE))
        }
    }
}
