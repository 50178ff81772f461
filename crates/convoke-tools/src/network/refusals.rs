//! Refused hosts, reported to the caller: programs say no more than that a connection failed.

use std::collections::BTreeMap;

use super::Destination;

/// How many hosts are kept. A program that tries out more of them is told enough.
const MOST: usize = 32;
/// How many hosts are named.
const NAMED: usize = 8;

/// A host that a command was kept from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedHost {
    /// The host.
    pub destination: Destination,
    /// The reason.
    pub why: String,
}

/// A report of what a command did with the network.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetworkReport {
    /// What it was kept from, each host once.
    pub refused: Vec<RefusedHost>,
    /// Whether it was connected to a host.
    pub connected: bool,
    /// How many bytes it sent.
    pub sent: u64,
    /// How many bytes it received.
    pub received: u64,
}

impl NetworkReport {
    /// Returns a note for whoever gave the command.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        if self.refused.is_empty() {
            return None;
        }
        let told = self.refused.iter().take(NAMED);
        let told: Vec<String> =
            told.map(|refusal| format!("`{}` ({})", refusal.destination, refusal.why)).collect();
        let more = match self.refused.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "denied: the network is closed to {}{more}. A person can open it: `commands.network = \"hosts\"` and \
             `commands.hosts.allow = [\"{}\"]` in their own policy.toml",
            told.join(", "),
            self.refused[0].destination
        ))
    }
}

/// Refusals while they come.
#[derive(Debug, Default)]
pub(super) struct Refusals(BTreeMap<Destination, String>);

impl Refusals {
    pub(super) fn add(&mut self, destination: &Destination, why: &str) {
        if self.0.len() < MOST {
            self.0.entry(destination.clone()).or_insert_with(|| why.to_owned());
        }
    }

    pub(super) fn list(&self) -> Vec<RefusedHost> {
        let refusal = |(destination, why): (&Destination, &String)| RefusedHost {
            destination: destination.clone(),
            why: why.clone(),
        };
        self.0.iter().map(refusal).collect()
    }
}
