//! What comes of a command for a step that ran it: data, or an error.
//!
//! Nobody reads it who could make sense of notes, so a command that failed, or of whose changes some are lost, must never look like
//! one that did what it was to do.

use convoke_core::{Category, Error, ToolSpec};

use super::{end_text, told};
use crate::sandbox::{CapturedOutput, CommandEnd, CommandResult, LostChanges, Sandbox};

/// The most that a command may write to its output, in bytes: as much as any tool may give.
const LARGEST: usize = ToolSpec::DEFAULT_MAX_OUTPUT;

/// What a failure begins with whose changes are lost.
const LOST: &str = "the command ended well, but changes of it are lost: ";

/// What the command wrote, without line breaks at its end, as `$(…)` gives it.
pub(super) fn result(sandbox: &Sandbox, finished: &CommandResult, seconds: u64) -> Result<String, Error> {
    if finished.end != CommandEnd::Exited(0) {
        let (end, told) = (end_text(finished.end, seconds), told(sandbox, finished));
        return Err(Error::permanent(format!("{end}\n{told}").trim_end().to_owned()));
    }
    let denied = || {
        let denied = finished.notes.iter().filter_map(|note| note.strip_prefix("denied: "));
        format!("{LOST}{}", denied.collect::<Vec<_>>().join("; "))
    };
    match finished.lost {
        LostChanges::None => written(&finished.stdout),
        LostChanges::Overtaken => Err(Error::transient(denied())),
        LostChanges::Refused => Err(Error::permanent(denied())),
    }
}

/// All of it: data that is cut is other data.
fn written(output: &CapturedOutput) -> Result<String, Error> {
    let text = String::from_utf8_lossy(output.stored());
    let bytes = output.bytes().max(text.len() as u64);
    if bytes > LARGEST as u64 {
        return Err(Error::permanent(format!(
            "the command ended well and what it changed was kept, but it wrote {bytes} bytes to its output, and a step is given {LARGEST} \
             at the most: have it write to a file (`… > FILE`), or write less"
        )));
    }
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// Returns whether this is the failure of a command, as a step is given it, of which changes were lost because somebody else had made
/// others meanwhile: what else it changed was taken over.
#[must_use]
pub fn was_overtaken(category: Category, failure: &str) -> bool {
    category == Category::Transient && failure.starts_with(LOST)
}
