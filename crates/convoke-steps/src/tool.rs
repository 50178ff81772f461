//! The tool step: a tool called with arguments made of the state.

use std::sync::Arc;

use convoke_core::{
    BoxFuture, CategorisedError, Error, Execution, IdempotencyKey, LostResult, RecordedError, Scope, Step,
    Tool, ToolCall, Toolset,
};
use serde::Serialize;

use crate::{ArgumentsError, StepsError};

/// Calls a tool with arguments made of the state.
///
/// Unlike a call by an agent, a failure of the tool fails the step, and so does a result that was lost to an interruption, unless it is
/// thrown away anyhow.
///
/// ```
/// use convoke_core::{Error, Toolset};
/// use convoke_steps::ToolStep;
///
/// #[derive(Default)]
/// struct Trip { city: String, weather: String }
///
/// # let tools = Toolset::new();
/// let step = ToolStep::new("look", &tools, "weather", |trip: &Trip| {
///         Ok::<_, Error>(serde_json::json!({"city": trip.city}))
///     })
///     .store(|trip, _arguments, weather| trip.weather = weather);
/// ```
pub struct ToolStep<S, A> {
    parts: ToolStepBuilder<S, A>,
    store: StoreResult<S, A>,
}

type StoreResult<S, A> = Box<dyn Fn(&mut S, A, String) + Send + Sync>;
type MakeArguments<S, A> = Box<dyn Fn(&S) -> Result<A, Error> + Send + Sync>;

/// A tool step that does not know yet what to do with the result.
#[must_use = "say what becomes of the result: `store` or `discard`"]
pub struct ToolStepBuilder<S, A> {
    name: String,
    tools: Toolset,
    tool: String,
    arguments: MakeArguments<S, A>,
    needs_result: bool,
}

impl<S: Send + 'static, A: Serialize + Send + 'static> ToolStep<S, A> {
    /// Calls the tool of this name.
    #[expect(clippy::new_ret_no_self, reason = "the builder says what becomes of the result")]
    pub fn new<E>(
        name: impl Into<String>,
        tools: &Toolset,
        tool: impl Into<String>,
        arguments: impl Fn(&S) -> Result<A, E> + Send + Sync + 'static,
    ) -> ToolStepBuilder<S, A>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let arguments =
            move |state: &S| arguments(state).map_err(|error| Error::failed(ArgumentsError(error.into())));
        ToolStepBuilder {
            name: name.into(),
            tools: tools.clone(),
            tool: tool.into(),
            arguments: Box::new(arguments),
            needs_result: true,
        }
    }
}

impl<S: Send + 'static, A: Serialize + Send + 'static> ToolStepBuilder<S, A> {
    /// Stores the result; the function also gets the arguments.
    pub fn store(self, store: impl Fn(&mut S, A, String) + Send + Sync + 'static) -> ToolStep<S, A> {
        ToolStep { parts: self, store: Box::new(store) }
    }

    /// Throws the result away: the call is made for what it does.
    pub fn discard(mut self) -> ToolStep<S, A> {
        self.needs_result = false;
        self.store(|_, _, _| {})
    }

    fn find(&self) -> Result<&Arc<dyn Tool>, StepsError> {
        let tool = self.tools.get(&self.tool).ok_or_else(|| StepsError::ToolNotFound {
            tool: self.tool.clone(),
            known: if self.tools.is_empty() {
                "none".to_owned()
            } else {
                self.tools.names().collect::<Vec<_>>().join(", ")
            },
        })?;
        match tool.spec().execution {
            Execution::Server => Ok(tool),
            Execution::Client => Err(StepsError::ClientTool { tool: self.tool.clone() }),
        }
    }
}

impl<S: Send + 'static, A: Serialize + Send + 'static> Step<S> for ToolStep<S, A> {
    fn name(&self) -> &str {
        &self.parts.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        let arguments = (self.parts.arguments)(state);
        Box::pin(async move {
            let tool = self.parts.find().map_err(Error::failed)?;
            let arguments = arguments?;
            let json = serde_json::to_value(&arguments)
                .map_err(|error| Error::failed(ArgumentsError(error.into())))?;
            let call_scope = scope.tool_scope(&**tool, None);
            // The same every time the run is resumed, and different from any other call's.
            let key = IdempotencyKey::derive_in(scope.run_id(), scope.generation(), call_scope.path(), 0);
            let id = format!("call-{}", &key.as_str()[..12]);
            let call = ToolCall { id, name: self.parts.tool.clone(), arguments: json };
            call_scope.composing().announce_tool_call(&call).await;
            let said = match call_scope.try_tool(tool, &call).await {
                // It was called for what it does, and that is done.
                Err(error) if !self.parts.needs_result && error.downcast_ref::<LostResult>().is_some() => {
                    return Ok(());
                }
                said => said?,
            };
            let content = said.map_err(|failure| failed(call.name, &failure))?;
            (self.store)(state, arguments, content);
            Ok(())
        })
    }

    fn kind(&self) -> &'static str {
        "tool"
    }
}

/// The step's error, which is tried again if the tool's failure may pass.
fn failed(tool: String, failure: &RecordedError) -> Error {
    let error = StepsError::ToolFailed { tool, content: failure.to_string() };
    Error::failed(CategorisedError::of_effect(failure, error))
}
