//! Knowledge of git: what it believes and executes, and which changes to it are harmless.
//!
//! Whoever may write a repository's configuration, its hooks or the list of what a rebase still has to do decides what runs
//! when a person types `git status`, outside of every sandbox. So file tools change none of it, and of what a command
//! changed only what is known to be harmless comes out.
//!
//! This module must never run git, and never take for harmless what it does not know.

mod config;
mod controls;
mod layout;
#[cfg(target_os = "linux")]
mod progress;
mod setting_paths;

#[cfg(target_os = "linux")]
pub(crate) use config::{Config, Setting, reduced};
pub(crate) use controls::Controls;
#[cfg(target_os = "linux")]
pub(crate) use controls::identity;
#[cfg(target_os = "linux")]
pub(crate) use layout::is_harmless_pointer;
pub(crate) use layout::{RepositoryFile, is_repository, part_of};
#[cfg(target_os = "linux")]
pub(crate) use progress::is_harmless_progress;
