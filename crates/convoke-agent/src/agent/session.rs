//! The agent loop: turns, until there is a reason to stop, and what a stop leaves of what was answered.

use std::sync::Arc;

use convoke_core::{Error, EventKind, Model, Scope, Transcript};
use serde_json::json;

use super::clock::{Clock, TurnTime};
use super::limits::{self, Admission};
use super::progress::AgentProgress;
use super::turn::Turn;
use super::{Agent, AgentResult, AgentStop};

pub(super) async fn run(agent: &Agent, scope: &Scope, transcript: Transcript) -> Result<AgentResult, Error> {
    let model = agent.model_for(scope)?;
    let mut clock = Clock::start(agent.timeout, scope)?;
    let mut progress = AgentProgress::new(transcript, agent.repeat_limit);
    scope.emit(EventKind::AgentStarted { name: agent.name().to_owned() }).await;
    let stop = loop {
        take_turn(agent, &model, scope, &mut clock, &mut progress).await?;
        if let Some(stop) = progress.stop {
            break stop;
        }
    };
    let result = progress.result(stop);
    report(scope, agent, &result).await;
    Ok(result)
}

async fn take_turn(
    agent: &Agent,
    model: &Arc<dyn Model>,
    scope: &Scope,
    clock: &mut Clock<'_>,
    progress: &mut AgentProgress,
) -> Result<(), Error> {
    scope.check()?;
    let number = progress.begin_turn();
    let (turn_scope, interrupted) = match clock.turn_time(number) {
        TurnTime::Up => {
            progress.stop(AgentStop::TimedOut);
            return Ok(());
        }
        TurnTime::Unlimited => (scope.child(Turn::NAME), None),
        TurnTime::Limited { left, of } => {
            let turn = scope.composing().child_with_time_left(Turn::NAME, left, of);
            // What has begun is gone on with as far as it came, and ends by itself.
            if left.is_zero() && !turn.composing().has_past_within() {
                clock.give_up(number)?;
                progress.stop(AgentStop::TimedOut);
                return Ok(());
            }
            (turn, None)
        }
        TurnTime::Interrupted(reached) => (scope.child(Turn::NAME), Some(reached)),
    };
    let asking = Turn::asking_scope(&turn_scope);
    let last =
        match limits::admit(agent, model, &turn_scope, asking.composing().has_past(), number, progress)? {
            Admission::Ordinary => None,
            Admission::Last(limit) => Some(limit),
            Admission::Refused(limit) => {
                progress.stop(limit.stop());
                return Ok(());
            }
        };
    let turn = Turn { agent, model, number, asking, last, interrupted };
    let Err(error) = turn_scope.composing().enter(&turn, progress).await else { return Ok(()) };
    let unfinished = std::mem::take(&mut progress.unfinished);
    if clock.ran_out(number, &turn_scope, &error, unfinished)? {
        progress.stop(AgentStop::TimedOut);
        return Ok(());
    }
    match error.root() {
        // With a reply there is something to end with.
        Error::Budget(_) if progress.reply.is_some() => {
            progress.stop(AgentStop::BudgetExhausted);
            Ok(())
        }
        _ => Err(error),
    }
}

/// Tells listeners why the agent stopped: that it did, the step around it says.
async fn report(scope: &Scope, agent: &Agent, result: &AgentResult) {
    if scope.has_listeners() {
        let value = json!({
            "agent": agent.name(),
            "stop": result.stop,
            "turns": result.turns,
            "pending_calls": result.pending_calls,
        });
        scope.emit(EventKind::Custom { name: "agent_ended".to_owned(), value }).await;
    }
}
