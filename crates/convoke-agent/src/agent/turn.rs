//! One turn: a model call, and the tool calls it asks for.

use std::sync::Arc;

use convoke_core::{
    BoxFuture, Error, EventKind, FinishReason, Lane, Message, Model, ModelReply, ModelRequest, Nature, Scope,
    Step, ToolCall, ToolChoice, ToolResult, Transcript, Visibility,
};

use super::clock::InterruptedTurn;
use super::limits::{self, Limit};
use super::progress::AgentProgress;
use super::{Agent, AgentStop, OnRejection, calls};

/// A turn about to be taken. It is a step, so the kernel pairs its events and catches its panics.
pub(super) struct Turn<'a> {
    pub(super) agent: &'a Agent,
    pub(super) model: &'a Arc<dyn Model>,
    pub(super) number: u32,
    /// Where the model is asked.
    pub(super) asking: Scope,
    /// Set if there will be no further turn.
    pub(super) last: Option<Limit>,
    /// Set if the turn was made before, and time ran out on it.
    pub(super) interrupted: Option<InterruptedTurn>,
}

/// What the model said, and whether the budget cut it short.
struct TurnReply {
    conversation: Transcript,
    reply: ModelReply,
    cut_short: bool,
}

impl Turn<'_> {
    pub(super) const NAME: &'static str = "turn";

    /// The scope of the model call: a call is bounded as leaves are, while a turn may wait for people.
    pub(super) fn asking_scope(turn: &Scope) -> Scope {
        turn.composing().leaf_child("model")
    }

    async fn take(&self, scope: &Scope, progress: &mut AgentProgress) -> Result<(), Error> {
        let TurnReply { conversation, reply, cut_short } = self.ask(scope, progress).await?;
        let calls = reply.tool_calls();
        let wants_stop = self.agent.stop_when.as_ref().is_some_and(|stop| stop(self.number, &reply));
        progress.record_reply(conversation, reply);
        progress.last = self.last.map(Limit::stop);
        if cut_short {
            progress
                .answer(dismiss_all(scope, &calls, "not called: the reply was cut off by the budget").await);
            progress.stop(AgentStop::BudgetExhausted);
        } else if wants_stop {
            for call in &calls {
                let lane = scope.composing().lane(0);
                end(&lane, call).await;
                lane.end();
            }
            progress.hand_over(AgentStop::Custom, calls);
        } else if let Some(limit) = self.last {
            progress.answer(dismiss_all(scope, &calls, "not called: tools were no longer available").await);
            progress.stop(limit.stop());
        } else if calls.is_empty() {
            progress.stop(AgentStop::Complete);
        } else if progress.repeats.insists(&calls) {
            progress
                .answer(dismiss_all(scope, &calls, "not called: the same call was refused a turn ago").await);
            progress.limit = Some(Limit::Looping);
        } else {
            return self.work(scope, &calls, progress).await;
        }
        Ok(())
    }

    /// Asks the model.
    async fn ask(&self, scope: &Scope, progress: &AgentProgress) -> Result<TurnReply, Error> {
        let mut conversation = progress.transcript.clone();
        let mut request = ModelRequest { params: self.agent.params.clone(), ..ModelRequest::default() };
        match self.last {
            Some(limit) => {
                conversation.push(Message::user(limit.note()));
                request.tool_choice = ToolChoice::None;
            }
            None => request.tools = self.agent.offered(&conversation),
        }
        request.messages = conversation.clone();
        let past = self.asking.composing().has_past();
        let reply = self.asking.model(self.model, request, Visibility::Streamed).await?;
        let cut_short = reply.finish == FinishReason::Length
            && limits::cut_by_budget(scope, past, conversation.encoded_len())?;
        let reply = if cut_short { reply } else { reply.whole()? };
        Ok(TurnReply { conversation, reply, cut_short })
    }

    /// Has the calls made, and gives the model their results.
    async fn work(
        &self,
        scope: &Scope,
        calls: &[ToolCall],
        progress: &mut AgentProgress,
    ) -> Result<(), Error> {
        let made = calls::make(self, scope, calls, progress).await?;
        let results = calls.iter().filter_map(|call| {
            let result = made.results.iter().find(|result| result.call_id == call.id)?;
            Some((call, result))
        });
        progress.repeats.note(results);
        progress.answer(made.results);
        progress.unfinished = made.unfinished;
        progress.lacked_calls |= made.lacked_calls;
        if !made.handed_over.is_empty() {
            progress.hand_over(AgentStop::ClientToolCalls, made.handed_over);
        } else if made.all_rejected && self.agent.when_rejected == OnRejection::End {
            progress.stop(AgentStop::Rejected);
        } else if self.agent.hand_off_when.as_ref().is_some_and(|hand_off| hand_off(&progress.transcript)) {
            progress.stop(AgentStop::HandedOff);
        }
        if let Some(stop) = made.stopped {
            return Err(stop);
        }
        Ok(())
    }
}

impl Step<AgentProgress> for Turn<'_> {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn run<'a>(
        &'a self,
        scope: &'a Scope,
        progress: &'a mut AgentProgress,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.take(scope, progress))
    }

    fn kind(&self) -> &'static str {
        Self::NAME
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }
}

/// Tells listeners that a call is over without having been made.
pub(super) async fn end(lane: &Lane, call: &ToolCall) {
    if lane.has_listeners() {
        lane.emit(EventKind::ToolCallEnded { id: call.id.clone() }).await;
    }
}

/// Answers a call that needs nothing done.
pub(super) async fn answer(lane: &Lane, call: &ToolCall, content: String) -> ToolResult {
    end(lane, call).await;
    if lane.has_listeners() {
        let (id, content) = (call.id.clone(), content.clone());
        lane.emit(EventKind::ToolCallResult { id, content, is_error: false }).await;
    }
    ToolResult { call_id: call.id.clone(), name: call.name.clone(), content, is_error: false }
}

/// Answers a call that is not made.
pub(super) async fn dismiss(lane: &Lane, call: &ToolCall, content: impl Into<String>) -> ToolResult {
    let content = content.into();
    end(lane, call).await;
    if lane.has_listeners() {
        let (id, content) = (call.id.clone(), content.clone());
        lane.emit(EventKind::ToolCallResult { id, content, is_error: true }).await;
    }
    ToolResult { call_id: call.id.clone(), name: call.name.clone(), content, is_error: true }
}

async fn dismiss_all(scope: &Scope, calls: &[ToolCall], reason: &str) -> Vec<ToolResult> {
    let mut results = Vec::with_capacity(calls.len());
    for (number, call) in (0..).zip(calls) {
        let lane = scope.composing().lane(number);
        results.push(dismiss(&lane, call, reason).await);
        lane.end();
    }
    results
}
