//! Checks what agents would have to work with here: the workspace, the policy, the sandbox, prices, MCP servers.

mod diagnosis;
mod services;

use convoke_mcp::ServerStatus;
use convoke_tools::policy::PolicySet;
use serde_json::{Value, json};

use crate::tools::{ToolEnvironment, sandbox_works};
use crate::{Host, HostError, mcp, store};

pub use diagnosis::Diagnosis;
pub use services::ServiceStanding;

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckResult {
    /// It works; what it is.
    Works(String),
    /// It works, and holds less than it could; what.
    Limited(String),
    /// It does not work; why.
    Missing(String),
}

impl CheckResult {
    /// Returns it in words.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            Self::Works(words) | Self::Limited(words) | Self::Missing(words) => words,
        }
    }

    /// Checks whether agents can do with it.
    #[must_use]
    pub fn works(&self) -> bool {
        !matches!(self, Self::Missing(_))
    }
}

impl From<Result<String, String>> for CheckResult {
    fn from(found: Result<String, String>) -> Self {
        found.map_or_else(Self::Missing, Self::Works)
    }
}

/// The results of all checks, by name.
#[derive(Debug)]
pub struct Checkup(Vec<(String, CheckResult)>);

impl Checkup {
    /// Looks, runs a command that does nothing, and asks the MCP servers that the user has agreed to for their tools.
    pub(crate) async fn make(host: &Host, policies: Result<&PolicySet, &HostError>) -> Self {
        let config = host.config();
        let policies = policies.map_err(ToString::to_string);
        let (workspace, sandbox, chains) = places(host.setting(), policies.as_deref()).await;
        let policy = policies.as_ref().map_err(Clone::clone).map(|policies| {
            let files: Vec<String> = policies.files().iter().map(|file| file.display().to_string()).collect();
            match (files.is_empty(), policies.bounded()) {
                (true, _) => "the defaults: there is no policy.toml".to_owned(),
                (false, Some(_)) => format!("{}, within the defaults", files.concat()),
                (false, None) => files.join(", and "),
            }
        });
        let store = match config.store() {
            Some(store) => store::must_be_out_of_reach(config, &store)
                .and_then(|()| store::must_be_writable(&store))
                .map(|()| store.display().to_string())
                .map_err(|error| error.to_string()),
            None => Err(HostError::NoStorePlace.to_string()),
        };
        let own = [
            ("workspace", workspace),
            ("store", store.into()),
            ("policy", policy.into()),
            ("sandbox", sandbox),
            ("tool chains", chains),
        ];
        let mut all: Vec<(String, CheckResult)> = own.map(|(name, found)| (name.to_owned(), found)).into();
        all.extend(prices(host).map(|found| ("prices".to_owned(), found)));
        all.extend(servers(host.setting(), policies.as_deref()).await);
        Self(all)
    }

    /// Each thing by its name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &CheckResult)> {
        self.0.iter().map(|(name, found)| (name.as_str(), found))
    }

    /// Returns them as JSON.
    #[must_use]
    pub fn as_json(&self) -> Value {
        let told = |found: &CheckResult| match found {
            CheckResult::Works(what) => json!({"works": true, "what": what}),
            CheckResult::Limited(what) => json!({"works": true, "limited": true, "what": what}),
            CheckResult::Missing(why) => json!({"works": false, "why": why}),
        };
        self.iter()
            .map(|(name, found)| (name.to_owned(), told(found)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

/// The file of prices, if the configuration names one.
fn prices(host: &Host) -> Option<CheckResult> {
    let file = host.config().models().prices.as_deref()?;
    let checked = host.models().and_then(|models| models.check_prices());
    Some(checked.map(|()| file.display().to_string()).map_err(|error| error.to_string()).into())
}

/// The workspace, the sandbox on it, and the tool chains that commands have there.
async fn places(
    setting: ToolEnvironment<'_>,
    policies: Result<&PolicySet, &String>,
) -> (CheckResult, CheckResult, CheckResult) {
    let config = setting.config;
    let told = |path: &std::path::Path| match config.workspace().read_only {
        true => format!("{}, for reading only", path.display()),
        false => path.display().to_string(),
    };
    let Ok(policies) = policies else {
        let unknown = || CheckResult::Missing("nobody knows without a policy".to_owned());
        return (CheckResult::Works(told(&config.workspace().path)), unknown(), unknown());
    };
    match setting.workspace(policies) {
        Ok(workspace) => {
            let chains = chains(setting, &workspace, policies);
            (CheckResult::Works(told(workspace.path())), sandbox_works(&workspace, policies).await, chains)
        }
        Err(error) => {
            let nowhere = || CheckResult::Missing("there is no workspace".to_owned());
            (CheckResult::Missing(error.to_string()), nowhere(), nowhere())
        }
    }
}

/// The tool chains that commands can use, or why that cannot be said.
#[cfg(target_os = "linux")]
fn chains(
    setting: ToolEnvironment<'_>,
    workspace: &convoke_tools::workspace::Workspace,
    policies: &PolicySet,
) -> CheckResult {
    setting
        .readable(workspace, policies)
        .map(|readable| readable.in_words())
        .map_err(|error| error.to_string())
        .into()
}

/// There are no commands here.
#[cfg(not(target_os = "linux"))]
fn chains(_: ToolEnvironment<'_>, _: &convoke_tools::workspace::Workspace, _: &PolicySet) -> CheckResult {
    CheckResult::Missing("agents run no commands on this system".to_owned())
}

async fn servers(
    setting: ToolEnvironment<'_>,
    policies: Result<&PolicySet, &String>,
) -> Vec<(String, CheckResult)> {
    let configured = mcp::configured(setting.config);
    let name = |server: &str| format!("mcp {server}");
    let mut found: Vec<(String, CheckResult)> = Vec::new();
    let Ok(policies) = policies else { return found };
    match mcp::start(setting, policies, configured.trusted).await {
        Ok(servers) => {
            for report in servers.reports() {
                let state = match report.status {
                    ServerStatus::Ready { identity, .. } => {
                        let plural = if report.tools == 1 { "" } else { "s" };
                        CheckResult::Works(format!("{identity}, {} tool{plural}", report.tools))
                    }
                    ServerStatus::Down { problem } => CheckResult::Missing(problem.to_string()),
                    _ => CheckResult::Missing("closed".to_owned()),
                };
                found.push((name(&report.name), state));
            }
            servers.close().await;
        }
        Err(error) => found.push(("mcp".to_owned(), CheckResult::Missing(error.to_string()))),
    }
    found.extend(
        configured
            .untrusted
            .iter()
            .map(|server| (name(&server.name), CheckResult::Missing(server.to_string()))),
    );
    found
}
