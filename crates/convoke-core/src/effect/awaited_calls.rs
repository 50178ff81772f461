//! Calls of tools that are made elsewhere: charged before anybody is asked to make them, and waited for as [mail](crate::Scope::receive).
//!
//! They are charged where the wait for what they give begins, all of them or none, and the journal keeps there which. So they count once
//! however often the run is gone on with, and a budget that has no room for them ends the wait before it begins.

use serde_json::Value;

use super::receive::StoredReceive;
use super::{NumberedEffect, ReceivedMail};
use crate::budget::{BudgetExhausted, Charge};
use crate::run::EarlierOutcome;
use crate::{ComposingScope, Digest, EffectKind, Entry, Error};

/// Calls of tools that are made elsewhere, being waited for.
#[must_use = "nothing is waited for until the result is asked for"]
pub struct AwaitedCalls<'a> {
    pub(super) effect: NumberedEffect<'a>,
    pub(super) channel: &'a str,
    /// The tools, as the journal keeps them; or why they may not be called.
    pub(super) charged: Result<Option<Vec<String>>, BudgetExhausted>,
}

impl<'a> ComposingScope<'a> {
    /// Charges calls that somebody elsewhere is about to be asked to make, one name of a tool for each, and reserves the place of the wait
    /// for the first thing that is sent about them on a channel. Without any it is a wait for what comes next.
    ///
    /// Ask nobody if it [is refused](AwaitedCalls::is_refused).
    pub fn await_calls(self, channel: &'a str, tools: &[&str]) -> AwaitedCalls<'a> {
        let effect = self.0.number_act(EffectKind::Receive, Digest::of_parts(&[channel.as_bytes()]));
        let charged = if tools.is_empty() { Ok(None) } else { effect.charged(tools) };
        AwaitedCalls { effect, channel, charged }
    }
}

impl AwaitedCalls<'_> {
    /// Returns whether there is no budget for the calls. [`result`](Self::result) then says so.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.charged.is_err()
    }

    /// Waits for the first thing that is sent about the calls. **Durable**, as [`receive`](crate::Scope::receive). What `failure` finds a
    /// failure in fails the wait with that, and a run that is resumed then waits for what is sent next.
    ///
    /// # Errors
    /// What `failure` says, [`Error::Budget`], and those of [`receive`](crate::Scope::receive).
    pub async fn result(
        self,
        expected: Value,
        failure: impl Fn(&Value) -> Option<String> + Sync,
    ) -> Result<ReceivedMail, Error> {
        let accept =
            |mail: &ReceivedMail| failure(&mail.payload).map_or(Ok(()), |why| Err(Error::permanent(why)));
        self.effect.scope.receive_as(self, expected, &accept).await
    }
}

impl NumberedEffect<'_> {
    /// Charges calls of these tools: as often as the journal says that they were let be made, otherwise once. Gives what the journal is to
    /// keep of that.
    fn charged(&self, tools: &[&str]) -> Result<Option<Vec<String>>, BudgetExhausted> {
        let (scope, attempts, called) = (self.scope, self.attempts(), Charge::tools(tools));
        let slot = scope.journal().and_then(|journal| journal.index.get(self.path, self.ordinal));
        let Some(begun) = slot.and_then(|slot| slot.started) else {
            // Waits that failed the run before, and begin anew.
            (0..attempts).for_each(|_| scope.count_calls(&called));
            if let Some(refused) = slot.and_then(|slot| slot.finished).and_then(Entry::exhausted_budget) {
                return Err(refused);
            }
            if !self.may_go_on() {
                return Ok(None);
            }
            if let EarlierOutcome::Done(_) = self.earlier() {
                // Another attempt is given what came then; nobody makes the calls again.
                return Ok(Some(Vec::new()));
            }
            scope.node.budget.as_ref().map_or(Ok(()), |budget| budget.take(&called))?;
            tools.iter().for_each(|_| scope.node.run.count_tool_call());
            return Ok(Some(tools.iter().map(ToString::to_string).collect()));
        };
        let kept: Option<StoredReceive> =
            begun.request.as_deref().and_then(|json| serde_json::from_slice(json).ok());
        match kept.and_then(|wait| wait.calls) {
            Some(kept) => {
                let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
                scope.count_attempts(attempts, &Charge::tools(&kept));
            }
            // An earlier build let them be made without counting them; limits that hold now hold for them too.
            None => scope.node.budget.iter().for_each(|budget| budget.charge(&called)),
        }
        Ok(None)
    }
}

impl std::fmt::Debug for AwaitedCalls<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AwaitedCalls").field("channel", &self.channel).finish_non_exhaustive()
    }
}
