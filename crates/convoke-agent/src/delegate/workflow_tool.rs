//! Workflows as tools.

use std::fmt;

use convoke_core::{
    BoxFuture, CategorisedError, Error, EventKind, Invocation, Path, Repeat, Runner, Tool, ToolEffect,
    ToolEffects, ToolSpec,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::workflow_result::usual_result;
use crate::schema::InvalidSchema;
use crate::tool::Arguments;

/// Makes a tool's result of what was heard from a workflow and the state it came to.
type MakeResult = Box<dyn Fn(&[(Path, EventKind)], &Value) -> Result<String, Error> + Send + Sync>;

/// Makes a workflow's input of a tool's arguments.
type MakeInput = Box<dyn Fn(&Value) -> Result<Value, Error> + Send + Sync>;

/// A tool that runs a workflow.
///
/// The arguments are the workflow's input; none, or an empty object, mean no input. What a workflow gives back is, unless
/// [`result`](Self::result) says otherwise, the last thing a model said in it; else the `result` or `output` it
/// published, or all of what it published; else its final state.
///
/// ```
/// use convoke_agent::WorkflowTool;
/// use convoke_core::{BoxFuture, Error, Runner, Scope, Step, Tool, Workflow};
///
/// struct Count;
/// impl Step<u64> for Count {
///     fn name(&self) -> &str { "count" }
///     fn run<'a>(&'a self, _: &'a Scope, state: &'a mut u64) -> BoxFuture<'a, Result<(), Error>> {
///         Box::pin(async move { *state += 1; Ok(()) })
///     }
/// }
///
/// let tool = WorkflowTool::new(Runner::new(&Workflow::new(Count)));
/// assert_eq!(tool.spec().definition.description, "Invoke the count workflow");
/// ```
#[must_use = "a tool does nothing until an agent has it"]
pub struct WorkflowTool {
    runner: Runner,
    spec: ToolSpec,
    arguments: Result<Arguments, InvalidSchema>,
    input: Option<MakeInput>,
    result: Option<MakeResult>,
}

impl WorkflowTool {
    /// A tool named like the workflow. It runs alone, unless [`effects`](Self::effects) says what it does.
    pub fn new(runner: Runner) -> Self {
        let description = format!("Invoke the {} workflow", runner.name());
        let spec = ToolSpec::new(runner.name(), description, ToolEffect::Spawns.into())
            .repeat(Repeat::Reenter)
            .unbounded();
        let arguments = Arguments::with_schema(json!({"type": "object", "properties": {}}));
        Self { runner, spec, arguments, input: None, result: None }
    }

    /// Says what it is for; `Invoke the <name> workflow` otherwise.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.spec.definition.description = description.into();
        self
    }

    /// Sets its name; that of the workflow otherwise.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.spec.definition.name = name.into();
        self
    }

    /// Takes arguments that a JSON Schema describes.
    pub fn parameters(mut self, schema: Value) -> Self {
        self.arguments = Arguments::with_schema(schema.clone());
        self.spec.definition.parameters = schema;
        self
    }

    /// Makes the workflow's input of the arguments, which otherwise are the input.
    pub fn input(mut self, input: impl Fn(&Value) -> Result<Value, Error> + Send + Sync + 'static) -> Self {
        self.input = Some(Box::new(input));
        self
    }

    /// Takes arguments of this type.
    pub fn parameters_of<T: DeserializeOwned + JsonSchema>(mut self) -> Self {
        let arguments = Arguments::of::<T>();
        self.spec.definition.parameters = arguments.schema().clone();
        self.arguments = Ok(arguments);
        self
    }

    /// Says what it does to the world, which decides what may run beside it.
    pub fn effects(mut self, effects: impl Into<ToolEffects>) -> Self {
        self.spec.effects = effects.into();
        self
    }

    /// Makes the result of the workflow's events, in order, and its final state.
    pub fn result(
        mut self,
        result: impl Fn(&[(Path, EventKind)], &Value) -> Result<String, Error> + Send + Sync + 'static,
    ) -> Self {
        self.result = Some(Box::new(result));
        self
    }

    async fn run(&self, call: Invocation<'_>) -> Result<String, Error> {
        let input = match (&self.input, call.arguments) {
            (Some(make), arguments) => Some(make(arguments)?),
            (None, Value::Null) => None,
            (None, Value::Object(members)) if members.is_empty() => None,
            (None, arguments) => Some(arguments.clone()),
        };
        let (scope, tap) = call.scope.composing().tapped("workflow");
        let state = match self.runner.run_within(&scope, input).await {
            Ok(state) => state,
            // Suspended, cancelled, out of an outer limit: about the run, not about the workflow.
            Err(stop) if stop.passes(call.scope.path()) => return Err(stop),
            Err(error) => {
                let text = format!("workflow error: {error}");
                return Err(Error::failed(CategorisedError::new(error.category(), text)));
            }
        };
        let events = tap.take();
        match &self.result {
            Some(result) => result(&events, &state),
            None => Ok(usual_result(&events, &state)),
        }
    }
}

impl Tool for WorkflowTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.arguments.as_ref().map_err(ToString::to_string)?.check(arguments)
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(self.run(call))
    }
}

impl fmt::Debug for WorkflowTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WorkflowTool")
            .field("runner", &self.runner)
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
