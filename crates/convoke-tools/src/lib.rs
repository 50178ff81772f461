#![doc = include_str!("../README.md")]
//!
//! | module | what it is for |
//! |---|---|
//! | [`workspace`] | the one folder that tools work in: paths resolved by handles, protected files, atomic writes |
//! | [`files`] | read, write, edit, patch, glob, grep, ls, tree, head, tail, diff, mkdir, mv, cp, rm |
//! | [`sandbox`] | commands that work in a view of the workspace, and the gate through which their changes come out (Linux) |
//! | [`shell`] | bash in the sandbox (Linux) |
//! | [`git`] | the part of git that stays in the workspace, in the sandbox (Linux) |
//! | [`network`] | the network for commands, by host: a proxy that applies the policy |
//! | [`policy`] | what tools may do: `policy.toml`, decisions with their rules, a gate before every call |
//! | [`web`] | web_fetch and web_search: the public web and nothing else |
//! | [`memory`] | remember, recall, forget, memory_list, and conversations that come back: what outlives a run |
//! | [`embedding`] | what compares meanings, opened when it is needed |
//! | [`scratchpad`] | scratchpad_write, _read, _list, _search: what one run keeps for itself |
//!
//! **What it may know.** The kernel's `Tool`, the file system, processes.
//!
//! **What it must never do.** Open a path by its text instead of by handles; decide by the text of a command what the
//! command may do (a sandbox decides); let a tool past [`Protected`](workspace::Protected); run anything unconfined
//! because confinement is missing.

mod blocking;
mod database;
pub mod embedding;
pub mod files;
#[cfg(target_os = "linux")]
pub mod git;
pub mod memory;
pub mod network;
pub mod policy;
mod repository;
#[cfg(target_os = "linux")]
pub mod sandbox;
pub mod scratchpad;
#[cfg(target_os = "linux")]
pub mod shell;
pub mod web;
pub mod workspace;
