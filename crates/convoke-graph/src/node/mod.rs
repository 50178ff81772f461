//! Types of nodes. Each is a file, or a part of one, of the same shape: a configuration that is a Rust type, and what is
//! done with it.
//!
//! **What a node must never do.** Touch anything but the board it is given and the world through its scope.

mod agent;
mod approval;
mod call;
mod data;
mod flow;
mod intake;
mod knowledge;
mod llm;
mod ports;
pub(crate) mod script;
mod subgraph;
mod types;
mod workflow;

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Model, Nature, RetrieverSource, Scope, SharedStep, Toolset};
use serde_json::Value;

pub(crate) use flow::FirstOfRounds;
pub use ports::{Port, PortType, Ports};
pub(crate) use types::Typed;
pub use types::{NodeType, NodeTypes};
pub use workflow::{NestedResult, NestedWorkflow, WorkflowSource};

use crate::run::Rules;
use crate::{Board, CompiledGraph};

/// The equipment that the nodes of a graph work with.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct GraphEquipment {
    /// The model for nodes that name none. Without it, the run's.
    pub model: Option<Arc<dyn Model>>,
    /// The source of models that are referred to by name.
    pub models: Option<ModelSource>,
    /// The tools there are. A node has those it names.
    pub tools: Toolset,
    /// Why tools of these names are not there, for nodes that need one of them.
    pub absent_tools: BTreeMap<String, String>,
    /// The source of what `knowledge` nodes search, by name; the empty name is everything.
    pub knowledge: Option<RetrieverSource>,
    /// The source of what `workflow` nodes run, by the names of files.
    pub workflows: Option<WorkflowSource>,
    /// Steps that nodes of type `step` run, by name.
    pub steps: BTreeMap<String, SharedStep<Board>>,
}

/// Finds a model by its name, or says why there is none.
pub type ModelSource = Arc<dyn Fn(&str) -> Result<Arc<dyn Model>, String> + Send + Sync>;

impl GraphEquipment {
    /// Sets the tools.
    #[must_use]
    pub fn with_tools(mut self, tools: Toolset) -> Self {
        self.tools = tools;
        self
    }

    /// Adds a step that nodes of type `step` can run.
    #[must_use]
    pub fn with_step(mut self, name: impl Into<String>, step: SharedStep<Board>) -> Self {
        self.steps.insert(name.into(), step);
        self
    }

    /// The model of a name, or the one for those who name none.
    pub(crate) fn model_for(&self, scope: &Scope, name: Option<&str>) -> Result<Arc<dyn Model>, Error> {
        match (name, &self.models, &self.model) {
            (Some(name), Some(models), _) => models(name).map_err(Error::permanent),
            (Some(name), None, _) => Err(Error::permanent(format!("nobody here knows a model `{name}`"))),
            (None, _, Some(model)) => Ok(Arc::clone(model)),
            (None, _, None) => scope.default_model(),
        }
    }

    /// The tools of these names.
    pub(crate) fn tools_named(&self, names: &[String]) -> Result<Toolset, String> {
        let mut tools = Toolset::new();
        for name in names {
            tools.add(Arc::clone(self.tool(name)?)).map_err(|error| error.to_string())?;
        }
        Ok(tools)
    }

    pub(crate) fn tool(&self, name: &str) -> Result<&Arc<dyn convoke_core::Tool>, String> {
        self.tools.get(name).ok_or_else(|| {
            if let Some(why) = self.absent_tools.get(name) {
                return format!("there is no `{name}` here: {why}");
            }
            let known: Vec<&str> = self.tools.names().collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            format!("there is no tool `{name}`; there are: {known}")
        })
    }
}

/// The site in a graph where a node is being built.
#[non_exhaustive]
pub struct NodeSite<'a> {
    /// The node's id.
    pub id: &'a str,
    /// Its configuration, with its references.
    pub config: &'a Value,
    /// What there is to work with.
    pub equipment: &'a Arc<GraphEquipment>,
    /// The graphs that are written beside it.
    pub graphs: &'a BTreeMap<String, Arc<CompiledGraph>>,
    /// If it is the guard of a loop, the ids of those of the loops within it.
    pub guards_within: &'a [String],
}

impl NodeSite<'_> {
    /// A text of the configuration that is known before anything runs.
    pub(crate) fn known_text(&self, field: &str) -> Option<&str> {
        self.config[field].as_str().filter(|text| !text.contains("${"))
    }

    /// Checks that the model is there that the configuration names, if somebody here knows models by name.
    pub(crate) fn check_model(&self) -> Result<(), String> {
        match (self.known_text("model"), &self.equipment.models) {
            (Some(name), Some(models)) => models(name).map(drop),
            _ => Ok(()),
        }
    }

    /// Checks that the tools exist that the configuration names.
    pub(crate) fn check_tools(&self) -> Result<(), String> {
        let names = self.config["tool_names"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let names = names.chain(self.known_text("tool")).filter(|name| !name.contains("${"));
        names.into_iter().try_for_each(|name| self.equipment.tool(name).map(drop))
    }
}

/// One call of a node.
#[non_exhaustive]
pub struct NodeCall<'a> {
    /// The node's id.
    pub id: &'a str,
    /// Its scope: its only access to the world.
    pub scope: &'a Scope,
    /// The board it works on.
    pub board: &'a mut Board,
    /// How many nodes ran before on the way here.
    pub iterations: u64,
    /// The rules that its graph began with.
    pub(crate) rules: Rules,
}

/// A node that is ready to run.
pub trait Node: Send + Sync {
    /// Does the work, with the configuration as it is now that its references are resolved.
    fn run<'a>(&'a self, config: &'a Value, call: NodeCall<'a>) -> BoxFuture<'a, Result<(), Error>>;

    /// Whether it works itself or runs steps of its own.
    fn nature(&self) -> Nature {
        Nature::Leaf
    }
}
