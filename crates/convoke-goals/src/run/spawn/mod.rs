//! Agents that are spawned at run time.
//!
//! Whoever works with tools may have two more: `spawn_agent` and `spawn_agents`. Those they call in work with the same
//! tools, in conversations of their own, within the same budget; whether they may call in others depends on how deep they
//! are, which the tool knows and no model says. A call that was interrupted is entered again, and what was done in it
//! answers from the journal.

mod request;
mod spawned_agent;
mod tools;

use std::sync::Arc;

use convoke_core::{Error, Toolset};

use super::called_tools::CalledTools;
use super::workflow_context::WorkflowContext;
use crate::equipment::Spawning;
use crate::plan::WorkerSettings;
use crate::tree::Name;
use tools::SpawnTool;

/// The tool that calls in an agent.
pub(crate) const SPAWN_AGENT: &str = "spawn_agent";

/// The tool that calls in several. Whoever may use the one may use the other.
pub(crate) const SPAWN_AGENTS: &str = "spawn_agents";

/// A worker that may spawn agents.
#[derive(Clone)]
pub(super) struct Spawner {
    pub(super) around: Arc<WorkflowContext>,
    /// The goal they work for.
    pub(super) goal: Name,
    pub(super) settings: WorkerSettings,
    /// How deep whoever calls in others is: 0 for those who were not called in.
    pub(super) level: u32,
    /// The tools that those it calls in have called.
    pub(super) called: CalledTools,
}

impl Spawner {
    /// All tools it has, and whether some of them call in others.
    ///
    /// Whoever has no tools gets none for this either, unless a list of tools says so: those called in would have none,
    /// and there are models that cannot call tools at all.
    pub(super) fn tools(&self) -> Result<(Toolset, bool), Error> {
        let mut tools = self.settings.tools.clone();
        if !self.around.rules.offer_by_call() {
            for tool in &self.settings.by_call {
                tools.remove(tool);
            }
        }
        let wanted = self.settings.spawning.unwrap_or(!tools.is_empty());
        if !tools.is_empty() {
            self.around.equipment.skills.offer(&mut tools)?;
        }
        let Some(at_once) = self.at_once().filter(|_| wanted) else { return Ok((tools, false)) };
        for tool in [SpawnTool::one(self), SpawnTool::several(self, at_once)] {
            // A tool of the user's own of this name is what the user wants.
            if tools.get(tool.name()).is_none() {
                tools.add(Arc::new(tool))?;
            }
        }
        Ok((tools, true))
    }

    /// How many it may call in at once; `None` if none at all.
    fn at_once(&self) -> Option<u32> {
        match self.around.equipment.spawning {
            Spawning::Allowed { depth, at_once } if self.level < depth && at_once > 0 => Some(at_once),
            _ => None,
        }
    }
}
