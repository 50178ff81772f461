//! Types of nodes by name.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use convoke_core::{BoxFuture, Error, Nature};
use convoke_text::finding::Finding;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    Node, NodeCall, NodeSite, Ports, agent, approval, call, data, flow, knowledge, llm, script, subgraph,
    workflow,
};
use crate::GraphFault;
use crate::compile::shape::{self, Shape};
use crate::reference::has_references;

/// A type of nodes.
pub trait NodeType: Send + Sync {
    /// What definitions call it.
    fn name(&self) -> &str;

    /// The JSON Schema of its configuration.
    fn schema(&self) -> Value;

    /// What a node of it reads and writes, with this configuration, whose references may not be resolved yet. Both are checked
    /// whenever it runs.
    fn ports(&self, config: &Value) -> Ports {
        let _ = config;
        Ports::unknown()
    }

    /// Finds what is wrong with a configuration that fits the schema: where, as a JSON pointer in it, and what. References may not
    /// be resolved yet.
    fn problems(&self, config: &Value) -> Vec<(String, String)> {
        let _ = config;
        Vec::new()
    }

    /// Makes a node.
    ///
    /// # Errors
    /// What it lacks.
    fn build(&self, site: &NodeSite<'_>) -> Result<Arc<dyn Node>, String>;
}

/// The types of nodes there are.
///
/// ```
/// use convoke_graph::NodeTypes;
///
/// assert!(NodeTypes::standard().get("llm").is_some());
/// ```
#[derive(Clone, Default)]
pub struct NodeTypes(Vec<Arc<dyn NodeType>>);

impl NodeTypes {
    /// Those that come with this crate.
    #[must_use]
    pub fn standard() -> Self {
        Self::default()
            .with(Kind::<llm::Llm>::default())
            .with(Kind::<agent::AgentNode>::default())
            .with(Kind::<call::ToolNode>::default())
            .with(Kind::<call::Http>::default())
            .with(Kind::<call::Gate>::default())
            .with(Kind::<call::ContextNode>::default())
            .with(Kind::<approval::Approval>::default())
            .with(Kind::<flow::IfElse>::default())
            .with(Kind::<flow::Router>::default())
            .with(Kind::<flow::LoopGuard>::default())
            .with(Kind::<flow::PassThrough>::default())
            .with(Kind::<data::Template>::default())
            .with(Kind::<data::AnswerNode>::default())
            .with(Kind::<data::Assigner>::default())
            .with(Kind::<data::Aggregator>::default())
            .with(Kind::<knowledge::Knowledge>::default())
            .with(Kind::<script::Script>::default())
            .with(Kind::<subgraph::SubGraph>::default())
            .with(Kind::<subgraph::Iteration>::default())
            .with(Kind::<subgraph::StepNode>::default())
            .with(Kind::<workflow::WorkflowNode>::default())
    }

    /// Adds a type, instead of one of that name if there is one.
    #[must_use]
    pub fn with(mut self, kind: impl NodeType + 'static) -> Self {
        match self.0.iter_mut().find(|known| known.name() == kind.name()) {
            Some(known) => *known = Arc::new(kind),
            None => self.0.push(Arc::new(kind)),
        }
        self
    }

    /// The type of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn NodeType>> {
        self.iter().find(|kind| kind.name() == name)
    }

    /// All of them, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn NodeType>> {
        self.0.iter()
    }
}

impl fmt::Debug for NodeTypes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter().map(|kind| kind.name())).finish()
    }
}

/// A node whose configuration is a Rust type.
pub(crate) trait Typed: Send + Sync + Sized + 'static {
    const NAME: &'static str;
    const NATURE: Nature = Nature::Leaf;
    type Config: Clone + DeserializeOwned + JsonSchema + Send + Sync;

    fn ports(config: &Value) -> Ports;

    fn problems(config: &Value) -> Vec<(String, String)> {
        let _ = config;
        Vec::new()
    }

    fn build(site: &NodeSite<'_>) -> Result<Self, String>;

    fn run(&self, config: Self::Config, call: NodeCall<'_>)
    -> impl Future<Output = Result<(), Error>> + Send;
}

struct Kind<T> {
    schema: OnceLock<Arc<Value>>,
    of: PhantomData<fn() -> T>,
}

impl<T> Default for Kind<T> {
    fn default() -> Self {
        Self { schema: OnceLock::new(), of: PhantomData }
    }
}

impl<T: Typed> Kind<T> {
    fn shared_schema(&self) -> &Arc<Value> {
        self.schema.get_or_init(|| Arc::new(convoke_agent::schema_of::<T::Config>()))
    }
}

impl<T: Typed> NodeType for Kind<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn schema(&self) -> Value {
        Value::clone(self.shared_schema())
    }

    fn ports(&self, config: &Value) -> Ports {
        T::ports(config)
    }

    fn problems(&self, config: &Value) -> Vec<(String, String)> {
        T::problems(config)
    }

    fn build(&self, site: &NodeSite<'_>) -> Result<Arc<dyn Node>, String> {
        let (node, schema) = (T::build(site)?, Arc::clone(self.shared_schema()));
        // Whoever does not look at the board has the same configuration every time.
        let known = (!has_references(site.config)).then(|| config_of::<T>(&schema, site.config));
        Ok(Arc::new(TypedNode { node, schema, known: known.and_then(Result::ok) }))
    }
}

struct TypedNode<T: Typed> {
    node: T,
    schema: Arc<Value>,
    known: Option<T::Config>,
}

fn config_of<T: Typed>(schema: &Value, config: &Value) -> Result<T::Config, serde_json::Error> {
    serde_json::from_value(shape::coerced(schema, config.clone()))
}

impl<T: Typed> Node for TypedNode<T> {
    fn run<'a>(&'a self, config: &'a Value, call: NodeCall<'a>) -> BoxFuture<'a, Result<(), Error>> {
        let resolved = || {
            let config = shape::with_texts(&self.schema, &self.schema, config.clone());
            config_of::<T>(&self.schema, &config).map_err(|error| {
                let mut findings = Vec::new();
                shape::check(
                    &Shape::new(Value::clone(&self.schema)),
                    &config,
                    "",
                    shape::NOTHING,
                    &mut findings,
                );
                let place = |finding: Finding| format!("`{}`: {}", finding.path, finding.message);
                findings.into_iter().next().map_or_else(|| error.to_string(), place)
            })
        };
        match self.known.clone().map_or_else(resolved, Ok) {
            Ok(config) => Box::pin(self.node.run(config, call)),
            Err(problem) => {
                let message = format!("the configuration of node `{}` is wrong: {problem}", call.id);
                Box::pin(async { Err(GraphFault::error(message)) })
            }
        }
    }

    fn nature(&self) -> Nature {
        T::NATURE
    }
}
