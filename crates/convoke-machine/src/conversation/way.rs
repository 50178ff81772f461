//! The way that a conversation took through its states, for whoever looks at it afterwards.
//!
//! A conversation that has ended keeps its context, which knows the way. One that is under way or waits keeps nothing but what its
//! journal has; the way is read off that with the same pure machine.

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::Serialize;

use super::state::MachineState;
use crate::workflow::{Act, Command, Compiled, Context, advance};

/// Something in the journal of a conversation that says where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sign<'a> {
    /// An event that the model asked for, that somebody sent or that a composition led to, and that was accepted.
    Event(&'a str),
    /// Something that was done in this state, or in a state that runs this composition.
    At(&'a str),
}

/// The way that a conversation took through its states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Way {
    /// The state it is in, or ended in.
    pub current: String,
    /// The states that were entered, in declared order.
    pub states: Vec<VisitedState>,
    /// The transitions, in the order in which each happened first.
    pub transitions: Vec<TakenTransition>,
}

/// A state that was entered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VisitedState {
    /// Its name.
    pub state: String,
    /// How often.
    pub visits: u64,
}

/// A transition that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TakenTransition {
    /// The state it left.
    pub from: String,
    /// The event.
    pub event: String,
    /// The state it entered.
    pub to: String,
    /// The states that it would have entered before that one, had they not been entered often enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instead_of: Vec<String>,
    /// How often, as far as it is still known.
    pub times: u64,
}

impl Way {
    /// The way that a context knows.
    #[must_use]
    pub fn of(compiled: &Compiled, context: &Context) -> Self {
        let states = compiled
            .states()
            .map(|state| VisitedState { state: state.name.to_string(), visits: context.visits(&state.name) });
        let mut moves: IndexMap<(&str, &str, &str), u64> = IndexMap::new();
        for moved in context.history() {
            *moves.entry((&moved.from, &moved.event, &moved.to)).or_default() += 1;
        }
        let transitions = moves.into_iter().map(|((from, event, to), times)| TakenTransition {
            from: from.to_owned(),
            event: event.to_owned(),
            to: to.to_owned(),
            instead_of: passed_over(compiled, from, event, to),
            times,
        });
        Self {
            current: context.current_state().to_owned(),
            states: states.filter(|state| state.visits > 0).collect(),
            transitions: transitions.collect(),
        }
    }

    /// The way that follows from what a journal has, in its order, of a conversation that began so.
    #[must_use]
    pub fn read<'s>(
        compiled: &Compiled,
        began: &MachineState,
        signs: impl IntoIterator<Item = Sign<'s>>,
    ) -> Self {
        // No time passes here: what was accepted then is not to be refused now because time is up.
        let before = began.context.as_ref().filter(|context| compiled.current(context).is_some());
        let at = before.map_or(Timestamp::UNIX_EPOCH, Context::updated_at);
        let chosen = || began.entry.as_deref().and_then(|entry| compiled.start_in(entry, at));
        let mut context = before.cloned().or_else(chosen).unwrap_or_else(|| compiled.start(at));
        for sign in signs {
            match sign {
                // What is refused has changed nothing, as it has not when it happened.
                Sign::Event(event) => {
                    let _ = advance(compiled, &mut context, Command::at(at, Act::Event(event)));
                }
                Sign::At(name) if is_at(compiled, &context, name) => {}
                // In a journal of an earlier build only what came after a composition says what that led to.
                Sign::At(name) => {
                    let led = compiled.available_events(&context).find_map(|event| {
                        let mut next = context.clone();
                        advance(compiled, &mut next, Command::at(at, Act::Event(event))).ok()?;
                        is_at(compiled, &next, name).then_some(next)
                    });
                    context = led.unwrap_or(context);
                }
            }
        }
        Self::of(compiled, &context)
    }

    /// Returns how often a state was entered.
    #[must_use]
    pub fn visits(&self, state: &str) -> u64 {
        self.states.iter().find(|known| known.state == state).map_or(0, |known| known.visits)
    }

    /// Returns how often an event led out of a state.
    #[must_use]
    pub fn taken(&self, from: &str, event: &str) -> u64 {
        let taken = self.transitions.iter().filter(|taken| taken.from == from && taken.event == event);
        taken.map(|taken| taken.times).sum()
    }

    /// Returns how often another state was entered because this one had been entered often enough.
    #[must_use]
    pub fn redirected(&self, state: &str) -> u64 {
        let taken = self.transitions.iter().filter(|taken| taken.instead_of.iter().any(|name| name == state));
        taken.map(|taken| taken.times).sum()
    }
}

/// Whether this is the state, or the composition that it runs.
fn is_at(compiled: &Compiled, context: &Context, name: &str) -> bool {
    let state = compiled.current(context);
    state.is_some_and(|state| *state.name == *name || state.composition.as_deref() == Some(name))
}

/// The states between where an event leads and where it led.
fn passed_over(compiled: &Compiled, from: &str, event: &str, to: &str) -> Vec<String> {
    let declared = compiled.named(from).and_then(|state| compiled.target_of(state, event));
    let chain = std::iter::successors(declared, |state| compiled.fallback_of(state));
    // Fallbacks may lead in circles.
    let chain = chain.take(compiled.states().len());
    chain.take_while(|state| &*state.name != to).map(|state| state.name.to_string()).collect()
}
