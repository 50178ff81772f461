#![doc = include_str!("../README.md")]
//!
//! **What it is for.** [`McpServers`] starts or connects to the servers it is given ([`ServerConfig`]: a command spoken to
//! over standard input and output, or an address spoken to over streamable HTTP), and gives their tools as
//! [`convoke_core::Tool`]s under names that clash with nothing. It speaks both revisions of the protocol that are about:
//! 2025-11-25 and before, with `initialize`, and the stateless 2026-07-28.
//!
//! **Whom it trusts.** Nobody. A server gets none of this process's environment but what it is given; what it says about
//! its tools counts only if its configuration says so; what it answers is labelled with where it came from
//! ([`Origin::Mcp`](convoke_core::Origin::Mcp)); what it asks goes to a person. One that is broken takes nothing down with
//! it: its tools are missing, and a warning says why.
//!
//! **What it must never do.** Make a call again that may have had an effect. Leave a process behind. Show a secret. Look a program
//! up where agents could have put it.
//!
//! # Where to find what
//! | module | what it is for |
//! |---|---|
//! | `config` | what a server is: how to reach it, what it may see, what it may do |
//! | `server_environment` | what all servers of a program share: variables, folders, the sandbox |
//! | `prepare`, `secret` | what is looked up for it, and what of that nobody may see |
//! | `name` | the table of exposed names |
//! | `servers`, `server` | all servers; one server, with its restarts |
//! | `program`, `launch` | what a command line names; how its process comes about |
//! | `connection`, `process`, `http` | one connection, and what carries it |
//! | `call`, `calls`, `handler` | one call; calls in flight; what a server says meanwhile |
//! | `elicit` | a server's form as questions for a person |
//! | `content`, `effects` | results as text; annotations as declared effects |
//! | `tool`, `library` | a tool of a server; its resources and prompts, and tools to use them |

mod call;
mod calls;
mod config;
mod connection;
mod content;
mod effects;
mod elicit;
mod error;
mod footprint;
mod handler;
mod http;
mod launch;
mod library;
mod listed_tools;
mod name;
mod pages;
mod prepare;
mod process;
mod program;
mod secret;
mod server;
mod server_environment;
mod servers;
mod tool;

pub use config::{Protocol, ServerConfig, ServerSandbox, Transport};
pub use error::{DuplicateServer, McpError};
pub use launch::{Launch, LaunchedServer, Launcher, Terminator};
pub use library::{PromptArgument, Resource, ServerPrompt};
pub use name::{MAX_NAME_LENGTH, exposed_names};
pub use server::ServerStatus;
pub use servers::{McpServers, McpServersBuilder, ServerReport};
pub use tool::ToolInfo;
