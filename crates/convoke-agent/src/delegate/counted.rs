//! Calls that tools make which are made of calls themselves, counted and limited by whoever has these tools.
//!
//! How many there were is kept with what came of the call around them, so a resumed run counts the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use convoke_core::{Access, BoxFuture, Error, Invocation, Limits, Origin, Repeat, Tool, ToolSpec, Toolset};
use serde_json::Value;

/// The calls of tools that are made of calls: agents and workflows. There are none left until somebody [leaves](Self::leave) some.
#[derive(Debug, Default)]
pub struct DelegatedCalls {
    left: AtomicU64,
    made: AtomicU64,
}

impl DelegatedCalls {
    /// Leaves so many calls to them, less those that are made until they are [taken](Self::take).
    pub fn leave(&self, left: u64) {
        self.left.store(left, Ordering::Relaxed);
    }

    /// How many calls they have made since this was asked last.
    pub fn take(&self) -> u64 {
        self.made.swap(0, Ordering::Relaxed)
    }

    /// The same tools, with the calls counted of those that are made of calls themselves.
    #[must_use]
    pub fn counting(self: &Arc<Self>, tools: &Toolset) -> Toolset {
        let mut counting = tools.clone();
        for tool in tools.iter().filter(|tool| tool.spec().repeat == Repeat::Reenter) {
            counting.remove(tool.spec().name());
            let counted = CountedTool { tool: Arc::clone(tool), delegated: Arc::clone(self) };
            // There is none of its name any more.
            let _ = counting.add(Arc::new(counted));
        }
        counting
    }
}

/// A tool that is made of calls, which are counted.
struct CountedTool {
    tool: Arc<dyn Tool>,
    delegated: Arc<DelegatedCalls>,
}

impl Tool for CountedTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.tool.check(arguments)
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            let DelegatedCalls { left, made } = &*self.delegated;
            let left = left.load(Ordering::Relaxed).saturating_sub(made.load(Ordering::Relaxed));
            let scope = call.scope.composing().limited("calls", Limits::default().tool_calls(left));
            let Invocation { key, arguments, prepared, .. } = call;
            let result = self.tool.call(Invocation { scope: &scope, key, arguments, prepared }).await;
            call.scope.leave_note(scope.composing().tool_calls_counted().into());
            result
        })
    }

    fn noted(&self, note: &Value) {
        self.delegated.made.fetch_add(note.as_u64().unwrap_or_default(), Ordering::Relaxed);
    }

    fn accesses(&self, arguments: &Value) -> Vec<Access> {
        self.tool.accesses(arguments)
    }

    fn origin(&self, arguments: &Value) -> Origin {
        self.tool.origin(arguments)
    }
}
