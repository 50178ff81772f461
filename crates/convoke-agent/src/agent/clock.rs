//! The time limit of an agent.
//!
//! When time is up the agent stops with what it has, and its run goes on with that. What it had then depends on the
//! moment, so it is written down: a replay stops at the same place, however long it takes.

use std::time::Duration;

use convoke_core::{Error, PendingDecision, Scope, TimedOut};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// Where an agent was when its time was up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TimeUp {
    /// The turn that was not completed.
    turn: u32,
    /// How far it had come, if it had begun.
    reached: Option<InterruptedTurn>,
}

/// How far a turn had come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InterruptedTurn {
    /// The calls that had not finished.
    pub(super) unfinished: Vec<usize>,
    /// The time the turn had been given.
    pub(super) limit: Duration,
}

/// Measures an agent's time, if it is limited.
pub(super) struct Clock<'a> {
    limit: Option<Duration>,
    until: Option<Instant>,
    decision: Option<PendingDecision<'a, TimeUp>>,
    past: Option<TimeUp>,
}

/// The time a turn has.
pub(super) enum TurnTime {
    /// None: time is up.
    Up,
    /// As much as it takes.
    Unlimited,
    /// This much, of what the agent has in all.
    Limited { left: Duration, of: Duration },
    /// As much as it had when it was made before, which was not enough.
    Interrupted(InterruptedTurn),
}

impl<'a> Clock<'a> {
    pub(super) fn start(limit: Option<Duration>, scope: &'a Scope) -> Result<Self, Error> {
        let Some(limit) = limit else { return Ok(Self { limit, until: None, decision: None, past: None }) };
        let mut decision = scope.composing().decision("timeout")?;
        let past = decision.made();
        // It counts over the life of the run: what was done before has taken its time.
        let left = limit.saturating_sub(scope.composing().time_used_before());
        Ok(Self { limit: Some(limit), until: Some(Instant::now() + left), decision: Some(decision), past })
    }

    /// The time the turn with this number has.
    pub(super) fn turn_time(&self, number: u32) -> TurnTime {
        match (&self.past, self.limit, self.until) {
            (Some(up), ..) if up.turn == number => match &up.reached {
                Some(reached) => TurnTime::Interrupted(reached.clone()),
                None => TurnTime::Up,
            },
            (None, Some(of), Some(until)) => {
                TurnTime::Limited { left: until.saturating_duration_since(Instant::now()), of }
            }
            _ => TurnTime::Unlimited,
        }
    }

    /// Takes down that there is no time for the turn with this number.
    pub(super) fn give_up(&mut self, number: u32) -> Result<(), Error> {
        self.decide(TimeUp { turn: number, reached: None })
    }

    /// Whether a turn ended with this error because the agent's own time was up. Takes it down if so.
    pub(super) fn ran_out(
        &mut self,
        number: u32,
        turn: &Scope,
        error: &Error,
        unfinished: Vec<usize>,
    ) -> Result<bool, Error> {
        let Some(timed_out) = own_time_up(turn, error).filter(|_| self.until.is_some()) else {
            return Ok(false);
        };
        let reached = Some(InterruptedTurn { unfinished, limit: timed_out.limit });
        self.decide(TimeUp { turn: number, reached })?;
        Ok(true)
    }

    fn decide(&mut self, up: TimeUp) -> Result<(), Error> {
        match self.decision.take() {
            Some(decision) if self.past.is_none() => decision.make(up).map(drop),
            _ => Ok(()),
        }
    }
}

/// What a turn was given, if it ended because that was not enough.
pub(super) fn own_time_up<'a>(turn: &Scope, error: &'a Error) -> Option<&'a TimedOut> {
    match error.root() {
        Error::TimedOut(timed_out) if timed_out.owner == *turn.path() => Some(timed_out),
        _ => None,
    }
}
