//! Turn and budget limits that end in an answer.
//!
//! An agent that may not go on is not cut off in the middle of its work: before it comes to a limit it gets one last
//! turn, without tools and with a note that says why, and answers with what it has.
//!
//! Budgets are shared with whatever else runs, so what is left of one may be different when a run is replayed. Whether
//! a turn was the last is therefore written down when a budget makes it so.

use std::sync::Arc;

use convoke_core::{ASSUMED_OUTPUT_TOKENS, BYTES_PER_TOKEN, Error, Model, Resource, Scope, Usage};
use serde::{Deserialize, Serialize};

use super::progress::AgentProgress;
use super::{Agent, AgentStop};

/// What keeps an agent from going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    MaxTurns,
    Budget,
    Looping,
}

impl Limit {
    pub(super) fn stop(self) -> AgentStop {
        match self {
            Self::MaxTurns => AgentStop::MaxTurns,
            Self::Budget => AgentStop::BudgetExhausted,
            Self::Looping => AgentStop::Looping,
        }
    }

    /// What the model is told on its last turn.
    pub(super) fn note(self) -> &'static str {
        match self {
            Self::MaxTurns => {
                "This is your last turn, and tools are no longer available. Answer now with what you have."
            }
            Self::Budget => {
                "The budget for this task is nearly used up, and tools are no longer available. Answer now with what \
                 you have."
            }
            Self::Looping => {
                "You keep making the same call, so tools are no longer available. Answer now with what you have."
            }
        }
    }
}

/// How a turn may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Ordinary,
    /// Without tools, and then no more.
    Last(Limit),
    /// Not at all.
    Refused(Limit),
}

/// What a budget says about a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Squeeze {
    LastTurn,
    NoTurn,
}

/// What a call takes at least.
#[derive(Clone, Copy)]
struct Needs {
    /// Tokens for reading the conversation.
    reading: u64,
    /// Millionths of a dollar that must be there for the call to be made.
    set_aside: u64,
}

/// How the turn with this number may be made. `past` says whether it was made before a crash.
pub(super) fn admit(
    agent: &Agent,
    model: &Arc<dyn Model>,
    turn: &Scope,
    past: bool,
    number: u32,
    progress: &mut AgentProgress,
) -> Result<Admission, Error> {
    let params = agent.params.overridden_by(&turn.settings().params);
    let output = params.max_tokens.map_or(ASSUMED_OUTPUT_TOKENS, u64::from);
    let reading = progress.transcript.encoded_len() as u64 / BYTES_PER_TOKEN;
    let set_aside =
        model.highest_price().map_or(0, |price| price.of(&Usage::tokens(reading, output)).as_micros());
    let squeeze = squeeze(turn, past, progress, Needs { reading, set_aside })?;
    let max_turns = max_turns(agent, turn, past, number, progress)?;
    // Without tools the first turn is like any last one: there is nothing to take away, and nothing to tell.
    let has_work = number > 1 || agent.works_with_tools();
    Ok(match (squeeze, progress.limit) {
        _ if number > max_turns => Admission::Refused(Limit::MaxTurns),
        (Some(Squeeze::NoTurn), limit) => Admission::Refused(limit.unwrap_or(Limit::Budget)),
        (_, Some(limit)) => Admission::Last(limit),
        _ if number == max_turns && has_work => Admission::Last(Limit::MaxTurns),
        (Some(Squeeze::LastTurn), None) if has_work => Admission::Last(Limit::Budget),
        _ => Admission::Ordinary,
    })
}

/// How many turns there are. The limit may have been raised since the run began: a last turn that was made before that stays the
/// last, and one that is yet to be made is the last no more. That is written down, for a run that goes on once more.
fn max_turns(
    agent: &Agent,
    turn: &Scope,
    past: bool,
    number: u32,
    progress: &mut AgentProgress,
) -> Result<u32, Error> {
    let max_turns = progress.raised_turns.or(agent.max_turns()).unwrap_or(u32::MAX);
    if number != max_turns {
        return Ok(max_turns);
    }
    // At a place of its own: journals of runs that did not know of it stay as they are.
    let limit = turn.composing().leaf_child("turn_limit");
    let mut decision = limit.composing().decision::<u32>("raised")?;
    let raised = match (decision.made(), agent.raised_turns) {
        (Some(raised), _) => Some(raised),
        (None, Some(raised)) if !past && raised > max_turns => Some(decision.make(raised)?),
        (None, _) => None,
    };
    progress.raised_turns = raised.or(progress.raised_turns);
    Ok(raised.unwrap_or(max_turns))
}

/// Takes the turn from the budget, and says whether another one will be possible.
fn squeeze(
    turn: &Scope,
    past: bool,
    progress: &AgentProgress,
    needs: Needs,
) -> Result<Option<Squeeze>, Error> {
    let mut decision = turn.composing().decision::<Squeeze>("budget")?;
    let made = decision.made();
    if past || made.is_some() {
        // It has happened, or is settled: the budget is charged, and has no say any more.
        turn.composing().count_turn();
        return Ok(made);
    }
    let squeeze = match pressed(turn, progress, needs) {
        // An agent that has said nothing has nothing to end with: the budget's own error is the better answer.
        Some(Squeeze::NoTurn) if progress.reply.is_none() => {
            turn.composing().take_turn()?;
            None
        }
        Some(Squeeze::NoTurn) => Some(Squeeze::NoTurn),
        otherwise => match turn.composing().take_turn() {
            Ok(()) => otherwise,
            Err(error) if progress.reply.is_none() => return Err(error),
            Err(_) => Some(Squeeze::NoTurn),
        },
    };
    squeeze.map(|squeeze| decision.make(squeeze)).transpose()
}

/// Whether what is left suffices for this turn, and for an answer after it.
fn pressed(turn: &Scope, progress: &AgentProgress, needs: Needs) -> Option<Squeeze> {
    let left = |resource| turn.remaining(&resource);
    let (calls, turns) = (left(Resource::ModelCalls), left(Resource::Turns));
    let (tokens, cost) = (left(Resource::Tokens), left(Resource::Cost));
    if [calls, turns, tokens, cost].contains(&Some(0)) {
        return Some(Squeeze::NoTurn);
    }
    // Whoever wants nothing more called lacks no calls.
    let lacks_calls = progress.lacked_calls && left(Resource::ToolCalls) == Some(0);
    if calls == Some(1) || turns == Some(1) || lacks_calls {
        return Some(Squeeze::LastTurn);
    }
    // What the next reply takes is not known; the last one is the best guess.
    let last = progress.reply.as_ref()?.usage;
    let next_tokens = last.total_tokens().max(needs.reading);
    let next_cost = last.cost.map_or(0, |cost| cost.as_micros());
    let scarce = |left: Option<u64>, next: u64, answer: u64| left.is_some_and(|left| left < next + answer);
    let pressed =
        scarce(tokens, next_tokens, next_tokens) || scarce(cost, next_cost, next_cost.max(needs.set_aside));
    pressed.then_some(Squeeze::LastTurn)
}

/// Whether a reply that was cut off was cut by the budget, which lets no reply be longer than what is left.
pub(super) fn cut_by_budget(turn: &Scope, past: bool, conversation: usize) -> Result<bool, Error> {
    let mut decision = turn.composing().decision::<bool>("cut off")?;
    if past {
        return Ok(decision.made().unwrap_or(false));
    }
    // What is left would not even pay for reading the conversation again.
    let unaffordable = conversation as u64 / BYTES_PER_TOKEN + 1;
    let cut = turn.remaining(&Resource::Tokens).is_some_and(|left| left <= unaffordable);
    if cut { decision.make(true) } else { Ok(false) }
}
