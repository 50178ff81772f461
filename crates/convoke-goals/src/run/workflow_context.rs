//! The context that everything below one workflow shares while it runs.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use convoke_core::{Error, Model, Scope, Toolset};
use convoke_steps::Chain;

use super::called_tools::CalledTools;
use super::error::GoalError;
use super::worker::TurnLimit;
use crate::agentfile::Template;
use crate::agentfile::model::{Condition, SecurityMode, Test};
use crate::context::{
    Fence, FittedPrompt, Guidance, MissingValue, Role, SystemParts, TemplateFiller, system,
};
use crate::equipment::Equipment;
use crate::plan::{Plan, WorkerSettings};
use crate::rules::Rules;
use crate::secret::Seals;
use crate::skills;
use crate::state::{GoalState, text_of};
use crate::tree::Name;

/// The context that everything below one workflow shares while it runs. Cheap to clone.
#[derive(Clone)]
pub(super) struct WorkflowContext {
    pub(super) plan: Arc<Plan>,
    pub(super) equipment: Arc<Equipment>,
    pub(super) fence: Fence,
    /// What was known of the folder that is worked in when the run began. Goals change it; what they are told does not,
    /// or a run could not be told again.
    pub(super) workspace: Arc<str>,
    /// The names of what stands in sequences.
    pub(super) in_sequence: Arc<HashSet<Name>>,
    /// The names of values that something relies on.
    pub(super) needed: Arc<HashSet<Name>>,
    /// The rules the run was begun under.
    pub(super) rules: Rules,
    /// How many turns everybody has, if that is said.
    pub(super) max_turns: Option<u32>,
    /// What takes secrets out of what the author adds to prompts.
    pub(super) seals: Option<Arc<Seals>>,
    /// For a workflow that is an agent: the input that has its task.
    pub(super) task: Option<Name>,
    /// How many workflows there are around this one.
    pub(super) nesting: u32,
    /// How deep the work is below a goal of the outermost workflow, as far as calling in others is concerned.
    pub(super) level: u32,
    /// Goals are pursued again and again, and see what they made before.
    pub(super) again: bool,
    /// The tools that were called in this workflow.
    pub(super) called: CalledTools,
}

impl WorkflowContext {
    /// A text with its values.
    pub(super) fn fill(
        &self,
        (kind, name): (&'static str, &str),
        text: &Template<Name>,
        state: &GoalState,
    ) -> Result<FittedPrompt, Error> {
        let filling = TemplateFiller {
            fence: &self.fence,
            budget: self.equipment.context_budget,
            rules: self.rules,
            task: self.task.as_deref(),
        };
        filling.fill(text, state).map_err(|MissingValue { name: variable }| {
            GoalError::NoValue { kind, name: name.to_owned(), variable }.into()
        })
    }

    /// Whether a condition holds. One about a value that nobody gave does not: it cannot be decided, and whoever relies on
    /// the goal's being done in the other cases would not be told why.
    pub(super) fn holds(
        &self,
        (kind, name): (&'static str, &str),
        when: Option<&Condition<Name>>,
        state: &GoalState,
    ) -> Result<bool, Error> {
        let mut passes = |test: &Test<Name>| {
            let (name, variable) = (name.to_owned(), test.variable.to_string());
            let value = state.get(&test.variable);
            value.map(|value| test.kind.holds(value)).ok_or(GoalError::NoValue { kind, name, variable })
        };
        let Some(when) = when else { return Ok(true) };
        // What comes after a test that fails may well have no value, and is not looked at.
        Ok(when.decide(&mut passes)?)
    }

    /// What somebody is told besides the workflow's text.
    pub(super) fn context<'a>(&self, settings: &'a WorkerSettings) -> Cow<'a, [String]> {
        match &self.seals {
            Some(seals) => settings.context.iter().map(|text| seals.seal(text)).collect(),
            None => Cow::Borrowed(&settings.context),
        }
    }

    /// What those before `name` came to, in the order it was made: the results of what stands in sequences. What they
    /// are made of, and values of their own, are in those.
    pub(super) fn prior(&self, state: &GoalState, name: &str) -> Vec<(String, String)> {
        let results = state.outputs.iter().filter(|(entry, _)| self.in_sequence.contains(*entry));
        results
            .filter(|(entry, _)| self.again || *entry != name)
            .map(|(entry, value)| (entry.to_owned(), text_of(value)))
            .collect()
    }

    /// The scope of authorised security research, if it is that.
    pub(super) fn research(&self) -> Option<&str> {
        match &self.plan.security {
            Some(SecurityMode::Research { scope }) => Some(scope),
            _ => None,
        }
    }

    /// Tells listeners about the state. That of a workflow which is an agent is nobody else's business.
    pub(super) async fn publish(&self, scope: &Scope, state: &GoalState) -> Result<(), Error> {
        if self.nesting == 0 { scope.publish(state).await } else { Ok(()) }
    }

    /// A chain of steps that tells listeners about the state after each of them.
    pub(super) fn chain(&self, name: &str) -> Chain<GoalState> {
        let chain = Chain::new(name);
        if self.nesting == 0 { chain.publishing_state() } else { chain }
    }

    /// Which of somebody's tools are offered by name only: all that nobody chose for it, if that saves something. Skills are
    /// introduced by name already.
    pub(super) fn on_demand(&self, settings: &WorkerSettings, tools: &Toolset) -> Vec<String> {
        const WORTH_IT: usize = 4;
        let wanted = self.equipment.tools_on_demand && self.rules.reworded() && !settings.tools_chosen;
        let names = tools.names().filter(|name| *name != skills::TOOL).map(str::to_owned);
        let names: Vec<String> = names.collect();
        if wanted && names.len() >= WORTH_IT { names } else { Vec::new() }
    }

    /// The system message for somebody with these tools. Agents that the file describes are not told of the folder.
    pub(super) fn system(
        &self,
        role: Role<'_>,
        settings: &WorkerSettings,
        tools: &Toolset,
        on_demand: &[String],
        spawning: bool,
    ) -> String {
        let workspace = match role {
            Role::Agent { .. } => "",
            _ => self.workspace_for(tools, on_demand),
        };
        system(&SystemParts {
            role,
            context: &self.context(settings),
            workspace,
            skills: &self.equipment.skills.introduction(tools),
            guidance: self.guidance(tools, on_demand, spawning),
            research: self.research(),
            fence: &self.fence,
        })
    }

    /// What is told of the folder to somebody with these tools: nothing to whoever cannot look into it, or has to open the
    /// tools for that first.
    fn workspace_for(&self, tools: &Toolset, on_demand: &[String]) -> &str {
        let is_told = !self.rules.reworded() || (!tools.is_empty() && on_demand.is_empty());
        if is_told { &self.workspace } else { "" }
    }

    /// What somebody with these tools is told of them. Who has to open them first reads there what they are for.
    fn guidance(&self, tools: &Toolset, on_demand: &[String], spawning: bool) -> Guidance {
        let at_hand = |name| tools.names().any(|tool| tool == name) && on_demand.is_empty();
        Guidance {
            tools: !tools.is_empty(),
            on_demand: !on_demand.is_empty(),
            spawning,
            scratchpad: self.rules.guide_notes() && at_hand("scratchpad_write"),
            memory: self.rules.guide_notes() && at_hand("recall"),
        }
    }

    /// How many turns somebody has: what is said for everybody, or else what is usual, or more if a budget of theirs says
    /// more.
    pub(super) fn turns_of(&self, settings: &WorkerSettings, usual: u32) -> TurnLimit {
        let budget = settings.turns.filter(|_| self.rules.raise_turns());
        let budget = budget.map_or(0, |turns| u32::try_from(turns).unwrap_or(u32::MAX));
        let turns = self.max_turns.unwrap_or(usual.max(budget));
        TurnLimit { turns, raised: self.equipment.max_turns.filter(|now| *now > turns) }
    }

    /// The model somebody works with.
    pub(super) fn model(&self, settings: &WorkerSettings, scope: &Scope) -> Result<Arc<dyn Model>, Error> {
        match settings.model.as_ref().or(self.equipment.model.as_ref()) {
            Some(model) => Ok(Arc::clone(model)),
            None => scope.default_model(),
        }
    }
}

/// Texts with names, as prompts take them.
pub(super) fn borrowed(texts: &[(String, String)]) -> Vec<(&str, &str)> {
    texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
}
