//! Errors of servers.

use std::path::PathBuf;
use std::time::Duration;

use convoke_core::{CategorisedError, Category, Error};

/// Errors of servers, and of calls of their tools.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// A value names a variable that is not set.
    #[error(
        "MCP server `{server}` was not started: the variable {variable} is not set, and `{place}` needs it"
    )]
    MissingVariable {
        /// The server.
        server: String,
        /// The variable.
        variable: String,
        /// What needs it.
        place: String,
    },
    /// A configured value makes no sense.
    #[error("MCP server `{server}` was not started: {reason}")]
    BadConfig {
        /// The server.
        server: String,
        /// What is wrong.
        reason: String,
    },
    /// Its command could not be started.
    #[error(
        "MCP server `{server}` could not be started: `{command}`: {reason} (it must be installed, and on the PATH)"
    )]
    NotStarted {
        /// The server.
        server: String,
        /// The command.
        command: String,
        /// Why.
        reason: String,
    },
    /// Its program is only where agents could have put it.
    #[error(
        "MCP server `{server}` was not started: `{command}` is only found at {}, in the workspace or by a relative folder of the \
         PATH, where agents could have put it, and programs are not looked up there. If that is the one you mean, name it by its \
         whole path",
        .found.display()
    )]
    OnlyInWorkspace {
        /// The server.
        server: String,
        /// The command.
        command: String,
        /// Where it is.
        found: PathBuf,
    },
    /// What it runs is not what it was when it was first started.
    #[error(
        "MCP server `{server}` was not started again: {files}, which it may load, changed since it was first started, and nobody has \
         looked at that. If it is meant, start a new run, or let it run in the sandbox: remove `sandbox = false`"
    )]
    Changed {
        /// The server.
        server: String,
        /// What has changed.
        files: String,
    },
    /// It must run in the sandbox, and there is none.
    #[error(
        "MCP server `{server}` was not started: it is to run in the sandbox (`sandbox = true`), and there is none here for servers"
    )]
    NoSandbox {
        /// The server.
        server: String,
    },
    /// It was started or reached, and did not become ready.
    #[error("MCP server `{server}` did not become ready: {reason}{}", last_words(.output))]
    NotReady {
        /// The server.
        server: String,
        /// Why.
        reason: String,
        /// The last it wrote to its standard error.
        output: String,
    },
    /// It was not ready in time.
    #[error("MCP server `{server}` was not ready within {limit:?}; if it needs longer, raise `startup`")]
    StartupTimedOut {
        /// The server.
        server: String,
        /// How long it had.
        limit: Duration,
    },
    /// It went away during a call.
    #[error(
        "MCP server `{server}` went away while `{tool}` was at work{}{}. Nobody knows whether it took effect, and it was \
         not called again: find out before you do",
        in_brackets(.reason),
        last_words(.output)
    )]
    Lost {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// How it was lost, if that is known.
        reason: String,
        /// The last it wrote to its standard error.
        output: String,
    },
    /// It failed so often that it is left alone.
    #[error(
        "MCP server `{server}` is left alone after failing {times} times in a row; the last time: {reason}"
    )]
    GivenUp {
        /// The server.
        server: String,
        /// How often it failed.
        times: u32,
        /// How the last time.
        reason: String,
    },
    /// The servers were closed.
    #[error("MCP server `{server}` is closed")]
    Closed {
        /// The server.
        server: String,
    },
    /// There is no server of this name.
    #[error("there is no MCP server `{server}`; there are: {known}")]
    UnknownServer {
        /// The name.
        server: String,
        /// Those there are.
        known: String,
    },
    /// It offers no such tool.
    #[error("MCP server `{server}` offers no tool `{tool}`; it offers: {known}")]
    UnknownTool {
        /// The server.
        server: String,
        /// The name.
        tool: String,
        /// Those it offers.
        known: String,
    },
    /// It refused a request.
    #[error("MCP server `{server}` refused {request}: {message} (code {code})")]
    Refused {
        /// The server.
        server: String,
        /// What was asked of it.
        request: String,
        /// What it said.
        message: String,
        /// The code of the refusal.
        code: i32,
    },
    /// It answered with something that the protocol does not allow.
    #[error("MCP server `{server}` did not keep to the protocol: {reason}")]
    Protocol {
        /// The server.
        server: String,
        /// What it did.
        reason: String,
    },
}

impl McpError {
    /// Returns whether trying again may help: a server that is not ready may be so later. One that went away during a call may
    /// have acted, so the call is not for everybody to repeat.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::NotReady { .. } | Self::StartupTimedOut { .. } => Category::Transient,
            _ => Category::Permanent,
        }
    }
}

impl From<McpError> for Error {
    fn from(error: McpError) -> Self {
        let lost = matches!(error, McpError::Lost { .. });
        let error = CategorisedError::new(error.category(), error);
        Self::failed(if lost { error.in_doubt() } else { error })
    }
}

/// Two servers of one name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there are two MCP servers called `{name}`; rename one of them")]
pub struct DuplicateServer {
    /// The name.
    pub name: String,
}

fn in_brackets(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}

fn last_words(output: &str) -> String {
    let output = output.trim();
    if output.is_empty() { String::new() } else { format!(". It wrote: {output}") }
}
