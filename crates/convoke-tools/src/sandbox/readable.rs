//! Paths that commands can read besides the workspace and the system: the toolchains of the user, and the folders that the user's
//! policy opens.
//!
//! A folder's policy must never open anything.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{OpeningError, Openings, Sandbox, Toolchains};
use crate::policy::{PolicySet, RulePlace};
use crate::workspace::{FileError, Workspace};

/// The tool chains and folders that commands can read.
#[derive(Debug, Clone)]
pub struct ReadablePaths {
    chains: Toolchains,
    folders: Vec<PathBuf>,
    /// The home, and the files that the program itself uses.
    own: Vec<PathBuf>,
    notes: Vec<String>,
}

/// Errors of settling what commands can read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadablePathsError {
    /// The machine cannot be looked at.
    #[error("commands of agents have no place: {0}")]
    Place(#[from] FileError),
    /// The user's policy opens what no command may read.
    #[error("{} cannot be opened to commands: {why}", folder.display())]
    Refused {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        why: OpeningError,
        /// The place in the policy that names it.
        named_at: String,
    },
}

impl ReadablePaths {
    /// Finds what there is to be read. `own` are files that nobody may open to commands; `variable` looks up the
    /// environment, in which `HOME` is the user's home.
    ///
    /// # Errors
    /// If the user's policy opens what no command may read.
    pub fn find(
        workspace: &Workspace,
        policies: &PolicySet,
        own: impl IntoIterator<Item = PathBuf>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ReadablePathsError> {
        let home = variable("HOME").map(PathBuf::from);
        let own: Vec<PathBuf> = own.into_iter().collect();
        let openings = Openings::new(workspace, home.as_deref(), own.clone())?;
        let chains = Toolchains::find(&openings, |name| variable(name).map(OsString::from));
        let own = own.into_iter().chain(home).collect();
        let mut readable = Self { chains, folders: Vec::new(), own, notes: Vec::new() };
        for (folder, place) in policies.of_the_user().flat_map(|policy| policy.readable()) {
            let named_at = match place {
                RulePlace::File { name, line } => format!("{name}:{line}"),
                RulePlace::BuiltIn => "the policy".to_owned(),
            };
            match openings.folder(folder) {
                Ok(real) => readable.folders.push(real),
                Err(
                    why @ (OpeningError::Missing | OpeningError::InWorkspace | OpeningError::Unknown { .. }),
                ) => {
                    let shown = Path::new(folder).display();
                    readable.notes.push(format!("{shown} is not opened to commands: {why} ({named_at})"));
                }
                Err(why) => {
                    return Err(ReadablePathsError::Refused { folder: PathBuf::from(folder), why, named_at });
                }
            }
        }
        Ok(readable)
    }

    /// Returns notes about what was asked for and is not opened.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// This sandbox, with all that open for reading, and what is the program's own covered wherever it is.
    #[must_use]
    pub fn opened_in(&self, sandbox: Sandbox) -> Sandbox {
        let sandbox = self.own.iter().fold(sandbox, Sandbox::covered);
        self.folders.iter().fold(sandbox.chains(&self.chains), |sandbox, folder| sandbox.readable(folder))
    }

    /// The tool chains, in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let chains = match self.chains.names() {
            [] => "those of the system".to_owned(),
            names => format!("{}, and those of the system", names.join(", ")),
        };
        let remarks = self.chains.remarks().iter().chain(&self.notes);
        remarks.fold(chains, |told, remark| format!("{told}; {remark}"))
    }
}
