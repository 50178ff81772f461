//! Agents: one that stands in a sequence, and those that pursue a goal for another.

use std::sync::Arc;

use convoke_core::{Bounds, BoxFuture, Error, Nature, Outline, Scope, Step};

use super::called_tools::CalledTools;
use super::error::GoalError;
use super::goal::accept;
use super::spawn::Spawner;
use super::subworkflow::SubWorkflow;
use super::supervised_work::SupervisedWork;
use super::worker::{WorkResult, Worker};
use super::workflow_context::{WorkflowContext, borrowed};
use super::{available_tools, events};
use crate::agentfile::Template;
use crate::context::{Briefing, FittedPrompt, Role, Task};
use crate::plan::{PlannedAgent, PlannedNode, PlannedPersona};
use crate::state::GoalState;
use crate::supervise::{Attempt, Correction, Product, StandingCorrections};
use crate::tree::{Name, Output};

/// How many turns an agent has, unless something else is said.
const USUAL_TURNS: u32 = 30;

/// An agent that stands in a sequence and does its own task.
pub(super) struct AgentStep {
    around: Arc<WorkflowContext>,
    agent: PlannedAgent,
    /// What was corrected, for when it is tried again.
    standing: StandingCorrections,
}

impl AgentStep {
    pub(super) fn new(around: &Arc<WorkflowContext>, agent: &PlannedAgent) -> Self {
        Self { around: Arc::clone(around), agent: agent.clone(), standing: StandingCorrections::default() }
    }
}

impl Step<GoalState> for AgentStep {
    fn name(&self) -> &str {
        &self.agent.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut GoalState) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let Self { around, agent, standing } = self;
            let no_task = || GoalError::NoTask { agent: agent.name.to_string() };
            let task = agent.task.as_ref().ok_or_else(no_task)?;
            let FittedPrompt { text: task, cuts } =
                around.filled(("agent", &agent.name), &agent.settings, scope, task, state).await?;
            events::goal_started(scope, &agent.name, "agent", &task).await;
            events::context_cut(scope, &agent.name, &cuts).await;
            let brief =
                Brief { goal: Arc::clone(&agent.name), text: task, standing: true, ..Brief::default() };
            let product = answer(around, agent, (&brief, standing), scope, state).await?.product;
            accept(around, ("agent", &agent.name, &agent.outputs), &product, scope, state).await?;
            events::goal_ended(scope, &agent.name, &product.text).await;
            Ok(())
        })
    }

    fn kind(&self) -> &'static str {
        "agent"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn bounds(&self) -> Option<&Bounds> {
        Some(&self.agent.bounds)
    }

    fn outline(&self) -> Outline {
        PlannedNode::Agent(self.agent.clone()).outline()
    }
}

/// What an agent is to do, and for which goal.
#[derive(Clone)]
pub(super) struct Brief {
    pub(super) goal: Name,
    pub(super) text: String,
    /// It stands in a sequence by itself, and works for no goal.
    pub(super) standing: bool,
    /// For a convergence: the iterations so far.
    pub(super) history: Option<Vec<String>>,
    /// Whether the last of them gave nothing.
    pub(super) came_empty: bool,
    /// What the goal is to give, if this agent alone pursues it.
    pub(super) outputs: Vec<Output>,
}

impl Brief {
    /// How deep whoever gets it is, as far as calling in others is concerned.
    pub(super) fn level(&self, around: &WorkflowContext) -> u32 {
        around.level + u32::from(!self.standing)
    }
}

impl Default for Brief {
    fn default() -> Self {
        Self {
            goal: Name::from(""),
            text: String::new(),
            standing: false,
            history: None,
            came_empty: false,
            outputs: Vec::new(),
        }
    }
}

/// What an agent answers, under the eyes of whoever watches it; `standing` has the goal's own corrections to begin with.
pub(super) async fn answer(
    around: &Arc<WorkflowContext>,
    agent: &PlannedAgent,
    (brief, standing): (&Brief, &StandingCorrections),
    scope: &Scope,
    state: &GoalState,
) -> Result<WorkResult, Error> {
    let mut outputs = brief.outputs.clone();
    let asked = |own: &&Output| outputs.iter().all(|wanted| wanted.name() != own.name());
    let own: Vec<Output> = agent.outputs.iter().filter(asked).cloned().collect();
    outputs.extend(own);
    let mut attempt = AgentAttempt { around, agent, brief, outputs: &outputs, state, converged: None };
    let watched = SupervisedWork {
        kind: "agent",
        name: &agent.name,
        goal: &brief.text,
        supervised_by: agent.supervised_by,
        settings: &agent.settings,
        standing,
    };
    let tools = || available_tools::for_agent(around, agent, brief.level(around));
    let product = watched.run(around, tools, scope, &mut attempt).await?;
    Ok(WorkResult { product, converged: attempt.converged, beside: GoalState::default() })
}

/// Attempts of an agent.
struct AgentAttempt<'a> {
    around: &'a Arc<WorkflowContext>,
    agent: &'a PlannedAgent,
    brief: &'a Brief,
    /// Its own and those it gives for the goal.
    outputs: &'a [Output],
    state: &'a GoalState,
    /// What the last attempt said about going on.
    converged: Option<bool>,
}

impl Attempt for AgentAttempt<'_> {
    fn attempt<'a>(
        &'a mut self,
        scope: &'a Scope,
        corrections: &'a [Correction],
    ) -> BoxFuture<'a, Result<Product, Error>> {
        Box::pin(async move {
            let product = match &self.agent.persona {
                PlannedPersona::Prompt(persona) => {
                    let said = self.ask(persona, scope, corrections).await?;
                    self.converged = said.converged;
                    said.product
                }
                PlannedPersona::Workflow { plan, task } => {
                    let inner = SubWorkflow {
                        around: self.around,
                        agent: &self.agent.name,
                        settings: &self.agent.settings,
                        plan,
                        task,
                        brief: self.brief,
                        outputs: self.outputs,
                    };
                    inner.run(scope, corrections).await?
                }
            };
            self.around.called.add(product.tools.iter().cloned());
            Ok(product)
        })
    }
}

impl AgentAttempt<'_> {
    async fn ask(
        &self,
        persona: &Template<Name>,
        scope: &Scope,
        corrections: &[Correction],
    ) -> Result<WorkResult, Error> {
        let Self { around, agent, .. } = self;
        let persona = around.filled_persona(&agent.name, &agent.settings, scope, persona, self.state).await?;
        let spawner = Spawner {
            around: Arc::clone(around),
            goal: Arc::clone(&self.brief.goal),
            settings: agent.settings.clone(),
            level: self.brief.level(around),
            called: CalledTools::default(),
        };
        let (tools, spawning) = spawner.tools()?;
        let on_demand = around.on_demand(&agent.settings, &tools);
        let mut prompt = self.prompt(scope, corrections).await?;
        prompt.cuts.splice(0..0, persona.cuts);
        let asked = Worker {
            name: &agent.name,
            model: around.model(&agent.settings, scope)?,
            settings: &agent.settings,
            system: around.system(
                Role::Agent { persona: &persona.text },
                &agent.settings,
                &tools,
                &on_demand,
                spawning,
            ),
            tools,
            on_demand,
            fence: &around.fence,
            skills: around.equipment.skills.clone(),
            prompt,
            outputs: self.outputs,
            converging: self.brief.history.is_some(),
            max_turns: around.turns_of(&agent.settings, USUAL_TURNS),
            rules: around.rules,
            commands: around.equipment.commands.clone(),
            called: spawner.called.clone(),
            watched: None,
        };
        asked.ask(scope).await
    }

    async fn prompt(&self, scope: &Scope, corrections: &[Correction]) -> Result<FittedPrompt, Error> {
        let Self { around, agent, brief, .. } = self;
        let prior = around.prior(self.state, &brief.goal);
        let texts = (prior, brief.history.as_deref());
        let (prior, history) = around.condensed_history(&agent.settings, scope, texts, &brief.text).await?;
        let prior = borrowed(&prior);
        let (fence, budget) = (&around.fence, around.equipment.context_budget);
        Ok(match &history {
            None => Task::new(&agent.name, &brief.goal, &brief.text)
                .worded(around.rules)
                .prior(&prior)
                .corrections(corrections)
                .outputs(self.outputs)
                .write(fence, budget),
            Some(history) => Briefing::new(&around.plan.name, &brief.goal, &brief.text)
                .prior(&prior)
                .converging(history)
                .came_empty(brief.came_empty)
                .worded(around.rules)
                .corrections(corrections)
                .outputs(self.outputs)
                .write(fence, budget),
        })
    }
}
