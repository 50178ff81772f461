//! Conversations over workflows, with a scripted model: case by case, and killed everywhere.
#![allow(clippy::unwrap_used, reason = "a test")]

mod budget;
mod events;
mod handoff;
mod mail;
mod messages;
mod nesting;
mod resume;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use convoke_agent::FunctionTool;
use convoke_core::store::NewMail;
use convoke_core::{
    Answer, Event, EventKind, Message, ModelRequest, Observer, Outcome, Role, RunId, Runtime, Store, Toolset,
};
use convoke_machine::conversation::{Activation, Machine, MachineBuilder, MachineState, Situation, TURN};
use convoke_machine::workflow::{Compiled, Known, Spec};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::MemoryStore;
use serde_json::{Map, Value, json};

/// Collects the workflow's events.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<(String, Value)>>>);

impl Observer for Heard {
    fn observe(&self, event: &Event) {
        if let EventKind::Custom { name, value } = &event.kind
            && let Some(name) = name.strip_prefix("workflow.").or(name.starts_with("tool.").then_some(name))
        {
            self.0.lock().unwrap().push((name.to_owned(), value.clone()));
        }
    }
}

impl Heard {
    fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(name, _)| name.clone()).collect()
    }

    fn all(&self, wanted: &str) -> Vec<Value> {
        let heard = self.0.lock().unwrap();
        heard.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value.clone()).collect()
    }
}

/// A store, a model and a workflow; every call of a method is a process of its own.
struct Home {
    store: Arc<dyn Store>,
    model: ScriptedModel,
    machine: Machine,
    heard: Heard,
}

impl Home {
    fn new(workflow: Value, model: ScriptedModel) -> Self {
        Self::of(machine(workflow), model)
    }

    fn of(machine: MachineBuilder, model: ScriptedModel) -> Self {
        let machine = machine.build().unwrap();
        Self { store: Arc::new(MemoryStore::new()), model, machine, heard: Heard::default() }
    }

    fn runtime(&self) -> Runtime {
        Runtime::builder()
            .shared_store(Arc::clone(&self.store))
            .model(self.model.clone())
            .observer(self.heard.clone())
            .patience(std::time::Duration::ZERO)
            .build()
    }

    async fn start(&self, state: MachineState) -> Outcome<MachineState> {
        self.runtime().start(&self.machine.clone().workflow(), state).await.unwrap()
    }

    async fn resume(&self, run: &RunId) -> Outcome<MachineState> {
        self.runtime().resume(&self.machine.clone().workflow(), run.clone()).await.unwrap()
    }

    /// Answers the question that is open, and goes on.
    async fn say(&self, run: &RunId, words: &str) -> Outcome<MachineState> {
        self.answer(run, TURN, Answer::text(words)).await;
        self.resume(run).await
    }

    async fn answer(&self, run: &RunId, title: &str, answer: Answer) {
        let open = self.store.questions(Some(run)).await.unwrap();
        let pending = open.iter().rfind(|pending| pending.question.title.starts_with(title));
        let pending = pending.unwrap_or_else(|| panic!("nobody asks {title:?}; open are {open:?}"));
        self.store.answer(run, &pending.id, answer).await.unwrap();
    }

    async fn send(&self, run: &RunId, event: &str, payload: Value) -> Outcome<MachineState> {
        self.store.post(run, NewMail::json(event, &payload).unwrap()).await.unwrap();
        self.resume(run).await
    }

    /// What the model was asked, as instructions and the names of tools.
    fn asked(&self) -> Vec<(String, Vec<String>)> {
        self.model.requests().iter().map(|request| (system(request), tools(request))).collect()
    }
}

fn system(request: &ModelRequest) -> String {
    let system = request.messages.iter().find(|message| message.role == Role::System);
    system.map(Message::text).unwrap_or_default()
}

fn tools(request: &ModelRequest) -> Vec<String> {
    request.tools.iter().map(|tool| tool.name.clone()).collect()
}

fn compiled(workflow: Value) -> Compiled {
    let spec: Spec = serde_json::from_value(workflow).unwrap();
    Compiled::new(&spec, &Known::anything()).unwrap()
}

/// How the tests' states speak: the prompt has everything that is known.
fn speaks(situation: &Situation<'_>) -> Result<Activation, String> {
    let artifacts: Vec<String> =
        situation.artifacts.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let variables: Vec<String> =
        situation.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(Activation::new(format!(
        "You are {}. Brief: <{}>. Artifacts: <{}>. Variables: <{}>.",
        situation.state.name,
        situation.brief,
        artifacts.join(" "),
        variables.join(" ")
    )))
}

fn machine(workflow: Value) -> MachineBuilder {
    Machine::builder(compiled(workflow), speaks)
}

/// intake -Escalate-> specialist -Resolve-> closed.
fn support() -> Value {
    json!({
        "version": 2, "entry": "intake",
        "states": {
            "intake": {"prompt_task": "intake", "on_event": {"Escalate": "specialist"}, "description": "asks"},
            "specialist": {"prompt_task": "specialist", "on_event": {"Resolve": "closed"}},
            "closed": {"prompt_task": "closed", "terminal": true},
        },
    })
}

fn transition(event: &str, context: &str) -> Reply {
    Reply::tool("workflow__transition", json!({"event": event, "context": context}))
}

/// A state that speaks.
fn in_state(state: &str) -> Match {
    Match::system_contains(format!("You are {state}."))
}

/// What a conversation was sent last: words of a person, not results.
fn just_said(words: &str) -> Match {
    Match::last_contains(words)
}

/// A tool that pays, and counts how often it did.
fn payment(counter: &Arc<AtomicU32>) -> Toolset {
    let counter = Arc::clone(counter);
    let pay = FunctionTool::new("pay", "Pays", move |_: Map<String, Value>| {
        let counter = Arc::clone(&counter);
        async move {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok::<_, convoke_core::Error>("paid".to_owned())
        }
    });
    let mut tools = Toolset::new();
    tools.add(Arc::new(pay)).unwrap();
    tools
}
