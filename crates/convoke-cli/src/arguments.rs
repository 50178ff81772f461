//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::parser::ValueSource;
use clap::{ArgGroup, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use convoke_core::{RunId, RunStatus};

const AFTER_HELP: &str = "\
Works on a store alone: no model is called and no workflow is run. Results go to standard output, everything else to \
standard error.

RUN is a run's id, the beginning of one that no other run has, or `last` for the newest run.

Exit codes:
  0  done
  1  what was asked for failed or cannot be done
  2  the command line is wrong
  3  there is no such run, entry or question, or more than one fits
  4  the store is missing, damaged, newer than this program, or cannot be read";

/// Look at stored runs, replay and fork them, answer their questions.
#[derive(Debug, Parser)]
#[command(name = "convoke", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Arguments {
    /// The file that holds the runs.
    #[arg(long, global = true, value_name = "PATH", env = "CONVOKE_STORE", default_value = "./convoke.db")]
    pub(crate) store: PathBuf,

    /// When to use colours; auto means on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,

    /// Give results as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Whether the store was named on the command line, so that commands we suggest must name it too.
    #[arg(skip)]
    pub(crate) names_store: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List runs, newest first.
    Runs(Runs),
    /// Look at a run: what it did, what it spent, how it ended, what it waits for.
    Show(Show),
    /// Tell a run from its journal, entry by entry, without any model.
    Replay(Replay),
    /// Make a new run out of an old one's past: what if it had gone differently?
    Fork(Fork),
    /// Answer a question of a run.
    Answer(Answer),
    /// List all open questions.
    Questions,
    /// Delete finished runs.
    Purge(Purge),
}

impl Command {
    /// Whether it changes nothing in the store, which then need not be writable.
    pub(crate) fn only_reads(&self) -> bool {
        match self {
            Self::Runs(_) | Self::Show(_) | Self::Replay(_) | Self::Questions => true,
            Self::Purge(purge) => purge.dry_run,
            Self::Fork(_) | Self::Answer(_) => false,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Runs {
    /// Only runs that stand here.
    #[arg(long)]
    pub(crate) status: Option<Status>,
    /// Only runs of this workflow.
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: Option<String>,
    /// At most this many; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The run.
    pub(crate) run: String,
    /// Print the final state at the end.
    #[arg(long)]
    pub(crate) state: bool,
    /// Print whole texts instead of one line each.
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The run.
    pub(crate) run: String,
    /// Stop after the entry with this number.
    #[arg(long, value_name = "N")]
    pub(crate) at: Option<u64>,
    /// Print whole texts, however long.
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Fork {
    /// The run.
    pub(crate) run: String,
    /// The journal entry to branch off at: the first that the new run does not have. `convoke show` prints the numbers.
    #[arg(long, value_name = "N")]
    pub(crate) at: u64,
    /// The new run's id.
    #[arg(long, value_name = "NEW")]
    pub(crate) id: Option<RunId>,
    /// What the model said, or the tool gave, instead.
    #[arg(long, value_name = "TEXT", conflicts_with = "outcome")]
    pub(crate) reply: Option<String>,
    /// What the effect gave instead, as the JSON its kind has in the journal.
    #[arg(long, value_name = "JSON")]
    pub(crate) outcome: Option<String>,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("decision").required(true)))]
pub(crate) struct Answer {
    /// The run that asks.
    pub(crate) run: String,
    /// The question's id, or the beginning of it. Not needed if only one is open.
    pub(crate) question: Option<String>,
    /// Yes.
    #[arg(long, group = "decision")]
    pub(crate) approve: bool,
    /// Not like this: change it as the text says.
    #[arg(long, group = "decision", value_name = "TEXT")]
    pub(crate) revise: Option<String>,
    /// No, and why.
    #[arg(long, group = "decision", value_name = "REASON")]
    pub(crate) reject: Option<String>,
    /// One of the options.
    #[arg(long, group = "decision", value_name = "OPTION")]
    pub(crate) choose: Option<String>,
    /// Any text.
    #[arg(long, group = "decision", value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Who answers; without it, the name this user is logged in with.
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("limits").required(true).multiple(true).args(["older_than", "keep"])))]
pub(crate) struct Purge {
    /// Those that ended longer ago than this: 90s, 30min, 12h, 30d, 4w.
    #[arg(long, value_name = "AGE", value_parser = crate::human::parse_duration)]
    pub(crate) older_than: Option<Duration>,
    /// All but the newest so many of each workflow.
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Only say which runs would be deleted.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A status by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) RunStatus);

impl ValueEnum for Status {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [Status; RunStatus::ALL.len()] = {
            let mut all = [Status(RunStatus::Running); RunStatus::ALL.len()];
            let mut index = 0;
            while index < all.len() {
                all[index] = Status(RunStatus::ALL[index]);
                index += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}

impl Arguments {
    /// Reads the command line of this process; on a mistake says so and ends the process.
    pub(crate) fn from_command_line() -> Self {
        let matches = Self::command().get_matches();
        let mut arguments = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        // A global argument is known to the innermost command it was given to.
        let mut innermost = &matches;
        while let Some((_, inner)) = innermost.subcommand() {
            innermost = inner;
        }
        arguments.names_store = innermost.value_source("store") == Some(ValueSource::CommandLine);
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_defined() {
        Arguments::command().debug_assert();
    }
}
