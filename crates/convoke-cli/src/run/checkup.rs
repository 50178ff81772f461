//! What agents would have to work with here: the workspace, the policy, the sandbox, MCP servers.

use convoke_config::Config;
use convoke_mcp::Condition;
use serde_json::{Value, json};

use super::tools::{self, sandbox_works};
use crate::arguments::Arguments;
use crate::policies::Policies;
use crate::terminal::Output;
use crate::{human, mcp};

/// What something is, or what is wrong with it.
type Found = Result<String, String>;

/// What was found, by what it is called.
pub(crate) struct Checkup(Vec<(String, Found)>);

impl Checkup {
    /// Looks, runs a command that does nothing, and asks the MCP servers that the user has agreed to for their tools.
    pub(crate) async fn make(arguments: &Arguments, config: &Config, output: &mut Output) -> Self {
        let policies = Policies::load(arguments, None, output).map_err(|failure| failure.message());
        let (workspace, sandbox, chains) = places(arguments, config, policies.as_ref()).await;
        let policy = policies.map(|policies| {
            let files: Vec<String> = policies.files.iter().map(|file| file.display().to_string()).collect();
            match (files.is_empty(), policies.bounded()) {
                (true, _) => "the defaults: there is no policy.toml".to_owned(),
                (false, Some(_)) => format!("{}, within the defaults", files.concat()),
                (false, None) => files.join(", and "),
            }
        });
        let own =
            [("workspace", workspace), ("policy", policy), ("sandbox", sandbox), ("tool chains", chains)];
        let mut all: Vec<(String, Found)> = own.map(|(name, found)| (name.to_owned(), found)).into();
        all.extend(servers(config).await);
        Self(all)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Found)> {
        self.0.iter().map(|(name, found)| (name.as_str(), found))
    }

    pub(crate) fn as_json(&self) -> Value {
        let told = |found: &Found| match found {
            Ok(what) => json!({"works": true, "what": what}),
            Err(why) => json!({"works": false, "why": why}),
        };
        self.iter()
            .map(|(name, found)| (name.to_owned(), told(found)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

/// The workspace, the sandbox on it, and the tool chains that commands have there.
async fn places(
    arguments: &Arguments,
    config: &Config,
    policies: Result<&Policies, &String>,
) -> (Found, Found, Found) {
    let told = |path: &std::path::Path| match config.workspace().read_only {
        true => format!("{}, for reading only", path.display()),
        false => path.display().to_string(),
    };
    let Ok(policies) = policies else {
        let unknown = || Err("nobody knows without a policy".to_owned());
        return (Ok(told(&config.workspace().path)), unknown(), unknown());
    };
    match tools::workspace(config, &arguments.store, policies) {
        Ok(workspace) => {
            let chains = tools::chains(config, &arguments.store, &workspace, policies);
            (Ok(told(workspace.path())), sandbox_works(&workspace, policies).await, chains)
        }
        Err(failure) => {
            let nowhere = || Err("there is no workspace".to_owned());
            (Err(failure.message()), nowhere(), nowhere())
        }
    }
}

async fn servers(config: &Config) -> Vec<(String, Found)> {
    let configured = mcp::configured(config);
    let name = |server: &str| format!("mcp {server}");
    let mut found: Vec<(String, Found)> = Vec::new();
    match mcp::start(config, configured.trusted).await {
        Ok(servers) => {
            for report in servers.reports() {
                let state = match report.condition {
                    Condition::Ready { identity, .. } => {
                        Ok(format!("{identity}, {}", human::count(report.tools as u64, "tool")))
                    }
                    Condition::Down { problem } => Err(problem.to_string()),
                    _ => Err("closed".to_owned()),
                };
                found.push((name(&report.name), state));
            }
            servers.close().await;
        }
        Err(failure) => found.push(("mcp".to_owned(), Err(failure.message()))),
    }
    found.extend(configured.untrusted.iter().map(|server| (name(&server.name), Err(server.to_string()))));
    found
}
