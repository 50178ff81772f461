//! The environment of tools: the workspace, with everything protected in it that is none of their business, and what confines
//! commands there.

use std::path::{Path, PathBuf};

use convoke_config::Config;
use convoke_tools::policy::PolicySet;
#[cfg(target_os = "linux")]
use convoke_tools::sandbox::{ReadablePaths, SandboxCommand, SandboxError};
use convoke_tools::workspace::{Protected, Workspace};

use super::records;
use crate::{CheckResult, HostError, knowledge, mcp, memory};

/// What is configured, and the store of the runs that tools work for.
#[derive(Clone, Copy)]
pub(crate) struct ToolEnvironment<'a> {
    pub(crate) config: &'a Config,
    pub(crate) store: &'a Path,
}

impl ToolEnvironment<'_> {
    /// The folder that agents work in, with everything in it protected that is none of their business.
    pub(crate) fn workspace(self, policies: &PolicySet) -> Result<Workspace, HostError> {
        let path = self.config.workspace().path;
        let own = self.own_files(policies).into_iter().fold(Protected::defaults(), Protected::store);
        let protected = mcp::programs(self.config).into_iter().fold(own, Protected::program);
        Workspace::open_with(&path, policies.protect(protected))
            .map_err(|source| HostError::Workspace { path, source })
    }

    /// What commands can read besides the workspace and the system.
    #[cfg(target_os = "linux")]
    pub(crate) fn readable(
        self,
        workspace: &Workspace,
        policies: &PolicySet,
    ) -> Result<ReadablePaths, HostError> {
        // The user's own settings are in a folder of their own.
        let settings = self.config.locations().user.as_deref().and_then(Path::parent).map(Path::to_owned);
        let own = self.own_files(policies).into_iter().chain(settings);
        Ok(ReadablePaths::find(workspace, policies, own, |name| self.config.environment().get(name))?)
    }

    /// The files that this program goes by, whatever they are called.
    fn own_files(self, policies: &PolicySet) -> Vec<PathBuf> {
        let places = self.config.locations();
        let settings = [&places.user, &places.named, &places.folder, &places.credentials];
        let settings = settings.into_iter().flatten().chain(policies.files()).cloned();
        let written = [self.store.to_owned(), records::scratchpad_file(self.store)];
        settings.chain(written).chain(memory::file(self.config)).chain(knowledge::file(self.config)).collect()
    }
}

/// That commands have no place.
#[cfg(target_os = "linux")]
pub(crate) fn commands_place(error: SandboxError) -> HostError {
    HostError::Commands(error.to_string())
}

/// Runs a command that does nothing; says what confined it, or why nothing could.
#[cfg(target_os = "linux")]
pub(crate) async fn sandbox_works(workspace: &Workspace, policies: &PolicySet) -> CheckResult {
    let tried = async {
        let sandbox = policies.sandbox(workspace)?;
        if policies.open_sandbox() {
            return Ok(CheckResult::Limited(
                "off, as the policy says: commands can do whatever you can".to_owned(),
            ));
        }
        sandbox.run(SandboxCommand::new("true", std::iter::empty::<String>())).await?;
        if sandbox.has_views()? {
            return Ok(CheckResult::Works("a view for each command, in namespaces of its own".to_owned()));
        }
        let closed = sandbox.closed_folders()?;
        let limit = if closed.is_empty() { "" } else { ", and they make no files beside protected ones" };
        let unheld: String = sandbox.unheld().iter().map(|what| format!(". Here {what}")).collect();
        Ok(CheckResult::Limited(format!(
            "Landlock only: there are no user namespaces here, so commands work on the workspace itself, can change modes, \
             owners and times of your files anywhere{limit}{unheld}. See \"Without namespaces\" in docs/security.md"
        )))
    };
    tried.await.unwrap_or_else(|error: SandboxError| CheckResult::Missing(error.to_string()))
}

/// There is none here.
#[cfg(not(target_os = "linux"))]
pub(crate) async fn sandbox_works(_: &Workspace, _: &PolicySet) -> CheckResult {
    CheckResult::Missing("there is none on this system, so agents have no bash and no git".to_owned())
}
