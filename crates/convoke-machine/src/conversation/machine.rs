//! A conversation over a workflow, put together.

use std::fmt;
use std::sync::Arc;

use convoke_agent::WorkflowTool;
use convoke_agent::memory::Memories;
use convoke_core::{BoxFuture, Error, Nature, Outline, Runner, Scope, Step, Workflow};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::task::JoinSet;

use super::messages::MessagePolicy;
use super::state::{MachineState, Talk};
use super::talk::Session;
use super::{Situation, Stage};
use crate::workflow::{Compiled, Transitioned};

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
    /// The state it begins in, if that is not the workflow's first.
    pub(super) entry: Option<Arc<str>>,
    /// What conversations with a [`memory`](MachineState::memory) are remembered in.
    pub(super) memories: Option<Arc<dyn Memories>>,
}

/// A machine being put together. See [`Machine::builder`].
#[derive(Debug)]
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
    /// A state runs a composition that the stage does not have.
    #[error("state `{state}` runs composition `{composition}`, which nobody here can run")]
    UnknownComposition {
        /// The state.
        state: String,
        /// The composition.
        composition: String,
    },
    /// It begins in a state that there is none of.
    #[error("the workflow has no state `{state}` to begin in")]
    UnknownState {
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
            entry: None,
            memories: None,
        };
        MachineBuilder { machine }
    }

    /// The workflow that this conversation is. After some turns the run continues with what was said so far, so that going on with a
    /// long conversation costs no more than going on with a short one.
    #[must_use]
    pub fn workflow(self) -> Workflow<MachineState> {
        Workflow::new(Self { generations: Some(TURNS), ..self })
    }

    /// The workflow, as one generation however long it is: for those who look at all of it in the end.
    #[must_use]
    pub fn undivided(self) -> Workflow<MachineState> {
        let name = self.name.to_string();
        Workflow::new(self).named(name)
    }

    /// The workflow as a part of another one's run: it goes on until it is over, and for one turn where it never is.
    #[must_use]
    pub fn part(self) -> Workflow<MachineState> {
        if self.open_ended { self.once() } else { self.undivided() }
    }

    /// The conversation as a tool of an agent, which says something and is told what was answered. It has one turn; questions and
    /// events in it are waited for as everywhere in the run.
    pub fn tool(self, description: impl Into<String>) -> WorkflowTool {
        WorkflowTool::new(Runner::new(&self.once()))
            .description(description)
            .parameters_of::<Words>()
            .result(|_, state| Ok(state["last"].as_str().unwrap_or("nothing was answered").to_owned()))
    }

    /// The workflow of somebody talking to it once.
    pub(crate) fn once(self) -> Workflow<MachineState> {
        Workflow::new(OneTurn(self))
    }

    /// A machine that does nothing but run a composition.
    pub(super) fn function(&self, name: &str) -> Result<Self, Error> {
        let unknown = || Error::permanent(format!("there is no composition `{name}` to run"));
        self.stage.composition(name).ok_or_else(unknown)?;
        let compiled = Arc::new(Compiled::composed(name).map_err(Error::failed)?);
        Ok(Self { compiled, open_ended: false, entry: None, ..self.clone() })
    }

    /// A machine that talks with one prompt, as long as the person likes.
    pub(super) fn talking(&self, task: &str) -> Result<Self, Error> {
        let compiled = Arc::new(Compiled::speaking(task).map_err(Error::failed)?);
        Ok(Self { compiled, open_ended: true, entry: None, ..self.clone() })
    }

    /// Has conversations that name a [`memory`](MachineState::memory) remembered in these.
    #[must_use]
    pub fn remembering(mut self, memories: Arc<dyn Memories>) -> Self {
        self.memories = Some(memories);
        self
    }

    /// Returns what it moves in.
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

    /// Begins in this state instead of the workflow's first.
    pub fn entering(mut self, state: impl Into<Arc<str>>) -> Self {
        self.machine.entry = Some(state.into());
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
        let Self { machine } = &self;
        for state in machine.compiled.states() {
            let Some(composition) = &state.composition else { continue };
            if machine.stage.composition(composition).is_none() {
                let (state, composition) = (state.name.to_string(), composition.clone());
                return Err(InvalidMachine::UnknownComposition { state, composition });
            }
        }
        if let Some(state) = machine.entry.as_ref().filter(|entry| machine.compiled.named(entry).is_none()) {
            return Err(InvalidMachine::UnknownState { state: state.to_string() });
        }
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

/// A machine that somebody talks to once, on a task of its own: machines that turn to each other are not on one another's stack.
struct OneTurn(Machine);

impl Step<MachineState> for OneTurn {
    fn name(&self) -> &str {
        Step::name(&self.0)
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut MachineState) -> BoxFuture<'a, Result<(), Error>> {
        state.talk = Talk::Once;
        Box::pin(async move {
            let (machine, scope, mut own) = (self.0.clone(), scope.clone(), std::mem::take(state));
            let mut task = JoinSet::new();
            task.spawn(async move { (machine.run(&scope, &mut own).await, own) });
            let Some(joined) = task.join_next().await else { return Ok(()) };
            let (ended, own) = joined.map_err(Error::failed)?;
            *state = own;
            ended
        })
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
