//! Inputs of a graph: checked against what it declares, and put on its first board.

use convoke_core::Message;
use serde_json::{Map, Value, json};

use crate::board::{MAIN_CHANNEL, allowed};
use crate::definition::{InputDefinition, InputType};
use crate::{Board, CompiledGraph};

/// The input whose text is the first message of the main channel.
pub const QUERY: &str = "query";

/// Inputs that a graph cannot be started with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("these inputs do not fit: {}", .problems.join("; "))]
#[non_exhaustive]
pub struct InvalidInputs {
    /// Everything that is wrong with them, a line each.
    pub problems: Vec<String>,
}

/// Finds what is wrong with inputs that are given, with the name that it is about. Only values that are known are judged.
pub(crate) fn problems(
    declared: &[InputDefinition],
    given: &Map<String, Value>,
    is_known: impl Fn(&Value) -> bool,
) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    for input in declared {
        let mut add = |problem: String| problems.push((input.name.clone(), problem));
        match given.get(&input.name).or(input.default.as_ref()) {
            Some(value) if is_known(value) => input.violations(value).into_iter().for_each(add),
            None if input.required => add(format!("`{}` is missing", input.name)),
            _ => {}
        }
    }
    for name in given.keys() {
        if let Err(reserved) = allowed(name) {
            problems.push((name.clone(), reserved.to_string()));
        } else if !declared.is_empty() && !declared.iter().any(|input| input.name == *name) {
            let names: Vec<&str> = declared.iter().map(|input| input.name.as_str()).collect();
            let problem = format!("`{name}` is not an input: the graph's inputs are {}", names.join(", "));
            problems.push((name.clone(), problem));
        }
    }
    problems
}

impl CompiledGraph {
    /// The board that a run begins with: these inputs, with defaults for those that are not given. A `query` that is a text is also
    /// the first message of the main channel.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    ///
    /// ```
    /// # use convoke_graph::{CompiledGraph, GraphDefinition, NodeTypes};
    /// # use serde_json::json;
    /// let graph = GraphDefinition::new("echo", "out").node("out", "answer", json!({"keys": ["query"]}));
    /// let graph = CompiledGraph::new(graph, &NodeTypes::standard()).unwrap();
    /// let board = graph.begin(json!({"query": "hello"}).as_object().unwrap().clone()).unwrap();
    /// assert_eq!(board.text("query"), "hello");
    /// assert!(graph.begin(json!({"__usage": 1}).as_object().unwrap().clone()).is_err());
    /// ```
    pub fn begin(&self, inputs: Map<String, Value>) -> Result<Board, InvalidInputs> {
        self.begin_with(inputs.into_iter().filter(|(_, value)| !value.is_null()).collect())
    }

    /// The same, with null as a value like any other.
    pub(crate) fn begin_with(&self, inputs: Map<String, Value>) -> Result<Board, InvalidInputs> {
        let declared = &self.definition.inputs;
        let problems: Vec<String> =
            problems(declared, &inputs, |_| true).into_iter().map(|(_, problem)| problem).collect();
        if !problems.is_empty() {
            return Err(InvalidInputs { problems });
        }
        let mut board = Board::new();
        for input in declared {
            if let Some(default) = input.default.as_ref().filter(|default| !default.is_null()) {
                board.put(&input.name, default.clone());
            }
        }
        for (name, value) in inputs {
            board.put(&name, value);
        }
        let query = board.text(QUERY).to_owned();
        if !query.is_empty() {
            board.say(MAIN_CHANNEL, Message::user(query));
        }
        Ok(board)
    }

    /// Returns what it is given, as a JSON Schema of an object.
    #[must_use]
    pub fn inputs_schema(&self) -> Value {
        let inputs = &self.definition.inputs;
        if inputs.is_empty() {
            return json!({"type": "object", "properties": {QUERY: {"type": "string"}}, "required": []});
        }
        let properties: Map<String, Value> =
            inputs.iter().map(|input| (input.name.clone(), input.schema())).collect();
        let required = inputs.iter().filter(|input| input.is_required()).map(|input| &input.name);
        json!({
            "type": "object",
            "properties": properties,
            "required": required.collect::<Vec<_>>(),
            "additionalProperties": false,
        })
    }
}

impl InputDefinition {
    /// Returns whether it must be given.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.required && self.default.is_none()
    }

    /// The JSON Schema of its values.
    #[must_use]
    pub fn schema(&self) -> Value {
        let mut schema = type_schema(self.kind);
        if !self.description.is_empty() {
            schema["description"] = json!(self.description);
        }
        if let Some(longest) = self.max_length {
            schema["maxLength"] = json!(longest);
        }
        if !self.one_of.is_empty() {
            schema["enum"] = json!(self.one_of);
        }
        if let Some(kind) = self.item_type {
            schema["items"] = type_schema(kind);
        }
        if !self.properties.is_empty() {
            let required = self.properties.iter().filter(|one| one.is_required()).map(|one| &one.name);
            schema["required"] = json!(required.collect::<Vec<_>>());
            schema["properties"] =
                self.properties.iter().map(|one| (one.name.clone(), one.schema())).collect();
        }
        schema
    }

    /// Returns what is wrong with a value for it, a line each.
    #[must_use]
    pub fn violations(&self, value: &Value) -> Vec<String> {
        let schema = self.schema();
        let Ok(validator) = jsonschema::validator_for(&schema) else { return Vec::new() };
        let named = |error: jsonschema::ValidationError<'_>| {
            let within = error.instance_path().as_str().to_owned();
            format!("`{}{within}`: {}", self.name, error.to_string().chars().take(200).collect::<String>())
        };
        validator.iter_errors(value).map(named).collect()
    }
}

fn type_schema(kind: InputType) -> Value {
    match kind {
        InputType::Any => json!({}),
        InputType::File => json!({"type": ["string", "object"]}),
        kind => json!({"type": kind}),
    }
}
