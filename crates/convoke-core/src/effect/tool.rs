//! The `tool` effect: calls of tools.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::doubt::DoubtResolution;
use super::{NumberedEffect, Past, shortened};
use crate::budget::Charge;
use crate::event::EventKind;
use crate::intercept::EffectRequest;
use crate::journal::{Attachments, RecordedCall};
use crate::message::{ToolCall, ToolResult};
use crate::run::EarlierOutcome;
use crate::scope::{Child, ReservedScope};
use crate::tool::{Access, Invocation, Preparation, Reconciliation, Repeat, Timeout, Tool};
use crate::{
    CategorisedError, Category, ComposingScope, Digest, EffectKind, Error, Path, RecordedError, Scope,
};

/// How long a call may work. Whoever it waits for (a person it asks) does not take of its time.
fn time_limit(tool: &dyn Tool, default: Option<Duration>) -> Option<Duration> {
    match tool.spec().timeout {
        Some(Timeout::After(limit)) => Some(limit),
        Some(Timeout::Unbounded) => None,
        None => default,
    }
}

/// What the journal keeps of a call's end.
#[derive(Default, Serialize, Deserialize)]
struct StoredToolOutcome {
    content: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
    /// Whether it was not made because an interceptor did not let it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    denied: bool,
    /// Whether it was not made because its arguments are wrong. Journals of older versions have no entry for that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    refused: bool,
    /// Whether an earlier attempt made it, and this is what it came to then. Journals of older versions do not say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    taken_over: bool,
    /// Whether nobody knows if it took effect all the same. Journals of older versions do not say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    in_doubt: bool,
    /// Whether it took effect, as a person says, and what it gave is lost. Journals of older versions do not say so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    lost: bool,
    /// Whether trying again may help, if it failed and that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    category: Option<Category>,
    /// How long the other side asked to wait before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after: Option<Duration>,
    /// What the tool left with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<Box<Value>>,
}

impl StoredToolOutcome {
    fn done(content: String) -> Self {
        Self { content, ..Self::default() }
    }

    fn failed(content: String) -> Self {
        Self { is_error: true, ..Self::done(content) }
    }

    fn failed_with(error: &Error) -> Self {
        let category = Some(error.category()).filter(|category| *category != Category::Permanent);
        Self { category, retry_after: error.retry_after(), ..Self::failed(error.to_string()) }
    }

    fn refused(problem: &str) -> Self {
        Self { refused: true, ..Self::failed(format!("invalid arguments: {problem}")) }
    }

    /// The failure as an error that says this.
    fn failure(&self, message: String) -> RecordedError {
        let category = self.category.unwrap_or(Category::Permanent);
        RecordedError::Failed { message, category, retry_after: self.retry_after }
    }
}

/// What a call came to that was begun before a crash.
struct Reconciled {
    content: String,
    /// Whether that is no result, since it is lost.
    lost: bool,
}

/// The error of a step whose tool took effect before an interruption, as a person said, and whose result is lost. A fork of the run at
/// that call can say what it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{tool}` took effect before an interruption, and what it gave back was lost, so there is no result to go on with"
)]
#[non_exhaustive]
pub struct LostResult {
    /// The tool.
    pub tool: String,
    /// Where it was called.
    pub path: Path,
}

/// What later attempts at the same need to know of how a call ended. Who stopped it, or ran out of time, does not know how far it had come.
fn became(outcome: &Result<StoredToolOutcome, Error>) -> Result<Option<EarlierOutcome>, Error> {
    Ok(match outcome {
        Ok(done) if !done.is_error => Some(EarlierOutcome::Done(serde_json::to_vec(done)?.into())),
        Ok(StoredToolOutcome { in_doubt: true, .. }) => Some(EarlierOutcome::Begun),
        Err(stop) if matches!(RecordedError::of(stop), None | Some(RecordedError::TimedOut(_))) => None,
        _ => Some(EarlierOutcome::Open),
    })
}

/// Whether a failure leaves it open if the call took effect: it was let go for lack of time, or the tool says so.
fn leaves_doubt(failure: &Error) -> bool {
    matches!(failure, Error::TimedOut(_))
        || failure.downcast_ref::<CategorisedError>().is_some_and(CategorisedError::is_in_doubt)
}

/// Whether a call was never made, because the budget did not allow it or its arguments were refused.
fn is_unmade(outcome: &Result<StoredToolOutcome, Error>) -> bool {
    matches!(outcome, Ok(StoredToolOutcome { refused: true, .. }) | Err(Error::Budget(_)))
}

/// A call, as interceptors are told about it: with the arguments that the run knows.
fn about<'a>(tool: &'a dyn Tool, call: &'a ToolCall) -> EffectRequest<'a> {
    let arguments = &call.arguments;
    EffectRequest::Tool { spec: tool.spec(), arguments, origin: tool.origin(arguments) }
}

impl Scope {
    /// The scope for one call of a tool. Open one per call, in the order of the calls; then
    /// [`tool`](Self::tool) may be used on them side by side.
    #[must_use]
    pub fn tool_scope(&self, tool: &dyn Tool, default_timeout: Option<Duration>) -> Self {
        let work_limit = time_limit(tool, default_timeout);
        self.narrowed(Child { work_limit, is_call: true, ..Child::named(tool.spec().name()) })
    }

    /// Calls a tool, in the scope made for it by [`tool_scope`](Self::tool_scope). **Durable**: a call that finished is
    /// never made again; one that was interrupted is repeated only if the tool says that is safe.
    ///
    /// Failures of the tool are results for the model to read, not errors.
    ///
    /// # Errors
    /// Stops, an exhausted budget, and failures of tools declared fatal.
    pub async fn tool(&self, tool: &Arc<dyn Tool>, call: &ToolCall) -> Result<ToolResult, Error> {
        let StoredToolOutcome { content, is_error, .. } = self.call_observed(tool, call).await?;
        Ok(ToolResult { call_id: call.id.clone(), name: call.name.clone(), content, is_error })
    }

    /// Calls a tool as [`tool`](Self::tool) does, for a step to which its failure is an error, and nothing for a model to
    /// read: gives what it said or how it failed, with whether trying again may help. The tool [knows](Self::is_for_step).
    ///
    /// # Errors
    /// As [`tool`](Self::tool), and [`LostResult`] if it took effect before an interruption and nobody knows what it gave.
    pub async fn try_tool(
        &self,
        tool: &Arc<dyn Tool>,
        call: &ToolCall,
    ) -> Result<Result<String, RecordedError>, Error> {
        self.node.is_for_step.store(true, Ordering::Relaxed);
        let outcome = self.call_observed(tool, call).await?;
        if outcome.lost {
            let (tool, path) = (call.name.clone(), self.path().clone());
            return Err(Error::permanent(LostResult { tool, path }));
        }
        Ok(if outcome.is_error { Err(outcome.failure(outcome.content.clone())) } else { Ok(outcome.content) })
    }

    /// Calls a tool, and reports it.
    async fn call_observed(&self, tool: &Arc<dyn Tool>, call: &ToolCall) -> Result<StoredToolOutcome, Error> {
        let replayed = self.next_is_recorded();
        let result = self.perform_tool(tool, call).await;
        if !replayed && !is_unmade(&result) && self.has_listeners() {
            // What was told in passing has its moment in the account of the run.
            self.node.skip(1);
        }
        if self.has_listeners() && result.is_ok() {
            self.emit_as(EventKind::ToolCallEnded { id: call.id.clone() }, replayed).await;
        }
        let outcome = result?;
        if self.has_listeners() {
            let (id, content, is_error) = (call.id.clone(), outcome.content.clone(), outcome.is_error);
            self.emit_as(EventKind::ToolCallResult { id, content, is_error }, replayed).await;
        }
        // Last of all: whoever is told of a note has the result too, or neither.
        if let Some(note) = &outcome.note {
            tool.noted(&self.outward_arguments(&**tool, note));
        }
        if outcome.is_error && !outcome.denied && tool.spec().fatal {
            let message = format!("tool `{}` failed: {}", call.name, outcome.content);
            return Err(outcome.failure(message).into());
        }
        Ok(outcome)
    }

    fn checked(&self, tool: &dyn Tool, outward: &Value) -> Result<(), String> {
        tool.check(outward).map_err(|problem| self.screened_remark(tool, problem))
    }

    /// In a tool's call: leaves a note with its outcome, which the tool [is told](Tool::noted) when the call is over, and
    /// again when the journal answers it. There is one note a call, the first.
    pub fn leave_note(&self, note: Value) {
        let _ = self.node.note.set(Box::new(note));
    }

    /// In a tool's call: returns whether a step made it, with [`try_tool`](Self::try_tool), so that no model reads what comes of it. A
    /// tool whose results tell models how it went gives the bare result then, and fails where it tells a model of a failure.
    #[must_use]
    pub fn is_for_step(&self) -> bool {
        self.node.is_for_step.load(Ordering::Relaxed)
    }

    async fn perform_tool(&self, tool: &Arc<dyn Tool>, call: &ToolCall) -> Result<StoredToolOutcome, Error> {
        let spec = tool.spec();
        self.node.learnt.gather();
        let effect = self.number_act(EffectKind::Tool, Digest::of_request(spec.name(), &call.arguments));
        if spec.is_taken_over() {
            effect.acts();
        }
        let outcome = self.perform_numbered(tool, call, &effect).await;
        if spec.is_taken_over()
            && effect.may_be_tried_again()
            && let Some(became) = became(&outcome)?
        {
            effect.keep_for_later(became);
        }
        if let Some(parent) = &self.node.parent {
            parent.follow(&self.node);
        }
        outcome
    }

    async fn perform_numbered(
        &self,
        tool: &Arc<dyn Tool>,
        call: &ToolCall,
        effect: &NumberedEffect<'_>,
    ) -> Result<StoredToolOutcome, Error> {
        let spec = tool.spec();
        let asked = || json!({"tool": spec.name(), "arguments": call.arguments});
        let outward = self.outward_arguments(&**tool, &call.arguments);
        let refused = self.checked(&**tool, &outward).err();
        let mut refused = refused.map(|problem| StoredToolOutcome::refused(&problem));
        let past =
            match effect.recorded::<RecordedCall<StoredToolOutcome>>(|| shortened(&asked().to_string())) {
                Err(Error::NotRecorded { .. }) if refused.is_some() && !effect.is_known() => Past::Unknown,
                past => past?,
            };
        let called = [spec.name()];
        let charge = Charge::tools(&called);
        let in_doubt = match past {
            Past::Finished((recorded, entry)) => {
                let was_made = recorded.was_made();
                let outcome = recorded.into_result();
                let unmade = is_unmade(&outcome);
                if spec.repeat == Repeat::Never {
                    effect.keep_as_begun();
                }
                let taken_over = matches!(outcome, Ok(StoredToolOutcome { taken_over: true, .. }));
                if was_made && !unmade && !taken_over {
                    self.count_attempts(effect.attempts(), &charge);
                }
                let may_have_more = spec.repeat == Repeat::Reenter || self.around.is_some();
                if may_have_more || self.node.replay.get().is_some() {
                    self.recount_call(effect.ordinal);
                }
                if spec.repeat == Repeat::Reenter && self.node.run.events.gives_full_account() {
                    self.replay_within(tool, &outward, effect).await;
                }
                effect.reach(entry);
                if !unmade {
                    self.emit_call_end(call, outcome.as_ref().ok(), true).await;
                }
                return outcome;
            }
            Past::InDoubt => true,
            Past::Unknown => {
                // It failed the run before, and is made anew.
                (0..effect.attempts()).for_each(|_| self.count_calls(&charge));
                false
            }
        };
        let mut request = effect.dated(asked())?;
        if !in_doubt && let Some(refused) = refused.take() {
            // Kept, although nothing has happened: should others accept such arguments later, the past stays what it was.
            return effect.finish(Some(request), Ok(refused), Attachments::default());
        }
        effect.check((!in_doubt).then_some(&request))?;
        let may_be_taken_over = !in_doubt && spec.is_taken_over();
        let earlier = if may_be_taken_over { effect.earlier() } else { EarlierOutcome::Open };
        let in_doubt = match earlier {
            EarlierOutcome::Open => in_doubt,
            EarlierOutcome::Begun => {
                effect.start(request.clone(), Attachments::default()).await?;
                true
            }
            EarlierOutcome::Done(outcome) => {
                let outcome: StoredToolOutcome = serde_json::from_slice(&outcome)?;
                let outcome = StoredToolOutcome { taken_over: true, ..outcome };
                self.emit_call_end(call, Some(&outcome), false).await;
                return effect.finish(Some(request), Ok(outcome), Attachments::default());
            }
        };
        if in_doubt {
            self.count_attempts(effect.attempts(), &charge);
            if let Some(Reconciled { content, lost }) = self.reconcile(tool, call, &outward, effect).await? {
                self.withdraw_asked_by_call();
                let (content, labels) = effect.judged(&about(&**tool, call), Ok(content)).await;
                let outcome = match content {
                    Err(stop) if stop.passes(self.path()) => return Err(stop),
                    Err(error) => StoredToolOutcome::failed(error.to_string()),
                    Ok(content) => StoredToolOutcome { lost, ..StoredToolOutcome::done(content) },
                };
                self.emit_call_end(call, Some(&outcome), false).await;
                return effect.finish(None, Ok(outcome), Attachments { labels, ..Attachments::default() });
            }
            if let Some(denied) = self.denied(tool, call, effect).await? {
                self.withdraw_asked_by_call();
                self.emit_call_end(call, Some(&denied), false).await;
                return effect.finish(None, Ok(denied), Attachments::default());
            }
            if let Some(refused) = refused.take() {
                // It was accepted when it began, and counts; such a call is not made any more.
                let failed = StoredToolOutcome { refused: false, ..refused };
                return effect.finish(None, Ok(failed), Attachments::default());
            }
            self.emit_call_end(call, None, false).await;
            let prepared = self.prepared(tool, &outward, &mut request).await?;
            if spec.repeat == Repeat::Never {
                // Begun once more: should this attempt be interrupted too, nobody may take it for the one before.
                effect.keep_for_later(EarlierOutcome::Begun);
                effect.start(request, Attachments::default()).await?;
                self.count_calls(&charge);
            }
            return self.call_tool(tool, (call, &outward), effect, None, &prepared).await;
        }
        if let Some(budget) = &self.node.budget
            && let Err(exhausted) = budget.take(&charge)
        {
            return effect.finish(
                Some(request),
                Err(Error::Budget(Box::new(exhausted))),
                Attachments::default(),
            );
        }
        self.node.run.count_tool_call();
        if let Some(denied) = self.denied(tool, call, effect).await? {
            self.emit_call_end(call, Some(&denied), false).await;
            return effect.finish(Some(request), Ok(denied), Attachments::default());
        }
        self.emit_call_end(call, None, false).await;
        let prepared = match self.prepared(tool, &outward, &mut request).await {
            Ok(prepared) => prepared,
            Err(stop) => return effect.finish(Some(request), Err(stop), Attachments::default()),
        };
        let request = if spec.repeat == Repeat::Safe {
            effect.settle().await?;
            Some(request)
        } else {
            effect.keep_for_later(EarlierOutcome::Begun);
            effect.start(request, Attachments::default()).await?;
            None
        };
        self.call_tool(tool, (call, &outward), effect, request, &prepared).await
    }

    /// Tells what happened within a call that is over: it is made of effects, and all of them are known.
    async fn replay_within(&self, tool: &Arc<dyn Tool>, arguments: &Value, effect: &NumberedEffect<'_>) {
        let (key, prepared) = (effect.key(), Preparation::default());
        let invocation = Invocation { scope: self, key: &key, arguments, prepared: &prepared };
        // What it came to is known; it may have been cut short.
        let _ = AssertUnwindSafe(async { tool.call(invocation).await }).catch_unwind().await;
    }

    /// Lets a tool make ready for a call that it must not make twice, before the call is written down as begun; what it
    /// keeps for later is added to the request.
    async fn prepared(
        &self,
        tool: &Arc<dyn Tool>,
        arguments: &Value,
        request: &mut Bytes,
    ) -> Result<Preparation, Error> {
        if tool.spec().repeat != Repeat::Never {
            return Ok(Preparation::default());
        }
        let ready = AssertUnwindSafe(async { tool.prepare(arguments).await }).catch_unwind();
        let prepared = tokio::select! {
            biased;
            // What panics here panics again when it is called, and that is told.
            prepared = ready => prepared.unwrap_or_default(),
            stop = self.out_of_time() => return Err(stop),
        };
        if let Some(before) = prepared.before() {
            let mut kept: Value = serde_json::from_slice(request)?;
            kept["before"] = self.screened_note(&**tool, before.clone());
            *request = serde_json::to_vec(&kept)?.into();
        }
        Ok(prepared)
    }

    /// Asks the interceptors about a call. What the model is told, if one does not let it be made.
    async fn denied(
        &self,
        tool: &Arc<dyn Tool>,
        call: &ToolCall,
        effect: &NumberedEffect<'_>,
    ) -> Result<Option<StoredToolOutcome>, Error> {
        if self.around.is_none() {
            return Ok(None);
        }
        let reason = effect.denied(&about(&**tool, call)).await?;
        Ok(reason.map(|reason| {
            let content = format!("`{}` was not called: {reason}", call.name);
            StoredToolOutcome { denied: true, ..StoredToolOutcome::failed(content) }
        }))
    }

    /// Reports that a call is being made, or was not let through. `None`: it is not over.
    async fn emit_call_end(&self, call: &ToolCall, outcome: Option<&StoredToolOutcome>, replayed: bool) {
        if self.has_listeners() {
            let id = call.id.clone();
            let kind = match outcome {
                Some(StoredToolOutcome { content, denied: true, .. }) => {
                    EventKind::ToolCallRejected { id, reason: content.clone() }
                }
                _ => EventKind::ToolCallExecuting { id },
            };
            // The journal knows of a call when it is over, and so does the account of the run.
            match replayed {
                true => self.emit_as(kind, true).await,
                false => self.emit_in_passing(kind).await,
            }
        }
    }

    /// Counts a call as often as it was made: one that was interrupted may have taken effect, and been made again.
    pub(super) fn count_attempts(&self, attempts: u32, charge: &Charge<'_>) {
        (0..attempts.max(1)).for_each(|_| self.count_calls(charge));
    }

    /// Counts calls that were made.
    pub(super) fn count_calls(&self, charge: &Charge<'_>) {
        charge.tools.iter().for_each(|_| self.node.run.count_tool_call());
        if let Some(budget) = &self.node.budget {
            budget.charge(charge);
        }
    }

    /// Calls the tool, and takes down what became of the call. After a stop nobody knows that, and nothing is written.
    async fn call_tool(
        &self,
        tool: &Arc<dyn Tool>,
        (call, arguments): (&ToolCall, &Value),
        effect: &NumberedEffect<'_>,
        request: Option<Bytes>,
        prepared: &Preparation,
    ) -> Result<StoredToolOutcome, Error> {
        let scope = self.with_speaker(tool);
        let invocation = Invocation { scope: &scope, key: &effect.key(), arguments, prepared };
        let work = AssertUnwindSafe(async { tool.call(invocation).await }).catch_unwind();
        let outcome = tokio::select! {
            biased;
            outcome = work => {
                outcome.unwrap_or_else(|panic| Err(Error::panicked(self.path(), &*panic)))
            }
            stop = self.out_of_time() => match &stop {
                Error::TimedOut(timed_out) if timed_out.owner == *self.path() => Err(stop),
                // Lack of time further out is an end too: whoever set that limit may cope with it, and go on.
                _ => return effect.finish(request, Err(stop), Attachments::default()),
            },
        };
        let about = about(&**tool, call);
        // Interceptors may say it in other words.
        let in_doubt = tool.spec().repeat == Repeat::Never && outcome.as_ref().is_err_and(leaves_doubt);
        let (outcome, labels) = effect.judged(&about, outcome).await;
        let attached = Attachments { labels, ..Attachments::default() };
        let mut outcome = match outcome {
            Ok(content) if content.len() > tool.spec().max_output => StoredToolOutcome::failed(format!(
                "`{}` gave {} bytes, more than the {} it may give; ask for less, or let it write to a file and give its \
                 name. (For whoever built this: `ToolSpec::max_output` sets the limit.)",
                call.name,
                content.len(),
                tool.spec().max_output
            )),
            Ok(content) => StoredToolOutcome::done(content),
            // A limit further out is an end of the call too; a real stop is not, and nothing is written.
            Err(stop) if stop.passes(self.path()) => {
                return effect.finish(request, Err(stop), attached);
            }
            // It was let go, and whether it had acted by then, or will yet, is for nobody here to know.
            Err(Error::TimedOut(timed_out)) if in_doubt => StoredToolOutcome::failed(format!(
                "{timed_out}. Nobody knows whether it took effect, and it was not called again: find out before you do"
            )),
            Err(error) => StoredToolOutcome::failed_with(&error),
        };
        outcome.in_doubt = in_doubt && outcome.is_error;
        // Whoever answers what it asked, and did not wait for, would answer nobody.
        self.withdraw_asked_by_call();
        let note = self.node.note.get().cloned();
        outcome.note = note.map(|note| Box::new(self.screened_note(&**tool, *note)));
        effect.finish(request, Ok(outcome), attached)
    }

    /// Finds out what a call gave that was begun before a crash. `None` means that it may be made again.
    async fn reconcile(
        &self,
        tool: &Arc<dyn Tool>,
        call: &ToolCall,
        arguments: &Value,
        effect: &NumberedEffect<'_>,
    ) -> Result<Option<Reconciled>, Error> {
        if tool.spec().repeat != Repeat::Never {
            return Ok(None);
        }
        let begun =
            self.journal().and_then(|journal| journal.index.get(effect.path, effect.ordinal)?.started);
        let was_asking = begun.and_then(|begun| self.was_asking(begun));
        let key = effect.key();
        let before = effect.kept_before().map(|kept| self.outward_arguments(&**tool, &kept).into_owned());
        // In any case: the tool also sees to it that what still lives of the call does nothing more.
        let became = tool.reconcile(&key, arguments, before.as_ref()).await;
        if was_asking.is_some_and(|about| tool.is_undone_while_asking(&about)) {
            return Ok(None);
        }
        let remark = match became {
            Ok(Reconciliation::Done(content)) => return Ok(Some(Reconciled { content, lost: false })),
            Ok(Reconciliation::NotDone) => return Ok(None),
            // A tool that cannot say leaves it to people.
            Ok(Reconciliation::Unknown) | Err(_) => None,
            Ok(Reconciliation::Ask(remark)) => Some(self.screened_remark(&**tool, remark)),
        };
        let asked = json!({"tool": call.name, "arguments": call.arguments});
        let options = ["done", "again", "stop"];
        let known = self.resolve_doubt(&call.name, effect, asked, &options, remark.as_deref()).await?;
        Ok(match known {
            DoubtResolution::Done(content) => Some(Reconciled { content, lost: true }),
            DoubtResolution::Again => None,
        })
    }
}

impl ComposingScope<'_> {
    /// The scope for one call of a tool in a [`place`](Self::place) taken before. The call's time begins now, so calls
    /// that wait for others, or for a person, do not lose any.
    #[must_use]
    pub fn tool_scope_at(
        &self,
        place: &ReservedScope,
        tool: &dyn Tool,
        default_timeout: Option<Duration>,
    ) -> Scope {
        let work_limit = time_limit(tool, default_timeout);
        self.narrowed(Child { work_limit, is_call: true, ..Child::at(place) })
    }

    /// Reports a call that no model streamed: a step of the user's makes it.
    pub async fn announce_tool_call(&self, call: &ToolCall) {
        if self.has_listeners() {
            let (id, tool) = (call.id.clone(), call.name.clone());
            self.emit(EventKind::ToolCallStarted { id: id.clone(), tool, message: None }).await;
            self.emit(EventKind::ToolCallArguments { id, delta: call.arguments.to_string() }).await;
        }
    }

    /// Returns what a call touches, with the arguments that the tool gets.
    #[must_use]
    pub fn accesses(&self, tool: &dyn Tool, arguments: &Value) -> Vec<Access> {
        tool.accesses(&self.outward_arguments(tool, arguments))
    }

    /// Checks the arguments of a call as the tool gets them.
    ///
    /// # Errors
    /// What is wrong with them, in words the model can act on.
    pub fn check_arguments(&self, tool: &dyn Tool, arguments: &Value) -> Result<(), String> {
        self.checked(tool, &self.outward_arguments(tool, arguments))
    }
}
