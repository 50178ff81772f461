//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::parser::ValueSource;
use clap::{ArgGroup, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use convoke_core::{RunId, RunStatus};

const AFTER_HELP: &str = "\
Results go to standard output, everything else to standard error. Only `chat` and `doctor --try` call a model.

RUN is a run's id, the beginning of one that no other run has, or `last` for the newest run.

Exit codes:
  0  done
  1  what was asked for failed or cannot be done
  2  the command line is wrong
  3  there is no such run, entry or question, or more than one fits
  4  the store is missing, damaged, newer than this program, or cannot be read";

/// Talk to models; look at stored runs, replay and fork them, answer their questions.
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
    /// Say something to a model, or have a conversation with it.
    Chat(Chat),
    /// Say which model would be used and why, and what is missing.
    Doctor(Doctor),
    /// Model files that run in this process.
    #[command(subcommand)]
    Model(ModelCommand),
    /// Check Agentfiles and say everything that is wrong with them.
    Validate(Validate),
    /// Write Agentfiles in the one way they are written.
    Fmt(Fmt),
    /// Look at an Agentfile: its inputs, agents and goals, and what is done in which order.
    Inspect(Inspect),
    #[command(flatten)]
    Stored(Stored),
}

/// Commands on a store that is there.
#[derive(Debug, Subcommand)]
pub(crate) enum Stored {
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

impl Stored {
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
pub(crate) struct Chat {
    /// What to say; `-` for what comes on standard input. Without it, a conversation begins.
    pub(crate) prompt: Option<String>,
    /// The model: service/model, local/name, a .gguf file, or scripted/file. `convoke doctor` says which one it is
    /// otherwise.
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Instructions for the model.
    #[arg(long, short, value_name = "TEXT", conflicts_with = "resume")]
    pub(crate) system: Option<String>,
    /// At most this many tokens in each answer.
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    pub(crate) max_tokens: Option<u32>,
    /// Randomness; 0 for none.
    #[arg(long, value_name = "T", conflicts_with = "resume")]
    pub(crate) temperature: Option<f64>,
    /// Go on with an earlier conversation: a run's id, the beginning of one, or `last`.
    #[arg(long = "continue", short = 'c', value_name = "RUN")]
    pub(crate) resume: Option<String>,
    /// Keep nothing of it.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) forget: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// List the models that are here, and those that can be pulled by name.
    List,
    /// Fetch a model: by its name in the list, from a file, or from an address.
    Pull {
        /// A name, a .gguf file, or an address; `#sha256=…` after an address says what its digest must be.
        what: String,
        /// What to call it here.
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
    },
    /// Delete a model's files.
    Rm {
        /// The model.
        name: String,
    },
    /// Say all that is known of a model.
    Info {
        /// The model.
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Pretend this model was asked for.
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Ask the model for one word, to see that it answers.
    #[arg(long = "try")]
    pub(crate) try_it: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// The files; `-` for what comes on standard input.
    #[arg(value_name = "FILE", default_value = "Agentfile")]
    pub(crate) files: Vec<PathBuf>,
    /// Where skills are kept that files name without a path.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) skills: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Fmt {
    /// The files; `-` for what comes on standard input, which is then written to standard output.
    #[arg(value_name = "FILE", default_value = "Agentfile")]
    pub(crate) files: Vec<PathBuf>,
    /// Change nothing; fail if there is anything to change.
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The file; `-` for what comes on standard input.
    #[arg(value_name = "FILE", default_value = "Agentfile")]
    pub(crate) file: PathBuf,
    /// As what to show it; `--json` is the same as `--format json`.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: OutlineFormat,
    /// Where skills are kept that the file names without a path.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) skills: Vec<PathBuf>,
}

/// As what to show an Agentfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutlineFormat {
    /// A tree.
    Text,
    /// JSON.
    Json,
    /// A Mermaid flow chart.
    Mermaid,
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
