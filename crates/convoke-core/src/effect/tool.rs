//! Calls of tools.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Numbered, Past, shortened};
use crate::ask::{Decision, Question};
use crate::budget::Charge;
use crate::event::EventKind;
use crate::journal::Attached;
use crate::message::{ToolCall, ToolResult};
use crate::scope::Child;
use crate::tool::{Invocation, Reconciled, Repeat, Timeout, Tool};
use crate::{Digest, EffectKind, Error, IdempotencyKey, InDoubt, Scope};

/// What to do about a call that was begun before a crash, may have taken effect, and must not be repeated blindly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnDoubt {
    /// Ask a person: it happened, do it again, or stop.
    #[default]
    Ask,
    /// Stop with [`Error::InDoubt`].
    Fail,
}

/// What became of an interrupted call, as far as somebody knows.
pub(super) enum Interrupted {
    Done(String),
    Again,
}

/// What the journal keeps of a call's end.
#[derive(Serialize, Deserialize)]
struct Outcome {
    content: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
}

impl Scope {
    /// The scope for one call of a tool. Open one per call, in the order of the calls; then
    /// [`tool`](Self::tool) may be used on them side by side.
    #[must_use]
    pub fn tool_scope(&self, tool: &dyn Tool, default_timeout: Option<Duration>) -> Self {
        let spec = tool.spec();
        let timeout = match spec.timeout {
            Some(Timeout::After(limit)) => Some(limit),
            Some(Timeout::Unbounded) => None,
            None => default_timeout,
        };
        self.narrowed(Child { timeout, ..Child::named(spec.name()) })
    }

    /// Calls a tool, in the scope made for it by [`tool_scope`](Self::tool_scope). **Durable**: a call that finished is
    /// never made again; one that was interrupted is repeated only if the tool says that is safe.
    ///
    /// Failures of the tool are results for the model to read, not errors.
    ///
    /// # Errors
    /// Stops, an exhausted budget, and failures of tools declared fatal.
    pub async fn tool(&self, tool: &Arc<dyn Tool>, call: &ToolCall) -> Result<ToolResult, Error> {
        let result = match tool.check(&call.arguments) {
            // Nothing has happened, and the same arguments are refused again on replay: no need to write it down.
            Err(problem) => Ok(Outcome { content: format!("invalid arguments: {problem}"), is_error: true }),
            Ok(()) => self.perform_tool(tool, call).await,
        };
        if self.is_heard() && result.is_ok() {
            self.emit(EventKind::ToolCallEnded { id: call.id.clone() }).await;
        }
        let Outcome { content, is_error } = result?;
        if self.is_heard() {
            let content = content.clone();
            self.emit(EventKind::ToolCallResult { id: call.id.clone(), content, is_error }).await;
        }
        if is_error && tool.spec().fatal {
            return Err(Error::failed(format!("tool `{}` failed: {content}", call.name)));
        }
        Ok(ToolResult { call_id: call.id.clone(), name: call.name.clone(), content, is_error })
    }

    /// Reports a call that no model streamed: a step of the user's makes it.
    pub async fn announce_tool_call(&self, call: &ToolCall) {
        if self.is_heard() {
            let (id, tool) = (call.id.clone(), call.name.clone());
            self.emit(EventKind::ToolCallStarted { id: id.clone(), tool, message: None }).await;
            self.emit(EventKind::ToolCallArguments { id, delta: call.arguments.to_string() }).await;
        }
    }

    async fn perform_tool(&self, tool: &Arc<dyn Tool>, call: &ToolCall) -> Result<Outcome, Error> {
        let spec = tool.spec();
        let asked = json!({"tool": spec.name(), "arguments": call.arguments});
        let effect = self.number(EffectKind::Tool, Digest::of_json(&asked));
        let past = effect.past(|| shortened(&asked.to_string()))?;
        let charge = Charge::tool(spec.name());
        let in_doubt = match past {
            Past::Finished(outcome) => {
                self.count_tool_call(&charge);
                if spec.repeat == Repeat::Reenter
                    && let Some(journal) = self.journal()
                {
                    journal.index.mark_used_below(self.path());
                }
                return outcome;
            }
            Past::InDoubt => true,
            Past::Unknown => false,
        };
        self.check()?;
        if self.is_heard() {
            self.emit(EventKind::ToolCallExecuting { id: call.id.clone() }).await;
        }
        let request = serde_json::to_vec(&asked)?.into();
        if in_doubt {
            self.count_tool_call(&charge);
            if let Some(outcome) = self.reconcile(tool, call, &effect).await? {
                return effect.finish(None, Ok(outcome), Attached::default());
            }
            let outcome = self.call_tool(tool, call, &effect.key()).await?;
            return effect.finish(None, Ok(outcome), Attached::default());
        }
        if let Some(budget) = &self.node.budget
            && let Err(exhausted) = budget.reserve(&charge)
        {
            return effect.finish(
                Some(request),
                Err(Error::Budget(Box::new(exhausted))),
                Attached::default(),
            );
        }
        self.node.run.count_tool_call();
        let request = if spec.repeat == Repeat::Safe {
            effect.settle().await?;
            Some(request)
        } else {
            effect.start(request, Attached::default()).await?;
            None
        };
        let outcome = self.call_tool(tool, call, &effect.key()).await?;
        effect.finish(request, Ok(outcome), Attached::default())
    }

    fn count_tool_call(&self, charge: &Charge<'_>) {
        self.node.run.count_tool_call();
        if let Some(budget) = &self.node.budget {
            budget.charge(charge);
        }
    }

    /// Calls the tool. Only a stop is an error here: then nobody knows what became of the call, and nothing is written.
    async fn call_tool(
        &self,
        tool: &Arc<dyn Tool>,
        call: &ToolCall,
        key: &IdempotencyKey,
    ) -> Result<Outcome, Error> {
        let invocation = Invocation { scope: self, key, arguments: &call.arguments };
        let work = AssertUnwindSafe(async { tool.call(invocation).await }).catch_unwind();
        let outcome = tokio::select! {
            biased;
            outcome = work => outcome,
            stop = self.out_of_time() => match &stop {
                Error::TimedOut(timed_out) if timed_out.owner == *self.path() => Ok(Err(stop)),
                _ => return Err(stop),
            },
        };
        let failure = |content| Outcome { content, is_error: true };
        Ok(match outcome {
            Ok(Ok(content)) if content.len() > tool.spec().max_output => failure(format!(
                "`{}` gave {} bytes, more than the {} it may give; ask for less, or let it write to a file and give its \
                 name. (For whoever built this: `ToolSpec::max_output` sets the limit.)",
                call.name,
                content.len(),
                tool.spec().max_output
            )),
            Ok(Ok(content)) => Outcome { content, is_error: false },
            Ok(Err(stop)) if stop.passes(self.path()) => return Err(stop),
            Ok(Err(error)) => failure(error.to_string()),
            Err(panic) => failure(Error::panicked(self.path(), &*panic).to_string()),
        })
    }

    /// Finds out about a call that was begun before a crash. `None` means that it may be made again.
    async fn reconcile(
        &self,
        tool: &Arc<dyn Tool>,
        call: &ToolCall,
        effect: &Numbered<'_>,
    ) -> Result<Option<Outcome>, Error> {
        if tool.spec().repeat != Repeat::Never {
            return Ok(None);
        }
        let key = effect.key();
        let known = match tool.reconcile(&key, &call.arguments).await {
            Ok(Reconciled::Done(content)) => Interrupted::Done(content),
            Ok(Reconciled::NotDone) => Interrupted::Again,
            // A tool that cannot say leaves it to people.
            Ok(Reconciled::Unknown) | Err(_) => self.resolve_doubt(&call.name, &key).await?,
        };
        Ok(match known {
            Interrupted::Done(content) => Some(Outcome { content, is_error: false }),
            Interrupted::Again => None,
        })
    }

    /// Asks a person what became of an interrupted call, or stops, as the runtime is configured.
    pub(super) async fn resolve_doubt(&self, name: &str, key: &IdempotencyKey) -> Result<Interrupted, Error> {
        let doubt = || {
            Error::InDoubt(Box::new(InDoubt {
                tool: name.to_owned(),
                path: self.path().clone(),
                key: key.to_string(),
            }))
        };
        if self.node.run.services.on_doubt == OnDoubt::Fail {
            return Err(doubt());
        }
        let question = Question::choice(
            format!("`{name}` was interrupted and may have acted already. What became of it?"),
            ["done", "again", "stop"],
        )
        .details(format!(
            "It was called at `{}` with key {key} when the process ended. `done`: it took effect, go on. `again`: it did \
             not, call it again. `stop`: end the run.",
            self.path()
        ));
        match self.child("in doubt").ask(question).await?.decision {
            Decision::Choose { option } if option == "done" => Ok(Interrupted::Done(
                "done; the call took effect before an interruption, and what it gave back was lost"
                    .to_owned(),
            )),
            Decision::Choose { option } if option == "again" => Ok(Interrupted::Again),
            _ => Err(doubt()),
        }
    }
}
