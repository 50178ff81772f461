//! Graphs, with a scripted model: case by case, at random, and killed everywhere.
#![allow(clippy::unwrap_used, reason = "a test")]

mod agents;
mod board;
mod branches;
mod conditions;
mod definition;
mod executor;
mod joins;
mod llm;
mod nodes;
mod parallel;
mod properties;
mod references;
mod resume;
mod way;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use convoke_agent::FunctionTool;
use convoke_core::{
    Answer, BoxFuture, Error, Event, EventKind, Observer, Outcome, RunId, Runtime, RuntimeBuilder, Store,
    Tool,
};
use convoke_graph::{
    Board, CompiledGraph, Graph, GraphDefinition, GraphEquipment, InvalidGraph, Node, NodeCall, NodeSite,
    NodeType, NodeTypes,
};
use convoke_models::ScriptedModel;
use convoke_store::MemoryStore;
use serde_json::{Map, Value, json};

/// Collects everything that is told.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<Event>>>);

impl Observer for Heard {
    fn observe(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

impl Heard {
    fn all(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    /// Events of the graph: `graph.node_skipped`, …
    fn custom(&self, wanted: &str) -> Vec<Value> {
        let custom = |event: Event| match event.kind {
            EventKind::Custom { name, value } if name == wanted => Some(value),
            _ => None,
        };
        self.all().into_iter().filter_map(custom).collect()
    }
}

type Work = Arc<dyn for<'a> Fn(NodeCall<'a>) -> BoxFuture<'a, Result<(), Error>> + Send + Sync>;

/// A type of nodes that a test writes.
struct Probe {
    name: String,
    work: Work,
}

struct ProbeNode(Work);

impl Node for ProbeNode {
    fn run<'a>(&'a self, _: &'a Value, call: NodeCall<'a>) -> BoxFuture<'a, Result<(), Error>> {
        (self.0)(call)
    }
}

impl NodeType for Probe {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn build(&self, _: &NodeSite<'_>) -> Result<Arc<dyn Node>, String> {
        Ok(Arc::new(ProbeNode(Arc::clone(&self.work))))
    }
}

/// A store, a model, tools and types of nodes; every call of a method is a process of its own.
struct Home {
    store: Arc<dyn Store>,
    model: ScriptedModel,
    types: NodeTypes,
    equipment: GraphEquipment,
    heard: Heard,
    patience: Duration,
}

impl Home {
    fn new() -> Self {
        Self::with_model(ScriptedModel::builder().otherwise("Hello.").build())
    }

    fn with_model(model: ScriptedModel) -> Self {
        let (types, equipment) = (NodeTypes::standard(), GraphEquipment::default());
        Self {
            store: Arc::new(MemoryStore::new()),
            model,
            types,
            equipment,
            heard: Heard::default(),
            patience: Duration::ZERO,
        }
    }

    fn tool(mut self, tool: impl Tool + 'static) -> Self {
        let mut tools = std::mem::take(&mut self.equipment.tools);
        tools.add(Arc::new(tool)).unwrap();
        self.equipment.tools = tools;
        self
    }

    fn node<F>(mut self, name: &str, work: F) -> Self
    where
        F: for<'a> Fn(NodeCall<'a>) -> BoxFuture<'a, Result<(), Error>> + Send + Sync + 'static,
    {
        self.types = self.types.with(Probe { name: name.to_owned(), work: Arc::new(work) });
        self
    }

    fn compiled(&self, graph: Value) -> Result<CompiledGraph, InvalidGraph> {
        let definition: GraphDefinition = serde_json::from_value(graph).unwrap();
        CompiledGraph::new(definition, &self.types)
    }

    fn graph(&self, graph: Value) -> Graph {
        self.compiled(graph).unwrap().equip(self.equipment.clone()).unwrap()
    }

    fn builder(&self) -> RuntimeBuilder {
        Runtime::builder()
            .shared_store(Arc::clone(&self.store))
            .model(self.model.clone())
            .observer(self.heard.clone())
            .patience(self.patience)
    }

    async fn run(&self, graph: Value, inputs: Value) -> Outcome<Board> {
        let compiled = self.compiled(graph).unwrap();
        let inputs: Map<String, Value> = serde_json::from_value(inputs).unwrap();
        let board = compiled.begin(inputs).unwrap();
        let workflow = compiled.equip(self.equipment.clone()).unwrap().workflow();
        self.builder().build().start(&workflow, board).await.unwrap()
    }

    async fn done(&self, graph: Value, inputs: Value) -> Board {
        self.run(graph, inputs).await.completed().unwrap()
    }

    async fn failed(&self, graph: Value, inputs: Value) -> String {
        self.run(graph, inputs).await.completed().unwrap_err().to_string()
    }

    async fn resume(&self, graph: Value, run: &RunId) -> Outcome<Board> {
        let workflow = self.graph(graph).workflow();
        self.builder().build().resume(&workflow, run.clone()).await.unwrap()
    }

    async fn answer(&self, run: &RunId, answer: Answer) {
        let open = self.store.questions(Some(run)).await.unwrap();
        self.store.answer(run, &open[0].id, answer).await.unwrap();
    }

    async fn answer_at(&self, run: &RunId, path: &str, answer: Answer) {
        let open = self.store.questions(Some(run)).await.unwrap();
        let asked = open.iter().find(|question| question.path.as_str() == path).unwrap();
        self.store.answer(run, &asked.id, answer).await.unwrap();
    }

    /// The ids of nodes that ran, in the order in which they ended.
    fn ran(&self) -> Vec<String> {
        let ended = |event: Event| match event.kind {
            EventKind::StepEnded(_) => event.path.as_str().rsplit('/').next().map(str::to_owned),
            _ => None,
        };
        self.heard.all().into_iter().filter_map(ended).collect()
    }
}

/// A tool that says its text again.
fn echo() -> FunctionTool {
    FunctionTool::new("echo", "Says it again.", |arguments: Map<String, Value>| async move {
        Ok::<_, Error>(format!("echo {}", arguments["text"].as_str().unwrap_or_default()))
    })
    .pure()
}

/// A graph of nodes and edges: `("a", "b")`, `("a", "b if x > 1")`.
fn graph(nodes: Value, edges: &[(&str, &str)]) -> Value {
    let edges: Vec<Value> = edges
        .iter()
        .map(|(from, to)| match to.split_once(" if ") {
            Some((to, condition)) => json!({"from": from, "to": to, "condition": condition}),
            None => json!({"from": from, "to": to}),
        })
        .collect();
    let entry = nodes[0]["id"].clone();
    json!({"name": "test", "entry": entry, "nodes": nodes, "edges": edges})
}

/// A node that writes variables.
fn writes(id: &str, vars: Value) -> Value {
    let assignments: Vec<Value> = vars
        .as_object()
        .unwrap()
        .iter()
        .map(|(target, value)| json!({"target": target, "value": value}))
        .collect();
    json!({"id": id, "type": "assigner", "config": {"assignments": assignments}})
}

fn passes(id: &str) -> Value {
    json!({"id": id, "type": "passthrough"})
}
