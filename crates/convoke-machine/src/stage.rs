//! How the states of a pack speak: its prompts, tools, parameters and validators, as a conversation wants them.

use std::sync::Arc;

use convoke_agent::ClientTool;
use convoke_core::{Model, ModelParams, Toolset};
use serde_json::{Map, Value, json};

use crate::conversation::{Activation, Direction, InvalidMachine, Machine, Situation, Stage, Validator};
use crate::pack::model::{Parameters, SkillSource};
use crate::pack::{self, CompiledPack, CompiledPrompt, Judgement, Moment};
use crate::workflow::{Compiled, Known, Spec};

/// How the states of a pack speak, with the tools and the model that there are.
///
/// Tools that a pack describes and nobody here has are the client's: a call of one waits for its result.
pub struct PackStage {
    pack: Arc<CompiledPack>,
    tools: Toolset,
    model: Option<Arc<dyn Model>>,
}

impl PackStage {
    /// A stage for a pack. Without a model, the run's is asked.
    #[must_use]
    pub fn new(pack: Arc<CompiledPack>, available: Toolset, model: Option<Arc<dyn Model>>) -> Self {
        let mut tools = available;
        for (name, tool) in &pack.model().tools {
            let schema =
                tool.parameters.clone().unwrap_or_else(|| json!({"type": "object", "properties": {}}));
            if tools.get(name).is_none() {
                // A pack whose schemas are none is not compiled, and there is no tool of that name, as was just seen.
                if let Ok(client) = ClientTool::new(name.as_str(), tool.description.as_str(), schema) {
                    let _ = tools.add(Arc::new(client));
                }
            }
        }
        Self { pack, tools, model }
    }

    /// The conversation over the pack's workflow. A pack without one is talked to with the prompt it begins with, as long as the
    /// person likes.
    ///
    /// # Errors
    /// If the pack has several prompts and says nowhere which comes first, or a state runs a composition.
    pub fn machine(self) -> Result<Machine, PackMachineError> {
        let name = self.pack.model().id.clone();
        let builder = match self.pack.workflow().cloned() {
            Some(compiled) => Machine::on(Arc::new(compiled), Arc::new(self)),
            None => {
                let task = self.pack.entry().ok_or(PackMachineError::NoEntry)?;
                let compiled = single(task).map_err(|error| PackMachineError::Workflow(error.to_string()))?;
                Machine::on(Arc::new(compiled), Arc::new(self)).open_ended()
            }
        };
        Ok(builder.named(name).build()?)
    }

    fn activation(&self, prompt: &CompiledPrompt, situation: &Situation<'_>) -> Result<Activation, String> {
        let model = self.model.as_ref().map_or("", |model| model.name());
        let bound = prompt.bind(situation.variables).map_err(|violations| {
            violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        })?;
        let artifacts =
            situation.artifacts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let moment = Moment { artifacts: artifacts.collect(), workflow_context: situation.brief.to_owned() };
        let system = prompt.system(model, &bound, &moment).map_err(|error| error.to_string())?;
        let mut activation = Activation::new(self.with_skills(system, &situation.state.skills));
        activation.tools = self.tools_of(&situation.state.prompt_task)?;
        activation.params = params(prompt.parameters(model));
        activation.model = self.model.clone();
        let policy = prompt.declared().tool_policy.as_ref();
        activation.max_rounds = policy.map(|policy| policy.max_rounds);
        activation.max_calls_per_reply = policy.map(|policy| policy.max_tool_calls_per_turn);
        activation.validators = prompt.validators().iter().map(validator).collect();
        Ok(activation)
    }

    fn tools_of(&self, task: &str) -> Result<Toolset, String> {
        let mut tools = Toolset::new();
        for name in self.pack.allowed_tools(task, self.tools.names()) {
            if let Some(tool) = self.tools.get(name) {
                tools.add(Arc::clone(tool)).map_err(|error| error.to_string())?;
            }
        }
        Ok(tools)
    }

    /// A system message with what the skills that are taken up from the start say, as far as the state has them.
    fn with_skills(&self, mut system: String, filter: &str) -> String {
        for skill in &self.pack.model().skills {
            if let SkillSource::Inline { name, instructions, preload: true, .. } = skill
                && allows(filter, name)
            {
                system.push_str(&format!("\n\n## {name}\n\n{instructions}"));
            }
        }
        system
    }
}

/// Whether a state has a skill: all of them without a word, none if it says `none`, otherwise those whose name begins so or is like
/// the pattern.
fn allows(filter: &str, skill: &str) -> bool {
    match filter {
        "" => true,
        none if none.eq_ignore_ascii_case("none") => false,
        filter => match filter.split_once('*') {
            Some((before, after)) => {
                skill.len() >= before.len() + after.len()
                    && skill.starts_with(before)
                    && skill.ends_with(after)
            }
            None => skill == filter,
        },
    }
}

impl Stage for PackStage {
    fn activate(&self, situation: &Situation<'_>) -> Result<Activation, String> {
        let task = &*situation.state.prompt_task;
        let prompt = self.pack.prompt(task).ok_or_else(|| format!("there is no prompt `{task}`"))?;
        self.activation(prompt, situation)
    }
}

/// Why a pack cannot be talked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackMachineError {
    /// Nobody knows which prompt comes first.
    #[error("the pack has several prompts, and neither a workflow nor agents say which comes first")]
    NoEntry,
    /// A state cannot be run.
    #[error(transparent)]
    Machine(#[from] InvalidMachine),
    /// The workflow of a single prompt could not be made.
    #[error("{0}")]
    Workflow(String),
}

/// A workflow for a prompt alone.
fn single(task: &str) -> Result<Compiled, Box<dyn std::error::Error>> {
    let spec = json!({"version": 1, "entry": task, "states": {task: {"prompt_task": task}}});
    Ok(Compiled::new(&serde_json::from_value::<Spec>(spec)?, &Known::anything())?)
}

/// What a provider is told; what only some understand is passed on as it is.
fn params(parameters: Parameters) -> ModelParams {
    let mut params = ModelParams::default();
    params.temperature = parameters.temperature;
    params.max_tokens = parameters.max_tokens;
    params.top_p = parameters.top_p;
    let mut extra = Map::new();
    extra.extend(parameters.top_k.map(|value| ("top_k".to_owned(), json!(value))));
    extra.extend(parameters.frequency_penalty.map(|value| ("frequency_penalty".to_owned(), json!(value))));
    extra.extend(parameters.presence_penalty.map(|value| ("presence_penalty".to_owned(), json!(value))));
    if !extra.is_empty() {
        params.extra = Some(Value::Object(extra));
    }
    params
}

fn validator(rule: &pack::Validator) -> Validator {
    let direction = match rule.direction() {
        pack::Direction::Input => Direction::Input,
        pack::Direction::Output => Direction::Output,
        pack::Direction::Both => Direction::Both,
    };
    let rule = rule.clone();
    Validator::new(direction, move |text| match rule.judge(text) {
        Judgement::Passed => None,
        Judgement::Replaced(instead) | Judgement::Failed(instead) => Some(instead),
    })
}
