//! Limits of a policy, for those who enforce them: the sandbox, and the budget of a run.

use super::Policy;
#[cfg(target_os = "linux")]
use super::{CommandNetwork, Sandboxing};
#[cfg(target_os = "linux")]
use crate::network::HostRules;
#[cfg(target_os = "linux")]
use crate::sandbox::{Confinement, Network, Sandbox};

impl Policy {
    /// This budget, lowered to what the policy allows.
    #[must_use]
    pub fn budget(&self, limits: &convoke_core::Limits) -> convoke_core::Limits {
        let mut own = convoke_core::Limits::default();
        own.tool_calls = self.limits.tool_calls;
        for (tool, rules) in &self.tools {
            if let Some(calls) = rules.calls {
                own = own.calls_of(tool, calls);
            }
        }
        limits.and(&own)
    }

    /// This sandbox, as the policy wants it: confined or not, with the network or without, with its limits.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn confine(&self, sandbox: Sandbox) -> Sandbox {
        const MIB: u64 = 1 << 20;
        let mut limits = *sandbox.limited();
        let own = self.limits;
        limits.cpu_seconds = own.cpu_seconds.unwrap_or(limits.cpu_seconds);
        limits.memory = own.memory_mb.map_or(limits.memory, |size| size.saturating_mul(MIB));
        limits.processes = own.processes.unwrap_or(limits.processes);
        limits.file = own.file_mb.map_or(limits.file, |size| size.saturating_mul(MIB));
        limits.output = own.output_mb.map_or(limits.output, |size| size.saturating_mul(MIB));
        limits.written = own.written_mb.map_or(limits.written, |size| size.saturating_mul(MIB));
        let network = match self.command_network() {
            CommandNetwork::Open => Network::Open,
            CommandNetwork::Hosts => Network::Hosts(HostRules::new([self.clone()])),
            CommandNetwork::None => Network::None,
        };
        // One that wants changes looked at is enough.
        let is_reviewed = sandbox.is_reviewed() || self.reviews_changes();
        let sandbox = sandbox.limits(limits).network(network).reviewed(is_reviewed);
        match self.sandbox() {
            Sandboxing::Off => sandbox.confinement(Confinement::Off),
            // What confines it is chosen by whoever made it; that something does is seen to there.
            Sandboxing::Required => sandbox.landlock_will_do(false),
            Sandboxing::Landlock => sandbox.landlock_will_do(true),
        }
    }
}
