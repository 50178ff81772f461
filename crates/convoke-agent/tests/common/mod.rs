//! What the tests of this crate share.
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use convoke_agent::{Agent, AgentBuilder, AgentResult, Conversation, FunctionTool};
use convoke_core::{
    Answer, BoxFuture, Error, Event, EventKind, Outcome, PendingQuestion, Responder, Runtime, Workflow,
};
use convoke_models::{Match, Reply, ScriptedModel};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Arguments of the tools here.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Text {
    pub(crate) text: String,
}

/// Counts, and remembers what it was told.
#[derive(Clone, Default)]
pub(crate) struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    pub(crate) fn note(&self, entry: impl Into<String>) {
        self.0.lock().unwrap().push(entry.into());
    }

    pub(crate) fn entries(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A tool that notes its calls and gives back its text in brackets.
pub(crate) fn echo(name: &str, diary: &Diary) -> FunctionTool {
    let (name, diary) = (name.to_owned(), diary.clone());
    FunctionTool::new(name.clone(), "Echoes", move |args: Text| {
        diary.note(format!("{name}({})", args.text));
        async move { Ok::<_, Error>(format!("[{}]", args.text)) }
    })
}

/// A tool that notes when it begins and ends, with a wait in between.
pub(crate) fn slow(name: &str, diary: &Diary, wait: Duration) -> FunctionTool {
    let (name, diary) = (name.to_owned(), diary.clone());
    FunctionTool::new(name.clone(), "Takes its time", move |args: Text| {
        let (name, diary) = (name.clone(), diary.clone());
        async move {
            diary.note(format!("{name}({}) begins", args.text));
            tokio::time::sleep(wait).await;
            diary.note(format!("{name}({}) ends", args.text));
            Ok::<_, Error>(format!("[{}]", args.text))
        }
    })
}

/// A model that calls tools once, and then says `done`.
pub(crate) fn calls_then_done(calls: Reply) -> ScriptedModel {
    ScriptedModel::builder().when(Match::has_tool_result(), "done").otherwise(calls).build()
}

/// A call of a tool with a text.
pub(crate) fn call(tool: &str, text: &str) -> Reply {
    Reply::tool(tool, json!({"text": text}))
}

/// A builder of an agent with this model.
pub(crate) fn agent(model: &ScriptedModel) -> AgentBuilder {
    Agent::builder("helper").model(model.clone())
}

/// The result of a run by itself.
pub(crate) async fn result(agent: Agent) -> AgentResult {
    let talk = outcome(&Runtime::new(), agent).await.completed().unwrap();
    talk.result.unwrap()
}

/// The outcome of a run by itself.
pub(crate) async fn outcome(runtime: &Runtime, agent: Agent) -> Outcome<Conversation> {
    runtime.start(&Workflow::new(agent), Conversation::from("go")).await.unwrap()
}

/// The events and the outcome of a run by itself.
pub(crate) async fn streamed(runtime: &Runtime, agent: Agent) -> (Vec<Event>, Outcome<Conversation>) {
    let (events, outcome) =
        runtime.start(&Workflow::new(agent), Conversation::from("go")).stream().collect().await;
    (events, outcome.unwrap())
}

/// The type of an event, as its JSON has it.
pub(crate) fn kind(event: &EventKind) -> String {
    serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned()
}

/// The types of events about tool calls, in order, without the pieces of arguments.
pub(crate) fn call_events(events: &[Event], id: &str) -> Vec<String> {
    let of_call = events.iter().filter(|event| {
        let json: Value = serde_json::to_value(&event.kind).unwrap();
        json["id"] == *id && kind(&event.kind).starts_with("tool_call")
    });
    let mut kinds: Vec<String> = of_call.map(|event| kind(&event.kind)).collect();
    kinds.dedup();
    kinds
}

/// The results in a conversation: content and whether it is a failure, in order.
pub(crate) fn results(result: &AgentResult) -> Vec<(String, bool)> {
    let messages = result.transcript.iter();
    messages
        .flat_map(|message| message.results())
        .map(|result| (result.content.clone(), result.is_error))
        .collect()
}

type Answering = Arc<dyn Fn(&PendingQuestion) -> Option<Answer> + Send + Sync>;

/// Answers every question with a function, and counts them.
#[derive(Clone)]
pub(crate) struct Person {
    answer: Answering,
    asked: Arc<AtomicUsize>,
}

impl Person {
    pub(crate) fn new(answer: impl Fn(&PendingQuestion) -> Option<Answer> + Send + Sync + 'static) -> Self {
        Self { answer: Arc::new(answer), asked: Arc::default() }
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    pub(crate) fn runtime(&self) -> Runtime {
        Runtime::builder().responder(self.clone()).build()
    }
}

impl Responder for Person {
    fn respond<'a>(&'a self, question: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { (self.answer)(question) })
    }
}
