//! What comes of a command for a step that ran it: data, or an error.
//!
//! Nobody reads it who could make sense of notes, so a command that failed, or of whose changes some are lost, must never look like
//! one that did what it was to do.

use convoke_core::Error;

use super::{add_rest, end_text, told};
use crate::sandbox::{CommandEnd, CommandResult, LostChanges, Sandbox};

/// What the command wrote, without line breaks at its end, as `$(…)` gives it.
pub(super) fn result(sandbox: &Sandbox, finished: &CommandResult, seconds: u64) -> Result<String, Error> {
    if finished.end != CommandEnd::Exited(0) {
        let (end, told) = (end_text(finished.end, seconds), told(sandbox, finished));
        return Err(Error::permanent(format!("{end}\n{told}").trim_end().to_owned()));
    }
    let denied = || {
        let denied = finished.notes.iter().filter_map(|note| note.strip_prefix("denied: "));
        format!(
            "the command ended well, but changes of it are lost: {}",
            denied.collect::<Vec<_>>().join("; ")
        )
    };
    match finished.lost {
        LostChanges::None => {
            let written = finished.stdout.to_string();
            let mut text = written.trim_end_matches(['\r', '\n']).to_owned();
            add_rest(&mut text, sandbox, "output", &finished.stdout);
            Ok(text)
        }
        LostChanges::Overtaken => Err(Error::transient(denied())),
        LostChanges::Refused => Err(Error::permanent(denied())),
    }
}
