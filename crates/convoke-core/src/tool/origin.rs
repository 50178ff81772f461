//! Origins of tool results.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The origin of a tool's result: who could have written it.
///
/// It follows from the tool and its arguments, so whoever labels or judges results can do so for a call that is made and
/// for one that the journal answers alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", content = "name", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Origin {
    /// The tool's own code, about which nothing more is known.
    Tool(String),
    /// A file or folder of the workspace: whoever put it there.
    File(String),
    /// What a command wrote: whatever it read.
    Command(String),
    /// The history of a repository: whoever committed.
    Repository(String),
    /// A page of the web, or a search service: whoever published what it gave.
    Web(String),
    /// What was kept earlier: whoever said it then, in this run or another.
    Memory(String),
    /// A tool of an MCP server, as `server/tool`: whoever runs the server, and whatever it read.
    Mcp(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(name) => write!(formatter, "tool `{name}`"),
            Self::File(path) => write!(formatter, "file `{path}`"),
            Self::Command(command) => write!(formatter, "command `{command}`"),
            Self::Repository(path) => write!(formatter, "repository `{path}`"),
            Self::Web(address) => write!(formatter, "web `{address}`"),
            Self::Memory(name) => write!(formatter, "memory `{name}`"),
            Self::Mcp(tool) => write!(formatter, "MCP tool `{tool}`"),
        }
    }
}
