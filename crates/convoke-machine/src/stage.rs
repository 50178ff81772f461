//! How the states of a pack speak: its prompts, tools, parameters and validators, as a conversation wants them.

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_agent::{ClientTool, WorkflowTool};
use convoke_core::{Error, Model, ModelParams, Runner, Toolset};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::conversation::{
    Activation, ComposedWork, Direction, InvalidComposition, InvalidMachine, Machine, MachineState,
    Situation, Stage, Validator,
};
use crate::pack::model::{Parameters, SkillSource};
use crate::pack::{self, CompiledPack, CompiledPrompt, Judgement, Moment};
use crate::workflow::{Compiled, Known, Spec};

/// How the states of a pack speak, with the tools and the model that there are.
///
/// Tools that a pack describes and nobody here has are the client's: a call of one waits for its result.
#[derive(Clone)]
pub struct PackStage {
    pack: Arc<CompiledPack>,
    tools: Toolset,
    model: Option<Arc<dyn Model>>,
    compositions: Arc<BTreeMap<String, Result<ComposedWork, InvalidComposition>>>,
    /// How many agents have delegated to each other to come here.
    depth: u32,
}

/// How deep agents of a pack may delegate: those further in have no others to turn to, so that no circle goes on for ever.
const MAX_DEPTH: u32 = 4;

/// What the names of tools begin with that are agents of the pack.
const AGENT: &str = "a2a__";

/// What an agent is asked.
#[derive(Deserialize, JsonSchema)]
struct Query {
    /// What it should do or find out.
    #[serde(rename = "query")]
    _query: String,
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
        let compose = |(name, composition): (&String, _)| {
            (name.clone(), ComposedWork::new(name, composition, &tools, pack.schemas()))
        };
        let compositions = Arc::new(pack.model().compositions.iter().map(compose).collect());
        Self { pack, tools, model, compositions, depth: 0 }
    }

    /// The conversation over the pack's workflow. A pack without one is talked to with the prompt it begins with, as long as the
    /// person likes; one that has nothing but a composition runs that.
    ///
    /// # Errors
    /// If the pack says nowhere what comes first, or a state runs a composition that cannot be run here.
    pub fn machine(self) -> Result<Machine, PackMachineError> {
        let pack = Arc::clone(&self.pack);
        let builder = match pack.workflow() {
            Some(compiled) => {
                for name in compiled.states().filter_map(|state| state.composition.as_deref()) {
                    self.check_function(name)?;
                }
                Machine::on(Arc::new(compiled.clone()), Arc::new(self))
            }
            None => match (pack.entry(), pack.only_composition()) {
                (Some(task), _) => {
                    Machine::on(alone(&json!({"prompt_task": task}))?, Arc::new(self)).open_ended()
                }
                (None, Some(name)) => {
                    self.check_function(name)?;
                    let state =
                        json!({"orchestration": "composition", "composition": name, "terminal": true});
                    Machine::on(alone(&state)?, Arc::new(self))
                }
                (None, None) => return Err(PackMachineError::NoEntry),
            },
        };
        Ok(builder.named(pack.model().id.as_str()).build()?)
    }

    /// Whether a composition can be run here, as a function too.
    ///
    /// # Errors
    /// If there is none of this name, or something that it needs is missing.
    pub fn check_function(&self, name: &str) -> Result<(), PackMachineError> {
        match self.compositions.get(name) {
            Some(Ok(_)) => Ok(()),
            Some(Err(invalid)) => Err(invalid.clone().into()),
            None => {
                let known = self.compositions.keys().cloned().collect::<Vec<_>>().join(", ");
                Err(PackMachineError::UnknownComposition { name: name.to_owned(), known })
            }
        }
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
        activation.tools = self.tools_of(situation)?;
        activation.params = params(prompt.parameters(model));
        activation.model = self.model.clone();
        let policy = prompt.declared().tool_policy.as_ref();
        activation.max_rounds = policy.map(|policy| policy.max_rounds);
        activation.max_calls_per_reply = policy.map(|policy| policy.max_tool_calls_per_turn);
        activation.validators = prompt.validators().iter().map(validator).collect();
        Ok(activation)
    }

    fn tools_of(&self, situation: &Situation<'_>) -> Result<Toolset, String> {
        let mut tools = Toolset::new();
        for name in self.pack.allowed_tools(situation.task, self.tools.names()) {
            if let Some(tool) = self.tools.get(name) {
                tools.add(Arc::clone(tool)).map_err(|error| error.to_string())?;
            }
        }
        for member in self.pack.delegates_of(situation.task).into_iter().filter(|_| self.depth < MAX_DEPTH) {
            let tool = self.delegate(member, situation.variables).map_err(|error| error.to_string())?;
            tools.add(Arc::new(tool)).map_err(|error| error.to_string())?;
        }
        Ok(tools)
    }

    /// An agent of the pack as a tool of another one. It begins anew with each call.
    fn delegate(
        &self,
        member: &str,
        variables: &Map<String, Value>,
    ) -> Result<WorkflowTool, PackMachineError> {
        let agents = self.pack.model().agents.iter();
        let state =
            agents.flat_map(|agents| agents.members.get(member)).find_map(|agent| agent.state.clone());
        let stage: Arc<dyn Stage> = Arc::new(Self { depth: self.depth + 1, ..self.clone() });
        let builder = match (state, self.pack.workflow()) {
            (Some(state), Some(compiled)) => Machine::on(Arc::new(compiled.clone()), stage).entering(state),
            _ => Machine::on(alone(&json!({"prompt_task": member}))?, stage),
        };
        let machine = builder.named(format!("{AGENT}{member}")).build()?;
        let variables = variables.clone();
        let runner = Runner::with_factory(&machine.once(), move |given| {
            let query = given.as_ref().and_then(|given| given["query"].as_str()).unwrap_or_default();
            let mut state = MachineState::saying(query);
            state.variables = variables.clone();
            Ok(state)
        });
        let description = self.pack.agent_cards().swap_remove(member).map(|card| card.description);
        Ok(WorkflowTool::new(runner)
            .description(description.unwrap_or_default())
            .parameters_of::<Query>()
            .result(|_, state| match state["last"].as_str() {
                Some(text) => Ok(json!({"response": text}).to_string()),
                None => Err(Error::failed("the agent answered nothing")),
            }))
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
        let task = situation.task;
        let prompt = self.pack.prompt(task).ok_or_else(|| format!("there is no prompt `{task}`"))?;
        self.activation(prompt, situation)
    }

    fn composition(&self, name: &str) -> Option<ComposedWork> {
        self.compositions.get(name)?.as_ref().ok().cloned()
    }
}

/// Why a pack cannot be talked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackMachineError {
    /// Nobody knows which prompt comes first.
    #[error(
        "the pack has several prompts, and neither a workflow nor agents say which comes first; to run a composition, name it"
    )]
    NoEntry,
    /// There is no such composition.
    #[error("there is no composition `{name}`; there are {known}")]
    UnknownComposition {
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A composition cannot be run here.
    #[error(transparent)]
    Composition(#[from] InvalidComposition),
    /// A state cannot be run.
    #[error(transparent)]
    Machine(#[from] InvalidMachine),
    /// The workflow of a single prompt could not be made.
    #[error("{0}")]
    Workflow(String),
}

/// A workflow of a single state.
fn alone(state: &Value) -> Result<Arc<Compiled>, PackMachineError> {
    let name = state["prompt_task"].as_str().or(state["composition"].as_str()).unwrap_or_default();
    let spec = json!({"version": 1, "entry": name, "states": {name: state}});
    let compiled = serde_json::from_value::<Spec>(spec)
        .map_err(|error| error.to_string())
        .and_then(|spec| Compiled::new(&spec, &Known::anything()).map_err(|error| error.to_string()));
    compiled.map(Arc::new).map_err(PackMachineError::Workflow)
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
    let (rule, name) = (rule.clone(), rule.kind().to_owned());
    let check = move |text: &str| match rule.judge(text) {
        Judgement::Passed => None,
        Judgement::Replaced(instead) | Judgement::Failed(instead) => Some(instead),
    };
    Validator::new(direction, check).named(name)
}
