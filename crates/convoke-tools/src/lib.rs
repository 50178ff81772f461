//! Hands for agents, and what confines them.
//!
//! | module | what it is for |
//! |---|---|
//! | [`workspace`] | the one folder that tools work in: paths resolved by handles, protected files, atomic writes |
//! | [`files`] | read, write, edit, patch, glob, grep, ls, tree, head, tail, diff, mkdir, mv, cp, rm |
//! | [`sandbox`] | a process that sees the workspace and little else: Landlock and seccomp, or bubblewrap (Linux) |
//! | [`shell`] | bash in the sandbox (Linux) |
//! | [`git`] | the part of git that stays in the workspace, in the sandbox (Linux) |
//! | [`policy`] | what tools may do: `policy.toml`, decisions with their rules, a gate before every call |
//! | [`web`] | web_fetch and web_search: the public web and nothing else |
//! | [`memory`] | remember, recall, forget, memory_list: what outlives a run |
//! | [`scratchpad`] | scratchpad_write, _read, _list, _search: what one run keeps for itself |
//!
//! ```
//! use convoke_core::Toolset;
//! use convoke_tools::{files, workspace::Workspace};
//!
//! let folder = std::env::temp_dir();
//! let workspace = Workspace::open(&folder)?;
//! let mut tools = Toolset::new();
//! for tool in files::all(&workspace) {
//!     tools.add(tool)?;
//! }
//! assert!(tools.get("grep").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **What it may know.** The kernel's `Tool`, the file system, processes.
//!
//! **What it must never do.** Open a path by its text instead of by handles; decide by the text of a command what the
//! command may do (a sandbox decides); let a tool past [`Protected`](workspace::Protected); run anything unconfined
//! because confinement is missing.

mod blocking;
mod database;
pub mod files;
#[cfg(target_os = "linux")]
pub mod git;
pub mod memory;
pub mod policy;
#[cfg(target_os = "linux")]
pub mod sandbox;
pub mod scratchpad;
#[cfg(target_os = "linux")]
pub mod shell;
pub mod web;
pub mod workspace;
