//! The workflow's tools as tools of an agent. What they do follows from the conversation; here they only answer.

use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Invocation, Tool, ToolEffects, ToolSpec, json_text};
use serde_json::{Map, Value};

use crate::workflow::{
    Compiled, Context, SET_ARTIFACT, TRANSITION, TransitionSlot, WorkflowTool, artifact_reply, tools_for,
};

/// A tool of the workflow, in the state that a context is in.
pub(super) struct MachineTool {
    spec: ToolSpec,
    compiled: Arc<Compiled>,
    context: Arc<Context>,
}

/// The tools of the state that a context is in.
pub(super) fn machine_tools(compiled: &Arc<Compiled>, context: &Arc<Context>) -> Vec<Arc<dyn Tool>> {
    let tool = |described: WorkflowTool| -> Arc<dyn Tool> {
        let spec = ToolSpec::new(described.name, described.description, ToolEffects::NONE)
            .parameters(described.input_schema);
        Arc::new(MachineTool { spec, compiled: Arc::clone(compiled), context: Arc::clone(context) })
    };
    tools_for(compiled, compiled.current(context)).into_iter().map(tool).collect()
}

/// Whether a tool is one of the workflow.
pub(super) fn is_machine_tool(name: &str) -> bool {
    name == TRANSITION || name == SET_ARTIFACT
}

/// The arguments of a call; none if they are not an object.
pub(super) fn arguments_of(arguments: &Value) -> Map<String, Value> {
    arguments.as_object().cloned().unwrap_or_default()
}

impl Tool for MachineTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Whatever is wrong with a call, it is refused with what can be done about it before this is asked.
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            let arguments = arguments_of(call.arguments);
            if self.spec.name() == SET_ARTIFACT {
                let name = arguments.get("name").and_then(Value::as_str).unwrap_or_default();
                return Ok(json_text(&artifact_reply(name)));
            }
            let asked = TransitionSlot::default().request(&self.compiled, &self.context, &arguments);
            asked.map(|reply| json_text(&reply)).map_err(Error::failed)
        })
    }
}
