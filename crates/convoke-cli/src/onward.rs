//! What can be done with a run that resuming leads nowhere: which fork does.
//!
//! A run that a person or a supervisor ended has that decision in its journal, and comes to the same end each time. So has
//! one that was cancelled for good, which nothing resumes.

use convoke_core::{Decision, EffectKind};
use convoke_history::{Detail, Effect, EffectStatus, History};

pub(crate) use convoke_host::{can_go_on, is_cancelled_for_good};

use crate::session::Session;
use crate::shell;

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
    let finished = || current().filter(|effect| effect.status() == EffectStatus::Finished);
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
