//! The hands of agents: the built-in tools on the workspace that is configured, those of MCP servers, and the policy before
//! every call of them.
//!
//! Tools hold handles, on the workspace's folder and on the private folder of its commands; both are let go when the last
//! tool is dropped. What a policy opens for commands beyond the sandbox, only a policy of the user's own can open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_config::Config;
use convoke_core::{Exhausted, Limits, Resource, RuntimeBuilder, Tool, Toolset};
use convoke_mcp::McpServers;
use convoke_store::real_path;
use convoke_tools::files;
use convoke_tools::policy::{self, Policy, PolicyGate, RulePlace};
use convoke_tools::workspace::{Protected, Workspace};

use super::always::Always;
#[cfg(target_os = "linux")]
use super::opened::Opened;
use super::{notes, web};
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::mcp;
use crate::policies::Policies;
use crate::terminal::{Output, text};

/// The tools of a run, and what they may do.
pub(crate) struct Hands {
    pub(crate) tools: Toolset,
    gate: PolicyGate,
    policies: Arc<Policies>,
    /// Where the user's own policy is, or would be.
    own_policy: Option<PathBuf>,
    is_read_only: bool,
    servers: McpServers,
    /// Servers that are configured and were not started.
    left_alone: Vec<String>,
}

/// What is done about the MCP servers that the user has agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Servers {
    /// They are started, and asked what tools they have.
    Start,
    /// Nothing: their tools are not known then.
    LeaveAlone,
}

impl Hands {
    /// All tools there are; where nothing in the workspace may be changed, those that change nothing there. `policy` is the
    /// file that was named.
    ///
    /// # Errors
    /// If a policy is not valid, the workspace cannot be opened, or there is no place for what commands or agents write.
    pub(crate) async fn prepare(
        arguments: &Arguments,
        config: &Config,
        policy: Option<&Path>,
        servers: Servers,
        output: &mut Output,
    ) -> Result<Self, Failure> {
        let policies = Arc::new(Policies::load(arguments, policy, output)?);
        let workspace = workspace(config, &arguments.store, &policies)?;
        let is_read_only = config.workspace().read_only;
        let mut built_in = match is_read_only {
            true => files::reading(&workspace),
            false => {
                let commands = commands(config, &arguments.store, &workspace, &policies, output)?;
                files::all(&workspace).into_iter().chain(commands).collect()
            }
        };
        built_in.extend(web::tools(config.environment(), &policies, output)?);
        built_in.extend(notes::tools(config, workspace.path(), &arguments.store)?);
        let mut tools = toolset(built_in)?;
        for note in policies.notes() {
            output.note(&note);
        }
        let (servers, left_alone) = found(config, servers, output).await?;
        let taken: Vec<String> = tools.names().map(str::to_owned).collect();
        let gate = servers
            .table(taken.clone())
            .into_iter()
            .fold(policies.gate().workspace(&workspace), |gate, tool| {
                gate.mcp(tool.exposed, tool.server, tool.tool)
            });
        for tool in servers.tools(taken).iter() {
            tools.add(Arc::clone(tool)).map_err(|error| Failure::failed(error.to_string()))?;
        }
        let own_policy = config.places().user.as_ref().map(|file| file.with_file_name(policy::FILE));
        Ok(Self { tools, gate, policies, own_policy, is_read_only, servers, left_alone })
    }

    /// Whether a tool that is not among them may be that of a server which was not started.
    pub(crate) fn may_be_left_alone(&self, tool: &str) -> bool {
        !self.left_alone.is_empty() && tool.starts_with("mcp_")
    }

    /// Why a built-in tool is not among them. `None` if there is no built-in tool of this name.
    pub(crate) fn why_absent(&self, tool: &str) -> Option<String> {
        let effects = Policy::effects_of(tool)?;
        Some(if web::is_ruled_out(tool, &self.policies) {
            let file = match &self.own_policy {
                Some(file) => file.display().to_string(),
                None => "a file that you name with --policy".to_owned(),
            };
            format!(
                "the policy rules it out, and `convoke policy explain --tool {tool}` says why; to be asked about each call \
                 of it, write `tools.{tool}.decision = \"ask\"` below `version = 1` into {file}"
            )
        } else if self.is_read_only && effects.changes_the_world() {
            "`workspace.read_only` is set".to_owned()
        } else {
            "it is not to be had on this system".to_owned()
        })
    }

    /// Lets go of everything: servers are given a moment to end.
    pub(crate) async fn finish(self) {
        self.servers.close().await;
    }

    /// Where a person's "always" is written; `None` for a user without a place for settings.
    pub(super) fn always(&self) -> Option<Always> {
        let (gate, tools, policies) = (self.gate.clone(), self.tools.clone(), Arc::clone(&self.policies));
        Some(Always { gate, tools, policies, file: self.own_policy.clone()? })
    }

    /// Has every call judged before it is made.
    pub(crate) fn guard(&self, builder: RuntimeBuilder) -> RuntimeBuilder {
        builder.interceptor(self.gate.clone())
    }

    /// The key and the place in a policy that set this limit of the run, if a policy does.
    pub(crate) fn limit_of(&self, exhausted: &Exhausted) -> Option<String> {
        const KEY: &str = "limits.tool_calls";
        // Of a tool that was called too often, the model is told; the run goes on.
        if exhausted.resource != Resource::ToolCalls {
            return None;
        }
        let value = exhausted.limit.to_string();
        let mut settings = self.policies.iter().flat_map(Policy::settings);
        settings.find_map(|setting| match setting.place {
            RulePlace::File { name, line } if setting.key == KEY && setting.value == value => {
                Some(format!("`{KEY}` at {name}:{line}"))
            }
            _ => None,
        })
    }

    /// These limits, lowered to what the policies allow.
    pub(crate) fn limited(&self, limits: &Limits) -> Limits {
        self.policies.iter().fold(limits.clone(), |limits, policy| policy.budget(&limits))
    }
}

/// The MCP servers that the user has agreed to, started or not. Those that are not there are said, and done without.
async fn found(
    config: &Config,
    wanted: Servers,
    output: &mut Output,
) -> Result<(McpServers, Vec<String>), Failure> {
    let configured = mcp::configured(config);
    for server in &configured.untrusted {
        output.note(&text::clean(&server.to_string()));
    }
    let (start, leave) = match wanted {
        Servers::Start => (configured.trusted, Vec::new()),
        Servers::LeaveAlone => (Vec::new(), configured.trusted),
    };
    let left_alone: Vec<String> = leave.into_iter().map(|server| server.name).collect();
    if !left_alone.is_empty() {
        let names = text::one_line(&left_alone.join(", "));
        output
            .note(&format!("MCP servers are not started for this, so their tools are not checked: {names}"));
    }
    let servers = mcp::start(config, start).await?;
    for warning in servers.warnings() {
        output.note(&text::clean(&warning));
    }
    Ok((servers, left_alone))
}

/// The folder that agents work in, with everything in it protected that is none of their business.
pub(crate) fn workspace(config: &Config, store: &Path, policies: &Policies) -> Result<Workspace, Failure> {
    let path = config.workspace().path;
    let protected =
        policies.iter().fold(own(config, store, policies), |protected, policy| policy.protect(protected));
    Workspace::open_with(&path, protected).map_err(|error| {
        Failure::failed(format!("agents cannot work in {}: {error}", path.display()))
            .hint("`workspace.path` in convoke.toml, or CONVOKE_WORKSPACE, says where they work")
    })
}

/// The files that this program goes by, whatever they are called.
fn own(config: &Config, store: &Path, policies: &Policies) -> Protected {
    own_files(config, store, policies).fold(Protected::defaults(), Protected::store)
}

pub(super) fn own_files(config: &Config, store: &Path, policies: &Policies) -> impl Iterator<Item = PathBuf> {
    let places = config.places();
    let files = [&places.user, &places.named, &places.folder, &places.credentials];
    let written = [Some(store.to_owned()), Some(notes::scratchpad_file(store)), notes::memory_file(config)];
    let files: Vec<PathBuf> = files.into_iter().flatten().chain(&policies.files).cloned().collect();
    // Of a link, both: the link, and the file that it leads to.
    files.into_iter().chain(written.into_iter().flatten()).flat_map(|file| {
        let real = Some(real_path(&file)).filter(|real| *real != file);
        std::iter::once(file).chain(real)
    })
}

/// Tools that run programs in the sandbox.
#[cfg(target_os = "linux")]
fn commands(
    config: &Config,
    store: &Path,
    workspace: &Workspace,
    policies: &Policies,
    output: &mut Output,
) -> Result<Vec<Arc<dyn Tool>>, Failure> {
    use convoke_tools::{git::git, shell::bash};

    let opened = Opened::find(config, store, workspace, policies)?;
    for note in &opened.notes {
        output.note(note);
    }
    let sandbox = opened.to(sandbox(workspace, policies)?);
    Ok(vec![Arc::new(bash(&sandbox)), Arc::new(git(&sandbox))])
}

/// Where programs run.
#[cfg(target_os = "linux")]
pub(crate) fn sandbox(
    workspace: &Workspace,
    policies: &Policies,
) -> Result<convoke_tools::sandbox::Sandbox, Failure> {
    use convoke_tools::sandbox::{Confinement, Network, Sandbox};

    let sandbox = Sandbox::new(workspace)
        .map_err(|error| Failure::failed(format!("commands of agents have no place: {error}")))?;
    let sandbox = policies.iter().fold(sandbox, |sandbox, policy| policy.confine(sandbox));
    let confinement = if policies.open_sandbox() { Confinement::Off } else { Confinement::Best };
    let network = if policies.open_network() { Network::Open } else { Network::None };
    Ok(sandbox.confinement(confinement).network(network))
}

/// Runs a command that does nothing; says what confined it, or why nothing could.
#[cfg(target_os = "linux")]
pub(crate) async fn sandbox_works(workspace: &Workspace, policies: &Policies) -> Result<String, String> {
    use convoke_tools::sandbox::{Confinement, Task};

    let sandbox = sandbox(workspace, policies).map_err(|failure| failure.message())?;
    if policies.open_sandbox() {
        return Ok("off, as the policy says: commands can do whatever you can".to_owned());
    }
    let mut works = Vec::new();
    let mut trouble = String::new();
    for (confinement, name) in [(Confinement::Landlock, "Landlock"), (Confinement::Bubblewrap, "bubblewrap")]
    {
        let nothing = Task::new("true", std::iter::empty::<String>());
        match sandbox.clone().confinement(confinement).run(nothing).await {
            Ok(_) => works.push(name),
            Err(error) if trouble.is_empty() => trouble = error.to_string(),
            Err(_) => {}
        }
    }
    if works.is_empty() {
        return Err(trouble);
    }
    let closed = sandbox.closed_folders().map_err(|error| error.to_string())?;
    let limit = match closed.len() {
        0 => "",
        _ => "; commands make no files beside protected ones: install bubblewrap, or keep those elsewhere",
    };
    Ok(format!("{}{limit}", works.join(" and ")))
}

/// The tool chains that commands can use, or why that cannot be said.
#[cfg(target_os = "linux")]
pub(super) fn chains(
    config: &Config,
    store: &Path,
    workspace: &Workspace,
    policies: &Policies,
) -> Result<String, String> {
    let opened = Opened::find(config, store, workspace, policies).map_err(|failure| failure.message())?;
    Ok(opened.told())
}

/// There are no commands here.
#[cfg(not(target_os = "linux"))]
pub(super) fn chains(_: &Config, _: &Path, _: &Workspace, _: &Policies) -> Result<String, String> {
    Err("agents run no commands on this system".to_owned())
}

/// There is none here.
#[cfg(not(target_os = "linux"))]
pub(crate) async fn sandbox_works(_: &Workspace, _: &Policies) -> Result<String, String> {
    Err("there is none on this system, so agents have no bash and no git".to_owned())
}

/// There is no sandbox here, and nothing is run without one.
#[cfg(not(target_os = "linux"))]
fn commands(
    _: &Config,
    _: &Path,
    _: &Workspace,
    _: &Policies,
    _: &mut Output,
) -> Result<Vec<Arc<dyn Tool>>, Failure> {
    Ok(Vec::new())
}

fn toolset(tools: Vec<Arc<dyn Tool>>) -> Result<Toolset, Failure> {
    let mut set = Toolset::new();
    for tool in tools {
        set.add(tool).map_err(|error| Failure::failed(error.to_string()))?;
    }
    Ok(set)
}
