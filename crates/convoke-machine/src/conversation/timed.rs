//! Tools of a state whose workflow has a time limit: the clock is looked at before each call, not only before each round.

use std::sync::Arc;

use convoke_core::{
    Access, BoxFuture, DuplicateTool, Error, IdempotencyKey, Invocation, Origin, Preparation, Reconciliation,
    Tool, ToolSpec, Toolset,
};
use serde_json::Value;

use super::talk::now;
use crate::workflow::{Compiled, Context};

/// A tool that is not called once the workflow's time is over. What it is otherwise, it stays.
struct TimedTool {
    tool: Arc<dyn Tool>,
    compiled: Arc<Compiled>,
    context: Arc<Context>,
}

/// The tools, as they are if there is no time limit.
pub(super) fn timed(
    tools: &Toolset,
    compiled: &Arc<Compiled>,
    context: &Arc<Context>,
) -> Result<Toolset, DuplicateTool> {
    if compiled.budget().max_wall_time_sec.is_none() {
        return Ok(tools.clone());
    }
    let mut limited = Toolset::new();
    for tool in tools.iter() {
        let (tool, compiled, context) = (Arc::clone(tool), Arc::clone(compiled), Arc::clone(context));
        limited.add(Arc::new(TimedTool { tool, compiled, context }))?;
    }
    Ok(limited)
}

impl Tool for TimedTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.tool.check(arguments)
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Preparation> {
        self.tool.prepare(arguments)
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            let at = now(call.scope).await?;
            self.compiled.check_time(&self.context, at).map_err(Error::failed)?;
            self.tool.call(call).await
        })
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
