//! The agent step: an agent that works on a question made of the state.

use convoke_agent::{Agent, AgentResult};
use convoke_core::{BoxFuture, Error, Nature, Scope, Step, Transcript};

/// Lets an agent work on a conversation made of the state, and stores what it came to.
///
/// ```
/// use convoke_agent::Agent;
/// use convoke_steps::AgentStep;
///
/// #[derive(Default)]
/// struct Case { question: String, answer: String }
///
/// let agent = Agent::builder("helper").system("You help.").build()?;
/// let step = AgentStep::new("help", agent, |case: &Case| case.question.clone())
///     .store(|case, result| case.answer = result.text());
/// # Ok::<(), convoke_agent::InvalidAgent>(())
/// ```
pub struct AgentStep<S> {
    parts: AgentStepBuilder<S>,
    store: StoreResult<S>,
}

type StoreResult<S> = Box<dyn Fn(&mut S, AgentResult) + Send + Sync>;

/// An agent step that does not know yet what to do with the result.
#[must_use = "say what becomes of the result: `store` or `discard`"]
pub struct AgentStepBuilder<S> {
    name: String,
    agent: Agent,
    messages: Box<dyn Fn(&S) -> Transcript + Send + Sync>,
}

impl<S: Send + 'static> AgentStep<S> {
    /// Gives an agent what `messages` makes of the state.
    #[expect(clippy::new_ret_no_self, reason = "the builder says what becomes of the result")]
    pub fn new<M: Into<Transcript>>(
        name: impl Into<String>,
        agent: Agent,
        messages: impl Fn(&S) -> M + Send + Sync + 'static,
    ) -> AgentStepBuilder<S> {
        AgentStepBuilder { name: name.into(), agent, messages: Box::new(move |state| messages(state).into()) }
    }
}

impl<S: Send + 'static> AgentStepBuilder<S> {
    /// Stores the result. It has the answer, the whole conversation, why the agent stopped, what it used, and the calls
    /// it left to the client.
    pub fn store(self, store: impl Fn(&mut S, AgentResult) + Send + Sync + 'static) -> AgentStep<S> {
        AgentStep { parts: self, store: Box::new(store) }
    }

    /// Throws the result away: the agent works for what its tools do.
    pub fn discard(self) -> AgentStep<S> {
        self.store(|_, _| {})
    }
}

impl<S: Send + 'static> Step<S> for AgentStep<S> {
    fn name(&self) -> &str {
        &self.parts.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut S) -> BoxFuture<'a, Result<(), Error>> {
        let messages = (self.parts.messages)(state);
        Box::pin(async move {
            let result = self.parts.agent.run(scope, messages).await?;
            (self.store)(state, result);
            Ok(())
        })
    }

    fn kind(&self) -> &'static str {
        "agent"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }
}
