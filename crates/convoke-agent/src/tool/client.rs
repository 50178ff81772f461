//! Client tools, which whoever started the run executes.

use std::fmt;

use convoke_core::{BoxFuture, Error, Execution, Invocation, Tool, ToolEffects, ToolSpec};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Arguments;
use crate::schema::InvalidSchema;

/// A tool executed by whoever started the run: a page, an editor, a phone.
///
/// A call of it ends the agent's run with [`AgentStop::ClientToolCalls`](crate::AgentStop::ClientToolCalls); the result
/// has the calls. To go on, add their results to the transcript and run the agent again.
///
/// ```
/// use convoke_agent::ClientTool;
/// use convoke_core::{Execution, Tool};
/// # use schemars::JsonSchema;
/// # use serde::Deserialize;
/// # #[derive(Deserialize, JsonSchema)]
/// # struct Form { title: String }
///
/// let show_form = ClientTool::typed::<Form>("show_form", "Shows a form to the user");
/// assert_eq!(show_form.spec().execution, Execution::Client);
/// ```
pub struct ClientTool {
    spec: ToolSpec,
    arguments: Arguments,
}

impl ClientTool {
    /// A tool whose arguments have this schema.
    ///
    /// # Errors
    /// If the schema is not one.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
    ) -> Result<Self, InvalidSchema> {
        Ok(Self::assemble(name.into(), description.into(), Arguments::with_schema(schema)?))
    }

    /// A tool whose arguments are of this type.
    #[must_use]
    pub fn typed<A: DeserializeOwned + JsonSchema>(
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self::assemble(name.into(), description.into(), Arguments::of::<A>())
    }

    fn assemble(name: String, description: String, arguments: Arguments) -> Self {
        let spec = ToolSpec::new(name, description, ToolEffects::NONE)
            .parameters(arguments.schema().clone())
            .execution(Execution::Client);
        Self { spec, arguments }
    }
}

impl Tool for ClientTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.arguments.check(arguments)
    }

    fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        let name = self.spec.name();
        Box::pin(async move {
            Err(Error::failed(format!(
                "`{name}` is executed by the client: only an agent can hand its calls over, nothing here can call it"
            )))
        })
    }
}

impl fmt::Debug for ClientTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClientTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}
