//! The agent builder.

use std::sync::Arc;
use std::time::Duration;

use convoke_core::{DuplicateTool, Model, ModelParams, ModelReply, Tool, ToolCall, Toolset, Transcript};

use super::on_demand::OnDemand;
use super::{Agent, Approval, MaxTurns, OnRejection, ParallelCalls};

/// An agent being put together. See [`Agent::builder`].
#[must_use = "an agent is not made until `build` is called"]
pub struct AgentBuilder {
    agent: Agent,
    on_demand: Vec<String>,
    duplicate: Option<DuplicateTool>,
}

/// An agent that cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAgent {
    /// It has no name.
    #[error("an agent needs a name: it is part of every path and picture")]
    NoName,
    /// Two tools of one name.
    #[error(transparent)]
    DuplicateTool(#[from] DuplicateTool),
    /// No turns.
    #[error("agent `{agent}` has no turns: give it at least one, or `None` for as many as it takes")]
    NoTurns {
        /// The agent.
        agent: Arc<str>,
    },
    /// No calls, but tools.
    #[error("agent `{agent}` may make no calls: let a reply ask for at least one, or give it no tools")]
    NoCalls {
        /// The agent.
        agent: Arc<str>,
    },
    /// A limit on repetition that would refuse a first call.
    #[error(
        "agent `{agent}` would refuse call {limit} of identical ones: 2 is the first that repeats anything"
    )]
    RepeatLimit {
        /// The agent.
        agent: Arc<str>,
        /// The limit.
        limit: u32,
    },
    /// Approval for a tool there is not.
    #[error("agent `{agent}` wants approval for `{tool}`, and has no such tool; it has: {known}")]
    ApprovalOfUnknownTool {
        /// The agent.
        agent: Arc<str>,
        /// The tool.
        tool: String,
        /// The tools there are.
        known: String,
    },
}

impl AgentBuilder {
    pub(super) fn new(name: Arc<str>) -> Self {
        let agent = Agent {
            name,
            system: None,
            model: None,
            tools: Toolset::new(),
            definitions: Arc::default(),
            on_demand: None,
            params: ModelParams::default(),
            max_turns: MaxTurns::Default,
            raised_turns: None,
            max_calls_per_reply: Some(Agent::DEFAULT_MAX_CALLS_PER_REPLY),
            timeout: None,
            tool_timeout: Some(Agent::DEFAULT_TOOL_TIMEOUT),
            parallel: ParallelCalls::default(),
            approval: Approval::default(),
            when_rejected: OnRejection::default(),
            stop_when: None,
            refuse_when: None,
            hand_off_when: None,
            repeat_limit: Some(Agent::DEFAULT_REPEAT_LIMIT),
        };
        Self { agent, on_demand: Vec::new(), duplicate: None }
    }

    /// Sets the instructions every conversation begins with.
    pub fn system(mut self, text: impl Into<Arc<str>>) -> Self {
        self.agent.system = Some(text.into());
        self
    }

    /// Sets the model. Without one the run's is asked.
    pub fn model(self, model: impl Model + 'static) -> Self {
        self.shared_model(Arc::new(model))
    }

    /// Sets a model that others use too.
    pub fn shared_model(mut self, model: Arc<dyn Model>) -> Self {
        self.agent.model = Some(model);
        self
    }

    /// Adds a tool.
    pub fn tool(self, tool: impl Tool + 'static) -> Self {
        self.shared_tool(Arc::new(tool))
    }

    /// Adds a tool that others use too.
    pub fn shared_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        if let Err(duplicate) = self.agent.tools.add(tool) {
            self.duplicate.get_or_insert(duplicate);
        }
        self
    }

    /// Adds tools.
    pub fn tools(self, tools: Toolset) -> Self {
        tools.iter().fold(self, |builder, tool| builder.shared_tool(Arc::clone(tool)))
    }

    /// Offers these of its tools by name only: what they are for and what they take, the model is told once it opens them
    /// with `open_tools`. A request then costs a few words for each instead of its description, whether they are needed or
    /// not; a model that needs some takes one turn more. Names of no tool are passed over.
    ///
    /// ```
    /// use convoke_agent::{Agent, FunctionTool};
    /// use convoke_core::Error;
    ///
    /// let today = FunctionTool::new("today", "Says what day it is.", |_: ()| async { Ok::<_, Error>("Monday".to_owned()) });
    /// let agent = Agent::builder("clerk").tool(today).on_demand(["today"]).build()?;
    /// assert!(agent.tools().get("today").is_some());
    /// # Ok::<(), convoke_agent::InvalidAgent>(())
    /// ```
    pub fn on_demand(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.on_demand = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets sampling parameters. What the run sets overrides them.
    pub fn params(mut self, params: ModelParams) -> Self {
        self.agent.params = params;
        self
    }

    /// Sets how many turns it has, the last one without tools included; `None` means as many as it takes. 10 otherwise.
    pub fn max_turns(mut self, turns: impl Into<Option<u32>>) -> Self {
        self.agent.max_turns = MaxTurns::Explicit(turns.into());
        self
    }

    /// Sets how many turns it has once those of [`max_turns`](Self::max_turns) are over, if these are more. A run that goes on with
    /// a raised limit keeps the last turns that were made before it was raised.
    pub fn raised_turns(mut self, turns: impl Into<Option<u32>>) -> Self {
        self.agent.raised_turns = turns.into();
        self
    }

    /// Sets how many calls of one reply are made; `None` means all of them. 128 otherwise. The model is told of each call
    /// beyond it that it was not made, and why. Calls left to the client do not count.
    pub fn max_calls_per_reply(mut self, calls: impl Into<Option<u32>>) -> Self {
        self.agent.max_calls_per_reply = calls.into();
        self
    }

    /// Limits how long it may take as a whole. Then it stops with what it has. It counts over the life of a
    /// run: what was done before the run was resumed has taken its time, and waiting for people while it was suspended has not.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.agent.timeout = Some(limit);
        self
    }

    /// Sets how long a tool call may take unless the tool says otherwise; `None` means as long as it takes. 30 seconds
    /// otherwise. Time spent waiting for people or for other calls does not count.
    pub fn tool_timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.agent.tool_timeout = limit.into();
        self
    }

    /// Says how calls of one turn are made.
    pub fn parallel_tool_calls(mut self, parallel: ParallelCalls) -> Self {
        self.agent.parallel = parallel;
        self
    }

    /// Says which calls a person must approve.
    pub fn approval(mut self, approval: Approval) -> Self {
        self.agent.approval = approval;
        self
    }

    /// Says what happens when every call of a turn was rejected.
    pub fn when_rejected(mut self, rejected: OnRejection) -> Self {
        self.agent.when_rejected = rejected;
        self
    }

    /// Stops after the first reply of which this is true, before any call in it is made. It is given the turn's number,
    /// from 1, and must depend on nothing else: a resumed run asks it again.
    pub fn stop_when(mut self, stop: impl Fn(u32, &ModelReply) -> bool + Send + Sync + 'static) -> Self {
        self.agent.stop_when = Some(Arc::new(stop));
        self
    }

    /// Refuses calls: given the conversation up to and including the reply that wants a call made, says why it must not be.
    /// The model gets to read that; nobody is asked about such a call, and no gate sees it. It must depend on nothing but
    /// what it is given: a resumed run asks it again.
    pub fn refuse_when(
        mut self,
        refuse: impl Fn(&Transcript, &ToolCall) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.agent.refuse_when = Some(Arc::new(refuse));
        self
    }

    /// Stops after a turn whose calls have been answered, if this is true of the conversation by then: whoever gets the result goes on
    /// with it, with other instructions or other tools. It must depend on nothing but what it is given: a resumed run asks it again.
    pub fn hand_off_when(mut self, hand_off: impl Fn(&Transcript) -> bool + Send + Sync + 'static) -> Self {
        self.agent.hand_off_when = Some(Arc::new(hand_off));
        self
    }

    /// Refuses the `n`-th identical call in a row if the ones before it all gave the same; the model is told so, and
    /// if it insists the agent ends. `None` lets it go on. 4 otherwise.
    ///
    /// "In a row" counts turns: a call that a turn does without begins anew.
    pub fn repeat_limit(mut self, limit: impl Into<Option<u32>>) -> Self {
        self.agent.repeat_limit = limit.into();
        self
    }

    /// The agent.
    ///
    /// # Errors
    /// [`InvalidAgent`] says what does not fit together.
    pub fn build(self) -> Result<Agent, InvalidAgent> {
        let Self { mut agent, on_demand, duplicate } = self;
        let name = || Arc::clone(&agent.name);
        if agent.name.is_empty() {
            return Err(InvalidAgent::NoName);
        }
        if let Some(duplicate) = duplicate {
            return Err(duplicate.into());
        }
        if agent.max_turns == MaxTurns::Explicit(Some(0)) {
            return Err(InvalidAgent::NoTurns { agent: name() });
        }
        if agent.max_calls_per_reply == Some(0) {
            return Err(InvalidAgent::NoCalls { agent: name() });
        }
        if let Some(limit) = agent.repeat_limit.filter(|limit| *limit < 2) {
            return Err(InvalidAgent::RepeatLimit { agent: name(), limit });
        }
        if let Some(tool) = agent.approval.unknown_tool(&agent.tools) {
            let known = agent.tools.names().collect::<Vec<_>>().join(", ");
            return Err(InvalidAgent::ApprovalOfUnknownTool { agent: name(), tool: tool.to_owned(), known });
        }
        agent.definitions = agent.tools.definitions().into();
        agent.on_demand = OnDemand::of(&on_demand, &agent.tools);
        Ok(agent)
    }
}

impl std::fmt::Debug for AgentBuilder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AgentBuilder")
            .field("name", &self.agent.name)
            .field("tools", &self.agent.tools)
            .finish_non_exhaustive()
    }
}

impl From<InvalidAgent> for convoke_core::Error {
    fn from(error: InvalidAgent) -> Self {
        Self::failed(error)
    }
}
