//! Inherited settings of a node: those said further out, overridden by its own.

use std::sync::Arc;

use convoke_core::{Bounds, Model, ModelParams, Toolset};

use super::Preparer;
use super::location::NodeLocation;
use crate::agentfile::model::{Retry, Supervision, Tools};
use crate::equipment::Equipment;
use crate::plan::problem::ProblemKind;
use crate::plan::{SupervisedBy, WorkerSettings};
use crate::run::{SPAWN_AGENT, SPAWN_AGENTS};
use crate::skills::allowed;
use crate::tree::{ModelChoice, Overrides, ToolChoice};
use convoke_text::nearest;

/// The settings that hold at a node.
#[derive(Clone)]
pub(super) struct Layer {
    model: Option<Arc<dyn Model>>,
    params: ModelParams,
    /// The tools before anything was left out.
    tools: Toolset,
    /// Whether they were given to a node, rather than to everybody.
    given: bool,
    allowed: Option<Tools>,
    restrictions: Vec<Tools>,
    /// Rules about calls: of each list one must let a call be made.
    call_rules: Vec<Arc<[String]>>,
    context: Vec<String>,
    /// Of the innermost budget that limits turns.
    turns: Option<u64>,
    /// For goals and agents of sequences; what is below them is tried again with them.
    pub(super) retry: Option<Retry>,
    /// The same.
    pub(super) memory: Option<String>,
    supervision: Supervision,
}

impl Layer {
    pub(super) fn outermost(equipment: &Equipment) -> Self {
        let mut layer = Self {
            model: equipment.model.clone(),
            params: ModelParams::default(),
            tools: equipment.tools.clone(),
            given: false,
            allowed: None,
            restrictions: Vec::new(),
            call_rules: Vec::new(),
            context: Vec::new(),
            turns: None,
            retry: None,
            memory: None,
            supervision: Supervision::Off,
        };
        layer.add_context(&equipment.context);
        layer
    }

    fn add_context(&mut self, context: &str) {
        if !context.trim().is_empty() {
            self.context.push(context.to_owned());
        }
    }

    /// For what is below a node that is tried again as a whole: it need not be tried again, and is not remembered, by itself as well.
    pub(super) fn inside(&self) -> Self {
        Self { retry: None, memory: None, ..self.clone() }
    }

    /// For a workflow that is an agent: it is watched as a whole, so its parts need not be as well.
    pub(super) fn unwatched(&self) -> Self {
        Self { supervision: Supervision::Off, ..self.clone() }
    }

    pub(super) fn settings(&self) -> WorkerSettings {
        let lists: Vec<&Tools> = self.allowed.iter().chain(&self.restrictions).collect();
        let allowed = |tool: &str| {
            lists.iter().all(|tools| tools.allow(tool))
                && self.call_rules.iter().all(|rules| allowed::offers(rules, tool))
        };
        let mut tools = self.tools.clone();
        for tool in self.tools.names().filter(|tool| !allowed(tool)) {
            tools.remove(tool);
        }
        let by_name =
            |tool: &&str| self.call_rules.iter().all(|rules| Tools::Named(rules.to_vec()).allow(tool));
        let by_call = tools.names().filter(|tool| !by_name(tool)).map(str::to_owned).collect();
        let is_listed = !lists.is_empty() || !self.call_rules.is_empty();
        WorkerSettings {
            model: self.model.clone(),
            params: self.params.clone(),
            tools,
            tools_chosen: self.given || is_listed,
            call_rules: self.call_rules.clone(),
            by_call,
            spawning: is_listed.then(|| allowed(SPAWN_AGENT) || allowed(SPAWN_AGENTS)),
            context: self.context.clone(),
            turns: self.turns,
        }
    }

    pub(super) fn is_watched_by_person(&self) -> bool {
        self.supervision == Supervision::Human
    }

    pub(super) fn supervised_by(&self) -> SupervisedBy {
        match self.supervision {
            Supervision::Human => SupervisedBy::Human,
            Supervision::Llm => SupervisedBy::Model,
            Supervision::Off | Supervision::Inherit => SupervisedBy::Nobody,
        }
    }
}

/// The time and the budget of one node: the kernel makes those of all nodes around it hold too.
pub(super) fn bounds(overrides: &Overrides) -> Bounds {
    let mut bounds = Bounds::default();
    bounds.timeout = overrides.timeout;
    bounds.limits.clone_from(&overrides.budget);
    bounds
}

impl Preparer<'_> {
    /// What holds for a node within what holds around it.
    pub(super) fn layer(
        &mut self,
        outer: &Layer,
        overrides: &Overrides,
        supervision: Supervision,
        place: &NodeLocation,
    ) -> Layer {
        let mut layer = outer.clone();
        if let Some(choice) = &overrides.model {
            match self.model(choice) {
                Ok(model) => layer.model = Some(model),
                Err(problem) => self.problems.add(place, problem),
            }
        }
        layer.params = layer.params.overridden_by(&overrides.params);
        match &overrides.tools {
            Some(ToolChoice::Given(tools)) => {
                layer.tools = tools.clone();
                layer.given = true;
                layer.allowed = None;
            }
            Some(ToolChoice::Allowed(tools)) => {
                self.known_tools(tools, &layer.tools, place);
                layer.allowed = Some(tools.clone());
            }
            None => {}
        }
        for tools in &overrides.restrictions {
            self.known_tools(tools, &layer.tools, place);
            layer.restrictions.push(tools.clone());
        }
        for rules in &overrides.call_rules {
            let tools: Vec<String> = rules.iter().map(|rule| allowed::tool_of(rule).to_lowercase()).collect();
            self.known_tools(&Tools::Named(tools), &layer.tools, place);
            layer.call_rules.push(rules.as_slice().into());
        }
        if let Some(context) = &overrides.context {
            layer.add_context(context);
        }
        layer.turns = overrides.budget.as_ref().and_then(|limits| limits.turns).or(outer.turns);
        layer.retry = overrides.retry.or(outer.retry);
        if let Some(memory) = &overrides.memory {
            if self.equipment.memories.is_none() {
                self.problems.add(place, ProblemKind::NoMemory { memory: memory.clone() });
            }
            layer.memory = Some(memory.clone());
        }
        layer.supervision = supervision.within(outer.supervision);
        layer
    }

    fn model(&self, choice: &ModelChoice) -> Result<Arc<dyn Model>, ProblemKind> {
        let models = self.equipment.models.as_ref();
        let nowhere = || Err("nothing is set up from which models could be had by name".to_owned());
        let (choice, found) = match choice {
            ModelChoice::Given(model) => return Ok(Arc::clone(model)),
            ModelChoice::Named(name) => {
                (format!("model `{name}`"), models.map_or_else(nowhere, |models| models.named(name)))
            }
            ModelChoice::Profile(name) => {
                (format!("profile `{name}`"), models.map_or_else(nowhere, |models| models.profile(name)))
            }
        };
        found.map_err(|why| ProblemKind::NoModel { choice, why })
    }

    /// Warns of names that no tool has.
    fn known_tools(&mut self, wanted: &Tools, tools: &Toolset, place: &NodeLocation) {
        let Tools::Named(names) = wanted else { return };
        for name in names {
            let one = Tools::Named(vec![name.clone()]);
            let mut offered = tools.names().chain([SPAWN_AGENT, SPAWN_AGENTS]);
            if !offered.any(|tool| one.allow(tool)) {
                let meant = nearest(name, tools.names()).map(str::to_owned);
                self.problems.add(place, ProblemKind::UnknownTool { tool: name.clone(), meant });
            }
        }
    }
}
