//! Advice for runs that resuming does not help: which fork does.
//!
//! A run that a person or a supervisor ended has that decision in its journal, and comes to the same end each time. So has
//! one that was cancelled for good, which nothing resumes.

use convoke_core::EffectKind;
use convoke_history::History;

pub(crate) use convoke_host::{can_go_on, is_cancelled_for_good};

use crate::session::Session;

/// How to have another end where resuming gives the same one.
pub(crate) fn otherwise(session: &Session<'_>, history: &History) -> Option<String> {
    let fork = |at: u64| session.about("fork", &history.record.id, &format!("--at {at}"));
    if is_cancelled_for_good(&history.record) {
        let at = history.last_seq() + 1;
        return Some(format!(
            "it was cancelled for good; `{}` makes a run that goes on from where it was",
            fork(at)
        ));
    }
    let decisive = history.decisive_effect()?;
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
