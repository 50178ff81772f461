//! Fan-out: several agents or goals that pursue the same goal at the same time.

use std::sync::Arc;

use convoke_core::{Bounds, BoxFuture, Error, Nature, Outline, Scope, Step};
use convoke_steps::{Join, Parallel};

use super::agent::{self, Brief};
use super::called_tools::merge;
use super::error::GoalError;
use super::goal::{self, Pursuit};
use super::retry::retried;
use super::worker::WorkResult;
use super::workflow_context::WorkflowContext;
use super::{events, synthesis};
use crate::plan::{PlannedAgent, PlannedGoal, PlannedNode};
use crate::state::GoalState;
use crate::supervise::StandingCorrections;
use crate::tree::Output;

/// Has those a goal uses pursue it, all at the same time, and makes one answer of theirs.
pub(super) async fn run(
    pursuit: &Pursuit<'_>,
    scope: &Scope,
    state: &GoalState,
) -> Result<WorkResult, Error> {
    let mut beside = GoalState::default();
    let mut answers = Vec::new();
    for done in gather(pursuit, scope, state).await? {
        beside.absorb(done.beside);
        answers.extend(done.answer);
    }
    // Everybody who was asked says so; what is made of their answers says nothing about it.
    let verdicts: Vec<bool> = answers.iter().filter_map(|answer| answer.said.converged).collect();
    let converged = (!verdicts.is_empty()).then(|| verdicts.iter().all(|converged| *converged));
    let mut tools = Vec::new();
    for answer in &answers {
        merge(&mut tools, answer.said.product.tools.iter().cloned());
    }
    let mut together = if answers.is_empty() {
        return Err(GoalError::NobodyAnswered { goal: pursuit.goal.name.to_string() }.into());
    } else if pursuit.goal.used().len() == 1 && answers[0].gives_what_is_asked_of(pursuit.goal) {
        answers.remove(0).said
    } else {
        synthesis::run(pursuit, scope, &mut answers).await?
    };
    together.product.tools = tools;
    together.converged = converged;
    together.beside = beside;
    Ok(together)
}

/// The answer of a member.
#[derive(Clone)]
pub(super) struct MemberAnswer {
    pub(super) name: String,
    pub(super) said: WorkResult,
}

impl MemberAnswer {
    /// Whether it is all there is to be had for the outputs of the goal. Agents were asked for them; a goal has outputs of
    /// its own, which may be others.
    fn gives_what_is_asked_of(&self, goal: &PlannedGoal) -> bool {
        let WorkResult { product, .. } = &self.said;
        let has = |output: &Output| product.fields.get(output.name()).is_some_and(|v| output.ty().admits(v));
        matches!(goal.using.first(), Some(PlannedNode::Agent(_))) || goal.outputs.iter().all(has)
    }
}

/// The result of a member.
#[derive(Clone, Default)]
struct MemberResult {
    /// None if the condition of a goal does not hold.
    answer: Option<MemberAnswer>,
    /// What it made besides.
    beside: GoalState,
}

impl MemberResult {
    fn text(&self) -> &str {
        self.answer.as_ref().map_or("", |answer| &answer.said.product.text)
    }
}

/// What all of them came to, in declared order.
async fn gather(pursuit: &Pursuit<'_>, scope: &Scope, state: &GoalState) -> Result<Vec<MemberResult>, Error> {
    let goal = pursuit.goal;
    let used = goal.used();
    let brief = Arc::new(Brief {
        goal: Arc::clone(&goal.name),
        text: pursuit.description.to_owned(),
        standing: false,
        history: pursuit.history.map(<[String]>::to_vec),
        came_empty: pursuit.came_empty,
        outputs: if used.len() == 1 { goal.outputs.clone() } else { Vec::new() },
    });
    let state = Arc::new(state.clone());
    let mut parallel = Parallel::builder(&*goal.name, Join::all().cancel_rest());
    for node in used {
        let member = Member {
            around: Arc::clone(pursuit.around),
            node: node.clone(),
            brief: Arc::clone(&brief),
            standing: StandingCorrections::inheriting(pursuit.corrections.to_vec()),
            state: Arc::clone(&state),
        };
        let retry = match node {
            PlannedNode::Agent(agent) => agent.retry,
            PlannedNode::Goal(goal) => goal.retry,
        };
        let fork = |_: &Vec<MemberResult>| MemberResult::default();
        parallel = parallel.project(retried(member, retry)?, fork, Vec::push);
    }
    let mut all = Vec::new();
    let parallel = parallel.build().map_err(Error::failed)?;
    scope.composing().inline(&parallel, &mut all).await?;
    Ok(all)
}

/// The names of all values that those a goal uses may make.
pub(super) fn values_below(goal: &PlannedGoal) -> Vec<String> {
    let mut names = Vec::new();
    for node in goal.used() {
        let own = node.outputs().iter().map(|output| output.name().to_owned());
        let made: Vec<String> = match node {
            PlannedNode::Agent(_) => own.collect(),
            PlannedNode::Goal(inner) => {
                own.filter(|name| **name != *inner.name).chain(values_below(inner)).collect()
            }
        };
        names.extend(made.iter().map(|value| inner_name(&goal.name, node.name(), value)));
    }
    names
}

impl PlannedGoal {
    /// Those it uses. Whoever it names twice counts once.
    fn used(&self) -> Vec<&PlannedNode> {
        let mut used: Vec<&PlannedNode> = Vec::new();
        for node in &self.using {
            if used.iter().all(|known| known.name() != node.name()) {
                used.push(node);
            }
        }
        used
    }
}

/// A member: one of those a goal uses.
struct Member {
    around: Arc<WorkflowContext>,
    node: PlannedNode,
    brief: Arc<Brief>,
    /// What was corrected: the goal's own, and for when it is tried again.
    standing: StandingCorrections,
    /// What there is so far.
    state: Arc<GoalState>,
}

impl Member {
    async fn work(&self, scope: &Scope) -> Result<MemberResult, Error> {
        match &self.node {
            PlannedNode::Agent(agent) => self.agent(agent, scope).await,
            PlannedNode::Goal(goal) => self.goal(goal, scope).await,
        }
    }

    async fn agent(&self, agent: &PlannedAgent, scope: &Scope) -> Result<MemberResult, Error> {
        let name = agent.name.to_string();
        let said =
            agent::answer(&self.around, agent, (&self.brief, &self.standing), scope, &self.state).await?;
        if said.product.text.trim().is_empty() && said.converged != Some(true) {
            let reason = said.product.incomplete.unwrap_or_default();
            return Err(GoalError::Incomplete { name, reason }.into());
        }
        let mut beside = GoalState::default();
        // What it gives for the goal is the goal's to account for.
        let is_own = |output: &&Output| self.brief.outputs.iter().all(|asked| asked.name() != output.name());
        let own: Vec<Output> = agent.outputs.iter().filter(is_own).cloned().collect();
        beside.note(&format!("{}.{name}", self.brief.goal), said.product.lacks(&own), None);
        for output in &agent.outputs {
            if let Some(value) = said.product.fields.get(output.name()) {
                beside.outputs.set(self.inner_name(output.name()), value.clone());
            }
        }
        Ok(MemberResult { answer: Some(MemberAnswer { name, said }), beside })
    }

    /// A goal below the goal works on a state of its own; what it made there is known by other names here.
    async fn goal(&self, goal: &PlannedGoal, scope: &Scope) -> Result<MemberResult, Error> {
        let mut own = (*self.state).clone();
        // No text refers to what it gives.
        let around = Arc::new(WorkflowContext { needed: Arc::default(), ..(*self.around).clone() });
        let product = goal::pursue(&around, goal, &self.standing, scope, &mut own).await?;
        let mut beside = own.made_since(&self.state);
        let made = std::mem::take(&mut beside.outputs);
        for (value_name, value) in made.iter().filter(|(value_name, _)| **value_name != *goal.name) {
            beside.outputs.set(self.inner_name(value_name), value.clone());
        }
        let answer = product.map(|product| MemberAnswer {
            name: goal.name.to_string(),
            said: WorkResult { product, ..WorkResult::default() },
        });
        Ok(MemberResult { answer, beside })
    }

    fn inner_name(&self, value: &str) -> String {
        inner_name(&self.brief.goal, self.node.name(), value)
    }
}

/// What a value made below a goal is called: no text refers to it, so its name is one that no text can have.
fn inner_name(goal: &str, node: &str, value: &str) -> String {
    match value.strip_prefix(node).filter(|rest| rest.starts_with('.')) {
        Some(rest) => format!("{goal}.{node}{rest}"),
        None => format!("{goal}.{node}.{value}"),
    }
}

impl Step<MemberResult> for Member {
    fn name(&self) -> &str {
        self.node.name()
    }

    fn run<'a>(&'a self, scope: &'a Scope, done: &'a mut MemberResult) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let (goal, name) = (&self.brief.goal, self.node.name());
            events::subagent_spawned(scope, goal, name, false).await;
            let result = self.work(scope).await;
            let text = result.as_ref().map(MemberResult::text);
            events::subagent_completed(scope, goal, name, text).await;
            *done = result?;
            Ok(())
        })
    }

    fn kind(&self) -> &'static str {
        match &self.node {
            PlannedNode::Agent(_) => "agent",
            PlannedNode::Goal(goal) => goal.kind().name(),
        }
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }

    fn bounds(&self) -> Option<&Bounds> {
        Some(match &self.node {
            PlannedNode::Agent(agent) => &agent.bounds,
            PlannedNode::Goal(goal) => &goal.bounds,
        })
    }

    fn outline(&self) -> Outline {
        self.node.outline()
    }
}
