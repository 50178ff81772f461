//! The stage of a pack: its prompts, tools, parameters and validators, put together for conversations.

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_agent::{ClientTool, WorkflowTool};
use convoke_core::{Error, Message, Model, ModelParams, Runner, Tool, Toolset, Transcript};
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::conversation::{
    Activation, ComposedWork, InvalidComposition, InvalidMachine, Machine, MachineState, Refusal, Situation,
    Stage, Validator, clients_of,
};
use crate::pack::model::{Parameters, Prompt, SkillSource};
use crate::pack::{AGENT, CompiledPack, CompiledPrompt, Moment};
use crate::workflow::{Compiled, InvalidWorkflow};

/// The stage on which the states of a pack speak, with the tools and the model that there are.
///
/// Tools that a pack describes and nobody here has are the client's: a call of one waits for its result.
#[derive(Clone)]
pub struct PackStage {
    pack: Arc<CompiledPack>,
    tools: Toolset,
    model: Option<Arc<dyn Model>>,
    compositions: Arc<BTreeMap<String, Result<ComposedWork, InvalidComposition>>>,
    skills: Option<Arc<dyn Skills>>,
    /// How many agents have delegated to each other to come here.
    depth: u32,
}

/// How deep agents of a pack may delegate: those further in have no others to turn to, so that no circle goes on for ever.
const MAX_DEPTH: u32 = 4;

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
        Self { pack, tools, model, compositions, skills: None, depth: 0 }
    }

    /// The same, with skills that states take up while they speak.
    #[must_use]
    pub fn with_skills(self, skills: Arc<dyn Skills>) -> Self {
        Self { skills: Some(skills), ..self }
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
                (Some(task), _) => return self.talking(task),
                (None, Some(name)) => {
                    self.check_function(name)?;
                    Machine::on(Arc::new(Compiled::composed(name)?), Arc::new(self))
                }
                (None, None) => return Err(PackMachineError::NoEntry),
            },
        };
        Ok(builder.named(pack.model().id.as_str()).build()?)
    }

    /// The conversation with one of the pack's prompts, as long as the person likes.
    ///
    /// # Errors
    /// If there is no such prompt.
    pub fn talking(self, task: &str) -> Result<Machine, PackMachineError> {
        if self.pack.prompt(task).is_none() {
            return Err(unknown("prompt", task, self.pack.model().prompts.keys()));
        }
        let name = self.pack.model().id.clone();
        let machine = Machine::on(Arc::new(Compiled::speaking(task)?), Arc::new(self)).open_ended();
        Ok(machine.named(name).build()?)
    }

    /// Returns whether a composition can be run here, as a function too.
    ///
    /// # Errors
    /// If there is none of this name, or something that it needs is missing.
    pub fn check_function(&self, name: &str) -> Result<(), PackMachineError> {
        match self.compositions.get(name) {
            Some(Ok(_)) => Ok(()),
            Some(Err(invalid)) => Err(invalid.clone().into()),
            None => Err(unknown("composition", name, self.compositions.keys())),
        }
    }

    /// The name of its model; empty if it is the run's.
    #[must_use]
    pub fn model_name(&self) -> &str {
        self.model.as_ref().map_or("", |model| model.name())
    }

    fn activation(&self, prompt: &CompiledPrompt, situation: &Situation<'_>) -> Result<Activation, String> {
        let model = self.model_name();
        let bound = prompt.bind(situation.variables).map_err(|violations| {
            violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        })?;
        let artifacts =
            situation.artifacts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let moment = Moment { artifacts: artifacts.collect(), workflow_context: situation.brief.to_owned() };
        let system = prompt.system(model, &bound, &moment).map_err(|error| error.to_string())?;
        let filter = &situation.state.skills;
        let mut activation = Activation::new(self.preloaded(system, filter));
        activation.tools = self.tools_of(situation)?;
        // A step of a composition has the tools that it names.
        if let Some(skills) = self.skills.as_ref().filter(|_| situation.state.composition.is_none()) {
            let skills = skills.of_state(&|name, path| self.has_skill(situation, name, path));
            activation.prompt.push_str(&skills.text);
            activation.refusal = skills.refusal;
            for tool in skills.tools {
                activation.tools.add(tool).map_err(|error| error.to_string())?;
            }
        }
        activation.params = params(prompt.parameters(model));
        activation.model = self.model.clone();
        let policy = prompt.declared.tool_policy.as_ref();
        activation.max_rounds = policy.map(|policy| policy.max_rounds);
        activation.max_calls_per_turn = policy.map(|policy| policy.max_tool_calls_per_turn);
        let holds = |rule: &&Validator| situation.is_of_earlier_build || rule.makes_sense();
        activation.validators = prompt.validators.iter().filter(holds).cloned().collect();
        Ok(activation)
    }

    /// Whether a state has a skill: if so, with how much of what was said was known when it was put away last.
    fn has_skill(&self, situation: &Situation<'_>, name: &str, path: &str) -> Option<usize> {
        let lacks = |state: &str| {
            let workflow = self.pack.model().workflow.as_ref();
            let state = workflow.and_then(|workflow| workflow.states.get(state));
            state.is_some_and(|state| !allows(&state.skills, name, path))
        };
        let away = situation.entered.iter().filter(|(state, _)| lacks(state));
        let since = away.map(|(_, known)| *known).max().unwrap_or_default();
        allows(&situation.state.skills, name, path).then_some(since)
    }

    fn tools_of(&self, situation: &Situation<'_>) -> Result<Toolset, String> {
        let mut tools = Toolset::new();
        let members = self.pack.model().agents.as_ref().map(|agents| &agents.members);
        let is_member = |name: &str| members.is_some_and(|members| members.contains_key(name));
        for name in self.pack.allowed_tools(situation.task, self.tools.names()) {
            if let Some(tool) =
                self.tools.get(name).filter(|_| situation.is_of_earlier_build || !is_member(name))
            {
                tools.add(Arc::clone(tool)).map_err(|error| error.to_string())?;
            }
        }
        for member in self.pack.delegates_of(situation.task).into_iter().filter(|_| self.depth < MAX_DEPTH) {
            let tool = self.delegate(member, situation).map_err(|error| error.to_string())?;
            tools.add(Arc::new(tool)).map_err(|error| error.to_string())?;
        }
        Ok(tools)
    }

    /// An agent of the pack as a tool of another one. It knows what it was asked in this conversation before, and what it answered.
    fn delegate(&self, member: &str, situation: &Situation<'_>) -> Result<WorkflowTool, PackMachineError> {
        let agents = self.pack.model().agents.iter();
        let state =
            agents.flat_map(|agents| agents.members.get(member)).find_map(|agent| agent.state.clone());
        let stage: Arc<dyn Stage> = Arc::new(Self { depth: self.depth + 1, ..self.clone() });
        let builder = match (state, self.pack.workflow()) {
            (Some(state), Some(compiled)) => Machine::on(Arc::new(compiled.clone()), stage).entering(state),
            _ => Machine::on(Arc::new(Compiled::speaking(member)?), stage),
        };
        let name = format!("{AGENT}{member}");
        let machine = builder.named(name.as_str()).build()?;
        let said = situation.said.clone();
        let variables = situation.variables.clone();
        let runner = Runner::with_factory(&machine.once(), move |given| {
            let query = given.as_ref().and_then(|given| given["query"].as_str()).unwrap_or_default();
            let mut state = MachineState::saying(query);
            (state.variables, state.said) = (variables.clone(), remembered(&said, &name));
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
    fn preloaded(&self, mut system: String, filter: &str) -> String {
        for skill in &self.pack.model().skills {
            if let SkillSource::Inline { name, instructions, preload: true, .. } = skill
                && allows(filter, name, name)
            {
                system.push_str(&format!("\n\n## {name}\n\n{instructions}"));
            }
        }
        system
    }
}

/// What an agent was asked in a conversation, and answered. It follows from what the other one knows, so that a resumed run comes to the
/// same.
fn remembered(said: &Transcript, tool: &str) -> Transcript {
    let mut remembered = Transcript::default();
    let mut messages = said.iter().peekable();
    while let Some(message) = messages.next() {
        // Results follow their calls; ids may come again in later replies.
        let results = messages.peek();
        for call in message.tool_calls().filter(|call| call.name == tool) {
            let mut results = results.iter().flat_map(|message| message.results());
            let result = results.find(|result| result.call_id == call.id && !result.is_error);
            let response = result.and_then(|result| serde_json::from_str::<Value>(&result.content).ok());
            let asked = call.arguments["query"].as_str();
            if let Some((asked, response)) =
                asked.zip(response.as_ref().and_then(|said| said["response"].as_str()))
            {
                remembered.push(Message::user(asked));
                remembered.push(Message::assistant(response));
            }
        }
    }
    remembered
}

/// Whether a state has a skill: all of them without a word, none if it says `none`, otherwise those whose path is like the pattern, in
/// which `*` stands for anything within one folder, or in the folder that is named.
#[must_use]
pub fn allows(filter: &str, name: &str, path: &str) -> bool {
    let plain = |path: &str| path.trim_start_matches("./").trim_end_matches('/').to_owned();
    let (wanted, path) = (plain(filter), plain(path));
    match filter {
        "" => true,
        none if none.eq_ignore_ascii_case("none") => false,
        filter if filter.contains('*') => is_like(&wanted, name) || is_like(&wanted, &path),
        _ => wanted == name || path == wanted || path.starts_with(&format!("{wanted}/")),
    }
}

/// Whether a path is like a pattern, part by part.
fn is_like(pattern: &str, path: &str) -> bool {
    let pattern = regex::escape(pattern).replace(r"\*", "[^/]*");
    Regex::new(&format!("^{pattern}$")).is_ok_and(|pattern| pattern.is_match(path))
}

/// Skills that states of a pack take up while they speak, as whoever runs the pack has them.
pub trait Skills: Send + Sync {
    /// What a state is given; `has` says by name and path which skills it has, and after how many messages of what was said one that
    /// was taken up is not put away since.
    fn of_state(&self, has: &dyn Fn(&str, &str) -> Option<usize>) -> StateSkills;
}

/// The skills that a state is given.
#[derive(Default)]
pub struct StateSkills {
    /// What its prompt says about them.
    pub text: String,
    /// The tools that they are taken up with.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The calls that those in use do not allow.
    pub refusal: Option<Refusal>,
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

    fn model(&self) -> Option<Arc<dyn Model>> {
        self.model.clone()
    }

    fn has_rules(&self) -> bool {
        let pack = self.pack.model();
        let has_rules = |prompt: &Prompt| prompt.tool_policy.is_some() || !prompt.validators.is_empty();
        clients_of(&self.tools).next().is_some()
            || pack.agents.is_some()
            || !pack.skills.is_empty()
            || pack.prompts.values().any(has_rules)
    }
}

/// The reasons why a pack cannot be talked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackMachineError {
    /// Nobody knows which prompt comes first.
    #[error(
        "the pack has several prompts, and neither a workflow nor agents say which comes first: name a prompt, or a composition to run"
    )]
    NoEntry,
    /// There is no prompt or no composition of this name.
    #[error("there is no {what} `{name}`; there are {known}")]
    Unknown {
        /// What there is none of: `prompt`, `composition`.
        what: &'static str,
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
    #[error(transparent)]
    Workflow(#[from] InvalidWorkflow),
}

fn unknown<'a>(what: &'static str, name: &str, known: impl Iterator<Item = &'a String>) -> PackMachineError {
    let known = known.cloned().collect::<Vec<_>>().join(", ");
    PackMachineError::Unknown { what, name: name.to_owned(), known }
}

/// What a provider is told; what only some understand is passed on as it is.
fn params(parameters: Parameters) -> ModelParams {
    let mut params = ModelParams::default();
    params.temperature = parameters.temperature;
    params.max_tokens = parameters.max_tokens;
    params.top_p = parameters.top_p;
    let extra = [
        ("top_k", json!(parameters.top_k)),
        ("frequency_penalty", json!(parameters.frequency_penalty)),
        ("presence_penalty", json!(parameters.presence_penalty)),
    ];
    let extra = extra.into_iter().filter(|(_, value)| !value.is_null());
    let extra: Map<_, _> = extra.map(|(name, value)| (name.to_owned(), value)).collect();
    params.extra = (!extra.is_empty()).then_some(Value::Object(extra));
    params
}
