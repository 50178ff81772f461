//! The step of one goal, from its condition to its values.

use std::sync::Arc;

use convoke_agent::memory::exchange;
use convoke_core::{Bounds, BoxFuture, Error, Message, Nature, Outline, Scope, Step};

use super::called_tools::CalledTools;
use super::convergence::ConvergenceProgress;
use super::error::GoalError;
use super::spawn::Spawner;
use super::supervised_work::SupervisedWork;
use super::worker::{WorkResult, Worker};
use super::workflow_context::{WorkflowContext, borrowed};
use super::{available_tools, embedded, events, fan_out};
use crate::agentfile::model::Type;
use crate::context::{Briefing, FittedPrompt, Role};
use crate::plan::{PlannedGoal, PlannedNode, SupervisedBy};
use crate::state::GoalState;
use crate::supervise::{Attempt, Correction, Product, StandingCorrections};
use crate::tree::Output;

/// How many turns the main model has for a goal, unless something else is said.
const USUAL_TURNS: u32 = 50;

/// A goal that stands in a sequence.
pub(super) struct GoalStep {
    around: Arc<WorkflowContext>,
    goal: PlannedGoal,
    /// What was corrected, for when it is tried again.
    standing: StandingCorrections,
}

impl GoalStep {
    pub(super) fn new(around: &Arc<WorkflowContext>, goal: &PlannedGoal) -> Self {
        Self { around: Arc::clone(around), goal: goal.clone(), standing: StandingCorrections::default() }
    }
}

impl Step<GoalState> for GoalStep {
    fn name(&self) -> &str {
        &self.goal.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut GoalState) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(
            async move { pursue(&self.around, &self.goal, &self.standing, scope, state).await.map(drop) },
        )
    }

    fn kind(&self) -> &'static str {
        self.goal.kind().name()
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn bounds(&self) -> Option<&Bounds> {
        Some(&self.goal.bounds)
    }

    fn outline(&self) -> Outline {
        PlannedNode::Goal(self.goal.clone()).outline()
    }
}

/// Pursues a goal, and puts what it came to into the state. Gives that, unless its condition does not hold.
pub(super) async fn pursue(
    around: &Arc<WorkflowContext>,
    goal: &PlannedGoal,
    standing: &StandingCorrections,
    scope: &Scope,
    state: &mut GoalState,
) -> Result<Option<Product>, Error> {
    if !around.holds((goal.kind().name(), &goal.name), goal.when.as_ref(), state)? {
        state.skip(&goal.name);
        events::goal_skipped(scope, &goal.name, "its condition does not hold").await;
        return Ok(None);
    }
    let FittedPrompt { text: description, cuts } =
        around.filled((goal.kind().name(), &goal.name), &goal.settings, scope, &goal.text, state).await?;
    events::goal_started(scope, &goal.name, goal.kind().name(), &description).await;
    events::context_cut(scope, &goal.name, &cuts).await;
    // What somebody watches over is no result before they accept it, however the goal ends: drafts are kept apart.
    let mut apart;
    let drafts = match goal.supervised_by {
        SupervisedBy::Nobody => &mut *state,
        SupervisedBy::Model | SupervisedBy::Human => {
            apart = state.clone();
            &mut apart
        }
    };
    let watched = SupervisedWork {
        kind: goal.kind().name(),
        name: &goal.name,
        goal: &description,
        supervised_by: goal.supervised_by,
        settings: &goal.settings,
        standing,
    };
    let tools = || available_tools::for_goal(around, goal, around.level);
    let (product, beside) = remembering(around, goal, &description, scope, |told| async move {
        let mut attempt = GoalAttempt {
            around,
            goal,
            description: &told,
            state: drafts,
            improving: ConvergenceProgress::default(),
            beside: GoalState::default(),
        };
        let mut product = watched.run(around, tools, scope, &mut attempt).await?;
        // Whoever sends it back knows that it did not converge; that it did not is on record all the same.
        product.unconverged = attempt.improving.unconverged;
        Ok((product, attempt.beside))
    })
    .await?;
    usable(&goal.name, &product)?;
    // It may have been pursued before, and those it uses may have given more then.
    for stale in fan_out::values_below(goal).iter().filter(|name| beside.outputs.get(name).is_none()) {
        state.outputs.unset(stale);
    }
    state.absorb(beside);
    accept(around, (goal.kind().name(), &goal.name, &goal.outputs), &product, scope, state).await?;
    events::goal_ended(scope, &goal.name, &product.text).await;
    Ok(Some(product))
}

/// Pursues a goal with what is remembered that fits it, and remembers what it came to; without a memory, just pursues it. What is
/// remembered is told as what it is: words of then, between marks.
async fn remembering<F>(
    around: &WorkflowContext,
    goal: &PlannedGoal,
    description: &str,
    scope: &Scope,
    pursue: impl FnOnce(String) -> F,
) -> Result<(Product, GoalState), Error>
where
    F: Future<Output = Result<(Product, GoalState), Error>>,
{
    let Some(name) = &goal.memory else { return pursue(description.to_owned()).await };
    let model = around.model(&goal.settings, scope)?;
    let words = Message::user(description);
    let memories = around.equipment.memories.as_deref();
    exchange(&scope.child("memory"), memories, (name, &words), Some(&model), |remembered, _| {
        let told = match remembered.is_empty() {
            true => description.to_owned(),
            false => format!("{description}\n\n{}", around.fence.wrap(&remembered.text())),
        };
        let words = words.clone();
        async move {
            let (product, beside) = pursue(told).await?;
            let said = vec![words, Message::assistant(product.text.as_str())];
            Ok(((product, beside), said))
        }
    })
    .await
}

/// Whether there is a result to speak of.
fn usable(name: &str, product: &Product) -> Result<(), GoalError> {
    let name = || name.to_owned();
    match &product.incomplete {
        _ if !product.text.trim().is_empty() => Ok(()),
        Some(_) if product.unassembled => Err(GoalError::Unassembled { name: name() }),
        Some(reason) => Err(GoalError::Incomplete { name: name(), reason: reason.clone() }),
        None => Err(GoalError::Empty { name: name() }),
    }
}

/// Puts what somebody came to into the state; nothing of it if it is not usable.
pub(super) async fn accept(
    around: &WorkflowContext,
    (kind, name, outputs): (&'static str, &str, &[Output]),
    product: &Product,
    scope: &Scope,
    state: &mut GoalState,
) -> Result<(), Error> {
    usable(name, product)?;
    let missing = product.lacks(outputs);
    if let Some(output) = missing.iter().find(|output| around.needed.contains(output.as_str()))
        && around.rules.need_outputs()
    {
        let problem =
            product.missing.iter().chain(&product.incomplete).cloned().collect::<Vec<_>>().join("; ");
        let (name, output) = (name.to_owned(), output.clone());
        return Err(GoalError::MissingOutput { kind, name, output, problem }.into());
    }
    let cut_short = product.incomplete.as_deref();
    if let Some(reason) = cut_short {
        events::goal_incomplete(scope, name, reason).await;
    }
    state.note(name, missing, cut_short);
    for output in outputs {
        match product.fields.get(output.name()) {
            Some(value) => state.outputs.set(output.name(), value.clone()),
            None => state.outputs.unset(output.name()),
        }
    }
    // The name stands for the whole answer, unless an output of that name has a type: then others rely on the type.
    let is_typed = |output: &Output| output.name() == name && *output.ty() != Type::String;
    if !outputs.iter().any(is_typed) {
        state.outputs.set(name, product.text.as_str());
    }
    state.skipped.retain(|skipped| skipped != name);
    match product.unconverged {
        Some(cap) => state.unconverged.insert(name.to_owned(), cap),
        None => state.unconverged.remove(name),
    };
    Ok(())
}

/// Attempts at a goal.
struct GoalAttempt<'a> {
    around: &'a Arc<WorkflowContext>,
    goal: &'a PlannedGoal,
    description: &'a str,
    state: &'a mut GoalState,
    /// For a convergence: how far it is.
    improving: ConvergenceProgress,
    /// What others made in the last attempt.
    beside: GoalState,
}

impl Attempt for GoalAttempt<'_> {
    fn attempt<'a>(
        &'a mut self,
        scope: &'a Scope,
        corrections: &'a [Correction],
    ) -> BoxFuture<'a, Result<Product, Error>> {
        Box::pin(async move {
            let pursuit = Pursuit {
                around: self.around,
                goal: self.goal,
                description: self.description,
                corrections,
                history: None,
                came_empty: false,
            };
            let said = match &self.goal.converge {
                None => pursuit.once(scope, self.state).await?,
                Some(within) => self.improving.run(&pursuit, within, scope, self.state).await?,
            };
            self.beside = said.beside;
            self.around.called.add(said.product.tools.iter().cloned());
            Ok(said.product)
        })
    }
}

/// A goal about to be pursued.
#[derive(Clone, Copy)]
pub(super) struct Pursuit<'a> {
    pub(super) around: &'a Arc<WorkflowContext>,
    pub(super) goal: &'a PlannedGoal,
    pub(super) description: &'a str,
    pub(super) corrections: &'a [Correction],
    /// For a convergence: the iterations so far.
    pub(super) history: Option<&'a [String]>,
    /// Whether the last of them gave nothing.
    pub(super) came_empty: bool,
}

impl Pursuit<'_> {
    /// Pursues it once: the main model does, or those the goal uses.
    pub(super) async fn once(&self, scope: &Scope, state: &GoalState) -> Result<WorkResult, Error> {
        match &self.goal.embedded {
            Some(embedded) => embedded::run(self, embedded, scope, state).await,
            None if self.goal.using.is_empty() => self.main_model(scope, state).await,
            None => fan_out::run(self, scope, state).await,
        }
    }

    async fn main_model(&self, scope: &Scope, state: &GoalState) -> Result<WorkResult, Error> {
        let Self { around, goal, .. } = *self;
        let spawner = Spawner {
            around: Arc::clone(around),
            goal: Arc::clone(&goal.name),
            settings: goal.settings.clone(),
            level: around.level,
            called: CalledTools::default(),
        };
        let (tools, spawning) = spawner.tools()?;
        let on_demand = around.on_demand(&goal.settings, &tools);
        let mut prior = around.prior(state, &goal.name);
        if around.rules.reworded() {
            // What the goal's own text has in it need not be said twice.
            prior.retain(|(name, _)| !goal.text.variables().any(|variable| **variable == **name));
        }
        let (prior, history) =
            around.condensed_history(&goal.settings, scope, (prior, self.history), self.description).await?;
        let mut briefing =
            Briefing::new(&around.plan.name, &goal.name, self.description).worded(around.rules);
        let prior = borrowed(&prior);
        briefing = briefing.prior(&prior).corrections(self.corrections).outputs(&goal.outputs);
        if let Some(history) = &history {
            briefing = briefing.converging(history).came_empty(self.came_empty);
        }
        let asked = Worker {
            name: &goal.name,
            model: around.model(&goal.settings, scope)?,
            settings: &goal.settings,
            system: around.system(Role::Goal, &goal.settings, &tools, &on_demand, spawning),
            tools,
            on_demand,
            fence: &around.fence,
            skills: around.equipment.skills.clone(),
            prompt: briefing.write(&around.fence, around.equipment.context_budget),
            outputs: &goal.outputs,
            converging: self.history.is_some(),
            max_turns: around.turns_of(&goal.settings, USUAL_TURNS),
            rules: around.rules,
            commands: around.equipment.commands.clone(),
            called: spawner.called.clone(),
            watched: None,
        };
        asked.ask(scope).await
    }
}
