//! The policy: decisions, files, gates.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod always;
mod commands;
mod domains_and_servers;
mod files;
mod gate;
mod hidden;
mod hosts;
mod import;
mod mistakes;
mod paths;
mod shell;

use convoke_tools::policy::{Policy, PolicyOutcome};

/// A policy with these lines after its version.
fn policy(text: &str) -> Policy {
    let home = Some(std::path::Path::new("/home/ann"));
    Policy::parse_at_home(&format!("version = 1\n{text}"), "policy.toml", home).unwrap()
}

/// Whether all of these commands are decided about like this.
#[track_caller]
fn all(policy: &Policy, outcome: PolicyOutcome, commands: &[&str]) {
    let wrong: Vec<String> = commands
        .iter()
        .map(|command| (command, policy.command(command)))
        .filter(|(_, decision)| decision.outcome != outcome)
        .map(|(command, decision)| format!("`{command}`: {decision}"))
        .collect();
    assert!(wrong.is_empty(), "not {outcome}:\n{}", wrong.join("\n"));
}
