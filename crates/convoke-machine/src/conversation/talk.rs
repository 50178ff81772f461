//! The conversation: turns, until the workflow is over or nobody has anything more to say.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::{Error, Message, Scope, json_text};
use serde_json::Value;

use super::announce;
use super::client::{Clients, TURN_RULES};
use super::machine::{InvalidMachine, Machine};
use super::messages::carried_over;
use super::opening::Opening;
use super::state::{MachineState, Talk};
use super::wait::Arrival;
use crate::workflow::{Act, Command, Context, Orchestration, Status, WorkflowError, WorkflowEvent, advance};

/// The question that the person is asked, again and again.
pub const TURN: &str = "What next?";

/// A conversation under way.
pub(super) struct Session<'a> {
    pub(super) machine: &'a Machine,
    pub(super) scope: &'a Scope,
    pub(super) state: &'a mut MachineState,
    pub(super) context: Context,
    /// Whether the state was entered after the person spoke last.
    pub(super) entered: bool,
    /// What is remembered that fits what the person said last.
    pub(super) remembered: String,
    /// What was said in this state with its instructions before it, as its model was asked last.
    pub(super) opened: Option<Opening>,
    /// Whether an event counts in the visit of the state that it was sent in, and in no other. Runs of earlier builds took what came.
    pub(super) is_by_visit: bool,
    /// Where clients send what came of calls.
    pub(super) clients: Clients,
    /// Which rules hold for the budget. In runs of earlier builds the time counted in which somebody was waited for, and calls that
    /// it does not have were refused without an end (1), or calls of those did not count whom a state calls in (2).
    pub(super) budget_rules: u32,
    /// How long was waited for people, clients and events so far, which the context knows.
    pub(super) waited: Duration,
    /// How much was said before the current state's part of the turn.
    pub(super) began: usize,
}

impl<'a> Session<'a> {
    pub(super) async fn run(
        machine: &'a Machine,
        scope: &'a Scope,
        state: &'a mut MachineState,
    ) -> Result<(), Error> {
        let other = match (state.function.take(), state.prompt.as_deref()) {
            (Some(name), _) => Some(machine.function(&name)?),
            (None, task) => task.map(|task| machine.talking(task)).transpose()?,
        };
        let machine = other.as_ref().unwrap_or(machine);
        let mut states = machine.compiled.states();
        let is_by_visit = states.any(|known| known.heard_events(state.hears_every_event).next().is_some())
            && scope.version("events belong to a visit", 1..=2)? > 1;
        let has_rules = machine.stage.has_rules();
        let rules =
            if has_rules { scope.version("limits hold for clients", 1..=TURN_RULES)? } else { TURN_RULES };
        let mut clients = Clients::of(scope.path(), rules);
        let budget = machine.compiled.budget();
        let is_limited = budget.max_tool_calls.is_some() || budget.max_wall_time_sec.is_some();
        let budget_rules = if is_limited { scope.version("a budget ends its workflow", 1..=3)? } else { 3 };
        clients.delegated = budget.max_tool_calls.filter(|_| budget_rules > 2).map(|_| Arc::default());
        let context = match state.context.take() {
            Some(context) => {
                machine.compiled.must_know(&context).map_err(Error::permanent)?;
                context
            }
            None => {
                let at = now(scope).await?;
                let entry = state.entry.take();
                let context = match entry.as_deref().or(machine.entry.as_deref()) {
                    Some(entry) => machine.compiled.start_in(entry, at).ok_or_else(|| {
                        Error::permanent(InvalidMachine::UnknownState { state: entry.to_owned() })
                    })?,
                    None => machine.compiled.start(at),
                };
                announce::entered(scope, &machine.compiled, context.current_state(), 1).await;
                context
            }
        };
        let opened = Opening::kept(state);
        let mut session = Session {
            machine,
            scope,
            state,
            context,
            entered: false,
            remembered: String::new(),
            opened,
            is_by_visit,
            clients,
            budget_rules,
            waited: Duration::ZERO,
            began: 0,
        };
        let ended = session.talk().await;
        session.keep();
        ended
    }

    async fn talk(&mut self) -> Result<(), Error> {
        let mut next: VecDeque<Arrival> = self.state.opening.take().map(Arrival::Words).into_iter().collect();
        let mut trouble = String::new();
        let mut turns = 0;
        loop {
            let Some(arrival) = next.pop_front() else {
                next = self.arrivals(std::mem::take(&mut trouble)).await?;
                continue;
            };
            let mut spoken = None;
            let speaks = match arrival {
                Arrival::Nothing => return Ok(()),
                Arrival::Words(words) => {
                    let words = Message::user(words);
                    spoken = Some(words.clone());
                    self.hear(words);
                    self.entered = false;
                    true
                }
                Arrival::Event { event, sent, visit } if visit != self.context.transition_count() => {
                    self.tell_passed_over(&event, &sent.sender, &sent.payload).await;
                    continue;
                }
                Arrival::Event { event, sent, .. } => {
                    self.take_event(&event, &sent.payload, &mut trouble).await?
                }
            };
            if speaks && let Err(error) = self.remembering_turn(spoken).await {
                let may_go_on = self.can_be_mended(&error) || self.can_compose_again(&error);
                if self.state.talk != Talk::Ongoing || !may_go_on {
                    return Err(error);
                }
                // Whoever is there can mend it, or try again; what was said so far is not lost.
                trouble = error.to_string();
                continue;
            }
            if self.is_over().await {
                for arrival in next {
                    if let Arrival::Event { event, sent, .. } = arrival {
                        self.tell_passed_over(&event, &sent.sender, &sent.payload).await;
                    }
                }
                return Ok(());
            }
            turns += 1;
            if next.is_empty() {
                self.continue_after(turns)?;
            }
        }
    }

    /// Adds to what was said.
    pub(super) fn hear(&mut self, message: Message) {
        self.opened.iter_mut().for_each(|opened| opened.talk.push(message.clone()));
        self.state.said.push(message);
    }

    /// Lets an event happen that somebody sent. Says whether the state that it leads to speaks.
    async fn take_event(
        &mut self,
        event: &str,
        payload: &Value,
        trouble: &mut String,
    ) -> Result<bool, Error> {
        let at = self.now().await?;
        let compiled = &self.machine.compiled;
        match advance(compiled, &mut self.context, Command::at(at, Act::Event(event))) {
            Ok(events) => {
                announce::happened(self.scope, compiled, &events).await;
                let brief = brief_of(payload);
                let said = if brief.is_empty() { format!("[{event}]") } else { format!("[{event}] {brief}") };
                self.enter(&events, brief).await?;
                let speaks = !self.waits_for_events();
                if speaks && self.composition().is_none() {
                    self.hear(Message::user(said));
                }
                Ok(speaks)
            }
            Err(error) => {
                *trouble = error.to_string();
                self.end_with(&error).await?;
                Ok(false)
            }
        }
    }

    /// Lets the state that was entered begin with what it is to know.
    pub(super) async fn enter(&mut self, events: &[WorkflowEvent], brief: String) -> Result<(), Error> {
        self.entered = true;
        self.opened = None;
        for event in events {
            if let WorkflowEvent::Transitioned(moved) = event {
                let policy = self.machine.policy_of(moved);
                let (said, brief) = carried_over(policy, &moved.from, &self.state.said, brief.clone());
                (self.state.said, self.state.brief) = (said, brief);
                self.began = self.state.said.len();
                if self.clients.rules >= TURN_RULES {
                    self.state.entered.retain(|_, known| *known <= self.began);
                    self.state.entered.insert(moved.to.to_string(), self.began);
                }
                let compiled = &self.machine.compiled;
                self.pass_over_events(compiled.named(&moved.from), compiled.named(&moved.to)).await?;
            }
        }
        Ok(())
    }

    /// Whether the state is one that others move on from.
    pub(super) fn waits_for_events(&self) -> bool {
        let state = self.machine.compiled.current(&self.context);
        state.is_some_and(|state| state.orchestration == Orchestration::External && !state.is_terminal())
    }

    /// Whether a composition has failed that can be run again with other words. One that nothing comes after fails its run.
    fn can_compose_again(&self, error: &Error) -> bool {
        let state = self.machine.compiled.current(&self.context);
        let composes = state.is_some_and(|state| state.composition.is_some() && !state.is_terminal());
        composes && !error.passes(self.scope.path())
    }

    /// Whether trying again may help. A composition that nothing comes after is not tried again, though runs of earlier builds went on
    /// from there.
    fn can_be_mended(&self, error: &Error) -> bool {
        let is_mine = match error.root() {
            Error::Model(_) => true,
            Error::Failed(inner) => inner.is::<super::ActivationError>(),
            _ => false,
        };
        is_mine && (self.composition().is_none() || self.scope.composing().has_later_effects())
    }

    /// Ends the workflow because of an error, if it is one that ends it.
    pub(super) async fn end_with(&mut self, error: &WorkflowError) -> Result<(), Error> {
        announce::failed(self.scope, &self.context, error).await;
        let Some(status) = error.status() else { return Ok(()) };
        if status == Status::MaxVisitsExceeded {
            let state = self.context.current_state().to_owned();
            self.note_cut_short(&state, Some(error.to_string())).await;
        }
        let command = Command::at(now(self.scope).await?, Act::Conclude(status));
        // What has ended stays as it ended.
        if let Ok(events) = advance(&self.machine.compiled, &mut self.context, command) {
            announce::happened(self.scope, &self.machine.compiled, &events).await;
        }
        Ok(())
    }

    /// What time it is. What was waited until then does not count against the budget.
    pub(super) async fn now(&mut self) -> Result<jiff::Timestamp, Error> {
        let at = now(self.scope).await?;
        if self.budget_rules > 1 && self.machine.compiled.budget().max_wall_time_sec.is_some() {
            let waited = waited(self.scope, at);
            let since = before(at, waited.saturating_sub(self.waited));
            // Counting is never refused.
            let _ =
                advance(&self.machine.compiled, &mut self.context, Command::at(at, Act::Waited { since }));
            self.waited = waited;
        }
        Ok(at)
    }

    /// Whether the workflow ends because its model wants more calls than its budget has. In runs of earlier builds that was refused, and
    /// they went on: one that did goes on from there.
    pub(super) fn ends_without_calls(&self) -> Result<bool, Error> {
        let place = self.scope.child("calls used up");
        let mut ends = place.composing().decision::<bool>("whether it ends")?;
        if let Some(ends) = ends.made() {
            return Ok(ends);
        }
        let scope = self.scope.composing();
        let may_have_ended = self.budget_rules < 2 && (self.state.talk == Talk::Once || self.awaits_events());
        ends.make(!may_have_ended && !scope.has_later_effects() && !scope.has_recorded_next())
    }

    fn awaits_events(&self) -> bool {
        let state = self.machine.compiled.current(&self.context);
        state.is_some_and(|state| state.awaited_events().next().is_some())
    }

    /// Whether the workflow is over, after telling so.
    async fn is_over(&mut self) -> bool {
        let status = self.machine.compiled.status(&self.context);
        if status == Status::Completed && self.machine.open_ended {
            return false;
        }
        if status == Status::Completed {
            announce::completed(self.scope, &self.context).await;
        }
        status != Status::Running
    }

    /// Lets the run continue with what was said so far, if there were enough turns.
    fn continue_after(&mut self, turns: usize) -> Result<(), Error> {
        let enough = self.machine.generations.is_some_and(|limit| turns >= limit);
        if enough && self.state.talk == Talk::Ongoing && !self.scope.composing().has_recorded_next() {
            self.keep();
            self.keep_opening();
            return self.scope.continue_with(self.state);
        }
        Ok(())
    }

    /// Keeps where the workflow is with the rest of the state.
    fn keep(&mut self) {
        self.state.status = self.machine.compiled.status(&self.context);
        self.state.context = Some(self.context.clone());
    }
}

/// What time it is, for the machine.
pub(super) async fn now(scope: &Scope) -> Result<jiff::Timestamp, Error> {
    let micros = scope.now().await?.as_micros();
    jiff::Timestamp::from_microsecond(micros).map_err(Error::failed)
}

/// How long was waited in a scope by then.
pub(super) fn waited(scope: &Scope, at: jiff::Timestamp) -> Duration {
    scope.composing().time_waited(convoke_core::Timestamp::from_micros(at.as_microsecond()))
}

/// An instant so long before another one.
pub(super) fn before(at: jiff::Timestamp, duration: Duration) -> jiff::Timestamp {
    at.checked_sub(duration).unwrap_or(jiff::Timestamp::MIN)
}

/// What whoever sent an event wants the next state to know.
fn brief_of(payload: &Value) -> String {
    match payload {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other["context"].as_str().map_or_else(|| json_text(other), str::to_owned),
    }
}
