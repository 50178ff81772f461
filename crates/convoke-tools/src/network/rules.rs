//! Host rules: what the policies say of hosts that commands want to reach.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convoke_core::RunId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Destination;
use crate::policy::{Decision, Policy};
use crate::web::{AddressRules, ForbiddenAddress, Resolver, SystemResolver};

/// The rules for which hosts commands may reach: what all of these policies let them, at public addresses, or at addresses
/// that the policies name by their numbers. Clones share what people have answered.
///
/// ```
/// use convoke_tools::network::{Destination, HostRules};
/// use convoke_tools::policy::{PolicyOutcome, Policy};
///
/// let text = "version = 1\n[commands]\nnetwork = \"hosts\"\nhosts.allow = [\"*.crates.io:443\"]\n";
/// let rules = HostRules::new([Policy::parse(text, "policy.toml")?]);
/// assert_eq!(rules.decide(&Destination::parse("index.crates.io:443")?).outcome, PolicyOutcome::Allow);
/// assert_eq!(rules.decide(&Destination::parse("example.com:443")?).outcome, PolicyOutcome::Ask);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct HostRules(Arc<Inner>);

struct Inner {
    policies: Vec<Policy>,
    resolver: Arc<dyn Resolver>,
    /// What people said of hosts that they were asked about, each in a run.
    answers: Mutex<BTreeMap<RunId, BTreeMap<Destination, bool>>>,
}

impl HostRules {
    /// Makes rules of what all these policies let commands reach: the strictest decides. Without any, the defaults hold.
    #[must_use]
    pub fn new(policies: impl IntoIterator<Item = Policy>) -> Self {
        Self::with_resolver(policies, SystemResolver)
    }

    /// Makes rules with another resolver. What it gives is looked at all the same.
    #[must_use]
    pub fn with_resolver(policies: impl IntoIterator<Item = Policy>, resolver: impl Resolver) -> Self {
        let mut policies: Vec<Policy> = policies.into_iter().collect();
        if policies.is_empty() {
            policies.push(Policy::default());
        }
        Self(Arc::new(Inner { policies, resolver: Arc::new(resolver), answers: Mutex::default() }))
    }

    /// Decides about a host.
    #[must_use]
    pub fn decide(&self, destination: &Destination) -> Decision {
        let decisions = self.0.policies.iter().map(|policy| policy.command_host(destination));
        // There is at least one.
        decisions.reduce(Decision::or_stricter).unwrap_or_else(|| Policy::default().command_host(destination))
    }

    /// Whether an address may be connected to: one that is public, or that all policies name.
    pub(super) fn check(&self, address: IpAddr, port: u16) -> Result<(), ForbiddenAddress> {
        AddressRules::public().check(address).or_else(|forbidden| {
            let named = Destination::at(address.to_canonical(), port);
            let is_named = self.0.policies.iter().all(|policy| policy.names_address(&named));
            if is_named { Ok(()) } else { Err(forbidden) }
        })
    }

    pub(super) fn resolver(&self) -> &dyn Resolver {
        &*self.0.resolver
    }

    /// What a person has said of a host in a run, if one was asked.
    pub(super) fn answer(&self, run: &RunId, destination: &Destination) -> Option<bool> {
        self.answers().get(run)?.get(destination).copied()
    }

    pub(super) fn keep_answer(&self, run: &RunId, destination: Destination, may: bool) {
        self.answers().entry(run.clone()).or_default().insert(destination, may);
    }

    /// How many hosts a person has said something of in a run.
    pub(crate) fn answered(&self, run: &RunId) -> usize {
        self.answers().get(run).map_or(0, BTreeMap::len)
    }

    /// What was said in a run, for [`restore_answers`](Self::restore_answers) when it goes on.
    pub(crate) fn answers_json(&self, run: &RunId) -> Value {
        let answers = self.answers();
        let hosts = answers.get(run).into_iter().flatten();
        let hosts: BTreeMap<String, bool> = hosts.map(|(host, may)| (host.to_string(), *may)).collect();
        json!({"run": run, "hosts": hosts})
    }

    /// Takes up what was said in a run before it went on.
    pub(crate) fn restore_answers(&self, kept: &Value) {
        let Ok(run) = RunId::deserialize(&kept["run"]) else { return };
        for (host, may) in kept["hosts"].as_object().into_iter().flatten() {
            if let (Ok(host), Some(may)) = (Destination::parse(host), may.as_bool()) {
                self.keep_answer(&run, host, may);
            }
        }
    }

    fn answers(&self) -> MutexGuard<'_, BTreeMap<RunId, BTreeMap<Destination, bool>>> {
        self.0.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a person could be asked about some hosts.
    #[must_use]
    pub fn may_ask(&self) -> bool {
        self.0.policies.iter().any(|policy| policy.asks_about_hosts())
    }
}

/// The same rules, not merely equal ones.
impl PartialEq for HostRules {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for HostRules {}

impl fmt::Debug for HostRules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources = self.0.policies.iter().map(Policy::source);
        formatter.debug_tuple("HostRules").field(&sources.collect::<Vec<_>>()).finish()
    }
}
