//! The tools of a run, as they were described to its models when it began.
//!
//! What a model was asked is part of the journal, and the tools it could call are part of what it was asked. So a run goes on
//! with the tools it began with, under the same descriptions, whatever the configuration, the policy or a server would
//! offer now. What is not there any more says so when it is called.

use std::sync::Arc;

use convoke_core::{
    Access, BoxFuture, Error, IdempotencyKey, Invocation, Origin, Preparation, Reconciliation, Tool,
    ToolDefinition, ToolEffects, ToolSpec, Toolset,
};
use serde_json::Value;

/// The tools that are there, as they were described.
pub(crate) fn as_described(described: &[ToolDefinition], there: &Toolset) -> Toolset {
    let mut tools = Toolset::new();
    for definition in described {
        let tool: Arc<dyn Tool> = match there.get(&definition.name) {
            Some(tool) if tool.spec().definition == *definition => Arc::clone(tool),
            Some(tool) => {
                let mut spec = tool.spec().clone();
                spec.definition = definition.clone();
                Arc::new(DescribedTool { spec, tool: Arc::clone(tool) })
            }
            None => {
                let spec = ToolSpec::new(&*definition.name, &*definition.description, ToolEffects::NONE);
                Arc::new(GoneTool { spec: spec.parameters(definition.parameters.clone()) })
            }
        };
        // Names that were described once are described once: whatever comes twice is left out.
        let _ = tools.add(tool);
    }
    tools
}

/// A tool that is not there any more.
struct GoneTool {
    spec: ToolSpec,
}

impl Tool for GoneTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        let gone = format!("`{}` is not available any more; go on without it", self.spec.name());
        Box::pin(async { Err(Error::failed(gone)) })
    }
}

/// A tool under an earlier description.
struct DescribedTool {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
}

impl Tool for DescribedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.tool.check(arguments)
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        self.tool.call(call)
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Preparation> {
        self.tool.prepare(arguments)
    }

    fn reconcile<'a>(
        &'a self,
        key: &'a IdempotencyKey,
        arguments: &'a Value,
        before: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<Reconciliation, Error>> {
        self.tool.reconcile(key, arguments, before)
    }

    fn is_undone_while_asking(&self, about: &Value) -> bool {
        self.tool.is_undone_while_asking(about)
    }

    fn noted(&self, note: &Value) {
        self.tool.noted(note);
    }

    fn accesses(&self, arguments: &Value) -> Vec<Access> {
        self.tool.accesses(arguments)
    }

    fn origin(&self, arguments: &Value) -> Origin {
        self.tool.origin(arguments)
    }
}
