//! What commands can read besides the workspace and the system: the tool chains of the user, and the folders that the user's
//! policy opens.
//!
//! A folder's policy must never open anything.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use convoke_config::Config;
use convoke_tools::policy::RulePlace;
use convoke_tools::sandbox::{Chains, NotOpened, Openings, Sandbox};
use convoke_tools::workspace::Workspace;

use super::tools::own_files;
use crate::failure::Failure;
use crate::policies::Policies;
use crate::terminal::text;

/// What is opened.
pub(super) struct Opened {
    chains: Chains,
    folders: Vec<PathBuf>,
    /// What was asked for and is not.
    pub(super) notes: Vec<String>,
}

impl Opened {
    /// Finds out what there is to be opened.
    ///
    /// # Errors
    /// If the user's policy opens what no command may read.
    pub(super) fn find(
        config: &Config,
        store: &Path,
        workspace: &Workspace,
        policies: &Policies,
    ) -> Result<Self, Failure> {
        let variable = |name: &str| config.environment().get(name);
        let home = variable("HOME").map(PathBuf::from);
        // The user's own settings are in a folder of their own.
        let settings = config.places().user.as_deref().and_then(Path::parent).map(Path::to_owned);
        let own = own_files(config, store, policies).chain(settings);
        let openings = Openings::new(workspace, home.as_deref(), own)
            .map_err(|error| Failure::failed(format!("commands of agents have no place: {error}")))?;
        let chains = Chains::find(&openings, |name| variable(name).map(OsString::from));
        let mut opened = Self { chains, folders: Vec::new(), notes: Vec::new() };
        for (folder, place) in policies.of_the_user().flat_map(|policy| policy.readable()) {
            let shown = text::clean(&folder.display().to_string());
            let said = match place {
                RulePlace::File { name, line } => text::clean(&format!("{name}:{line}")),
                RulePlace::BuiltIn => "the policy".to_owned(),
            };
            match openings.folder(folder) {
                Ok(real) => opened.folders.push(real),
                Err(why @ (NotOpened::Missing | NotOpened::InWorkspace | NotOpened::Unknown { .. })) => {
                    opened.notes.push(format!("{shown} is not opened to commands: {why} ({said})"));
                }
                Err(why) => {
                    return Err(Failure::failed(format!("{shown} cannot be opened to commands: {why}"))
                        .hint(format!("`readable` in {said} names it")));
                }
            }
        }
        Ok(opened)
    }

    /// This sandbox, with all that open for reading.
    pub(super) fn to(&self, sandbox: Sandbox) -> Sandbox {
        self.folders.iter().fold(sandbox.chains(&self.chains), |sandbox, folder| sandbox.readable(folder))
    }

    /// The tool chains, in words.
    pub(super) fn told(&self) -> String {
        let chains = match self.chains.names() {
            [] => "those of the system".to_owned(),
            names => format!("{}, and those of the system", names.join(", ")),
        };
        let remarks = self.chains.remarks().iter().chain(&self.notes);
        remarks.fold(chains, |told, remark| format!("{told}; {remark}"))
    }
}
