//! The `workflow` node: any workflow that the program can load by name, such as an Agentfile, a pack or another graph.

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Nature, Scope};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::ports::{output, response};
use super::{NodeCall, NodeSite, PortType, Ports, Typed};

/// A workflow that runs as part of a graph: its steps are below the node, in the same journal.
pub trait NestedWorkflow: Send + Sync {
    /// Runs it with these inputs, and gives what it comes to.
    ///
    /// # Errors
    /// If the inputs do not fit, or it fails.
    fn run<'a>(
        &'a self,
        scope: &'a Scope,
        inputs: Map<String, Value>,
    ) -> BoxFuture<'a, Result<NestedResult, Error>>;
}

/// What a nested workflow came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NestedResult {
    /// Its result.
    pub value: Value,
    /// The limits that were the end of a part of it, by what they ended.
    pub cut_short: BTreeMap<String, String>,
}

/// Finds a workflow by its name, or says why there is none.
pub type WorkflowSource = Arc<dyn Fn(&str) -> Result<Arc<dyn NestedWorkflow>, String> + Send + Sync>;

/// Runs a workflow.
pub(super) struct WorkflowNode(Arc<dyn NestedWorkflow>);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowConfig {
    /// The file, beside the graph's: an Agentfile, a pack or a graph.
    #[serde(rename = "file")]
    _file: String,
    /// What it is given.
    #[serde(default)]
    inputs: Map<String, Value>,
    /// The variable that its result goes to; `response` unless said otherwise.
    #[serde(default = "response")]
    output_key: String,
}

impl Typed for WorkflowNode {
    const NAME: &'static str = "workflow";
    const NATURE: Nature = Nature::Composite;
    type Config = WorkflowConfig;

    fn ports(config: &Value) -> Ports {
        output(config, "output_key", "response", PortType::Any)
    }

    fn build(site: &NodeSite<'_>) -> Result<Self, String> {
        let name = site.known_text("file").ok_or("`file` must name a file, without a reference")?;
        let source = site.equipment.workflows.as_ref();
        let source = source.ok_or_else(|| format!("nobody here knows a workflow `{name}`"))?;
        source(name).map(Self)
    }

    async fn run(&self, config: WorkflowConfig, call: NodeCall<'_>) -> Result<(), Error> {
        let result = self.0.run(call.scope, config.inputs).await?;
        call.board.note_cut_short_within(call.id, &result.cut_short);
        Ok(call.board.set(&config.output_key, result.value)?)
    }
}
