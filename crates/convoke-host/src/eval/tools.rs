//! Tools of this host whose results a scenario has: they are described as they are, and touch nothing.

use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Invocation, Tool, ToolSpec};
use convoke_eval::Scenario;
use serde_json::Value;

use super::observe::UNANSWERED;

/// A tool that gives what a scenario says.
pub(super) struct ScenarioTool {
    tool: Arc<dyn Tool>,
    scenario: Arc<Scenario>,
}

impl ScenarioTool {
    /// Stands for a tool, if the scenario says what it gives.
    pub(super) fn instead_of(tool: &Arc<dyn Tool>, scenario: &Arc<Scenario>) -> Option<Arc<dyn Tool>> {
        scenario.tools.contains_key(tool.spec().name()).then(|| {
            let (tool, scenario) = (Arc::clone(tool), Arc::clone(scenario));
            Arc::new(Self { tool, scenario }) as Arc<dyn Tool>
        })
    }
}

impl Tool for ScenarioTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.tool.check(arguments)
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        let name = self.spec().name();
        let answer = match self.scenario.tool_answer(name, call.arguments) {
            Some(answer) if answer.is_error => Err(Error::failed(answer.content.clone())),
            Some(answer) => Ok(answer.content.clone()),
            // A model that reads of it would go on with something that nobody meant.
            None => {
                let why = format!("`tools` does not say what a call gives: {name} with {}", call.arguments);
                Err(Error::Cancelled(format!("{UNANSWERED}{why}").into()))
            }
        };
        Box::pin(async move { answer })
    }
}
