//! All servers of a program: the public API.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use convoke_core::{Tool, Toolset};
use futures_util::future::join_all;
use serde_json::{Map, Value};

use crate::config::ServerConfig;
use crate::error::{DuplicateServer, McpError};
use crate::launch::Launcher;
use crate::library::{LibraryTool, Resource, ServerPrompt, Service};
use crate::name::exposed_names;
use crate::prepare::Variables;
use crate::server::{Server, ServerStatus};
use crate::server_environment::ServerEnvironment;
use crate::tool::{McpTool, ToolInfo};

/// The servers there are. Dropping them ends them at once; [`close`](Self::close) gives them a moment.
///
/// Tools that were given out stay valid, and fail, saying so, when the servers are gone.
pub struct McpServers {
    servers: Vec<Arc<Server>>,
}

/// A report on one server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerReport {
    /// Its name.
    pub name: String,
    /// Its status.
    pub status: ServerStatus,
    /// How many tools it offers.
    pub tools: usize,
}

/// Servers about to be started.
#[must_use = "call `start`"]
pub struct McpServersBuilder {
    configs: Vec<ServerConfig>,
    variables: Variables,
    roots: Vec<PathBuf>,
    sandbox: Option<Arc<dyn Launcher>>,
}

impl McpServersBuilder {
    /// Adds a server.
    pub fn server(mut self, config: ServerConfig) -> Self {
        self.configs.push(config);
        self
    }

    /// More servers.
    pub fn servers(mut self, configs: impl IntoIterator<Item = ServerConfig>) -> Self {
        self.configs.extend(configs);
        self
    }

    /// Sets where variables are looked up; the default is this process's environment.
    pub fn variables(mut self, look: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.variables = Arc::new(look);
        self
    }

    /// The folder that servers are told to work in. It must be absolute to be of use to them. Agents work there too, so no
    /// program is looked up in it, and a server that runs something in it is only started again as long as that stays what it was.
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.roots.push(folder.into());
        self
    }

    /// Sets what starts servers that run in a [sandbox](ServerConfig::sandbox).
    pub fn sandbox(mut self, launcher: Arc<dyn Launcher>) -> Self {
        self.sandbox = Some(launcher);
        self
    }

    /// Connects to all of them at once, each within its own time. One that fails does not stop the others: see
    /// [`McpServers::warnings`].
    ///
    /// # Errors
    /// If two have the same name.
    pub async fn start(self) -> Result<McpServers, DuplicateServer> {
        let servers = self.prepare()?;
        join_all(servers.servers.iter().map(|server| server.connection())).await;
        Ok(servers)
    }

    /// Connects to none of them yet: each is when it is first needed. Their tools are known only then.
    ///
    /// # Errors
    /// If two have the same name.
    pub fn prepare(self) -> Result<McpServers, DuplicateServer> {
        let mut names = BTreeSet::new();
        let environment = Arc::new(ServerEnvironment {
            variables: self.variables,
            workspaces: self
                .roots
                .iter()
                .map(|root| root.canonicalize().unwrap_or_else(|_| root.clone()))
                .collect(),
            roots: self.roots.into(),
            sandbox: self.sandbox,
        });
        let mut servers = Vec::with_capacity(self.configs.len());
        for config in self.configs {
            if !names.insert(config.name.clone()) {
                return Err(DuplicateServer { name: config.name });
            }
            servers.push(Arc::new(Server::new(config, Arc::clone(&environment))));
        }
        Ok(McpServers { servers })
    }
}

impl McpServers {
    /// Servers about to be started.
    pub fn builder() -> McpServersBuilder {
        let variables: Variables = Arc::new(|name| std::env::var(name).ok());
        McpServersBuilder { configs: Vec::new(), variables, roots: Vec::new(), sandbox: None }
    }

    /// Returns a report on each server, in their order.
    #[must_use]
    pub fn reports(&self) -> Vec<ServerReport> {
        let report = |server: &Arc<Server>| ServerReport {
            name: server.name().to_owned(),
            status: server.status(),
            tools: server.tools().len(),
        };
        self.servers.iter().map(report).collect()
    }

    /// Returns warnings for the user: which servers are not there, and which tools their configuration names in vain.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for server in &self.servers {
            match server.status() {
                ServerStatus::Down { problem } => {
                    warnings.push(format!("{problem}. Its tools are missing"));
                }
                ServerStatus::Ready { .. } => {
                    warnings.extend(server.unreadable_tools().into_iter().map(|tool| {
                        format!(
                            "MCP server `{}` has a tool {tool} that is left out: its description cannot be read (`inputSchema` must be \
                             an object, as must `annotations`)",
                            server.name()
                        )
                    }));
                    warnings.extend(server.unknown_tools().into_iter().map(|tool| {
                        format!(
                            "MCP server `{}` has no tool `{tool}`, which its configuration names",
                            server.name()
                        )
                    }))
                }
                ServerStatus::Closed => {}
            }
        }
        warnings
    }

    /// Asks those servers for their tools again that said they have changed, and connects to those that are gone. Says
    /// whether any has changed.
    ///
    /// Agents that are at work keep the tools they began with: a model must not find its tools exchanged in the middle of
    /// a conversation. Those that begin later get what [`tools`](Self::tools) gives then.
    pub async fn refresh(&self) -> bool {
        let changed = join_all(self.servers.iter().map(|server| server.refresh())).await;
        changed.into_iter().any(|changed| changed.unwrap_or(false))
    }

    /// The tools of all servers under names that nothing else has; these names are taken already, by built-in tools.
    ///
    /// They come in the order of the servers, and in each server's own.
    #[must_use]
    pub fn tools<T: Into<String>>(&self, taken: impl IntoIterator<Item = T>) -> Toolset {
        let mut set = Toolset::new();
        for (_, tool) in self.exposed(taken) {
            // Cannot fail: every name is given out once.
            let _ = set.add(tool);
        }
        set
    }

    /// The table of exposed names.
    #[must_use]
    pub fn table<T: Into<String>>(&self, taken: impl IntoIterator<Item = T>) -> Vec<ToolInfo> {
        self.exposed(taken).into_iter().map(|(info, _)| info).collect()
    }

    /// Returns one tool by its server's name and its own.
    ///
    /// # Errors
    /// If there is no such server, it is not there, or it does not offer the tool.
    pub async fn tool(&self, server: &str, tool: &str) -> Result<Arc<dyn Tool>, McpError> {
        self.find(server)?.connection().await?;
        let of = |info: &ToolInfo| info.server == server && info.tool == tool;
        let found = self.exposed::<String>([]).into_iter().find(|(info, _)| of(info));
        found.map(|(_, tool)| tool).ok_or_else(|| self.no_such_tool(server, tool))
    }

    /// Lists the resources of a server.
    ///
    /// # Errors
    /// If there is no such server, or it is not there, or it refuses.
    pub async fn resources(&self, server: &str) -> Result<Vec<Resource>, McpError> {
        self.find(server)?.resources().await
    }

    /// Reads a resource, as text.
    ///
    /// # Errors
    /// If there is no such server, or it is not there, or it refuses.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<String, McpError> {
        self.find(server)?.read_resource(uri).await
    }

    /// Lists the prompts of a server.
    ///
    /// # Errors
    /// If there is no such server, or it is not there, or it refuses.
    pub async fn prompts(&self, server: &str) -> Result<Vec<ServerPrompt>, McpError> {
        self.find(server)?.prompts().await
    }

    /// A prompt with its arguments put in.
    ///
    /// # Errors
    /// If there is no such server, or it is not there, or it refuses.
    pub async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<String, McpError> {
        self.find(server)?.prompt(name, arguments).await
    }

    /// Ends one server for good.
    ///
    /// # Errors
    /// If there is no such server.
    pub async fn disconnect(&self, server: &str) -> Result<(), McpError> {
        self.find(server)?.close().await;
        Ok(())
    }

    /// Ends all of them, giving each a moment to end by itself.
    pub async fn close(&self) {
        join_all(self.servers.iter().map(|server| server.close())).await;
    }

    fn find(&self, name: &str) -> Result<&Arc<Server>, McpError> {
        self.servers.iter().find(|server| server.name() == name).ok_or_else(|| McpError::UnknownServer {
            server: name.to_owned(),
            known: listed(self.servers.iter().map(|server| server.name())),
        })
    }

    fn no_such_tool(&self, server: &str, tool: &str) -> McpError {
        let table = self.table::<String>([]);
        let known = listed(table.iter().filter(|info| info.server == server).map(|info| info.tool.as_str()));
        McpError::UnknownTool { server: server.to_owned(), tool: tool.to_owned(), known }
    }

    fn exposed<T: Into<String>>(&self, taken: impl IntoIterator<Item = T>) -> Vec<(ToolInfo, Arc<dyn Tool>)> {
        enum ToolOrigin {
            Own(Box<rmcp::model::Tool>),
            Library(Service),
        }
        let mut rows: Vec<(&Arc<Server>, String, ToolOrigin)> = Vec::new();
        for server in &self.servers {
            if server.status() == ServerStatus::Closed {
                continue;
            }
            rows.extend(
                server
                    .tools()
                    .into_iter()
                    .map(|tool| (server, tool.name.to_string(), ToolOrigin::Own(Box::new(tool)))),
            );
            let library = Service::of(server).into_iter();
            rows.extend(
                library.map(|service| (server, service.name().to_owned(), ToolOrigin::Library(service))),
            );
        }
        let taken = taken.into_iter().map(Into::into).collect();
        let names =
            exposed_names(rows.iter().map(|(server, tool, _)| (server.name(), tool.as_str())), &taken);
        let made = rows.iter().zip(names).map(|((server, tool, what), exposed)| {
            let (description, made): (String, Arc<dyn Tool>) = match what {
                ToolOrigin::Own(own) => (
                    own.description.as_deref().unwrap_or_default().to_owned(),
                    Arc::new(McpTool::new(server, own, &exposed)),
                ),
                ToolOrigin::Library(service) => {
                    (service.description().to_owned(), Arc::new(LibraryTool::new(server, *service, &exposed)))
                }
            };
            let info = ToolInfo {
                exposed,
                server: server.name().to_owned(),
                tool: tool.clone(),
                description,
                spec: made.spec().clone(),
            };
            (info, made)
        });
        made.collect()
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl Drop for McpServers {
    fn drop(&mut self) {
        self.servers.iter().for_each(|server| server.abandon());
    }
}

impl std::fmt::Debug for McpServers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.servers.iter().map(|server| server.name())).finish()
    }
}
