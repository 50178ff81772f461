//! The agent: a model that calls tools until it is done.
//!
//! An agent works in turns. In each the model is asked once; if it wants tools called they are called and their results
//! go back to it, otherwise it is done. Everything a turn does is an effect of the kernel, so an agent that was killed,
//! or waits for an approval for days, goes on where it was.
//!
//! | to understand | read |
//! |---|---|
//! | how an agent is put together | [`AgentBuilder`] |
//! | how it ends | [`AgentStop`] |
//! | the loop | `session.rs` |
//! | what it is told of its tools | `on_demand.rs` |
//! | one turn | `turn.rs`, `calls.rs`, `approval.rs`, `summary.rs` |
//! | what keeps it from going on for ever | `limits.rs`, `repeats.rs`, `clock.rs` |
//!
//! An agent keeps nothing between runs, performs no effect but through its scope, and spawns no task: dropping its
//! future ends everything it does.

mod approval;
mod builder;
mod calls;
mod clock;
mod conversation;
mod limits;
mod on_demand;
mod progress;
mod repeats;
mod result;
mod session;
mod summary;
mod turn;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::{
    BoxFuture, DuplicateTool, Error, Execution, Message, Model, ModelParams, ModelReply, Scope, ToolCall,
    ToolDefinition, Toolset, Transcript,
};

pub use approval::{Approval, OnRejection};
pub use builder::{AgentBuilder, InvalidAgent};
pub use calls::ParallelCalls;
pub use conversation::Conversation;
use on_demand::OnDemand;
pub use repeats::{AnsweredCall, answered_calls};
pub use result::{AgentResult, AgentStop};

/// Looks at a turn's number and the model's reply, and says whether to stop there.
type StopWhen = Arc<dyn Fn(u32, &ModelReply) -> bool + Send + Sync>;

/// Looks at the conversation and a call the model wants made, and says why it must not be.
type RefuseWhen = Arc<dyn Fn(&Transcript, &ToolCall) -> Option<String> + Send + Sync>;

/// Looks at the conversation after a turn's calls, and says whether somebody else goes on with it.
type HandOffWhen = Arc<dyn Fn(&Transcript) -> bool + Send + Sync>;

/// A model with tools, and the rules it works by. Cheap to clone.
///
/// ```
/// use convoke_agent::{Agent, AgentStop, Conversation, FunctionTool};
/// use convoke_core::{Error, Runtime, Workflow};
/// use convoke_models::{Match, Reply, ScriptedModel};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use serde_json::json;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct City { city: String }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let weather = FunctionTool::new("weather", "Looks up the weather", |args: City| async move {
///     Ok::<_, Error>(format!("sunny in {}", args.city))
/// });
/// let model = ScriptedModel::builder()
///     .when(Match::has_tool_result(), "Take your sunglasses.")
///     .otherwise(Reply::tool("weather", json!({"city": "Oslo"})))
///     .build();
///
/// let agent = Agent::builder("guide").system("You are a travel guide.").model(model).tool(weather).build()?;
/// let talk = Conversation::from("What should I pack for Oslo?");
/// let talk = Runtime::new().start(&Workflow::new(agent), talk).await?.completed()?;
///
/// assert_eq!(talk.text(), "Take your sunglasses.");
/// assert!(talk.result.is_some_and(|result| result.turns == 2 && result.stop == AgentStop::Complete));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Agent {
    name: Arc<str>,
    system: Option<Arc<str>>,
    model: Option<Arc<dyn Model>>,
    tools: Toolset,
    definitions: Arc<[ToolDefinition]>,
    on_demand: Option<OnDemand>,
    params: ModelParams,
    max_turns: MaxTurns,
    raised_turns: Option<u32>,
    max_calls_per_reply: Option<u32>,
    timeout: Option<Duration>,
    tool_timeout: Option<Duration>,
    parallel: ParallelCalls,
    approval: Approval,
    when_rejected: OnRejection,
    stop_when: Option<StopWhen>,
    refuse_when: Option<RefuseWhen>,
    hand_off_when: Option<HandOffWhen>,
    repeat_limit: Option<u32>,
}

/// How many turns an agent has, and whether anybody said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MaxTurns {
    Default,
    Explicit(Option<u32>),
}

impl Agent {
    /// The number of turns an agent has by default.
    pub const DEFAULT_MAX_TURNS: u32 = 10;

    /// The number of calls of one reply that are made by default.
    pub const DEFAULT_MAX_CALLS_PER_REPLY: u32 = 128;

    /// The default time limit of a tool call.
    pub const DEFAULT_TOOL_TIMEOUT: Duration = Duration::from_secs(30);

    /// The default limit of identical calls in a row: the one with this number is refused.
    pub const DEFAULT_REPEAT_LIMIT: u32 = 4;

    /// An agent to be put together.
    pub fn builder(name: impl Into<Arc<str>>) -> AgentBuilder {
        AgentBuilder::new(name.into())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its tools.
    #[must_use]
    pub fn tools(&self) -> &Toolset {
        &self.tools
    }

    /// Returns how many turns it has; `None` means as many as it takes.
    #[must_use]
    pub fn max_turns(&self) -> Option<u32> {
        match self.max_turns {
            MaxTurns::Default => Some(Self::DEFAULT_MAX_TURNS),
            MaxTurns::Explicit(turns) => turns,
        }
    }

    /// Returns how long its tool calls may take, unless a tool says otherwise.
    #[must_use]
    pub fn tool_timeout(&self) -> Option<Duration> {
        self.tool_timeout
    }

    /// Returns how calls of one turn are made.
    #[must_use]
    pub fn parallel_tool_calls(&self) -> ParallelCalls {
        self.parallel
    }

    /// The same agent with more tools, for one request: nobody else sees them.
    ///
    /// # Errors
    /// If the agent has a tool of one of these names; it is unchanged.
    pub fn with_tools(&self, tools: &Toolset) -> Result<Self, DuplicateTool> {
        Ok(self.clone().offering(self.tools.overlaid(tools)?))
    }

    /// Works on a conversation until it is done.
    ///
    /// The result has the whole conversation. An agent that comes to a limit still answers: its last turn is made
    /// without tools, and [`AgentResult::stop`] says why. Listeners are told by a custom event, `agent_ended`.
    ///
    /// # Errors
    /// Failures of the model, of tools declared fatal, and stops. A limit of the agent's own is not an error.
    pub fn run<'a>(
        &'a self,
        scope: &'a Scope,
        messages: impl Into<Transcript>,
    ) -> BoxFuture<'a, Result<AgentResult, Error>> {
        let transcript = self.opening(messages.into());
        Box::pin(session::run(self, scope, transcript))
    }

    /// The conversation with the agent's instructions before it, unless they are there already: a conversation that
    /// came out of this agent may be put in again.
    fn opening(&self, messages: Transcript) -> Transcript {
        let Some(system) = &self.system else { return messages };
        let instructions = Message::system(&**system);
        if messages.iter().next() == Some(&instructions) {
            return messages;
        }
        std::iter::once(instructions).chain(messages.iter().cloned()).collect()
    }

    /// What its model is told of tools after this conversation.
    fn offered(&self, conversation: &Transcript) -> Vec<ToolDefinition> {
        match &self.on_demand {
            Some(on_demand) => on_demand.offered(&self.definitions, conversation),
            None => self.definitions.to_vec(),
        }
    }

    fn offering(self, tools: Toolset) -> Self {
        Self { definitions: tools.definitions().into(), tools, ..self }
    }

    pub(crate) fn at_most(self, turns: Option<u32>) -> Self {
        Self { max_turns: MaxTurns::Explicit(turns), ..self }
    }

    /// The same agent with this many turns, unless it says how many it has.
    pub(crate) fn at_most_by_default(self, turns: u32) -> Self {
        match self.max_turns {
            MaxTurns::Default => self.at_most(Some(turns)),
            MaxTurns::Explicit(_) => self,
        }
    }

    fn model_for(&self, scope: &Scope) -> Result<Arc<dyn Model>, Error> {
        match &self.model {
            Some(model) => Ok(Arc::clone(model)),
            None => scope.default_model(),
        }
    }

    /// Whether it has tools whose results it would want to read.
    fn works_with_tools(&self) -> bool {
        self.tools.iter().any(|tool| tool.spec().execution == Execution::Server)
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Agent")
            .field("name", &self.name)
            .field("model", &self.model.as_ref().map(|model| model.name().to_owned()))
            .field("tools", &self.tools)
            .field("max_turns", &self.max_turns())
            .finish_non_exhaustive()
    }
}
