//! What can be done with a run that did not complete: whether resuming it leads anywhere, and which fork does if not.
//!
//! A run that a person or a supervisor ended has that decision in its journal, and comes to the same end each time. So has
//! one that was cancelled for good, which nothing resumes.

use convoke_core::store::RunRecord;
use convoke_core::{Decision, EffectKind, RunStatus};
use convoke_history::{Detail, Effect, History, Standing};
use serde::Deserialize;

use crate::session::Session;
use crate::shell;

/// As much of a run's end as is needed to tell whether it is one for good.
#[derive(Deserialize)]
struct End {
    #[serde(default)]
    for_good: bool,
}

/// Whether it was cancelled for good.
pub(crate) fn is_cancelled_for_good(record: &RunRecord) -> bool {
    let outcome = record.outcome.as_deref().filter(|_| record.status == RunStatus::Cancelled);
    outcome.is_some_and(|json| serde_json::from_slice::<End>(json).is_ok_and(|end| end.for_good))
}

/// Whether resuming can lead to another end than the one it has.
pub(crate) fn can_go_on(record: &RunRecord) -> bool {
    let has_ended = matches!(record.status, RunStatus::Completed | RunStatus::Halted);
    !has_ended && !is_cancelled_for_good(record)
}

/// How to have another end where resuming gives the same one.
pub(crate) fn otherwise(session: &Session<'_>, history: &History) -> Option<String> {
    let fork = |at: u64| {
        let id = shell::quoted(history.record.id.as_str());
        session.command(&format!("fork {id} --at {at}"))
    };
    if is_cancelled_for_good(&history.record) {
        let at = history.last_seq() + 1;
        return Some(format!(
            "it was cancelled for good; `{}` makes a run that goes on from where it was",
            fork(at)
        ));
    }
    let decisive = decisive(history)?;
    let again = match decisive.kind {
        EffectKind::Ask => "in which that question is open again",
        _ => "in which that is decided anew",
    };
    let at = decisive.current().ended?.seq;
    Some(format!(
        "resuming it comes to the same end; to decide otherwise, `{}` makes a run {again}",
        fork(at)
    ))
}

/// What ended the run: a person's no, or else the last thing a model said.
fn decisive(history: &History) -> Option<&Effect> {
    // What was decided before the run last continued is not to be decided anew.
    let current = || history.effects.iter().filter(|it| it.generation == history.record.generation.number);
    let finished = || current().filter(|effect| effect.standing() == Standing::Finished);
    let is_no = |effect: &&Effect| match &effect.current().detail {
        Detail::Ask { answer: Some(answer), .. } => match &answer.decision {
            Decision::Reject { .. } | Decision::Revise { .. } => true,
            Decision::Choose { option } => option == "stop",
            _ => false,
        },
        _ => false,
    };
    let said_no = finished().filter(is_no).max_by_key(|effect| effect.last_seq());
    said_no.or_else(|| {
        finished().filter(|effect| effect.kind == EffectKind::Model).max_by_key(|effect| effect.last_seq())
    })
}
