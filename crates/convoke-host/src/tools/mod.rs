//! The tools of a run: the built-in ones on the workspace that is configured, those of MCP servers, and the policies before
//! every call of them.
//!
//! Tools hold handles, on the workspace's folder and on the private folder of its commands; both are let go when the last
//! tool is dropped. What a policy opens for commands beyond the sandbox, only a policy of the user's own can open.

mod always;
#[cfg(target_os = "linux")]
mod confined;
mod described;
mod records;
mod setting;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use convoke_agent::memory::Memories;
use convoke_core::{BudgetExhausted, Limits, Resource, RetrieverSource, RuntimeBuilder, Tool, Toolset};
use convoke_goals::StandIn;
use convoke_mcp::McpServers;
use convoke_tools::files;
use convoke_tools::policy::{self, Policy, PolicyGate, PolicySet, RulePlace};
use convoke_tools::web::{is_ruled_out, web_tools};
use convoke_tools::workspace::Workspace;

use crate::agentfile::BUILT_IN_TOOLS;
use crate::{HostError, knowledge, mcp, memory};

pub use always::AlwaysAllow;
#[cfg(target_os = "linux")]
pub(crate) use confined::launcher;
pub(crate) use described::as_described;
pub use records::scratchpad_file;
#[cfg(target_os = "linux")]
pub(crate) use setting::commands_place;
pub(crate) use setting::{ToolEnvironment, sandbox_works};

/// The tools of a run, and what they may do.
pub struct RunTools {
    pub(crate) tools: Toolset,
    /// What stands for tools that a file brings itself.
    pub(crate) stand_in: Option<StandIn>,
    /// The memories that goals and conversations are remembered in.
    pub(crate) memories: Option<Arc<dyn Memories>>,
    /// The source of what parts of the file search.
    pub(crate) knowledge: Option<RetrieverSource>,
    gate: PolicyGate,
    policies: Arc<PolicySet>,
    /// Where the user's own policy is, or would be.
    own_policy: Option<PathBuf>,
    is_read_only: bool,
    servers: McpServers,
    /// Servers that are configured and were not started.
    left_alone: Vec<String>,
}

/// The treatment of MCP servers that the user has agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerStartup {
    /// They are started, and asked what tools they have.
    #[default]
    Start,
    /// Nothing: their tools are not known then.
    LeaveAlone,
}

impl RunTools {
    /// All tools there are; where nothing in the workspace may be changed, those that change nothing there. `policy` is the
    /// file that was named.
    ///
    /// # Errors
    /// If a policy is not valid, the workspace cannot be opened, or there is no place for what commands or agents write.
    pub(crate) async fn prepare(
        setting: ToolEnvironment<'_>,
        policies: PolicySet,
        servers: ServerStartup,
        notes: &mut Vec<String>,
    ) -> Result<Self, HostError> {
        let ToolEnvironment { config, store } = setting;
        crate::store::must_be_out_of_reach(config, store)?;
        let policies = Arc::new(policies);
        let workspace = setting.workspace(&policies)?;
        let is_read_only = config.workspace().read_only;
        let mut built_in = match is_read_only {
            true => files::reading(&workspace),
            false => {
                let commands = commands(setting, &workspace, &policies, notes)?;
                files::all(&workspace).into_iter().chain(commands).collect()
            }
        };
        let web = web_tools(&policies, |name| config.environment().get(name))?;
        built_in.extend(web.tools);
        notes.extend(web.notes);
        built_in.extend(records::tools(config, workspace.path(), store)?);
        built_in.extend(knowledge::tools(config, notes).await);
        let mut tools = toolset(built_in)?;
        notes.extend(policies.notes());
        let (servers, left_alone) = found(setting, &policies, servers, notes).await?;
        let taken: Vec<String> = tools.names().map(str::to_owned).collect();
        let gate = servers
            .table(taken.clone())
            .into_iter()
            .fold(policies.gate().workspace(&workspace), |gate, tool| {
                gate.mcp(tool.exposed, tool.server, tool.tool)
            });
        for tool in servers.tools(taken).iter() {
            tools.add(Arc::clone(tool)).map_err(|error| HostError::Tools(error.to_string()))?;
        }
        let known: Vec<&str> = BUILT_IN_TOOLS.iter().copied().chain(tools.names()).collect();
        notes.extend(policies.iter().flat_map(|policy| policy.misspelt_tools(&known)));
        let own_policy = config.locations().user.as_ref().map(|file| file.with_file_name(policy::FILE));
        let memories =
            memory::of(config, workspace.path())?.map(|memory| Arc::new(memory) as Arc<dyn Memories>);
        Ok(Self {
            tools,
            stand_in: None,
            memories,
            knowledge: knowledge::source(config, false),
            gate,
            policies,
            own_policy,
            is_read_only,
            servers,
            left_alone,
        })
    }

    /// Whether a tool that is not among them may be that of a server which was not started.
    pub(crate) fn may_be_left_alone(&self, tool: &str) -> bool {
        !self.left_alone.is_empty() && tool.starts_with("mcp_")
    }

    /// The built-in tools that are not among them, and why.
    pub(crate) fn absent(&self) -> BTreeMap<String, String> {
        let absent = BUILT_IN_TOOLS.iter().filter(|tool| self.tools.get(tool).is_none());
        absent.filter_map(|tool| Some(((*tool).to_owned(), self.why_absent(tool)?))).collect()
    }

    /// Why a built-in tool is not among them. `None` if there is no built-in tool of this name.
    pub(crate) fn why_absent(&self, tool: &str) -> Option<String> {
        if let Some(why) = knowledge::why_absent(tool) {
            return Some(why);
        }
        let effects = Policy::effects_of(tool)?;
        Some(if is_ruled_out(tool, &self.policies) {
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

    /// Returns the writer of a person's "always"; `None` for a user without a place for settings.
    #[must_use]
    pub fn always(&self) -> Option<AlwaysAllow> {
        let (gate, tools, policies) = (self.gate.clone(), self.tools.clone(), Arc::clone(&self.policies));
        Some(AlwaysAllow { gate, tools, policies, file: self.own_policy.clone()? })
    }

    /// Has every call judged before it is made.
    pub(crate) fn guard(&self, builder: RuntimeBuilder) -> RuntimeBuilder {
        builder.interceptor(self.gate.clone())
    }

    /// The key and the place in a policy that set this limit of the run, if a policy does.
    pub(crate) fn limit_of(&self, exhausted: &BudgetExhausted) -> Option<String> {
        let key = match &exhausted.resource {
            Resource::ToolCalls => "limits.tool_calls".to_owned(),
            // A model is told of it and goes on; a node of a graph fails.
            Resource::CallsOf(tool) => format!("tools.{tool}.calls"),
            _ => return None,
        };
        let value = exhausted.limit.to_string();
        let mut settings = self.policies.iter().flat_map(Policy::settings);
        settings.find_map(|setting| match setting.place {
            RulePlace::File { name, line } if setting.key == key && setting.value == value => {
                Some(format!("`{key}` at {name}:{line}"))
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
    setting: ToolEnvironment<'_>,
    policies: &PolicySet,
    wanted: ServerStartup,
    notes: &mut Vec<String>,
) -> Result<(McpServers, Vec<String>), HostError> {
    let configured = mcp::configured(setting.config);
    notes.extend(configured.untrusted.iter().map(ToString::to_string));
    let (start, leave) = match wanted {
        ServerStartup::Start => (configured.trusted, Vec::new()),
        ServerStartup::LeaveAlone => (Vec::new(), configured.trusted),
    };
    let left_alone: Vec<String> = leave.into_iter().map(|server| server.name).collect();
    if !left_alone.is_empty() {
        notes.push(format!(
            "MCP servers are not started for this, so their tools are not checked: {}",
            left_alone.join(", ")
        ));
    }
    let servers = mcp::start(setting, policies, start).await?;
    notes.extend(servers.warnings());
    Ok((servers, left_alone))
}

/// Tools that run programs in the sandbox.
#[cfg(target_os = "linux")]
fn commands(
    setting: ToolEnvironment<'_>,
    workspace: &Workspace,
    policies: &PolicySet,
    notes: &mut Vec<String>,
) -> Result<Vec<Arc<dyn Tool>>, HostError> {
    use convoke_tools::{git::git, shell::bash};

    let readable = setting.readable(workspace, policies)?;
    notes.extend(readable.notes().iter().cloned());
    let sandbox = readable.opened_in(policies.sandbox(workspace).map_err(commands_place)?);
    Ok(vec![Arc::new(bash(&sandbox)), Arc::new(git(&sandbox))])
}

/// There is no sandbox here, and nothing is run without one.
#[cfg(not(target_os = "linux"))]
fn commands(
    _: ToolEnvironment<'_>,
    _: &Workspace,
    _: &PolicySet,
    _: &mut Vec<String>,
) -> Result<Vec<Arc<dyn Tool>>, HostError> {
    Ok(Vec::new())
}

/// There are no views here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn launcher(
    _: ToolEnvironment<'_>,
    _: &PolicySet,
    _: &[convoke_mcp::ServerConfig],
) -> Result<Option<Arc<dyn convoke_mcp::Launcher>>, HostError> {
    Ok(None)
}

fn toolset(tools: Vec<Arc<dyn Tool>>) -> Result<Toolset, HostError> {
    let mut set = Toolset::new();
    for tool in tools {
        set.add(tool).map_err(|error| HostError::Tools(error.to_string()))?;
    }
    Ok(set)
}
