//! Helpers shared by the tests of execution.
use std::sync::{Arc, Mutex};

use convoke_agent::FunctionTool;
use convoke_core::{Error, Event, EventKind, ModelRequest, Outcome, Role, Runtime, Toolset};
use convoke_goals::{Equipment, GoalState, PreparedWorkflow, Spawning, Values, Workflow};
use convoke_models::{Reply, ScriptedModel};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a tree is run with in a test.
pub(crate) struct Rig {
    pub(crate) equipment: Equipment,
    pub(crate) runtime: Runtime,
}

/// What came of a run.
pub(crate) struct Ran {
    pub(crate) events: Vec<Event>,
    pub(crate) outcome: Outcome<GoalState>,
}

impl Rig {
    /// With this model, and without spawning.
    pub(crate) fn new(model: &ScriptedModel) -> Self {
        let mut equipment = Equipment::default();
        equipment.model = Some(Arc::new(model.clone()));
        equipment.spawning = Spawning::Never;
        Self { equipment, runtime: Runtime::new() }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Equipment)) -> Self {
        change(&mut self.equipment);
        self
    }

    pub(crate) fn prepare(&self, tree: Workflow) -> PreparedWorkflow {
        tree.prepare(&self.equipment).unwrap_or_else(|problems| panic!("{problems}"))
    }

    pub(crate) async fn run(&self, tree: Workflow) -> Ran {
        self.run_with(tree, []).await
    }

    pub(crate) async fn run_with<const N: usize>(&self, tree: Workflow, inputs: [(&str, &str); N]) -> Ran {
        let prepared = self.prepare(tree);
        let bound = prepared.bind(inputs.into_iter().collect::<Values>()).unwrap();
        let (events, outcome) =
            self.runtime.start(&prepared.workflow(), bound.state).stream().collect().await;
        Ran { events, outcome: outcome.unwrap() }
    }
}

impl Ran {
    /// The state of a run that succeeded.
    pub(crate) fn completed(&self) -> GoalState {
        if let Some(error) = &self.outcome.error {
            panic!("it failed: {error}");
        }
        self.outcome.state.clone()
    }

    /// Why it failed.
    pub(crate) fn failed(&self) -> &Error {
        self.outcome.error.as_ref().expect("it should have failed")
    }

    /// The values of custom events of a name.
    pub(crate) fn customs(&self, name: &str) -> Vec<Value> {
        let customs = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::Custom { name: own, value } if own == name => Some(value.clone()),
            _ => None,
        });
        customs.collect()
    }

    /// One member of those.
    pub(crate) fn custom(&self, name: &str, member: &str) -> Vec<String> {
        let text = |value: &Value| value[member].as_str().unwrap_or_default().to_owned();
        self.customs(name).iter().map(text).collect()
    }

    /// The names of custom events, in order.
    pub(crate) fn custom_names(&self) -> Vec<String> {
        let names = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::Custom { name, .. } => Some(name.clone()),
            _ => None,
        });
        names.filter(|name| name != "agent_ended").collect()
    }
}

/// The user's first message of all requests to a model, in order.
pub(crate) fn prompts(model: &ScriptedModel) -> Vec<String> {
    model.requests().iter().map(|request| said_by(request, Role::User)).collect()
}

/// The system's message of all requests to a model, in order.
pub(crate) fn systems(model: &ScriptedModel) -> Vec<String> {
    model.requests().iter().map(|request| said_by(request, Role::System)).collect()
}

fn said_by(request: &ModelRequest, role: Role) -> String {
    request
        .messages
        .iter()
        .find(|message| message.role == role)
        .map(|message| message.text())
        .unwrap_or_default()
}

/// A value as text.
pub(crate) fn text(state: &GoalState, name: &str) -> String {
    state.text(name).unwrap_or_else(|| panic!("there is no `{name}` in {state:?}"))
}

/// A tool that gives back its text in brackets, and remembers it.
#[derive(Clone, Default)]
pub(crate) struct Echo(Arc<Mutex<Vec<String>>>);

#[derive(Deserialize, JsonSchema)]
struct EchoText {
    text: String,
}

impl Echo {
    pub(crate) fn tool(&self) -> FunctionTool {
        let calls = Arc::clone(&self.0);
        FunctionTool::new("echo", "Echoes", move |args: EchoText| {
            calls.lock().unwrap().push(args.text.clone());
            async move { Ok::<_, Error>(format!("[{}]", args.text)) }
        })
    }

    pub(crate) fn tools(&self) -> Toolset {
        Toolset::new().with(self.tool()).unwrap()
    }

    /// A reply that calls it.
    pub(crate) fn call(&self, text: &str) -> Reply {
        Reply::tool("echo", json!({"text": text}))
    }

    /// Remembers something.
    pub(crate) fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    /// What it was called with.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}
