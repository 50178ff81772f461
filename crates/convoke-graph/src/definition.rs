//! The definition of a graph: nodes, edges between them, and what it is given.

use std::collections::BTreeMap;

use convoke_text::finding::child;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::Reducer;
use crate::node::NodeTypes;

/// The target of edges that lead nowhere.
pub const END: &str = "__end__";

/// A graph, as it is written in JSON, YAML or Rust.
///
/// ```
/// use convoke_graph::GraphDefinition;
/// use serde_json::json;
///
/// let graph = GraphDefinition::new("greet", "hello")
///     .node("hello", "template", json!({"template": "Hello {{.name}}!"}))
///     .node("out", "answer", json!({"keys": ["template_output"]}))
///     .edge("hello", "out");
/// assert_eq!(graph.nodes.len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GraphDefinition {
    /// What it is called.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The node it begins with.
    pub entry: String,
    /// What it is given. Without any it is given a `query`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputDefinition>,
    /// The nodes.
    pub nodes: Vec<NodeDefinition>,
    /// The edges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<EdgeDefinition>,
    /// What becomes of variables that several branches write; `*` stands for all that are not named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub merge: BTreeMap<String, Reducer>,
    /// The variable with the result; `answer` unless said otherwise.
    #[serde(default = "answer")]
    pub answer_key: String,
    /// How many nodes may run in all, repetitions included; 100 unless said otherwise.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = u64::MAX))]
    pub max_nodes: u64,
    /// Into how many branches a node may fork; 10 unless said otherwise.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = usize::MAX))]
    pub max_branches: usize,
    /// Graphs that nodes of type `graph` run, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub graphs: BTreeMap<String, GraphDefinition>,
}

fn answer() -> String {
    "answer".to_owned()
}

fn hundred() -> u64 {
    100
}

fn ten() -> usize {
    10
}

/// A node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NodeDefinition {
    /// Its name in the graph.
    pub id: String,
    /// What it does: `llm`, `tool`, `answer`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// How it does that.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub config: Map<String, Value>,
    /// If this is true, it is passed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_condition: Option<String>,
    /// How often it is tried again if it fails for a reason that may pass. What a failed attempt wrote is undone.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 4_294_967_295_u32))]
    pub retries: u32,
    /// The longest it may take: `30s`, `5m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// Nodes: when this one is done, branches beside its own that are at one of them are cancelled, and nothing of them counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cancels: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// An edge.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EdgeDefinition {
    /// The node it leads away from.
    pub from: String,
    /// The node it leads to, or `__end__`.
    pub to: String,
    /// When it is followed. Edges without one are followed if no other edge of their node is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
}

/// Something that a graph is given.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct InputDefinition {
    /// The variable it becomes.
    pub name: String,
    /// What it may be.
    #[serde(rename = "type", default)]
    pub kind: InputType,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it is if nothing is given. For something that may be anything, null is a default too.
    #[serde(default, deserialize_with = "stated", skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Whether it must be given if it has no default; it must unless said otherwise.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub required: bool,
    /// The longest a text may be, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = u64::MAX))]
    pub max_length: Option<u64>,
    /// The values it may have.
    #[serde(rename = "enum", default, skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Value>,
    /// What the items of a list may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_type: Option<InputType>,
    /// What an object has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<InputDefinition>,
}

/// A value that is there, also if it is null.
pub(crate) fn stated<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_true(value: &bool) -> bool {
    *value
}

impl InputDefinition {
    /// Leaves out a null where no value can be null: it is no default.
    pub(crate) fn leave_out_null(&mut self) {
        if self.kind != InputType::Any {
            self.default.take_if(|default| default.is_null());
        }
        self.properties.iter_mut().for_each(Self::leave_out_null);
    }
}

/// The types of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum InputType {
    /// A text.
    #[default]
    String,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// Yes or no.
    Boolean,
    /// A list.
    Array,
    /// An object.
    Object,
    /// A file: its address, or an object that describes it.
    File,
    /// Anything.
    Any,
}

impl GraphDefinition {
    /// A graph without nodes.
    #[must_use]
    pub fn new(name: impl Into<String>, entry: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            entry: entry.into(),
            answer_key: answer(),
            max_nodes: hundred(),
            max_branches: ten(),
            ..Self::default()
        }
    }

    /// Adds a node. What is no object is no configuration.
    #[must_use]
    pub fn node(self, id: impl Into<String>, kind: impl Into<String>, config: Value) -> Self {
        let config = if let Value::Object(config) = config { config } else { Map::new() };
        self.with_node(NodeDefinition {
            id: id.into(),
            kind: kind.into(),
            config,
            ..NodeDefinition::default()
        })
    }

    /// Adds a node.
    #[must_use]
    pub fn with_node(mut self, node: NodeDefinition) -> Self {
        self.nodes.push(node);
        self
    }

    /// Adds an edge without a condition.
    #[must_use]
    pub fn edge(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.edges.push(EdgeDefinition { from: from.into(), to: to.into(), condition: None });
        self
    }

    /// Adds an edge that is followed when a condition is true.
    #[must_use]
    pub fn edge_if(
        mut self,
        from: impl Into<String>,
        to: impl Into<String>,
        condition: impl Into<String>,
    ) -> Self {
        self.edges.push(EdgeDefinition {
            from: from.into(),
            to: to.into(),
            condition: Some(condition.into()),
        });
        self
    }

    /// The files that its `workflow` nodes run, each with the JSON pointer to where it is named.
    #[must_use]
    pub fn workflow_files(&self) -> Vec<(String, String)> {
        let nodes = self.nodes.iter().enumerate().filter(|(_, node)| node.kind == "workflow");
        let own = nodes.filter_map(|(index, node)| {
            let file = node.config.get("file")?.as_str()?;
            Some((format!("/nodes/{index}/config/file"), file.to_owned()))
        });
        let within = self.graphs.iter().flat_map(|(name, graph)| {
            let place = child("/graphs", name);
            graph.workflow_files().into_iter().map(move |(path, file)| (format!("{place}{path}"), file))
        });
        own.chain(within).collect()
    }

    /// Says what becomes of a variable that several branches write.
    #[must_use]
    pub fn merge(mut self, key: impl Into<String>, reducer: Reducer) -> Self {
        self.merge.insert(key.into(), reducer);
        self
    }
}

impl NodeDefinition {
    /// A node with nothing but a name and a type.
    #[must_use]
    pub fn new(id: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { id: id.into(), kind: kind.into(), ..Self::default() }
    }
}

/// The JSON Schema of graphs whose nodes are of these types.
#[must_use]
pub fn schema(types: &NodeTypes) -> Value {
    let mut schema = convoke_agent::schema_of::<GraphDefinition>();
    let rules: Vec<Value> = types
        .iter()
        .map(|kind| {
            let mut config = kind.schema();
            allow_references_within(&mut config);
            json!({
                "if": {"properties": {"type": {"const": kind.name()}}},
                "then": {"properties": {"config": config}},
            })
        })
        .collect();
    let names: Vec<&str> = types.iter().map(|kind| kind.name()).collect();
    if let Some(node) = schema.pointer_mut("/properties/nodes/items") {
        node["allOf"] = Value::Array(rules);
        node["properties"]["type"]["enum"] = json!(names);
    }
    schema["title"] = json!("A graph of Convoke");
    schema["$defs"]["Reference"] = json!({
        "description": "A reference to a variable, `${board.name}`, whose value stands here when the node runs.",
        "type": "string",
        "pattern": r"\$\{",
    });
    schema
}

/// Lets a reference stand for everything within a configuration.
fn allow_references_within(schema: &mut Value) {
    let Some(parts) = schema.as_object_mut() else { return };
    let fields = parts.get_mut("properties").and_then(Value::as_object_mut);
    fields.into_iter().flat_map(Map::values_mut).for_each(allow_reference);
    ["items", "additionalProperties"].iter().for_each(|name| {
        if let Some(part) = parts.get_mut(*name) {
            allow_reference(part);
        }
    });
    for name in ["anyOf", "oneOf"] {
        let several = parts.get_mut(name).and_then(Value::as_array_mut);
        several.into_iter().flatten().for_each(allow_references_within);
    }
}

/// Lets a reference stand for a value, and for everything within it.
fn allow_reference(schema: &mut Value) {
    allow_references_within(schema);
    if takes_any_text(schema) {
        return;
    }
    let (mut around, mut inner) = (Map::new(), std::mem::take(schema));
    for name in ["description", "default"] {
        let said = inner.as_object_mut().and_then(|inner| inner.remove(name));
        around.extend(said.map(|said| (name.to_owned(), said)));
    }
    around.insert("anyOf".to_owned(), json!([inner, {"$ref": "#/$defs/Reference"}]));
    *schema = Value::Object(around);
}

fn takes_any_text(schema: &Value) -> bool {
    if let Some(several) = schema.get("anyOf").and_then(Value::as_array) {
        return several.iter().any(takes_any_text);
    }
    let takes_some = ["oneOf", "enum", "const", "$ref"].iter().any(|name| schema.get(name).is_some());
    let is_text = match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|kind| kind == "string"),
        Some(kind) => kind == "string",
        // What is closed to everything is closed to references too.
        None => true,
    };
    is_text && !takes_some
}
