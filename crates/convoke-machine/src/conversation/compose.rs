//! A state that runs a composition: its output is what is said, and an event that follows from it moves on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use convoke_core::{Bounds, Error, Limits, Message, Role, StepNote};
use jiff::Timestamp;

use super::ComposedWork;
use super::talk::Session;
use super::turn::Next;
use crate::pack::template::rendered;
use crate::workflow::{Act, Command, advance};

/// The place where it is kept which event a composition led to.
pub const ROUTE: &str = "what follows";

impl Session<'_> {
    /// The composition that the current state runs.
    pub(super) fn composition(&self) -> Option<String> {
        self.machine.compiled.current(&self.context)?.composition.clone()
    }

    /// Runs a composition on what the person said, or on what the state was told when it was entered.
    pub(super) async fn compose(&mut self, name: &str, at: Timestamp) -> Result<Next, Error> {
        let unknown = || Error::permanent(format!("there is no composition `{name}`"));
        let work = self.machine.stage.composition(name).ok_or_else(unknown)?;
        let activate = |task: &str| self.activation(task).map_err(Error::failed);
        let (words, bounds, waited) = (self.words(), self.bounds(at, &work), self.waited);
        let scope = if bounds.timeout.is_some() {
            self.scope.clone()
        } else {
            self.timed(&Arc::new(self.context.clone()))?
        };
        let left = self.calls_left().unwrap_or(u64::MAX);
        // The composition has the limit as a whole.
        self.clients.delegated.iter().for_each(|delegated| delegated.leave(u64::MAX));
        let (ended, tally) = work.run(&scope, &words, &activate, bounds, &self.clients).await;
        // Those that were refused were not made.
        let delegated = self.clients.delegated.as_ref().map_or(0, |delegated| delegated.take());
        let calls = tally.calls.load(Ordering::Relaxed).saturating_add(delegated).min(left);
        let counted = Command::at(at, Act::ToolCalls(calls));
        // Counting is never refused.
        let _ = advance(&self.machine.compiled, &mut self.context, counted);
        let cut_short = std::mem::take(&mut *tally.cut_short.lock().await);
        let goes_on = ended.as_ref().err().is_none_or(|error| !error.passes(self.scope.path()));
        for (step, reason) in cut_short.into_iter().filter(|_| goes_on) {
            self.note_cut_short(&step, reason).await;
        }
        let (output, events) = match ended {
            Ok(ended) => ended,
            Err(stop) if !goes_on => return Err(stop),
            Err(error) => {
                let at = self.now().await?;
                // The limit that a composition has as a whole counts everything.
                let is_timeout = matches!(error.root(), Error::TimedOut(_));
                let since = if is_timeout { self.waited.saturating_sub(waited) } else { Duration::ZERO };
                let counted = at.checked_add(since).unwrap_or(at);
                let Err(exhausted) = self.machine.compiled.check_budget(&self.context, counted) else {
                    return Err(error);
                };
                return self.moved(Err(exhausted)).await;
            }
        };
        let text = rendered(&output);
        self.say(Message::assistant(text.as_str())).await;
        let state = self.machine.compiled.current(&self.context).filter(|state| !state.is_terminal());
        let has = |event: &String| state.is_some_and(|state| state.events().any(|known| **known == **event));
        let Some(event) = events.into_iter().find(has) else { return Ok(Next::End) };
        self.note_route(&event)?;
        let command = Command::at(self.now().await?, Act::Event(&event));
        let moved = advance(&self.machine.compiled, &mut self.context, command);
        self.moved(moved.map(|events| (events, text))).await
    }

    /// Keeps which event a composition led to: it follows from what steps gave, and nothing else in the journal says it. A run of an
    /// earlier build that has gone on from here does without.
    fn note_route(&self, event: &str) -> Result<(), Error> {
        let (scope, place) = (self.scope.composing(), self.scope.child(ROUTE));
        let place = place.composing();
        if place.kept_note::<String>(StepNote::Route)?.is_none() && scope.has_later_effects() {
            return Ok(());
        }
        place.keep_note(StepNote::Route, &event)
    }

    fn words(&self) -> String {
        if self.entered && !self.state.brief.is_empty() {
            return self.state.brief.clone();
        }
        let said = self.state.said.newest_first().find(|message| message.role == Role::User);
        said.map(Message::text).unwrap_or_default()
    }

    /// What the workflow's budget leaves. Where clients are waited for, which may take days, time is looked at before each call of a
    /// tool instead.
    fn bounds(&self, at: Timestamp, work: &ComposedWork) -> Bounds {
        let (budget, context, mut bounds) =
            (self.machine.compiled.budget(), &self.context, Bounds::default());
        let seconds = budget.max_wall_time_sec.map(|limit| limit.saturating_sub(context.elapsed_seconds(at)));
        let is_bounded = self.budget_rules < 2 || !work.waits_for_clients();
        bounds.timeout = seconds.filter(|_| is_bounded).map(Duration::from_secs);
        bounds.limits = self.calls_left().map(|calls| Limits::default().tool_calls(calls));
        bounds
    }

    fn calls_left(&self) -> Option<u64> {
        let max = self.machine.compiled.budget().max_tool_calls?;
        Some(max.saturating_sub(self.context.total_tool_calls()))
    }
}
