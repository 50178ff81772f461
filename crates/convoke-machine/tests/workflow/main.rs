//! The pure state machine, case by case.
#![allow(clippy::unwrap_used, reason = "a test")]

mod artifacts;
mod basics;
mod budget;
mod contexts;
mod golden;
mod properties;
mod tools;
mod validation;
mod visits;

use convoke_machine::finding::Finding;
use convoke_machine::pack::CompiledPack;
use convoke_machine::workflow::{
    Act, Command, Compiled, Context, Known, Options, RedirectStyle, Spec, Transitioned, WorkflowError,
    WorkflowEvent, advance,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

/// A moment this many milliseconds after the test began.
fn at(milliseconds: i64) -> Timestamp {
    "2026-11-18T09:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_millis(milliseconds)
}

/// A workflow of these states that begins in the first; states that say no prompt speak with one of their name.
fn spec_of(states: Value, entry: &str) -> Spec {
    serde_json::from_value(json!({"version": 2, "entry": entry, "states": with_prompts(states)})).unwrap()
}

fn with_prompts(mut states: Value) -> Value {
    for (name, state) in states.as_object_mut().unwrap() {
        let state = state.as_object_mut().unwrap();
        if state.get("orchestration") != Some(&json!("composition")) {
            state.entry("prompt_task").or_insert(json!(name));
        }
    }
    states
}

fn compiled(states: Value, entry: &str) -> Compiled {
    Compiled::new(&spec_of(states, entry), &Known::anything()).unwrap()
}

fn with_budget(states: Value, entry: &str, budget: Value) -> Compiled {
    let mut spec = spec_of(states, entry);
    spec.engine = Some(Map::from_iter([("budget".to_owned(), budget)]));
    Compiled::new(&spec, &Known::anything()).unwrap()
}

fn single_hop(states: Value, entry: &str) -> Compiled {
    let mut options = Options::default();
    options.redirects = RedirectStyle::SingleHop;
    Compiled::with_options(&spec_of(states, entry), &Known::anything(), options).unwrap()
}

/// A pack with this workflow, and what is wrong with it.
fn in_pack(workflow: Option<Value>) -> (Option<CompiledPack>, Vec<Finding>) {
    let prompt = |name: &str| json!({"id": name, "name": name, "version": "1.0.0", "system_template": "Hi."});
    let mut pack = json!({"id": "pack", "name": "Pack", "version": "1.0.0",
        "template_engine": {"version": "v1", "syntax": "{{variable}}"},
        "prompts": {"a": prompt("a"), "p": prompt("p")}});
    if let Some(workflow) = workflow {
        pack["workflow"] = workflow;
    }
    convoke_machine::pack::read(&pack.to_string())
}

fn linear() -> Compiled {
    compiled(json!({"a": {"on_event": {"Next": "b"}}, "b": {"on_event": {"Next": "c"}}, "c": {}}), "a")
}

/// a and b, which lead to each other.
fn ping_pong() -> Value {
    json!({"a": {"on_event": {"Go": "b"}}, "b": {"on_event": {"Back": "a"}}})
}

fn fire(compiled: &Compiled, context: &mut Context, event: &str) -> Result<Transitioned, WorkflowError> {
    fire_at(compiled, context, event, at(0))
}

fn fire_at(
    compiled: &Compiled,
    context: &mut Context,
    event: &str,
    at: Timestamp,
) -> Result<Transitioned, WorkflowError> {
    let events = advance(compiled, context, Command::at(at, Act::Event(event)))?;
    let mut transitions = events.into_iter().filter_map(|event| match event {
        WorkflowEvent::Transitioned(transitioned) => Some(*transitioned),
        _ => None,
    });
    Ok(transitions.next().expect("an event that is taken is a transition"))
}

/// Fires events that are all taken; gives the states they led to, with a star where that was another than the event says.
fn trace(compiled: &Compiled, context: &mut Context, events: &[&str]) -> Vec<String> {
    let step = |event: &&str| {
        let transitioned = fire(compiled, context, event).unwrap();
        format!("{}{}", transitioned.to, if transitioned.redirect.is_some() { "*" } else { "" })
    };
    events.iter().map(step).collect()
}

fn set(compiled: &Compiled, context: &mut Context, name: &str, value: &str) -> Result<(), WorkflowError> {
    advance(compiled, context, Command::at(at(0), Act::SetArtifact { name, value })).map(drop)
}

fn count_calls(compiled: &Compiled, context: &mut Context, calls: u64) {
    advance(compiled, context, Command::at(at(0), Act::ToolCalls(calls))).unwrap();
}

fn visits(context: &Context) -> Value {
    context
        .visit_counts()
        .map(|(state, visits)| (state.to_owned(), json!(visits)))
        .collect::<Map<_, _>>()
        .into()
}

fn as_json(context: &Context) -> Value {
    serde_json::to_value(context).unwrap()
}
