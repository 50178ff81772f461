//! Graphs, as the host sees them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use convoke_core::{BoxFuture, Error, RunStatus, Runner, Scope, Workflow, json_text};
use convoke_diagram::{Diagram, Mark};
use convoke_eval::Facts;
use convoke_goals::agentfile::Source;
use convoke_goals::agentfile::diagnostic::Diagnostics;
use convoke_goals::agentfile::load::Loader;
use convoke_goals::agentfile::model::{Input, Type};
use convoke_goals::{Equipment, Problem, Secrets, Values};
use convoke_graph::{
    Board, CUT_SHORT, CompiledGraph, GraphEquipment, InputType, NestedResult, NestedWorkflow, NodeTypes,
    QUERY, looks_like_a_graph,
};
use convoke_history::History;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::definition::{Definition, DefinitionKind, EquippedDefinition};
use crate::graph_way;
use crate::nested::read_part;
use crate::pack::{MEMORY, diagnostic, diagnostics};

/// The name under which runs keep what they were started from.
pub(crate) const NAME: &str = "graph";

/// Names of variables that are the executor's own begin like this.
const RESERVED: &str = "__";

/// Graphs, in JSON or YAML.
#[derive(Debug, Clone, Copy, Default)]
pub struct GraphKind;

impl DefinitionKind for GraphKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "graph"
    }

    fn recognizes(&self, name: &str, bytes: &[u8]) -> bool {
        [".graph.json", ".graph.yaml", ".graph.yml"].iter().any(|ending| name.ends_with(ending))
            || std::str::from_utf8(bytes).is_ok_and(looks_like_a_graph)
    }

    fn read(&self, source: &Source, files: &dyn Loader) -> (Option<Arc<dyn Definition>>, Diagnostics) {
        let mut workflows = BTreeMap::new();
        let (graph, findings) = convoke_graph::read_with(source.text(), &NodeTypes::standard(), |graph| {
            let mut findings = Vec::new();
            for (path, file) in graph.workflow_files() {
                let place = file.strip_prefix("./").unwrap_or(&file);
                match read_part(files, &file, place) {
                    Ok(definition) => drop(workflows.insert(file, definition)),
                    Err(why) => {
                        let what = format!("`{file}` cannot be run as part of this graph");
                        findings.push(why.finding(path, &what));
                    }
                }
            }
            findings
        });
        let definition =
            graph.map(|graph| Arc::new(GraphDefinition::new(graph, workflows)) as Arc<dyn Definition>);
        (definition, diagnostics(source, &findings))
    }

    fn lint(&self, source: &Source, found: &mut Diagnostics) {
        for finding in convoke_graph::lint(source.text()) {
            found.add(finding.severity, || diagnostic(source, &finding));
        }
        found.sort();
    }
}

/// A file that a node runs, with everything it needs.
struct NestedFile {
    definition: Arc<dyn Definition>,
    equipped: Box<dyn EquippedDefinition>,
}

impl NestedWorkflow for NestedFile {
    fn run<'a>(
        &'a self,
        scope: &'a Scope,
        inputs: Map<String, Value>,
    ) -> BoxFuture<'a, Result<NestedResult, Error>> {
        Box::pin(async move {
            let mut values = Values::new();
            for input in self.definition.inputs() {
                let given = inputs.get(&input.name).or(input.default.as_ref()).cloned();
                if let Some(value) = given {
                    values.set(input.name.as_str(), value);
                }
            }
            let known = |name: &&String| self.definition.inputs().iter().any(|input| input.name == **name);
            if let Some(unknown) = inputs.keys().find(|name| !known(name)) {
                let name = self.definition.name();
                return Err(Error::permanent(format!("`{unknown}` is not an input of `{name}`")));
            }
            let state =
                self.equipped.bind(values).map_err(|problems| Error::permanent(problems.join("; ")))?;
            let state: Value = serde_json::from_slice(&state)?;
            let left = self.equipped.part().run_within(scope, Some(state)).await?;
            let value = self.definition.result(&left).map_or(Value::Null, Value::String);
            Ok(NestedResult { value, cut_short: self.definition.cut_short(&left) })
        })
    }
}

struct GraphDefinition {
    graph: Arc<CompiledGraph>,
    inputs: Vec<Input>,
    /// The files that its nodes run, by name.
    workflows: BTreeMap<String, Arc<dyn Definition>>,
    /// Whether a memory can be named: no input of the graph has that name.
    remembers: bool,
}

impl GraphDefinition {
    fn new(graph: CompiledGraph, workflows: BTreeMap<String, Arc<dyn Definition>>) -> Self {
        let declared = graph.definition().inputs.iter().map(|input| {
            let ty = match input.kind {
                InputType::Number => Type::Number,
                InputType::Integer => Type::Int,
                InputType::Boolean => Type::Bool,
                InputType::Array | InputType::Object | InputType::Any => Type::Json,
                _ => Type::String,
            };
            let default = input.default.clone().or((!input.required).then_some(Value::Null));
            Input::new(&input.name, ty, default)
        });
        let mut inputs: Vec<Input> = declared.collect();
        if inputs.is_empty() {
            inputs.push(Input::new(QUERY, Type::String, Some(Value::Null)));
        }
        let remembers = !inputs.iter().any(|input| input.name == MEMORY);
        inputs.extend(remembers.then(|| Input::new(MEMORY, Type::String, Some(Value::Null))));
        Self { graph: Arc::new(graph), inputs, workflows, remembers }
    }
}

impl Definition for GraphDefinition {
    fn name(&self) -> &str {
        &self.graph.definition().name
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn inputs_schema(&self) -> Value {
        self.graph.inputs_schema()
    }

    fn outline(&self) -> Value {
        self.graph.to_json()
    }

    fn outline_text(&self) -> String {
        self.graph.to_text()
    }

    fn diagram(&self) -> Option<Diagram> {
        Some(self.graph.to_diagram())
    }

    fn diagram_of(&self, history: &History) -> Option<Diagram> {
        let mut diagram = match graph_way::of(&self.graph, history) {
            Some(way) => self.graph.to_diagram_of(&way),
            None => self.graph.to_diagram(),
        };
        // Where it ended is known better than that something was not over.
        let is_over = history.record.status == RunStatus::Completed
            || history.ending.as_ref().is_some_and(|ending| !ending.failed_at.is_empty());
        let mut open = HashSet::new();
        if is_over {
            for (id, item) in diagram.items_mut().filter(|(_, item)| item.mark == Mark::Active) {
                item.mark = Mark::None;
                open.insert(id);
            }
        }
        history.mark(&mut diagram);
        for (_, item) in diagram.items_mut().filter(|(id, item)| open.contains(id) && item.mark == Mark::Done)
        {
            (item.mark, item.note) = (Mark::None, "not finished".to_owned());
        }
        Some(diagram)
    }

    fn names_model(&self) -> bool {
        !self.graph.needs_model() && self.workflows.values().all(|definition| definition.names_model())
    }

    fn limits_cost(&self) -> bool {
        self.workflows.values().any(|definition| definition.limits_cost())
    }

    fn separate_secrets(&self, values: Values) -> (Secrets, Values) {
        (Secrets::default(), values)
    }

    fn equip(&self, equipment: &Equipment) -> Result<Box<dyn EquippedDefinition>, Vec<String>> {
        let mut given = GraphEquipment::default().with_tools(equipment.tools.clone());
        given.absent_tools.clone_from(&equipment.absent_tools);
        given.model = equipment.model.clone();
        if let Some(models) = equipment.models.clone() {
            given.models = Some(Arc::new(move |name| match name.contains('/') {
                true => models.named(name),
                false => models.profile(name).map_err(|why| format!("no model `{name}`: {why}")),
            }));
        }
        given.knowledge.clone_from(&equipment.knowledge);
        let mut workflows = BTreeMap::new();
        for (file, definition) in &self.workflows {
            let equipped = definition.equip(equipment).map_err(|problems| {
                problems.iter().map(|problem| format!("{file}: {problem}")).collect::<Vec<_>>()
            })?;
            let nested = NestedFile { definition: Arc::clone(definition), equipped };
            workflows.insert(file.clone(), Arc::new(nested) as Arc<dyn NestedWorkflow>);
        }
        given.workflows = Some(Arc::new(move |file| {
            workflows.get(file).cloned().ok_or_else(|| format!("there is no `{file}`"))
        }));
        let graph = self.graph.equip(given)?;
        let workflow = graph.remembering(equipment.memories.clone());
        Ok(Box::new(EquippedGraph { graph: Arc::clone(&self.graph), workflow, remembers: self.remembers }))
    }

    fn facts(&self, state: &Value) -> Facts {
        let vars = state["vars"].as_object().into_iter().flatten();
        let outputs = vars.filter(|(name, _)| !name.starts_with(RESERVED));
        let outputs = outputs.map(|(name, value)| (name.clone(), value.clone())).collect();
        Facts { outputs, ..Facts::default() }
    }

    fn result(&self, state: &Value) -> Option<String> {
        Some(match answer_of(&self.graph, state)? {
            Value::String(text) => text,
            other => json_text(&other),
        })
    }

    fn cut_short(&self, state: &Value) -> BTreeMap<String, String> {
        BTreeMap::deserialize(&state["vars"][CUT_SHORT]).unwrap_or_default()
    }
}

struct EquippedGraph {
    graph: Arc<CompiledGraph>,
    workflow: Workflow<Board>,
    remembers: bool,
}

impl EquippedDefinition for EquippedGraph {
    fn runner(&self) -> Runner {
        Runner::new(&self.workflow)
    }

    fn warnings(&self) -> &[Problem] {
        &[]
    }

    fn bind(&self, values: Values) -> Result<Vec<u8>, Vec<String>> {
        let mut inputs: Map<String, Value> =
            values.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
        let memory = if self.remembers { inputs.remove(MEMORY) } else { None };
        if let Some(name) = memory.as_ref().and_then(Value::as_str) {
            convoke_tools::memory::check_name(name).map_err(|error| vec![format!("`{MEMORY}`: {error}")])?;
        }
        let mut board = self.graph.begin(inputs).map_err(|error| error.problems)?;
        if let Some(name) = memory.as_ref().and_then(Value::as_str) {
            board.remember_as(name);
        }
        serde_json::to_vec(&board).map_err(|error| vec![error.to_string()])
    }
}

/// The board of a stored run of a graph, and the name of its answer.
pub(crate) fn gist(text: &str, given: &Value, left: Option<&Value>) -> (Map<String, Value>, Option<Value>) {
    let mut inputs = given["vars"].as_object().cloned().unwrap_or_default();
    inputs.retain(|name, _| !name.starts_with("__"));
    let (graph, _) = convoke_graph::read(text, &NodeTypes::standard());
    let answer = graph.zip(left).and_then(|(graph, left)| answer_of(&graph, left));
    (inputs, answer)
}

fn answer_of(graph: &CompiledGraph, board: &Value) -> Option<Value> {
    board["vars"].get(&graph.definition().answer_key).filter(|answer| !answer.is_null()).cloned()
}
