//! The summary of a turn's calls.

use convoke_core::{Error, Scope, Suspension, ToolCall, ToolResult};

use super::clock::own_time_up;
use super::turn::dismiss;

/// How a call ended.
#[derive(Clone)]
pub(super) enum CallEnd {
    Answered(ToolResult),
    Rejected(ToolResult),
    /// Not made, because there were no calls left.
    Unaffordable(ToolResult),
    HandedOver,
    /// Not made, because one before it that it conflicts with did not end.
    HeldBack,
}

/// What became of a turn's calls.
pub(super) struct CallsSummary {
    /// The results there are, in call order.
    pub(super) results: Vec<ToolResult>,
    /// The calls that are the client's to make.
    pub(super) handed_over: Vec<ToolCall>,
    pub(super) all_rejected: bool,
    /// Whether there were too few calls left for them.
    pub(super) lacked_calls: bool,
    /// The calls that time ran out on.
    pub(super) unfinished: Vec<usize>,
    /// Why the turn cannot go on: time, or a budget, ran out in the middle of it.
    pub(super) stopped: Option<Error>,
}

/// Puts the ends together. Stops come before everything else, and questions before failures: a run that waits for an
/// answer must not end. What time or a budget ran out on still gets a result, so that the conversation is whole.
pub(super) async fn sum_up(
    scope: &Scope,
    calls: &[ToolCall],
    ends: Vec<Result<CallEnd, Error>>,
) -> Result<CallsSummary, Error> {
    let mut suspended = Vec::new();
    let (mut stop, mut failure) = (None, None);
    for error in ends.iter().filter_map(|end| end.as_ref().err()) {
        match error.root() {
            Error::Suspended(suspension) => suspended.push(&**suspension),
            Error::Budget(_) => {}
            _ if own_time_up(scope, error).is_some() => {}
            _ if error.is_stop() => {
                stop.get_or_insert_with(|| error.clone());
            }
            _ => {
                failure.get_or_insert_with(|| error.clone());
            }
        }
    }
    if let Some(stop) = stop {
        return Err(stop);
    }
    if !suspended.is_empty() {
        return Err(Error::Suspended(Box::new(Suspension::together(suspended))));
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    let time_up =
        ends.iter().filter_map(|end| end.as_ref().err()).find(|error| own_time_up(scope, error).is_some());
    let mut made = CallsSummary {
        results: Vec::with_capacity(calls.len()),
        handed_over: Vec::new(),
        all_rejected: ends.iter().all(|end| matches!(end, Ok(CallEnd::Rejected(_)))),
        lacked_calls: ends.iter().any(|end| matches!(end, Ok(CallEnd::Unaffordable(_)))),
        unfinished: Vec::new(),
        stopped: time_up.cloned(),
    };
    for (index, (call, end)) in calls.iter().zip(ends).enumerate() {
        let error = match end {
            Ok(CallEnd::Answered(result) | CallEnd::Rejected(result) | CallEnd::Unaffordable(result)) => {
                made.results.push(result);
                continue;
            }
            Ok(CallEnd::HandedOver) => {
                made.handed_over.push(call.clone());
                continue;
            }
            Ok(CallEnd::HeldBack) => None,
            Err(error) => Some(error),
        };
        // A replay knows which calls time ran out on, and nothing else: they must all read alike.
        let reason = match &error {
            _ if made.stopped.as_ref().is_some_and(|stop| own_time_up(scope, stop).is_some()) => late(call),
            Some(error) => error.to_string(),
            None => format!("`{}` was not called, because a call before it did not finish", call.name),
        };
        made.unfinished.push(index);
        let lane = scope.composing().lane(0);
        made.results.push(dismiss(&lane, call, reason).await);
        lane.end();
        made.stopped = made.stopped.or(error);
    }
    Ok(made)
}

fn late(call: &ToolCall) -> String {
    format!("`{}` did not finish before the time was up; what it has done is not known", call.name)
}
