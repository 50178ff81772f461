//! Stores of earlier versions, which kept runs in the project's own folder.
//!
//! They are looked at like any other store, with the same suspicion, if the project's own store has not got what is asked for. Agents do
//! not work on them there.

use std::path::Path;

use convoke_config::Config;
use convoke_host::store::has_runs;
use convoke_host::stored::LAST;
use convoke_text::shell_quoted;

use crate::arguments::{Arguments, Command, StoredCommand};
use crate::terminal::{Output, text};

/// Takes the file of earlier versions if it has the runs that a command is about, and the project's own has not.
pub(crate) async fn turn_to_earlier(arguments: &mut Arguments, config: &Config, output: &mut Output) {
    let earlier = config.locations().old_store.clone().filter(|_| config.named_store().is_none());
    let (Some(earlier), Some(wanted)) = (earlier, wanted(&arguments.command)) else { return };
    if has_runs(&arguments.store, wanted).await.unwrap_or(false) {
        return note_others(&earlier, arguments, output);
    }
    let shown = earlier.display();
    match has_runs(&earlier, wanted).await {
        Ok(true) => {
            output.note(&format!(
                "{shown} is where earlier versions kept runs, and commands of agents can write there; `convoke store move` takes them to a \
                 place of your own"
            ));
            arguments.store = earlier;
        }
        Ok(false) => {}
        Err(error) => {
            output.note(&format!("{shown}, where earlier versions kept runs, is not used: {error}"));
        }
    }
}

/// The beginning of the id of the run that a command is about: nothing, if it is about whatever there is; `None` if it is about no run.
fn wanted(command: &Command) -> Option<&str> {
    let run = match command {
        Command::Stored(stored) => match stored {
            StoredCommand::Runs(_) | StoredCommand::Questions | StoredCommand::Purge(_) => None,
            // Agents do not work on runs in the old place.
            StoredCommand::Attend(_) => return None,
            StoredCommand::Show(show) => Some(&show.run),
            StoredCommand::Replay(replay) => Some(&replay.run),
            StoredCommand::Fork(fork) => Some(&fork.run),
            StoredCommand::Resume(resume) => resume.run.as_ref(),
            StoredCommand::Answer(answer) => Some(&answer.run),
            StoredCommand::Send(send) => Some(&send.run),
            StoredCommand::Cancel(cancel) => Some(&cancel.run),
            StoredCommand::Attach(attach) => Some(&attach.run),
            StoredCommand::Rm(rm) => rm.runs.first(),
        },
        Command::Chat(chat) => Some(chat.resume.as_ref()?),
        _ => return None,
    };
    Some(run.map_or("", String::as_str)).map(|run| if run == LAST { "" } else { run })
}

/// Whoever lists runs is told that there are others.
fn note_others(earlier: &Path, arguments: &Arguments, output: &mut Output) {
    if matches!(&arguments.command, Command::Stored(StoredCommand::Runs(_) | StoredCommand::Questions)) {
        let shown = shell_quoted(&text::clean(&earlier.display().to_string()));
        output.note(&format!(
            "there are runs of earlier versions as well: `convoke --store {shown} runs` lists them, and `convoke store move --to PATH` takes \
             them to another file"
        ));
    }
}
