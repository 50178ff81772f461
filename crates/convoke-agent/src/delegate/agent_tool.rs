//! Agents as tools.

use std::fmt;

use convoke_core::{
    Access, BoxFuture, CategorisedError, Error, Execution, Invocation, Repeat, Tool, ToolEffect, ToolEffects,
    ToolSpec, Transcript,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::agent::{Agent, AgentResult, AgentStop};
use crate::schema::decode;
use crate::tool::Arguments;

/// What an agent is asked when nothing else is said about its arguments.
#[derive(Deserialize, JsonSchema)]
struct Query {
    /// What the agent should do or find out.
    query: String,
}

/// A tool that has another agent do something.
///
/// The other agent begins with an empty conversation, has at most 5 turns unless it says otherwise, and its answer is the
/// tool's result. If it fails, that is a result too; only what stops the whole run stops the caller.
///
/// ```
/// use convoke_agent::{Agent, AgentTool};
/// use convoke_core::Tool;
///
/// let researcher = Agent::builder("researcher").system("You find things out.").build()?;
/// let tool = AgentTool::new(researcher).description("Finds things out; give it one question at a time");
/// assert_eq!(tool.spec().name(), "researcher");
/// # Ok::<(), convoke_agent::InvalidAgent>(())
/// ```
#[must_use = "a tool does nothing until an agent has it"]
pub struct AgentTool {
    agent: Agent,
    spec: ToolSpec,
    arguments: Arguments,
    brief: Box<dyn Fn(Value) -> Result<Transcript, Error> + Send + Sync>,
    accesses: Vec<Access>,
}

impl AgentTool {
    /// The number of turns an agent has as a tool by default.
    pub const DEFAULT_MAX_TURNS: u32 = 5;

    /// A tool that takes a `query`.
    pub fn new(agent: Agent) -> Self {
        Self::typed(agent, |query: Query| Transcript::from(query.query))
    }

    /// A tool that takes arguments of this type, and makes a conversation of them.
    ///
    /// ```
    /// use convoke_agent::{Agent, AgentTool};
    /// # use schemars::JsonSchema;
    /// # use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Translation { text: String, language: String }
    ///
    /// let translator = Agent::builder("translator").build()?;
    /// let tool = AgentTool::typed(translator, |job: Translation| {
    ///     format!("Translate into {}:\n\n{}", job.language, job.text)
    /// });
    /// # Ok::<(), convoke_agent::InvalidAgent>(())
    /// ```
    pub fn typed<A, M>(agent: Agent, messages: impl Fn(A) -> M + Send + Sync + 'static) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        M: Into<Transcript>,
    {
        let arguments = Arguments::of::<A>();
        let effects = effects_of(&agent);
        let description = format!("Invoke the {} agent", agent.name());
        let spec = ToolSpec::new(agent.name(), description, effects.and(ToolEffect::Spawns))
            .parameters(arguments.schema().clone())
            .repeat(Repeat::Reenter)
            .unbounded();
        Self {
            agent: agent.at_most_by_default(Self::DEFAULT_MAX_TURNS),
            spec,
            arguments,
            brief: Box::new(move |value| Ok(messages(decode(value).map_err(Error::failed)?).into())),
            accesses: effects.default_accesses(),
        }
    }

    /// Says what it is for; `Invoke the <name> agent` otherwise.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.spec.definition.description = description.into();
        self
    }

    /// Sets how many turns the agent has here; `None` means as many as it takes.
    pub fn max_turns(mut self, turns: impl Into<Option<u32>>) -> Self {
        self.agent = self.agent.at_most(turns.into().map(|turns| turns.max(1)));
        self
    }

    /// Says what the agent does to the world. Otherwise that follows from its tools, and decides what may run beside it.
    pub fn effects(mut self, effects: impl Into<ToolEffects>) -> Self {
        let effects = effects.into();
        self.accesses = effects.default_accesses();
        self.spec.effects = effects.and(ToolEffect::Spawns);
        self
    }
}

/// What an agent may do through its tools.
fn effects_of(agent: &Agent) -> ToolEffects {
    let own = agent.tools().iter().map(|tool| tool.spec()).filter(|spec| spec.execution == Execution::Server);
    own.flat_map(|spec| Vec::from(spec.effects)).collect()
}

/// What the caller gets to read.
fn answer(agent: &Agent, result: &AgentResult) -> Result<String, Error> {
    if result.stop == AgentStop::ClientToolCalls {
        return Err(Error::failed(format!(
            "agent `{}` wants a tool called that the client executes, and as a tool it has no client; take that tool \
             away from it",
            agent.name()
        )));
    }
    let text = result.text();
    if text.is_empty() {
        return Err(Error::failed(format!("agent returned no response: it stopped with `{}`", result.stop)));
    }
    Ok(text)
}

impl Tool for AgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.arguments.check(arguments)
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            let messages = (self.brief)(self.arguments.meant(call.arguments))?;
            match self.agent.run(call.scope, messages).await {
                Ok(result) => answer(&self.agent, &result),
                Err(stop) if stop.passes(call.scope.path()) => Err(stop),
                Err(error) => {
                    let text = format!("agent execution failed: {error}");
                    Err(Error::failed(CategorisedError::new(error.category(), text)))
                }
            }
        })
    }

    fn accesses(&self, _: &Value) -> Vec<Access> {
        self.accesses.clone()
    }
}

impl fmt::Debug for AgentTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AgentTool")
            .field("agent", &self.agent)
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
