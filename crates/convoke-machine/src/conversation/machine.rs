//! A conversation over a workflow, put together.

use std::fmt;
use std::sync::Arc;

use convoke_agent::WorkflowTool;
use convoke_core::{BoxFuture, Error, Nature, Outline, Runner, Scope, Step, Workflow};
use schemars::JsonSchema;
use serde::Deserialize;

use super::messages::MessagePolicy;
use super::state::{MachineState, Talk};
use super::talk::Session;
use super::{Situation, Stage};
use crate::workflow::{Compiled, Orchestration, Transitioned};

/// The channel on which results of tools that clients execute are sent.
pub const TOOL_RESULTS: &str = "tool_results";

/// After how many turns a run continues with another generation.
const TURNS: usize = 50;

/// Says what becomes of messages in a transition; nothing leaves it to the state that is entered.
type Policy = Arc<dyn Fn(&Transitioned) -> Option<MessagePolicy> + Send + Sync>;

/// A conversation over a workflow: a step that works on a [`MachineState`]. Cheap to clone.
///
/// ```
/// use convoke_core::{Runtime, Settings};
/// use convoke_machine::conversation::{Activation, Machine, MachineState, Situation, Talk};
/// use convoke_machine::workflow::{Compiled, Known, Spec};
/// use convoke_models::{Match, Reply, ScriptedModel};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let spec: Spec = serde_json::from_value(json!({
///     "version": 2, "entry": "intake",
///     "states": {
///         "intake": {"prompt_task": "intake", "on_event": {"Escalate": "specialist"}},
///         "specialist": {"prompt_task": "specialist", "terminal": true},
///     },
/// }))?;
/// let model = ScriptedModel::builder()
///     .when(Match::has_tool_result(), "I am the specialist.")
///     .otherwise(Reply::tool("workflow__transition", json!({"event": "Escalate", "context": "a refund"})))
///     .build();
/// let stage = move |situation: &Situation<'_>| {
///     let mut activation = Activation::new(format!("You are the {}.", situation.state.name));
///     activation.model = Some(std::sync::Arc::new(model.clone()));
///     Ok(activation)
/// };
/// let machine = Machine::builder(Compiled::new(&spec, &Known::anything())?, stage).build()?;
/// let talk = MachineState::saying("I want my money back.").talk(Talk::Once);
/// let talk = Runtime::new().start(&machine.workflow(), talk).await?.completed()?;
/// assert_eq!(talk.last.as_deref(), Some("I am the specialist."));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Machine {
    name: Arc<str>,
    pub(super) compiled: Arc<Compiled>,
    pub(super) stage: Arc<dyn Stage>,
    policy: Option<Policy>,
    /// After how many turns the run continues; nothing if the run is not this machine's alone.
    pub(super) generations: Option<usize>,
    /// Whether there is talk in states that nothing leads out of.
    pub(super) open_ended: bool,
}

/// A machine being put together. See [`Machine::builder`].
#[must_use = "a machine is not made until `build` is called"]
pub struct MachineBuilder {
    machine: Machine,
}

/// A machine that cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidMachine {
    /// It has no name.
    #[error("a machine needs a name: it is part of every path and picture")]
    NoName,
    /// A state runs a composition.
    #[error("state `{state}` runs a composition, which a conversation cannot yet: let a prompt speak in it")]
    Composition {
        /// The state.
        state: String,
    },
}

impl Machine {
    /// A conversation over this workflow, whose states speak as the stage says.
    pub fn builder(
        compiled: Compiled,
        stage: impl Fn(&Situation<'_>) -> Result<super::Activation, String> + Send + Sync + 'static,
    ) -> MachineBuilder {
        Self::on(Arc::new(compiled), Arc::new(stage))
    }

    /// A conversation over a workflow and with a stage that others use too.
    pub fn on(compiled: Arc<Compiled>, stage: Arc<dyn Stage>) -> MachineBuilder {
        let machine = Self {
            name: "machine".into(),
            compiled,
            stage,
            policy: None,
            generations: None,
            open_ended: false,
        };
        MachineBuilder { machine }
    }

    /// The workflow that this conversation is. After some turns the run continues with what was said so far, so that going on with a
    /// long conversation costs no more than going on with a short one.
    #[must_use]
    pub fn workflow(self) -> Workflow<MachineState> {
        let name = self.name.to_string();
        Workflow::new(Self { generations: Some(TURNS), ..self }).named(name)
    }

    /// The conversation as a tool of an agent, which says something and is told what was answered. It has one turn; questions and
    /// events in it are waited for as everywhere in the run.
    pub fn tool(self, description: impl Into<String>) -> WorkflowTool {
        let workflow = Workflow::new(OneTurn(self));
        WorkflowTool::new(Runner::new(&workflow))
            .description(description)
            .parameters_of::<Words>()
            .result(|_, state| Ok(state["last"].as_str().unwrap_or("nothing was answered").to_owned()))
    }

    /// What it moves in.
    #[must_use]
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    pub(super) fn policy_of(&self, moved: &Transitioned) -> MessagePolicy {
        let said = self.policy.as_ref().and_then(|policy| policy(moved));
        let of_state = || self.compiled.named(&moved.to).map_or(MessagePolicy::Keep, MessagePolicy::of);
        said.unwrap_or_else(of_state)
    }
}

impl MachineBuilder {
    /// Sets its name.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.machine.name = name.into();
        self
    }

    /// Says what becomes of messages in a transition; nothing leaves it to the state that is entered. It must depend on nothing but what
    /// it is given: a resumed run asks it again.
    pub fn messages(
        mut self,
        policy: impl Fn(&Transitioned) -> Option<MessagePolicy> + Send + Sync + 'static,
    ) -> Self {
        self.machine.policy = Some(Arc::new(policy));
        self
    }

    /// Lets the person go on talking in a state that nothing leads out of, where otherwise the conversation is over.
    pub fn open_ended(mut self) -> Self {
        self.machine.open_ended = true;
        self
    }

    /// The machine.
    ///
    /// # Errors
    /// [`InvalidMachine`] says what it cannot do.
    pub fn build(self) -> Result<Machine, InvalidMachine> {
        if self.machine.name.is_empty() {
            return Err(InvalidMachine::NoName);
        }
        let mut states = self.machine.compiled.states();
        if let Some(state) = states.find(|state| state.orchestration == Orchestration::Composition) {
            return Err(InvalidMachine::Composition { state: state.name.to_string() });
        }
        drop(states);
        Ok(self.machine)
    }
}

impl Step<MachineState> for Machine {
    fn name(&self) -> &str {
        &self.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut MachineState) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(Session::run(self, scope, state))
    }

    fn kind(&self) -> &'static str {
        "machine"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn outline(&self) -> Outline {
        let states = self.compiled.states().map(|state| Outline::leaf(&*state.name, "state"));
        Outline::composite(&*self.name, self.kind(), states)
    }
}

/// What an agent says to a machine.
#[derive(Deserialize, JsonSchema)]
struct Words {
    /// What to say.
    #[serde(rename = "opening")]
    _opening: String,
}

/// A machine that somebody talks to once.
struct OneTurn(Machine);

impl Step<MachineState> for OneTurn {
    fn name(&self) -> &str {
        Step::name(&self.0)
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut MachineState) -> BoxFuture<'a, Result<(), Error>> {
        state.talk = Talk::Once;
        self.0.run(scope, state)
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Machine").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for MachineBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MachineBuilder").field("machine", &self.machine).finish()
    }
}

impl From<InvalidMachine> for Error {
    fn from(error: InvalidMachine) -> Self {
        Self::failed(error)
    }
}
