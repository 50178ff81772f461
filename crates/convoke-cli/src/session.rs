//! The session of a command: the stored runs, and where results go.

use std::ops::Deref;

use convoke_host::stored::{StoreUse, StoredRuns};

use crate::arguments::{Arguments, Color};
use crate::configuration;
use crate::failure::Failure;
use crate::terminal::Output;

/// Stored runs, and where results about them go.
pub(crate) struct Session<'a> {
    runs: StoredRuns,
    pub(crate) output: &'a mut Output,
    pub(crate) json: bool,
    pub(crate) color: Color,
}

impl<'a> Session<'a> {
    /// Opens the store the command line names.
    pub(crate) fn open(
        arguments: &Arguments,
        usage: StoreUse,
        output: &'a mut Output,
    ) -> Result<Self, Failure> {
        let project = configuration::loader(arguments).locations().project;
        let runs = StoredRuns::open(&arguments.store, &project, usage, arguments.names_store)?;
        Ok(Self { runs, output, json: arguments.json, color: arguments.color })
    }
}

impl Deref for Session<'_> {
    type Target = StoredRuns;

    fn deref(&self) -> &StoredRuns {
        &self.runs
    }
}
