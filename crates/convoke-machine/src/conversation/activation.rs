//! The activation of a state: everything that changes when another state is entered, in one piece.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use convoke_agent::{
    Agent, AgentBuilder, AgentResult, AgentStop, AnsweredCall, Approval, OnRejection, answered_calls,
};
use convoke_core::{Error, Execution, Model, ModelParams, Scope, ToolCall, Toolset, Transcript};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ComposedWork;
use super::client::TURN_RULES;
use super::tools::is_machine_tool;
pub use crate::pack::{Direction, Validator};
use crate::workflow::CompiledState;

/// The facts that are known when a state is to speak.
#[derive(Debug)]
#[non_exhaustive]
pub struct Situation<'a> {
    /// The state.
    pub state: &'a CompiledState,
    /// The prompt: the state's, or that of a step of its composition.
    pub task: &'a str,
    /// What the state before it, or whoever sent the event, says it should know: `workflow_context`.
    pub brief: &'a str,
    /// Every artifact that is declared; empty if it has no value yet.
    pub artifacts: BTreeMap<&'a str, &'a str>,
    /// What the caller set.
    pub variables: &'a Map<String, Value>,
    /// What the state knows of what was said.
    pub said: &'a Transcript,
    /// How much of that was known when a state was entered last.
    pub(crate) entered: &'a BTreeMap<String, usize>,
    /// Whether an earlier build began the run, so that it goes on under the rules of that.
    pub(crate) is_of_earlier_build: bool,
}

/// The way in which a state speaks.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Activation {
    /// Its instructions.
    pub prompt: String,
    /// Its tools, those of the workflow not included.
    pub tools: Toolset,
    /// How its model is to answer.
    pub params: ModelParams,
    /// Its model; without one the run's is asked.
    pub model: Option<Arc<dyn Model>>,
    /// How often its model is asked in a turn.
    pub max_rounds: Option<u32>,
    /// How many calls are made in a turn, those of the workflow's own tools not counted.
    pub max_calls_per_turn: Option<u32>,
    /// Which calls a person must approve.
    pub approval: Approval,
    /// What must not be said.
    pub validators: Vec<Validator>,
    /// Why a call of a tool must not be made, if it must not; nothing holds for the workflow's own tools.
    pub refusal: Option<Refusal>,
}

/// Says of a conversation and a call why the call must not be made, if it must not. It must depend on nothing else.
pub type Refusal = Arc<dyn Fn(&Transcript, &ToolCall) -> Option<String> + Send + Sync>;

impl Activation {
    /// A state that speaks with this prompt.
    #[must_use]
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), ..Self::default() }
    }

    /// An agent that works as the state does, with these tools, and stops at what must not be said.
    pub(super) fn agent(&self, name: &str, tools: Toolset, turns: u32, rules: u32) -> AgentBuilder {
        let mut agent = Agent::builder(name)
            .params(self.params.clone())
            .tools(tools)
            .approval(self.approval.clone())
            .when_rejected(OnRejection::TellModel)
            .max_turns(turns.max(1));
        if let Some(model) = &self.model {
            agent = agent.shared_model(Arc::clone(model));
        }
        if let Some(calls) = self.max_calls_per_turn {
            agent = agent.max_calls_per_reply((rules < TURN_RULES).then_some(calls));
        }
        let validators = self.validators.clone();
        agent.stop_when(move |_, reply| objection(&validators, Direction::Output, &reply.text()).is_some())
    }

    /// Says why a call is one too many: in its turn, which began after so many messages; or in its reply, where clients execute some of
    /// its calls and no turn is limited. Who makes a call does not matter.
    pub(super) fn one_too_many(
        &self,
        began: usize,
        rules: u32,
    ) -> impl Fn(&Transcript, &ToolCall) -> Option<String> + Send + Sync + 'static {
        let limit = self.max_calls_per_turn.unwrap_or(Agent::DEFAULT_MAX_CALLS_PER_REPLY);
        let is_for_turn = rules >= TURN_RULES && self.max_calls_per_turn.is_some();
        let clients: BTreeSet<String> = clients_of(&self.tools).map(str::to_owned).collect();
        move |transcript, call| {
            let counts = |call: &ToolCall| !is_for_turn || !is_machine_tool(&call.name);
            let reply = transcript.last()?;
            let mut calls = reply.tool_calls().filter(|call| counts(call));
            let mut number = calls.position(|known| known.id == call.id)?;
            if is_for_turn {
                let before = transcript.since(began).take(transcript.len().saturating_sub(began + 1));
                let before = answered_calls(before, Some(Agent::DEFAULT_REPEAT_LIMIT));
                let made =
                    |answered: &&AnsweredCall<'_>| !answered.is_refused_repeat && counts(answered.call);
                number += before.iter().filter(made).count();
            }
            let is_limited = is_for_turn || reply.tool_calls().any(|call| clients.contains(&call.name));
            (is_limited && number >= limit as usize).then(|| {
                let name = &call.name;
                let (part, instead) = match is_for_turn {
                    true => ("turn", "Go on with what you have"),
                    false => ("reply", "Ask for it again in your next reply if it is still needed"),
                };
                format!(
                    "`{name}` was not called: one {part} may ask for {limit} calls, and this is one too many. {instead}."
                )
            })
        }
    }

    /// Its model, or the run's.
    pub(super) fn model_for(&self, scope: &Scope) -> Result<Arc<dyn Model>, Error> {
        self.model.clone().map_or_else(|| scope.default_model(), Ok)
    }
}

/// The tools that there are in a round. In the last one nobody would read what a client gives.
pub(super) fn offered(tools: &Toolset, is_last: bool) -> Toolset {
    let mut left = tools.clone();
    for client in clients_of(tools).filter(|_| is_last) {
        left.remove(client);
    }
    left
}

/// Why a limit was the end of what an agent did in so many turns of those it had, if one was: without the tools of clients its last turn
/// was one, too.
pub(super) fn limited(result: &AgentResult, turns: u32, most: u32, tools: &Toolset) -> Option<String> {
    let lacked_clients = turns >= most && clients_of(tools).next().is_some();
    match (result.stop, result.limit) {
        // What must not be said may be in the last turn as well.
        (AgentStop::Custom, Some(limit)) => limit.limit(turns),
        (AgentStop::Complete | AgentStop::Custom, _) if lacked_clients => AgentStop::MaxTurns.limit(turns),
        (stop, _) => stop.limit(turns),
    }
}

/// The tools that clients execute.
pub(crate) fn clients_of(tools: &Toolset) -> impl Iterator<Item = &str> {
    let clients = tools.iter().filter(|tool| tool.spec().execution == Execution::Client);
    clients.map(|tool| tool.spec().name())
}

impl std::fmt::Debug for Activation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Activation")
            .field("prompt", &self.prompt)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// What is said instead of a text; nothing if it may be said.
pub(super) fn objection(validators: &[Validator], direction: Direction, text: &str) -> Option<String> {
    broken(validators, direction, text).pop().map(|(_, instead)| instead)
}

/// The rules that a text breaks, each with what is said instead after it.
pub(super) fn broken(validators: &[Validator], direction: Direction, text: &str) -> Vec<(String, String)> {
    let mut broken: Vec<(String, String)> = Vec::new();
    for validator in validators.iter().filter(|validator| validator.is_about(direction)) {
        let so_far = broken.last().map_or(text, |(_, instead)| instead);
        let instead = validator.instead_of(so_far);
        broken.extend(instead.map(|instead| (validator.kind().to_owned(), instead)));
    }
    broken
}

/// The reason why a state cannot speak.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("state `{state}` cannot speak with prompt `{prompt}`: {reason}")]
#[non_exhaustive]
pub struct ActivationError {
    /// The state.
    pub state: String,
    /// Its prompt.
    pub prompt: String,
    /// Why.
    pub reason: String,
}

/// Says how states speak. What it gives must follow from what it is given: it is asked again at every round of every turn, and
/// when a run is resumed.
pub trait Stage: Send + Sync {
    /// How a state speaks.
    ///
    /// # Errors
    /// Why it cannot, in words.
    fn activate(&self, situation: &Situation<'_>) -> Result<Activation, String>;

    /// The composition of a name, for states that run one.
    fn composition(&self, name: &str) -> Option<ComposedWork> {
        let _ = name;
        None
    }

    /// The model of what runs on it, if that is not the run's.
    fn model(&self) -> Option<Arc<dyn Model>> {
        None
    }

    /// Whether it may have anything whose rules have changed: tools that clients execute, limits of turns, validators, skills, agents.
    fn has_rules(&self) -> bool {
        true
    }
}

impl<F: Fn(&Situation<'_>) -> Result<Activation, String> + Send + Sync> Stage for F {
    fn activate(&self, situation: &Situation<'_>) -> Result<Activation, String> {
        self(situation)
    }
}
