//! What the tests of execution share.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "every test file uses some of it")]

use std::sync::{Arc, Mutex};

use convoke_agent::FunctionTool;
use convoke_core::{Error, Event, EventKind, ModelRequest, Outcome, Role, Runtime, Toolset};
use convoke_goals::{Equipment, GoalState, Prepared, Spawning, Values, Workflow};
use convoke_models::{Reply, ScriptedModel};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a tree is run with in a test.
pub struct Rig {
    pub equipment: Equipment,
    pub runtime: Runtime,
}

/// What came of a run.
pub struct Ran {
    pub events: Vec<Event>,
    pub outcome: Outcome<GoalState>,
}

impl Rig {
    /// With this model, and without spawning.
    pub fn new(model: &ScriptedModel) -> Self {
        let mut equipment = Equipment::default();
        equipment.model = Some(Arc::new(model.clone()));
        equipment.spawning = Spawning::Never;
        Self { equipment, runtime: Runtime::new() }
    }

    pub fn with(mut self, change: impl FnOnce(&mut Equipment)) -> Self {
        change(&mut self.equipment);
        self
    }

    pub fn prepare(&self, tree: Workflow) -> Prepared {
        tree.prepare(&self.equipment).unwrap_or_else(|problems| panic!("{problems}"))
    }

    pub async fn run(&self, tree: Workflow) -> Ran {
        self.run_with(tree, []).await
    }

    pub async fn run_with<const N: usize>(&self, tree: Workflow, inputs: [(&str, &str); N]) -> Ran {
        let prepared = self.prepare(tree);
        let bound = prepared.bind(inputs.into_iter().collect::<Values>()).unwrap();
        let (events, outcome) =
            self.runtime.start(&prepared.workflow(), bound.state).stream().collect().await;
        Ran { events, outcome: outcome.unwrap() }
    }
}

impl Ran {
    /// The state of a run that succeeded.
    pub fn completed(&self) -> GoalState {
        if let Some(error) = &self.outcome.error {
            panic!("it failed: {error}");
        }
        self.outcome.state.clone()
    }

    /// Why it failed.
    pub fn failed(&self) -> &Error {
        self.outcome.error.as_ref().expect("it should have failed")
    }

    /// The values of custom events of a name.
    pub fn customs(&self, name: &str) -> Vec<Value> {
        let customs = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::Custom { name: own, value } if own == name => Some(value.clone()),
            _ => None,
        });
        customs.collect()
    }

    /// One member of those.
    pub fn custom(&self, name: &str, member: &str) -> Vec<String> {
        let text = |value: &Value| value[member].as_str().unwrap_or_default().to_owned();
        self.customs(name).iter().map(text).collect()
    }

    /// The names of custom events, in order.
    pub fn custom_names(&self) -> Vec<String> {
        let names = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::Custom { name, .. } => Some(name.clone()),
            _ => None,
        });
        names.filter(|name| name != "agent_ended").collect()
    }
}

/// The user's first message of all requests to a model, in order.
pub fn prompts(model: &ScriptedModel) -> Vec<String> {
    model.requests().iter().map(|request| said_by(request, Role::User)).collect()
}

/// The system's message of all requests to a model, in order.
pub fn systems(model: &ScriptedModel) -> Vec<String> {
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
pub fn text(state: &GoalState, name: &str) -> String {
    state.text(name).unwrap_or_else(|| panic!("there is no `{name}` in {state:?}"))
}

/// A tool that gives back its text in brackets, and remembers it.
#[derive(Clone, Default)]
pub struct Echo(Arc<Mutex<Vec<String>>>);

#[derive(Deserialize, JsonSchema)]
struct EchoText {
    text: String,
}

impl Echo {
    pub fn tool(&self) -> FunctionTool {
        let calls = Arc::clone(&self.0);
        FunctionTool::new("echo", "Echoes", move |args: EchoText| {
            calls.lock().unwrap().push(args.text.clone());
            async move { Ok::<_, Error>(format!("[{}]", args.text)) }
        })
    }

    pub fn tools(&self) -> Toolset {
        Toolset::new().with(self.tool()).unwrap()
    }

    /// A reply that calls it.
    pub fn call(&self, text: &str) -> Reply {
        Reply::tool("echo", json!({"text": text}))
    }

    /// Remembers something.
    pub fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    /// What it was called with.
    pub fn calls(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}
