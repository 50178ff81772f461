//! MCP servers and their tools.

use convoke_config::UntrustedServer;
use convoke_history::lines::{Align, Column, Rich, Table};
use convoke_history::{Tone, text};
use convoke_mcp::{McpServers, ServerReport, ServerStatus};
use serde_json::{Value, json};

use super::View;

/// The servers that are configured, and how each of them is.
#[derive(Debug)]
pub struct ServerList {
    reports: Vec<ServerReport>,
    untrusted: Vec<UntrustedServer>,
    warnings: Vec<String>,
}

impl ServerList {
    /// Those that were started, and those that the user has not agreed to.
    #[must_use]
    pub fn new(started: &McpServers, untrusted: Vec<UntrustedServer>) -> Self {
        Self { reports: started.reports(), untrusted, warnings: started.warnings() }
    }

    /// The names of those that were to be started and are not there.
    #[must_use]
    pub fn down(&self) -> Vec<&str> {
        let is_down = |report: &&ServerReport| !matches!(report.status, ServerStatus::Ready { .. });
        self.reports.iter().filter(is_down).map(|report| report.name.as_str()).collect()
    }

    fn is_empty(&self) -> bool {
        self.reports.is_empty() && self.untrusted.is_empty()
    }
}

impl View for ServerList {
    fn document(&self) -> Value {
        let started = self.reports.iter().map(|ServerReport { name, status, tools, .. }| match status {
            ServerStatus::Ready { protocol, identity } => json!({
                "server": name, "state": "ready", "protocol": protocol, "identity": identity, "tools": tools,
            }),
            ServerStatus::Down { problem } => {
                json!({"server": name, "state": "down", "problem": problem.to_string(), "tools": 0})
            }
            _ => json!({"server": name, "state": "closed", "tools": 0}),
        });
        let untrusted = self.untrusted.iter().map(|server| {
            let (problem, fingerprint) = (server.to_string(), &server.fingerprint);
            json!({
                "server": server.name, "state": "untrusted", "problem": problem, "fingerprint": fingerprint, "tools": 0,
            })
        });
        started.chain(untrusted).collect()
    }

    fn lines(&self, width: Option<usize>) -> Vec<Rich> {
        if self.is_empty() {
            return Vec::new();
        }
        let left = |title| Column::new(title, Align::Left);
        let tools = Column::new("TOOLS", Align::Right);
        let mut table = Table::new([left("SERVER"), left("STATE"), left("PROTOCOL"), left("IS"), tools]);
        let cell = |text: &str| (Tone::Plain, text::clean(text));
        for ServerReport { name, status, tools, .. } in &self.reports {
            let (state, protocol, identity) = match status {
                ServerStatus::Ready { protocol, identity } => {
                    ((Tone::Good, "ready"), &**protocol, &**identity)
                }
                _ => ((Tone::Bad, "not there"), "", ""),
            };
            let state = (state.0, state.1.to_owned());
            table.row([cell(name), state, cell(protocol), cell(identity), cell(&tools.to_string())]);
        }
        for server in &self.untrusted {
            let state = (Tone::Bad, "not trusted".to_owned());
            table.row([cell(&server.name), state, cell(""), cell(""), cell("0")]);
        }
        table.lines(width)
    }

    fn notes(&self) -> Vec<String> {
        let untrusted = self.untrusted.iter().map(ToString::to_string);
        let none = self.is_empty().then(|| NO_SERVERS.to_owned());
        self.warnings.iter().cloned().chain(untrusted).chain(none).collect()
    }
}

/// The note where no servers are configured.
pub const NO_SERVERS: &str = "no MCP servers are configured; `convoke mcp add NAME -- COMMAND` adds one";
