//! The command line of `convoke policy`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say everything that is wrong with policies.
    Check {
        /// The files; without any, those that hold here.
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Say what would be decided about a call, by which rule, and why.
    Explain(Explain),
    /// Print everything that holds here, and where that is said.
    Show(PolicyChoice),
    /// Translate a policy of agentkit, in either of its dialects. What cannot be carried over is listed.
    Import {
        /// The file; `-` for what comes on standard input.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Where to write it; without it, to standard output.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PolicyChoice {
    /// The policy to use instead of the folder's policy.toml.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("subject").required(true).args(["command", "tool", "mcp", "host"])))]
pub(crate) struct Explain {
    /// A command line, as `bash` would get it.
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
    /// A tool.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// The path it is called with.
    #[arg(long, value_name = "PATH", requires = "tool")]
    pub(crate) path: Vec<String>,
    /// The address it is called with.
    #[arg(long, value_name = "URL", requires = "tool")]
    pub(crate) url: Vec<String>,
    /// A tool of an MCP server.
    #[arg(long, value_name = "SERVER:TOOL")]
    pub(crate) mcp: Option<String>,
    /// A host that commands may want to reach.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) host: Option<String>,
    #[command(flatten)]
    pub(crate) which: PolicyChoice,
}
