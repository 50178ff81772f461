//! Runs where earlier versions kept them: in the project's own folder.
//!
//! They are looked at like any other store, with the same suspicion, if the project's own store has not got what is asked for. Agents do
//! not work on them there.

use std::path::Path;

use convoke_config::Config;
use convoke_core::Store;
use convoke_core::store::RunQuery;
use convoke_store::SqliteStore;

use crate::arguments::{Arguments, Command, Stored};
use crate::failure::Failure;
use crate::select::LAST;
use crate::shell;
use crate::terminal::{Output, text};

/// Takes the file of earlier versions if it has the runs that a command is about, and the project's own has not.
pub(crate) async fn turn_to_earlier(
    arguments: &mut Arguments,
    config: &Config,
    output: &mut Output,
) -> Result<(), Failure> {
    let Some(earlier) = config.locations().old_store.clone().filter(|_| config.named_store().is_none())
    else {
        return Ok(());
    };
    let Some(wanted) = Wanted::by(&arguments.command) else { return Ok(()) };
    if has(&arguments.store, &wanted).await.unwrap_or(false) {
        note_others(&earlier, arguments, output);
        return Ok(());
    }
    let shown = text::clean(&earlier.display().to_string());
    match has(&earlier, &wanted).await {
        Ok(true) => {
            output.note(&format!(
                "{shown} is where earlier versions kept runs, and commands of agents can write there; `convoke store move` takes them to a \
                 place of your own"
            ));
            arguments.store = earlier;
        }
        Ok(false) => {}
        Err(failure) => {
            let why = text::clean(&failure.message());
            output.note(&format!("{shown}, where earlier versions kept runs, is not used: {why}"));
        }
    }
    Ok(())
}

/// What a command is about.
enum Wanted {
    /// A run with an id that begins so.
    Run(String),
    /// Whatever there is.
    Any,
}

impl Wanted {
    fn by(command: &Command) -> Option<Self> {
        let run = match command {
            Command::Stored(stored) => match stored {
                Stored::Runs(_) | Stored::Questions | Stored::Purge(_) => None,
                // Agents do not work on runs in the old place.
                Stored::Attend(_) => return None,
                Stored::Show(show) => Some(&show.run),
                Stored::Replay(replay) => Some(&replay.run),
                Stored::Fork(fork) => Some(&fork.run),
                Stored::Resume(resume) => resume.run.as_ref(),
                Stored::Answer(answer) => Some(&answer.run),
                Stored::Send(send) => Some(&send.run),
                Stored::Cancel(cancel) => Some(&cancel.run),
                Stored::Attach(attach) => Some(&attach.run),
                Stored::Rm(rm) => rm.runs.first(),
            },
            Command::Chat(chat) => Some(chat.resume.as_ref()?),
            _ => return None,
        };
        Some(run.filter(|run| *run != LAST).map_or(Self::Any, |run| Self::Run(run.clone())))
    }
}

/// Whether a store has such runs. One that is not there, or was never made, has none.
async fn has(store: &Path, wanted: &Wanted) -> Result<bool, Failure> {
    if !convoke_config::may_exist(store) || SqliteStore::is_uninitialized(store)? {
        return Ok(false);
    }
    let id_prefix = match wanted {
        Wanted::Run(run) if !run.is_ascii() || run.is_empty() => return Ok(false),
        Wanted::Run(run) => Some(run.clone()),
        Wanted::Any => None,
    };
    let query = RunQuery { id_prefix, limit: Some(1), ..RunQuery::default() };
    Ok(!SqliteStore::open_read_only(store)?.runs(&query).await?.is_empty())
}

/// Whoever lists runs is told that there are others.
fn note_others(earlier: &Path, arguments: &Arguments, output: &mut Output) {
    if matches!(&arguments.command, Command::Stored(Stored::Runs(_) | Stored::Questions)) {
        let shown = shell::quoted(&text::clean(&earlier.display().to_string()));
        output.note(&format!(
            "there are runs of earlier versions as well: `convoke --store {shown} runs` lists them, and `convoke store move --to PATH` takes \
             them to another file"
        ));
    }
}
