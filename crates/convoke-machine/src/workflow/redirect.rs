//! Redirects: which state an event leads to when states may only be entered so often.

use std::sync::Arc;

use super::compiled::{Compiled, StateId};
use super::{Context, MaxVisitsExceeded, Redirect, RedirectStyle, WorkflowError};

/// The state where a transition ends, and why that is another than its event says.
pub(super) type Landing = (StateId, Option<Redirect>);

/// Follows `on_max_visits` from the state that an event says to one that may be entered.
pub(super) fn land(
    compiled: &Compiled,
    context: &Context,
    target: StateId,
    event: &Arc<str>,
) -> Result<Landing, WorkflowError> {
    let Some(first) = cap_reached(compiled, context, target) else {
        return Ok((target, None));
    };
    let single_hop = compiled.options().redirects == RedirectStyle::SingleHop;
    let mut tried = vec![target];
    let mut landing = target;
    let mut reached = Some(first);
    while let Some(cap) = reached {
        let exceeded = || {
            WorkflowError::MaxVisitsExceeded(Box::new(MaxVisitsExceeded {
                from_state: Arc::clone(&context.current_state),
                original_target: Arc::clone(&compiled.state(target).name),
                state: Arc::clone(&compiled.state(landing).name),
                event: Arc::clone(event),
                visit_count: cap.0,
                max_visits: cap.1,
            }))
        };
        let next = compiled.state(landing).on_max_visits.ok_or_else(exceeded)?;
        if single_hop && next == target {
            return Ok((target, None));
        }
        if next == landing {
            return Err(exceeded());
        }
        let is_cycle = tried.contains(&next);
        tried.push(next);
        if is_cycle {
            return Err(WorkflowError::RedirectCycle { chain: names(compiled, &tried) });
        }
        landing = next;
        reached = if single_hop { None } else { cap_reached(compiled, context, next) };
    }
    Ok((landing, Redirect::new(names(compiled, &tried), first.0, first.1)))
}

/// How often the state was entered and how often it may be, if that is no more.
fn cap_reached(compiled: &Compiled, context: &Context, id: StateId) -> Option<(u64, u64)> {
    let state = compiled.state(id);
    let max = state.max_visits?;
    let visits = context.visits(&state.name);
    (visits >= max).then_some((visits, max))
}

fn names(compiled: &Compiled, states: &[StateId]) -> Vec<Arc<str>> {
    states.iter().map(|id| Arc::clone(&compiled.state(*id).name)).collect()
}
