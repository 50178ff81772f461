//! `convoke store`

use clap::Subcommand;
use convoke_history::human;
use convoke_host::store::{move_runs, must_be_out_of_reach, projects};
use std::path::PathBuf;

use crate::arguments::Arguments;
use crate::configuration;
use crate::failure::Failure;
use crate::terminal::Output;

/// What is done about the files that hold runs.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// List the projects whose runs are kept, and the files that hold them.
    List,
    /// Take all runs from one file to another, with what agents noted in them.
    ///
    /// Without options: from `convoke.db` in the project's folder, where earlier versions kept runs, to where they are kept now. Do that
    /// only with runs of your own: a folder may have come from somebody else, with a `convoke.db` that says what was never
    /// approved. If it is interrupted, do it again.
    Move {
        /// The file to take them from, such as that of a project whose folder was moved.
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
        /// The file to take them to. It must have no runs.
        #[arg(long, value_name = "PATH")]
        to: Option<PathBuf>,
    },
}

pub(crate) async fn run(
    arguments: &Arguments,
    wanted: &StoreCommand,
    output: &mut Output,
) -> Result<(), Failure> {
    match wanted {
        StoreCommand::List => output.show(&*projects(&configuration::loader(arguments).locations().project)),
        StoreCommand::Move { from, to } => {
            let config = configuration::load(arguments)?;
            let places = config.locations();
            // Runs that are where they are kept now can be taken elsewhere too.
            let kept = Some(&arguments.store).filter(|store| to.is_some() && store.exists()).cloned();
            let from = from.clone().or_else(|| places.old_store.clone()).or(kept).ok_or_else(|| {
                Failure::not_found("there is no convoke.db of an earlier version in this project's folder")
                    .hint("name the file that has the runs with `--from PATH`; `convoke store list` lists those of other projects")
            })?;
            let to = to.clone().unwrap_or_else(|| arguments.store.clone());
            must_be_out_of_reach(&config, &to)?;
            let moved = move_runs(&places.project, &from, &to).await?;
            let runs = human::count(moved.runs as u64, "run");
            let line = format!("{runs} moved from {} to {}", moved.from.display(), moved.to.display());
            output.give(&moved, line)
        }
    }
}
