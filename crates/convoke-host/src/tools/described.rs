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
                Arc::new(DescribedTool { spec, tool: Some(Arc::clone(tool)) })
            }
            None => {
                let spec = ToolSpec::new(&*definition.name, &*definition.description, ToolEffects::NONE);
                Arc::new(DescribedTool { spec: spec.parameters(definition.parameters.clone()), tool: None })
            }
        };
        // Names that were described once are described once: whatever comes twice is left out.
        let _ = tools.add(tool);
    }
    tools
}

/// A tool under an earlier description.
struct DescribedTool {
    spec: ToolSpec,
    /// `None` if it is gone.
    tool: Option<Arc<dyn Tool>>,
}

impl Tool for DescribedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.tool.as_ref().map_or(Ok(()), |tool| tool.check(arguments))
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        match &self.tool {
            Some(tool) => tool.call(call),
            None => Box::pin(async {
                Err(Error::failed(format!(
                    "`{}` is not available any more; go on without it",
                    self.spec.name()
                )))
            }),
        }
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Preparation> {
        match &self.tool {
            Some(tool) => tool.prepare(arguments),
            None => Box::pin(async { Preparation::default() }),
        }
    }

    fn reconcile<'a>(
        &'a self,
        key: &'a IdempotencyKey,
        arguments: &'a Value,
        before: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<Reconciliation, Error>> {
        match &self.tool {
            Some(tool) => tool.reconcile(key, arguments, before),
            None => Box::pin(async { Ok(Reconciliation::Unknown) }),
        }
    }

    fn is_undone_while_asking(&self, about: &Value) -> bool {
        self.tool.as_ref().is_some_and(|tool| tool.is_undone_while_asking(about))
    }

    fn noted(&self, note: &Value) {
        self.tool.iter().for_each(|tool| tool.noted(note));
    }

    fn accesses(&self, arguments: &Value) -> Vec<Access> {
        match &self.tool {
            Some(tool) => tool.accesses(arguments),
            None => self.spec.effects.default_accesses(),
        }
    }

    fn origin(&self, arguments: &Value) -> Origin {
        match &self.tool {
            Some(tool) => tool.origin(arguments),
            None => Origin::Tool(self.spec.name().to_owned()),
        }
    }
}
