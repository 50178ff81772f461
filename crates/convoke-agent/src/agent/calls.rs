//! The calls of one turn: side by side where they do not conflict, their results in call order.
//!
//! Each call is a future of its own; none is a task, and none polls another: all are driven side by side, and a call
//! waits for the signal that an earlier one has ended. A call is made as soon as it is approved and every earlier call it
//! conflicts with is over. If one has to wait for a person the others finish first, and only those that must not run
//! before it are held back. A reply may ask for any number of calls; those beyond the agent's limit are not made.

use std::sync::Arc;
use std::time::Duration;

use convoke_core::{
    Access, Error, EventKind, Execution, Lane, ReservedScope, Resource, Scope, TimedOut, Tool, ToolCall,
};
use futures_util::future::join_all;
use tokio::sync::{Semaphore, SetOnce};

use super::approval::{self, ApprovalVerdict};
use super::clock::InterruptedTurn;
use super::on_demand::OPEN_TOOLS;
use super::progress::AgentProgress;
use super::summary::{CallEnd, CallsSummary, sum_up};
use super::turn::{Turn, answer, dismiss, end};

/// The concurrency of the calls of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ParallelCalls {
    /// Side by side, unless they touch the same thing and one of them changes it.
    #[default]
    ByEffects,
    /// One after the other, in call order.
    OneByOne,
}

/// What is to be done about a call.
enum Plan {
    /// Not made; the model gets to read why.
    Dismiss(String),
    /// Not made, because it must not be.
    Refuse(String),
    /// Nothing needs to be done for it.
    Answer(String),
    /// Left to the client.
    HandOver,
    Make(Work),
}

struct Work {
    tool: Arc<dyn Tool>,
    place: ReservedScope,
    approval: Option<Scope>,
    accesses: Vec<Access>,
}

/// Whether a call ended so that those that conflict with it may follow. Set when it is over.
type Ended = SetOnce<bool>;

pub(super) async fn make(
    turn: &Turn<'_>,
    scope: &Scope,
    calls: &[ToolCall],
    progress: &AgentProgress,
) -> Result<CallsSummary, Error> {
    let plans = plan_all(turn, scope, calls, progress);
    let gate = scope.settings().max_concurrency.map(|limit| Semaphore::new(limit.get()));
    let ended: Vec<Ended> = calls.iter().map(|_| Ended::new()).collect();
    let lanes: Vec<Lane> = (0..).zip(calls).map(|(number, _)| scope.composing().lane(number)).collect();
    let settling = calls.iter().zip(&lanes).enumerate().map(|(index, (call, lane))| {
        let call = Call { turn, scope, lane, index, call, plans: &plans, ended: &ended, gate: gate.as_ref() };
        call.settle()
    });
    let ends = join_all(settling).await;
    lanes.iter().for_each(Lane::end);
    sum_up(scope, calls, ends).await
}

/// Decides about all calls, in call order. Of those that would be made, the agent's limit lets only so many through.
fn plan_all(turn: &Turn<'_>, scope: &Scope, calls: &[ToolCall], progress: &AgentProgress) -> Vec<Plan> {
    let limit = turn.agent.max_calls_per_reply.unwrap_or(u32::MAX);
    // What was begun, or left unfinished, under another limit is not left out now.
    let had_its_turn = |index: usize, work: &Work| {
        turn.interrupted.as_ref().is_some_and(|reached| reached.unfinished.contains(&index))
            || work.was_begun(scope)
    };
    let mut allowed = 0;
    let planned = calls.iter().enumerate().map(|(index, call)| match plan(turn, scope, call, progress) {
        Plan::Make(work) if allowed < limit || had_its_turn(index, &work) => {
            allowed += 1;
            Plan::Make(work)
        }
        Plan::Make(_) => Plan::Dismiss(too_many(call, limit)),
        other => other,
    });
    planned.collect()
}

/// Decides about a call. Whatever takes a number in the run is done here, in call order.
fn plan(turn: &Turn<'_>, scope: &Scope, call: &ToolCall, progress: &AgentProgress) -> Plan {
    if let Some(on_demand) = turn.agent.on_demand.as_ref().filter(|_| call.name == OPEN_TOOLS) {
        return on_demand.open(&call.arguments).map_or_else(Plan::Dismiss, Plan::Answer);
    }
    let Some(tool) = turn.agent.tools.get(&call.name) else {
        return Plan::Dismiss(not_found(turn, call));
    };
    let refuse_when = turn.agent.refuse_when.as_ref();
    if let Some(reason) = refuse_when.and_then(|refuse| refuse(&progress.transcript, call)) {
        return Plan::Refuse(reason);
    }
    if tool.spec().execution == Execution::Client {
        return match scope.composing().check_arguments(&**tool, &call.arguments) {
            Ok(()) => Plan::HandOver,
            Err(problem) => Plan::Dismiss(format!("invalid arguments: {problem}")),
        };
    }
    // Nobody is bothered with a call that will not be made.
    let is_fit = || scope.composing().check_arguments(&**tool, &call.arguments).is_ok();
    let needs_approval = turn.agent.approval.covers(&**tool) && is_fit();
    let approval = needs_approval.then(|| scope.child("approval"));
    let place = scope.composing().place(tool.spec().name());
    match progress.repeats.refusal(call) {
        Some(reason) => Plan::Refuse(reason),
        None => {
            let accesses = scope.composing().accesses(&**tool, &call.arguments);
            Plan::Make(Work { tool: Arc::clone(tool), place, approval, accesses })
        }
    }
}

impl Work {
    /// Whether the journal has something of it.
    fn was_begun(&self, scope: &Scope) -> bool {
        self.approval.as_ref().is_some_and(|approval| approval.composing().has_past())
            || scope.composing().tool_scope_at(&self.place, &*self.tool, None).composing().has_past()
    }

    fn conflicts_with(&self, other: &Self) -> bool {
        self.accesses.iter().any(|one| other.accesses.iter().any(|two| one.conflicts_with(two)))
    }
}

#[derive(Clone, Copy)]
struct Call<'a> {
    turn: &'a Turn<'a>,
    scope: &'a Scope,
    lane: &'a Lane,
    index: usize,
    call: &'a ToolCall,
    /// What is to be done about all calls of the turn.
    plans: &'a [Plan],
    /// What became of all calls of the turn.
    ended: &'a [Ended],
    gate: Option<&'a Semaphore>,
}

impl Call<'_> {
    async fn settle(self) -> Result<CallEnd, Error> {
        let end = self.carry_out().await;
        // Set here and nowhere else, once.
        let _ = self.ended[self.index].set(!matches!(end, Err(_) | Ok(CallEnd::HeldBack)));
        end
    }

    async fn carry_out(self) -> Result<CallEnd, Error> {
        let Self { lane, call, .. } = self;
        match &self.plans[self.index] {
            Plan::Dismiss(reason) => Ok(CallEnd::Answered(dismiss(lane, call, reason).await)),
            Plan::Refuse(reason) => {
                self.emit_rejected(reason).await;
                Ok(CallEnd::Answered(dismiss(lane, call, reason).await))
            }
            Plan::Answer(text) => Ok(CallEnd::Answered(answer(lane, call, text.clone()).await)),
            Plan::HandOver => {
                self.emit_approved().await;
                end(lane, call).await;
                Ok(CallEnd::HandedOver)
            }
            Plan::Make(work) => self.make(work).await,
        }
    }

    /// Waits until every earlier call that this one conflicts with is over. Says whether all of them have ended.
    ///
    /// The last of them usually waits for the others itself, so it is waited for first: an end wakes few.
    async fn wait_for_earlier(self, work: &Work) -> bool {
        let one_by_one = self.turn.agent.parallel == ParallelCalls::OneByOne;
        for (plan, ended) in self.plans.iter().zip(self.ended).take(self.index).rev() {
            if let Plan::Make(earlier) = plan
                && (one_by_one || earlier.conflicts_with(work))
                && !*ended.wait().await
            {
                return false;
            }
        }
        true
    }

    async fn make(self, work: &Work) -> Result<CallEnd, Error> {
        let Self { scope, lane, call, .. } = self;
        if let Some(approval) = &work.approval {
            let verdict = approval::ask(approval, self.turn.agent.name(), call).await?;
            lane.follow(approval);
            if let ApprovalVerdict::Rejected { reason } = verdict {
                self.emit_rejected(&reason).await;
                return Ok(CallEnd::Rejected(dismiss(lane, call, reason).await));
            }
        }
        self.emit_approved().await;
        if !self.wait_for_earlier(work).await {
            return Ok(CallEnd::HeldBack);
        }
        let _permit = match self.gate {
            Some(gate) => gate.acquire().await.ok(),
            None => None,
        };
        let place = lane.place(&work.place);
        let call_scope = scope.composing().tool_scope_at(&place, &*work.tool, self.turn.agent.tool_timeout);
        if let Some(InterruptedTurn { unfinished, limit }) = &self.turn.interrupted
            && unfinished.contains(&self.index)
        {
            return Err(self.left_out(work, &call_scope, *limit).await);
        }
        // That there are no calls left is for the model to know; whether to go on is decided before its next turn. The model
        // knows it then: should there be more when the run goes on, the call is not made all the same.
        let without = call_scope.child("dismissed");
        let mut dismissed = without.composing().decision::<String>("no calls left")?;
        let reason = match dismissed.made() {
            Some(reason) => reason,
            None => match call_scope.tool(&work.tool, call).await {
                Ok(result) => return Ok(CallEnd::Answered(result)),
                Err(error) if lacks_tool_calls(&error) => dismissed.make(error.to_string())?,
                Err(error) => return Err(error),
            },
        };
        lane.follow(&without);
        Ok(CallEnd::Unaffordable(dismiss(lane, call, reason).await))
    }

    /// Leaves out a call that time ran out on when the turn was made before.
    async fn left_out(self, work: &Work, call_scope: &Scope, limit: Duration) -> Error {
        if self.scope.has_listeners() && call_scope.composing().has_past() {
            call_scope.emit(EventKind::ToolCallExecuting { id: self.call.id.clone() }).await;
        }
        self.scope.composing().leave_out(&work.place);
        Error::TimedOut(Box::new(TimedOut { owner: self.scope.path().clone(), limit }))
    }

    async fn emit_approved(self) {
        if self.lane.has_listeners() {
            self.lane.emit(EventKind::ToolCallApproved { id: self.call.id.clone() }).await;
        }
    }

    async fn emit_rejected(self, reason: &str) {
        if self.lane.has_listeners() {
            let (id, reason) = (self.call.id.clone(), reason.to_owned());
            self.lane.emit(EventKind::ToolCallRejected { id, reason }).await;
        }
    }
}

fn too_many(call: &ToolCall, limit: u32) -> String {
    format!(
        "`{}` was not called: one reply may ask for {limit} calls, and this is one too many. Ask for it again in your \
         next reply if it is still needed.",
        call.name
    )
}

fn lacks_tool_calls(error: &Error) -> bool {
    matches!(error.root(), Error::Budget(exhausted)
        if matches!(exhausted.resource, Resource::ToolCalls | Resource::CallsOf(_)))
}

fn not_found(turn: &Turn<'_>, call: &ToolCall) -> String {
    let names: Vec<&str> = turn.agent.tools.names().collect();
    if names.is_empty() {
        return format!("tool `{}` not found: there are no tools", call.name);
    }
    format!("tool `{}` not found; the tools are: {}", call.name, names.join(", "))
}
