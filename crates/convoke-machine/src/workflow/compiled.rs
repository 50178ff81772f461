//! A workflow that nothing is wrong with: names are numbers, targets are resolved, limits are read.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::value::{self, BorrowedStrDeserializer};

use super::artifact::declared;
use super::{
    Budget, Context, DeclaredArtifact, Known, Options, RestoreError, Spec, StateSpec, Status, WorkflowError,
    validate,
};
use crate::finding::Finding;

/// Where a state is in the table of states.
pub(super) type StateId = usize;

/// A workflow that can be run.
#[derive(Debug, Clone)]
pub struct Compiled {
    states: IndexMap<Arc<str>, CompiledState>,
    entry: StateId,
    budget: Budget,
    artifacts: BTreeMap<Arc<str>, DeclaredArtifact>,
    options: Options,
    warnings: Vec<Finding>,
}

/// A state, with everything it names resolved.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompiledState {
    /// Its name.
    pub name: Arc<str>,
    /// The prompt that speaks in it; empty if a composition does.
    pub prompt_task: String,
    /// What it is for.
    pub description: String,
    /// Who moves on from it.
    pub orchestration: Orchestration,
    /// What becomes of the conversation when it is entered; nothing if the pack does not say.
    pub persistence: Option<Persistence>,
    /// Which skills are to be had in it.
    pub skills: String,
    /// The composition that is run in it.
    pub composition: Option<String>,
    /// How often it may be entered.
    pub max_visits: Option<u64>,
    pub(super) on_max_visits: Option<StateId>,
    events: BTreeMap<Arc<str>, StateId>,
    declared_terminal: bool,
}

/// The party that moves on from a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Orchestration {
    /// The model, by calling a tool.
    #[default]
    Internal,
    /// Whoever sends the run an event.
    External,
    /// Either of them.
    Hybrid,
    /// What a composition gives.
    Composition,
}

/// The fate of the conversation when a state is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Persistence {
    /// It begins anew.
    Transient,
    /// It goes on.
    Persistent,
}

/// The mistakes in a workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the workflow cannot be run: {}", errors(findings))]
pub struct InvalidWorkflow {
    /// Everything that was found, also what is only a warning.
    pub findings: Vec<Finding>,
}

fn errors(findings: &[Finding]) -> String {
    let errors = findings.iter().filter(|finding| finding.is_error());
    errors.map(|finding| format!("{} ({})", finding.message, finding.path)).collect::<Vec<_>>().join("; ")
}

impl Compiled {
    /// Checks and compiles a workflow.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn new(spec: &Spec, known: &Known) -> Result<Self, InvalidWorkflow> {
        Self::with_options(spec, known, Options::default())
    }

    /// Checks and compiles a workflow that is to behave in another way.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn with_options(spec: &Spec, known: &Known, options: Options) -> Result<Self, InvalidWorkflow> {
        let findings = validate(spec, known);
        if findings.iter().any(Finding::is_error) {
            return Err(InvalidWorkflow { findings });
        }
        // Validation has seen to it that every name is one of a state, so that no lookup here finds nothing.
        let entry = spec.states.get_index_of(&spec.entry).unwrap_or_default();
        let states = spec.states.iter().map(|(name, state)| CompiledState::new(name, state, spec));
        let states = states.map(|state| (Arc::clone(&state.name), state)).collect();
        let artifacts = declared(spec.states.values().flat_map(|state| &state.artifacts));
        let (budget, _) = Budget::of(spec);
        Ok(Self { states, entry, budget, artifacts, options, warnings: findings })
    }

    /// A workflow of one state that this prompt speaks in.
    pub(crate) fn speaking(task: &str) -> Result<Self, InvalidWorkflow> {
        Self::alone(task, StateSpec { prompt_task: task.to_owned(), ..StateSpec::default() })
    }

    /// A workflow of one state that runs this composition, and nothing else.
    pub(crate) fn composed(name: &str) -> Result<Self, InvalidWorkflow> {
        let (orchestration, composition) = ("composition".to_owned(), name.to_owned());
        Self::alone(name, StateSpec { orchestration, composition, terminal: true, ..StateSpec::default() })
    }

    fn alone(name: &str, state: StateSpec) -> Result<Self, InvalidWorkflow> {
        let states = [(name.to_owned(), state)].into();
        let spec = Spec { version: 1, entry: name.to_owned(), states, ..Spec::default() };
        Self::new(&spec, &Known::anything())
    }

    /// A context that enters the first state.
    #[must_use]
    pub fn start(&self, at: Timestamp) -> Context {
        Context::entering(&self.states[self.entry].name, at)
    }

    /// A context that enters a state of choice, for trying out one state.
    #[must_use]
    pub fn start_in(&self, state: &str, at: Timestamp) -> Option<Context> {
        self.named(state).map(|state| Context::entering(&state.name, at))
    }

    /// Goes on with a context that was stored, by us or by the Go program.
    ///
    /// # Errors
    /// If it cannot be read, or belongs to another workflow.
    pub fn restore(&self, stored: &str) -> Result<Context, RestoreError> {
        let context: Context =
            serde_json::from_str(stored).map_err(|error| RestoreError::Unreadable(error.to_string()))?;
        self.must_know(&context)?;
        Ok(context)
    }

    /// Refuses a context of another workflow.
    pub(crate) fn must_know(&self, context: &Context) -> Result<(), RestoreError> {
        if self.current(context).is_some() {
            return Ok(());
        }
        let mut known: Vec<_> = self.states.keys().cloned().collect();
        known.sort();
        Err(RestoreError::UnknownState { state: Arc::clone(&context.current_state), known })
    }

    /// The state a context is in; nothing if the workflow does not have it.
    #[must_use]
    pub fn current(&self, context: &Context) -> Option<&CompiledState> {
        self.named(context.current_state())
    }

    /// The state of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&CompiledState> {
        self.states.get(name)
    }

    /// The states, in declared order.
    pub fn states(&self) -> impl ExactSizeIterator<Item = &CompiledState> {
        self.states.values()
    }

    /// Returns where an event leads from a state, as the pack says it: how often that was entered is not looked at.
    #[must_use]
    pub fn target_of(&self, state: &CompiledState, event: &str) -> Option<&CompiledState> {
        state.target_of(event).map(|(_, id)| &self.states[id])
    }

    /// Returns where the state leads when it was entered often enough.
    #[must_use]
    pub fn fallback_of(&self, state: &CompiledState) -> Option<&CompiledState> {
        state.on_max_visits.map(|id| &self.states[id])
    }

    /// The state that an event is to lead out of.
    ///
    /// # Errors
    /// If there is no such state, or nothing leads out of it.
    pub(super) fn leaving(&self, context: &Context, event: &str) -> Result<&CompiledState, WorkflowError> {
        let Some(state) = self.current(context) else {
            let state = Arc::clone(&context.current_state);
            return Err(WorkflowError::UnknownState { state, event: event.to_owned() });
        };
        match state.is_terminal() {
            true => Err(WorkflowError::TerminalState { state: Arc::clone(&state.name) }),
            false => Ok(state),
        }
    }

    /// The prompt that speaks in the state a context is in.
    #[must_use]
    pub fn prompt_task(&self, context: &Context) -> &str {
        self.current(context).map_or("", |state| &state.prompt_task)
    }

    /// Returns whether the workflow has nowhere to go from where it is.
    #[must_use]
    pub fn is_terminal(&self, context: &Context) -> bool {
        self.current(context).is_none_or(CompiledState::is_terminal)
    }

    /// The events that lead out of where it is, sorted.
    pub fn available_events<'a>(&'a self, context: &Context) -> impl Iterator<Item = &'a str> + use<'a> {
        let state = self.current(context).filter(|state| !state.is_terminal());
        state.into_iter().flat_map(|state| state.events().map(|event| &**event))
    }

    /// The status of a workflow.
    #[must_use]
    pub fn status(&self, context: &Context) -> Status {
        match context.concluded() {
            Some(status) => status,
            None if self.is_terminal(context) => Status::Completed,
            None => Status::Running,
        }
    }

    /// Returns whether anything may still be used.
    ///
    /// # Errors
    /// [`WorkflowError::BudgetExhausted`], with what is used up.
    pub fn check_budget(&self, context: &Context, now: Timestamp) -> Result<(), WorkflowError> {
        self.budget.check(context, now)
    }

    /// Returns whether there is time left.
    ///
    /// # Errors
    /// [`WorkflowError::BudgetExhausted`], if there is none.
    pub fn check_time(&self, context: &Context, now: Timestamp) -> Result<(), WorkflowError> {
        let max_wall_time_sec = self.budget.max_wall_time_sec;
        Budget { max_wall_time_sec, ..Budget::default() }.check(context, now)
    }

    /// Returns what may be used.
    #[must_use]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The artifact of this name, whichever state declares it.
    #[must_use]
    pub fn artifact(&self, name: &str) -> Option<&DeclaredArtifact> {
        self.artifacts.get(name)
    }

    /// The artifacts that states declare, sorted by name.
    pub fn artifacts(&self) -> impl ExactSizeIterator<Item = &DeclaredArtifact> {
        self.artifacts.values()
    }

    /// Returns how it behaves.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns what looks wrong with it.
    #[must_use]
    pub fn warnings(&self) -> &[Finding] {
        &self.warnings
    }

    pub(super) fn state(&self, id: StateId) -> &CompiledState {
        &self.states[id]
    }
}

impl CompiledState {
    fn new(name: &str, spec: &StateSpec, workflow: &Spec) -> Self {
        let id_of = |name: &String| workflow.states.get_index_of(name);
        let events = spec.on_event.iter();
        let events = events.filter_map(|(event, target)| Some((event.as_str().into(), id_of(target)?)));
        Self {
            name: name.into(),
            prompt_task: spec.prompt_task.clone(),
            description: spec.description.clone(),
            orchestration: named_or_usual(&spec.orchestration).unwrap_or_default(),
            persistence: named(&spec.persistence),
            skills: spec.skills.clone(),
            composition: Some(spec.composition.clone()).filter(|name| !name.is_empty()),
            max_visits: u64::try_from(spec.max_visits).ok().filter(|max| *max > 0),
            on_max_visits: id_of(&spec.on_max_visits),
            events: events.collect(),
            declared_terminal: spec.terminal,
        }
    }

    /// Returns whether no event leads out of it.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.declared_terminal || self.events.is_empty()
    }

    /// The events that are declared, sorted.
    pub fn events(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.events.keys()
    }

    /// The events that others may send in it.
    pub fn awaited_events(&self) -> impl Iterator<Item = &Arc<str>> {
        self.heard_events(false)
    }

    /// The same, or every event that leads out of it.
    pub(crate) fn heard_events(&self, every: bool) -> impl Iterator<Item = &Arc<str>> {
        let is_heard = (every || self.orchestration != Orchestration::Internal) && !self.is_terminal();
        self.events().filter(move |_| is_heard)
    }

    /// What is wrong with an event that it does not know.
    pub(super) fn unknown_event(&self, event: &str) -> WorkflowError {
        let (state, available) = (Arc::clone(&self.name), self.events().cloned().collect());
        WorkflowError::InvalidEvent { state, event: event.to_owned(), available }
    }

    pub(super) fn target_of(&self, event: &str) -> Option<(&Arc<str>, StateId)> {
        self.events.get_key_value(event).map(|(event, target)| (event, *target))
    }
}

/// The variant that a word stands for.
pub(super) fn named<'a, T: Deserialize<'a>>(word: &'a str) -> Option<T> {
    T::deserialize(BorrowedStrDeserializer::<value::Error>::new(word)).ok()
}

/// The same where nothing written stands for the usual one.
pub(super) fn named_or_usual<'a, T: Deserialize<'a> + Default>(word: &'a str) -> Option<T> {
    if word.is_empty() { Some(T::default()) } else { named(word) }
}
