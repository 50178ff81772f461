//! The calls of one turn: side by side where they do not conflict, their results in call order.
//!
//! Each call is a future of its own; none is a task. A call is made as soon as it is approved and every earlier call it
//! conflicts with is over. If one has to wait for a person the others finish first, and only those that must not run
//! before it are held back.

use std::sync::Arc;
use std::time::Duration;

use convoke_core::{
    Access, BoxFuture, Error, EventKind, Execution, Place, Resource, Scope, TimedOut, Tool, ToolCall,
};
use futures_util::FutureExt;
use futures_util::future::{Shared, join_all};
use tokio::sync::Semaphore;

use super::approval::{self, Verdict};
use super::clock::Reached;
use super::on_demand::OPEN_TOOLS;
use super::progress::Progress;
use super::summary::{Made, Settled, sum_up};
use super::turn::{Turn, answer, dismiss, end};

/// How calls of one turn are made.
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
    place: Place,
    approval: Option<Scope>,
    accesses: Vec<Access>,
}

type Settling<'a> = Shared<BoxFuture<'a, Result<Settled, Error>>>;

pub(super) async fn make(
    turn: &Turn<'_>,
    scope: &Scope,
    calls: &[ToolCall],
    progress: &Progress,
) -> Result<Made, Error> {
    let plans: Vec<Plan> = calls.iter().map(|call| plan(turn, scope, call, progress)).collect();
    let gate = scope.settings().max_concurrency.map(|limit| Semaphore::new(limit.get()));
    let mut settling: Vec<Settling<'_>> = Vec::with_capacity(calls.len());
    for (index, (call, plan)) in calls.iter().zip(&plans).enumerate() {
        let earlier = conflicting(turn, &plans, index).map(|other| settling[other].clone()).collect();
        let call = Call { turn, scope, index, call, plan, gate: gate.as_ref() };
        settling.push(call.settle(earlier).boxed().shared());
    }
    let ends = join_all(settling).await;
    sum_up(scope, calls, ends).await
}

/// Decides about a call. Whatever takes a number in the run is done here, in call order.
fn plan(turn: &Turn<'_>, scope: &Scope, call: &ToolCall, progress: &Progress) -> Plan {
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
        return match tool.check(&call.arguments) {
            Ok(()) => Plan::HandOver,
            Err(problem) => Plan::Dismiss(format!("invalid arguments: {problem}")),
        };
    }
    // Nobody is bothered with a call that will not be made.
    let needs_approval = turn.agent.approval.covers(&**tool) && tool.check(&call.arguments).is_ok();
    let approval = needs_approval.then(|| scope.child("approval"));
    let place = scope.place(tool.spec().name());
    match progress.repeats.refusal(call) {
        Some(reason) => Plan::Refuse(reason),
        None => {
            let accesses = tool.accesses(&call.arguments);
            Plan::Make(Work { tool: Arc::clone(tool), place, approval, accesses })
        }
    }
}

/// The earlier calls that this one must wait for.
fn conflicting<'a>(turn: &Turn<'_>, plans: &'a [Plan], index: usize) -> impl Iterator<Item = usize> + 'a {
    let one_by_one = turn.agent.parallel == ParallelCalls::OneByOne;
    (0..index).filter(move |earlier| match (&plans[*earlier], &plans[index]) {
        (Plan::Make(before), Plan::Make(after)) => {
            one_by_one
                || before.accesses.iter().any(|one| after.accesses.iter().any(|two| one.conflicts_with(two)))
        }
        _ => false,
    })
}

#[derive(Clone, Copy)]
struct Call<'a> {
    turn: &'a Turn<'a>,
    scope: &'a Scope,
    index: usize,
    call: &'a ToolCall,
    plan: &'a Plan,
    gate: Option<&'a Semaphore>,
}

impl<'a> Call<'a> {
    async fn settle(self, earlier: Vec<Settling<'a>>) -> Result<Settled, Error> {
        let Self { scope, call, .. } = self;
        match self.plan {
            Plan::Dismiss(reason) => Ok(Settled::Answered(dismiss(scope, call, reason).await)),
            Plan::Refuse(reason) => {
                self.tell_rejected(reason).await;
                Ok(Settled::Answered(dismiss(scope, call, reason).await))
            }
            Plan::Answer(text) => Ok(Settled::Answered(answer(scope, call, text.clone()).await)),
            Plan::HandOver => {
                self.tell_approved().await;
                end(scope, call).await;
                Ok(Settled::HandedOver)
            }
            Plan::Make(work) => self.make(work, earlier).await,
        }
    }

    async fn make(self, work: &Work, earlier: Vec<Settling<'a>>) -> Result<Settled, Error> {
        let Self { scope, call, .. } = self;
        if let Some(approval) = &work.approval
            && let Verdict::Rejected { reason } =
                approval::ask(approval, self.turn.agent.name(), call).await?
        {
            self.tell_rejected(&reason).await;
            return Ok(Settled::Rejected(dismiss(scope, call, reason).await));
        }
        self.tell_approved().await;
        let ends = join_all(earlier).await;
        if ends.iter().any(|end| matches!(end, Err(_) | Ok(Settled::HeldBack))) {
            return Ok(Settled::HeldBack);
        }
        let _permit = match self.gate {
            Some(gate) => gate.acquire().await.ok(),
            None => None,
        };
        let call_scope = scope.tool_scope_at(&work.place, &*work.tool, self.turn.agent.tool_timeout);
        if let Some(Reached { unfinished, limit }) = &self.turn.interrupted
            && unfinished.contains(&self.index)
        {
            return Err(self.left_out(work, &call_scope, *limit).await);
        }
        match call_scope.tool(&work.tool, call).await {
            Ok(result) => Ok(Settled::Answered(result)),
            // That there are no calls left is for the model to know; whether to go on is decided before its next turn.
            Err(error) if lacks_tool_calls(&error) => {
                Ok(Settled::Answered(dismiss(scope, call, error.to_string()).await))
            }
            Err(error) => Err(error),
        }
    }

    /// Leaves out a call that time ran out on when the turn was made before.
    async fn left_out(self, work: &Work, call_scope: &Scope, limit: Duration) -> Error {
        if self.scope.is_heard() && call_scope.has_past() {
            call_scope.emit(EventKind::ToolCallExecuting { id: self.call.id.clone() }).await;
        }
        self.scope.leave_out(&work.place);
        Error::TimedOut(Box::new(TimedOut { owner: self.scope.path().clone(), limit }))
    }

    async fn tell_approved(self) {
        if self.scope.is_heard() {
            self.scope.emit(EventKind::ToolCallApproved { id: self.call.id.clone() }).await;
        }
    }

    async fn tell_rejected(self, reason: &str) {
        if self.scope.is_heard() {
            let (id, reason) = (self.call.id.clone(), reason.to_owned());
            self.scope.emit(EventKind::ToolCallRejected { id, reason }).await;
        }
    }
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
