//! The command lines of `convoke run` and `convoke resume`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use convoke_core::{Limits, RunId};
use convoke_host::parse_limits;
use convoke_host::stored::new_run_id;
use convoke_text::duration;

use super::display::Verbosity;

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct InputArguments {
    /// An input: its value, or @ and the file that has it (@- for standard input; @@ for a value that begins with @).
    #[arg(short = 'i', long = "input", value_name = "NAME=VALUE")]
    pub(crate) input: Vec<String>,
    /// A file with inputs as a JSON object; `-` for standard input. What -i says takes precedence.
    #[arg(long, value_name = "FILE")]
    pub(crate) inputs: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The Agentfile, pack or graph; `-` for what comes on standard input.
    #[arg(value_name = "FILE", default_value = "Agentfile")]
    pub(crate) file: PathBuf,
    /// Instead of a file: one goal, with the tools that a goal has.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["file", "input", "inputs"], value_parser = goal)]
    pub(crate) goal: Option<String>,
    #[command(flatten)]
    pub(crate) inputs: InputArguments,
    #[command(flatten)]
    pub(crate) common: CommonArguments,
    /// The run's id.
    #[arg(long, value_name = "RUN", value_parser = new_run_id)]
    pub(crate) id: Option<RunId>,
    /// Check everything, say what would be done with which model, and do none of it: MCP servers are not started either,
    /// so nothing is said about their tools.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Where skills are kept that the file names without a path.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) skills: Vec<PathBuf>,
}

#[derive(Debug, Default, Args)]
pub(crate) struct ResumeArguments {
    /// The run: its id, the beginning of it, or `last`. Without it, the newest that can go on.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Secret inputs, which are not kept with the run: NAME=VALUE, or @ and the file that has it.
    #[arg(short = 'i', long = "input", value_name = "NAME=VALUE")]
    pub(crate) input: Vec<String>,
    #[command(flatten)]
    pub(crate) common: CommonArguments,
    /// Go on with the file as it is now, not as it was when the run began. What has been done must still fit it.
    #[arg(long)]
    pub(crate) changed_file: bool,
    /// Take the run over from whoever works on it.
    #[arg(long)]
    pub(crate) take_over: bool,
    /// Let the run work in this folder, although it was begun in another one.
    #[arg(long)]
    pub(crate) here: bool,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CommonArguments {
    /// The model for whatever names none. `convoke doctor` says which one it is otherwise.
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// What tools may do, instead of the folder's policy.toml. Your own policy.toml holds, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// As what to give the result.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    /// What the run may use, such as `1.50 usd, 200000 tokens`; also calls, tool-calls, turns.
    #[arg(long, value_name = "LIMITS", value_parser = parse_limits, allow_hyphen_values = true)]
    pub(crate) budget: Option<Limits>,
    /// How long it may be at work in all: 90s, 30min, 1h30min. Waiting for an answer after a stop is no work.
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub(crate) timeout: Option<Duration>,
    /// Ask nobody: where a person is needed, the run waits for `convoke answer`.
    #[arg(long)]
    pub(crate) no_input: bool,
    /// Show what models say while they say it.
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) stream: bool,
    /// Show no progress.
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Show every call, line by line.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// A goal that says something.
fn goal(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("say what is to be achieved".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// A time in which something can be done.
pub(crate) fn time_limit(text: &str) -> Result<Duration, String> {
    match duration::parse(text).map_err(|error| error.to_string())? {
        Duration::ZERO => {
            Err("in no time nothing can be done: give more, or leave `--timeout` out".to_owned())
        }
        time => Ok(time),
    }
}

impl CommonArguments {
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Usual,
        }
    }
}

/// As what to give the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// What the last goal came to.
    #[default]
    Text,
    /// One JSON document with all outputs, how the run ended and what it used.
    Json,
    /// Every event as a line of JSON while it happens, then that document as a last line.
    Ndjson,
}
