//! The command line: every command and its options.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgGroup, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use convoke_core::RunId;
use convoke_history::account::ItemKind;
use convoke_history::{DisplayStatus, When};
use convoke_host::stored::StoreUse;
use convoke_telemetry::logging::LogFormat;

use crate::command::{EvalArguments, KnowledgeCommand, MemoryCommand, PolicyCommand, StoreCommand};
use crate::help;
use crate::package::PackageCommand;
use crate::run::{ResumeArguments, RunArguments};
use crate::usage_error;

const AFTER_HELP: &str = "\
Results go to standard output, everything else to standard error. Only `run`, `resume`, `attend`, `eval`, \
`answer --resume`, `chat` and `doctor --try` call a model.

RUN is a run's id, the beginning of one that no other run has, or `last` for the newest run.

Exit codes:
  0  done
  1  what was asked for failed or cannot be done
  2  the command line is wrong
  3  there is no such run, entry or question, or more than one fits
  4  the store is missing, damaged, newer than this program, or cannot be used
  5  the run waits: `convoke answer` or a later time, then `convoke resume`
  6  the run was stopped (`convoke resume` goes on), or cancelled for good
  7  the run's time or budget is used up";

/// Options that every command has come after a command's own.
pub(crate) const GLOBAL: &str = "Global options";

/// Run Agentfiles, talk to models; look at stored runs, replay and fork them, answer their questions.
#[derive(Debug, Parser)]
#[command(name = "convoke", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Arguments {
    /// The file that holds the runs; otherwise one for each project, where your data is. `convoke config path` says where.
    #[arg(long = "store", global = true, help_heading = GLOBAL, value_name = "PATH", env = "CONVOKE_STORE")]
    pub(crate) named_store: Option<PathBuf>,

    /// When to use colours; auto means on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,

    /// Give results as JSON.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,

    /// The configuration to use instead of the folder's convoke.toml.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FILE", env = "CONVOKE_CONFIG")]
    #[arg(hide_env_values = true)]
    pub(crate) config: Option<PathBuf>,

    /// Write a log to standard error: off, error, warn, info, debug, trace, or a filter such as `convoke=debug,hyper=info`.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "LEVEL")]
    pub(crate) log: Option<String>,

    /// How the log is written: text or json.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,

    /// The file that holds the runs, as it was found.
    #[arg(skip)]
    pub(crate) store: PathBuf,

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
    /// Run an Agentfile, a pack or a graph.
    Run(RunArguments),
    /// Say something to a model, or have a conversation with it.
    Chat(Chat),
    /// Say which model would be used and why, and what is missing.
    Doctor(Doctor),
    /// What is configured, and where.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// What tools may do: check, explain, show and translate policies.
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// The files that hold runs: which there are, and taking runs to another place.
    #[command(subcommand)]
    Store(StoreCommand),
    /// Documents that agents look things up in: add, search, list and remove them.
    #[command(subcommand)]
    Knowledge(KnowledgeCommand),
    /// What was said under a name in earlier conversations and runs: list, show and forget it.
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Write a first Agentfile and a convoke.toml.
    Init(Init),
    /// Model files that run in this process.
    #[command(subcommand)]
    Model(ModelCommand),
    /// MCP servers: whether they are there, what tools they have, a call by hand.
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Check Agentfiles, packs and graphs, and say everything that is wrong with them.
    Validate(Validate),
    /// Write Agentfiles in the one way they are written.
    Fmt(Fmt),
    /// Look at an Agentfile, a pack or a graph: its inputs, and what is done in which order; as text or as a diagram.
    Inspect(Inspect),
    /// Make a pack of the files it is authored in, or of one in YAML.
    Compile(Compile),
    /// Run scenarios against an Agentfile, a pack or a graph, and say which of what they assert holds.
    Eval(EvalArguments),
    /// Print what completes commands in a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write those of all commands.
    Man {
        /// The folder to write them to; it is made if it is not there.
        folder: Option<PathBuf>,
    },
    #[command(flatten)]
    Package(PackageCommand),
    #[command(flatten)]
    Stored(StoredCommand),
}

/// Commands on a store that is there.
#[derive(Debug, Subcommand)]
pub(crate) enum StoredCommand {
    /// List runs, newest first.
    Runs(Runs),
    /// Look at a run: what it did, what it spent, how it ended, what it waits for; as text or as a diagram.
    Show(Show),
    /// Tell everything that happened in a run, in order, from its journal; as text, JSON, or a page.
    Replay(Replay),
    /// Make a new run out of an old one's past: what if it had gone differently?
    Fork(Fork),
    /// Go on with a run that was killed, stopped, suspended or failed.
    Resume(ResumeArguments),
    /// Answer a question of a run.
    Answer(Answer),
    /// List all open questions.
    Questions,
    /// Send a run something on one of its channels, whether it waits for it yet or not.
    Send(Send),
    /// Stop a run for good, wherever it is: its questions are withdrawn, and nothing goes on with it.
    Cancel(NamedRun),
    /// Watch a run that another process works on.
    Attach(NamedRun),
    /// Go on with runs of this folder as soon as they can: when they are answered, sent something, or due.
    Attend(Attend),
    /// Delete runs by name.
    Rm(Rm),
    /// Delete finished runs that are old, or beyond the newest.
    Purge(Purge),
}

impl StoredCommand {
    /// What it does with the store.
    pub(crate) fn usage(&self) -> StoreUse {
        match self {
            Self::Runs(_) | Self::Show(_) | Self::Replay(_) | Self::Questions | Self::Attach(_) => {
                StoreUse::Read
            }
            Self::Purge(purge) if purge.dry_run => StoreUse::Read,
            // What is to run all the time can be started before the first run.
            Self::Attend(attend) if !attend.once => StoreUse::Make,
            Self::Fork(_)
            | Self::Attend(_)
            | Self::Answer(_)
            | Self::Resume(_)
            | Self::Send(_)
            | Self::Cancel(_)
            | Self::Rm(_)
            | Self::Purge(_) => StoreUse::Change,
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
    /// At most this many tokens in each answer, 1 or more.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "resume")]
    pub(crate) max_tokens: Option<u32>,
    /// Randomness, from 0 for none to 2.
    #[arg(long, value_name = "T", value_parser = temperature, allow_negative_numbers = true, conflicts_with = "resume")]
    pub(crate) temperature: Option<f64>,
    /// Go on with an earlier conversation: a run's id, the beginning of one, or `last`.
    #[arg(long = "continue", short = 'c', value_name = "RUN")]
    pub(crate) resume: Option<String>,
    /// Remember it under a name, `chat` if none is given, and know what was said under that name before.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "chat", conflicts_with = "resume")]
    pub(crate) memory: Option<String>,
    /// Keep nothing of it.
    #[arg(long, conflicts_with_all = ["resume", "memory"])]
    pub(crate) forget: bool,
}

fn entry_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "give the number of a journal entry, as `convoke show` prints them".to_owned())
}

/// The same range that profiles have.
fn temperature(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=2.0).contains(number));
    number.ok_or_else(|| "give a number from 0 to 2".to_owned())
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

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Start the servers that are configured, and say how each of them is.
    List,
    /// List the tools of all servers or of one, under the names that models get to see.
    Tools {
        /// Only this server's.
        server: Option<String>,
    },
    /// Call a tool by hand, and print what it gives.
    Call {
        /// The server.
        server: String,
        /// The tool, by the name that the server has for it.
        tool: String,
        /// Its arguments, as a JSON object; `-` for what comes on standard input.
        #[arg(value_name = "JSON")]
        arguments: Option<String>,
    },
    /// Write a server into the folder's convoke.toml, or into your own.
    Add(McpAdd),
    /// Agree to a server of the folder's convoke.toml as it is: that is kept in your own.
    Trust {
        /// The server.
        name: String,
    },
}

#[derive(Debug, Args)]
#[command(
    after_help = "Values may have `${NAME}` in them, which is your variable of that name: so no secret needs to be in the file."
)]
#[command(group(ArgGroup::new("transport").required(true).args(["url", "command"])))]
pub(crate) struct McpAdd {
    /// What to call it.
    pub(crate) name: String,
    /// Where it is, if it is not to be started.
    #[arg(long, value_name = "URL", conflicts_with = "env")]
    pub(crate) url: Option<String>,
    /// A header for every request to that address; may be given several times.
    #[arg(long, value_name = "NAME=VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// A variable for the command; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Write it into your own convoke.toml, for all folders.
    #[arg(long)]
    pub(crate) user: bool,
    /// The command that starts it, and its arguments, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
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

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every value and where it comes from; secrets are hidden.
    Show {
        /// Only this section, such as `budgets`, or this key.
        section: Option<String>,
    },
    /// Print where files are looked for.
    Path,
    /// Write a convoke.toml that says what the `agent.toml` of the Go `agent` program says, and name what has no
    /// counterpart.
    Import {
        /// The file; `-` for what comes on standard input.
        #[arg(value_name = "FILE", default_value = "agent.toml")]
        file: PathBuf,
        /// Where to write it; `-` for standard output. A file that is there is never overwritten.
        #[arg(long, short, value_name = "FILE", default_value = "convoke.toml")]
        output: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Where; it is made if it is not there.
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Ask nothing. That is so, too, if nobody is at a terminal.
    #[arg(long, short)]
    pub(crate) yes: bool,
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
    /// Write the diagram to this file instead of printing it; `-` prints it.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Where skills are kept that the file names without a path.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) skills: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Compile {
    /// A pack in YAML, an Arena manifest, or the manifest of a single prompt.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Where to write the pack; otherwise it is printed.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// As what to show a file or a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutlineFormat {
    /// A tree.
    Text,
    /// JSON.
    Json,
    /// A Mermaid flow chart.
    Mermaid,
    /// A picture.
    Svg,
}

const AFTER_RUNS: &str = "\
With `--stats`, what a fork has from the run it was forked from is not counted again. A run takes as long \
     as from its beginning to its end, the time people took to answer included; only runs that ended count there.";

/// Reads where a run stands, by its name.
fn standings() -> impl TypedValueParser<Value = DisplayStatus> {
    let names = PossibleValuesParser::new(DisplayStatus::ALL.map(DisplayStatus::name));
    names.try_map(|name| DisplayStatus::named(&name).ok_or(name))
}

#[derive(Debug, Args)]
#[command(after_help = AFTER_RUNS)]
pub(crate) struct Runs {
    /// Only runs that stand here.
    #[arg(long, value_parser = standings())]
    pub(crate) status: Option<DisplayStatus>,
    /// Only runs of this workflow.
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: Option<String>,
    /// Only runs that began then or later: `7d` for the last seven days, or a time in UTC such as 2026-01-05 or
    /// 2026-01-05T09:00.
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<When>,
    /// Only runs that began earlier than that.
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<When>,
    /// At most this many, the newest; 0 for all. A list has 20 without this, sums have all.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Sums over the runs instead of a list: how they stand, what they called and spent, how long they took, by
    /// workflow and by model.
    #[arg(long)]
    pub(crate) stats: bool,
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
    /// As what to show it; a diagram has what happened in it. `--json` is the same as `--format json`.
    #[arg(long, value_name = "FORMAT", default_value = "text", conflicts_with_all = ["state", "full"])]
    pub(crate) format: OutlineFormat,
    /// Write the diagram to this file instead of printing it; `-` prints it.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

const AFTER_REPLAY: &str = "\
Each item has the numbers of its journal entries, the time it began (from the beginning of the run), its path, how \
     long it took, what it used, and what the run had used by then. Of a prompt, only what no \
     earlier call at that path had is told.

A page or a log has everything the run had in it: give it only to those who may read the run.";

/// Reads what something that happened is about, by its name.
fn kinds() -> impl TypedValueParser<Value = ItemKind> {
    let kinds = ItemKind::ALL.map(|kind| PossibleValue::new(kind.name()).help(kind.description()));
    PossibleValuesParser::new(kinds).try_map(|name| ItemKind::named(&name).ok_or(name))
}

#[derive(Debug, Args)]
#[command(after_help = AFTER_REPLAY)]
pub(crate) struct Replay {
    /// The run.
    pub(crate) run: String,
    /// Stop after the entry with this number.
    #[arg(long, value_name = "N", value_parser = entry_number, allow_negative_numbers = true)]
    pub(crate) at: Option<u64>,
    /// Print whole texts, however long.
    #[arg(long)]
    pub(crate) full: bool,
    /// Only what happened at this path or below it.
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Only what is about this; may be given several times, or as a list with commas.
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kinds())]
    pub(crate) kind: Vec<ItemKind>,
    /// Only what has this text in it, in capitals or small letters.
    #[arg(long, value_name = "TEXT")]
    pub(crate) grep: Option<String>,
    /// Write one HTML page that needs nothing else, to a file (RUN.html without a name) or to standard output (`-`).
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "full")]
    pub(crate) html: Option<Option<PathBuf>>,
    /// Replace the file even if it is not such a page.
    #[arg(long, requires = "html")]
    pub(crate) force: bool,
    /// Print a session log: a JSON object per line with the events of the `agent` program's session files.
    #[arg(long, conflicts_with_all = ["html", "full", "path", "kind", "grep"])]
    pub(crate) jsonl: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Fork {
    /// The run.
    pub(crate) run: String,
    /// The journal entry to branch off at: the first that the new run does not have. `convoke show` prints the numbers.
    #[arg(long, value_name = "N", value_parser = entry_number, allow_negative_numbers = true)]
    pub(crate) at: u64,
    /// The new run's id.
    #[arg(long, value_name = "NEW", value_parser = convoke_host::stored::new_run_id)]
    pub(crate) id: Option<RunId>,
    /// What the model said, or the tool gave, instead. It is written down as it is: a fork does not know the run's secrets.
    #[arg(long, value_name = "TEXT", conflicts_with = "outcome")]
    pub(crate) reply: Option<String>,
    /// What the effect gave instead, as the JSON its kind has in the journal. It is written down as it is, too.
    #[arg(long, value_name = "JSON")]
    pub(crate) outcome: Option<String>,
}

const AFTER_ANSWER: &str = "\
With `--json` the result is one document: the question with its answer; or, if the run goes on with `--resume`, what the \
     run comes to, as `convoke resume --json` gives it.";

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("decision").required(true)), after_help = AFTER_ANSWER)]
pub(crate) struct Answer {
    /// The run that asks.
    pub(crate) run: String,
    /// The question's id, or the beginning of it. Not needed if only one is open.
    pub(crate) question: Option<String>,
    /// Yes.
    #[arg(long, group = "decision")]
    pub(crate) approve: bool,
    /// With --approve: also for whatever else the question covers in this run, as `convoke show` says.
    #[arg(long, requires = "approve")]
    pub(crate) for_run: bool,
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
    /// A value, as JSON.
    #[arg(long, group = "decision", value_name = "JSON")]
    pub(crate) value: Option<String>,
    /// A picture or document; several times for several.
    #[arg(long, group = "decision", value_name = "PATH")]
    pub(crate) file: Vec<PathBuf>,
    /// Let the run go on at once, if it is a run of an Agentfile, a pack or a graph.
    #[arg(long)]
    pub(crate) resume: bool,
    /// What tools may do then, if the run was begun with a policy that was named.
    #[arg(long, value_name = "FILE", requires = "resume")]
    pub(crate) policy: Option<PathBuf>,
    /// Show no progress then.
    #[arg(long, short, requires = "resume")]
    pub(crate) quiet: bool,
    /// Who answers; without it, the name this user is logged in with.
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("said")),
    override_usage = "convoke send [OPTIONS] <RUN> <CHANNEL> [JSON | --text <TEXT>]"
)]
pub(crate) struct Send {
    /// The run.
    pub(crate) run: String,
    /// The channel: the program that the run is of says which ones it looks at.
    pub(crate) channel: String,
    /// What to send, as JSON; without anything, `null`, which is enough for an event.
    #[arg(value_name = "JSON", group = "said")]
    pub(crate) payload: Option<String>,
    /// What to send, as plain text.
    #[arg(long, value_name = "TEXT", group = "said")]
    pub(crate) text: Option<String>,
    /// What it is known by: sent again with the same key, it is not sent twice, and something else is refused.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Who sends it; without it, the name this user is logged in with.
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct NamedRun {
    /// The run.
    pub(crate) run: String,
}

const AFTER_ATTEND: &str = "\
Forks are left alone until somebody has resumed them. With `--json`, a line for each run that stopped, as `convoke resume \
     --output json` gives it. The exit code is 4 if the store cannot be used; with `--once` also 1 if a run failed or could not go on.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_ATTEND)]
pub(crate) struct Attend {
    /// End when nothing can go on any more, instead of waiting for more.
    #[arg(long)]
    pub(crate) once: bool,
    /// How many runs to go on with at the same time.
    #[arg(long, value_name = "RUNS", default_value = "4")]
    pub(crate) at_once: std::num::NonZeroUsize,
}

#[derive(Debug, Args)]
pub(crate) struct Rm {
    /// The runs.
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,
    /// Ask nothing about runs that are not over.
    #[arg(long, short)]
    pub(crate) yes: bool,
}

const AFTER_PURGE: &str = "\
With both limits only those runs are deleted that are older and beyond the newest. Runs that are suspended, idle or under \
     way are never purged: `convoke cancel` and `convoke rm` are for those.";

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("limits").required(true).multiple(true).args(["older_than", "keep"])))]
#[command(after_help = AFTER_PURGE)]
pub(crate) struct Purge {
    /// Only those that ended longer ago than this: 90s, 30min, 12h, 30d, 4w.
    #[arg(long, value_name = "AGE", value_parser = convoke_text::duration::parse)]
    pub(crate) older_than: Option<Duration>,
    /// Never the newest so many of each workflow.
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Only list the runs that would be deleted.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Ask nothing.
    #[arg(long, short)]
    pub(crate) yes: bool,
}

impl Command {
    /// Whether it works on a store, so that the configuration may say where that is.
    pub(crate) fn has_store(&self) -> bool {
        match self {
            Self::Run(_) | Self::Eval(_) | Self::Stored(_) | Self::Store(StoreCommand::Move { .. }) => true,
            Self::Chat(chat) => !chat.forget,
            _ => false,
        }
    }
}

impl Arguments {
    /// Reads the command line of this process; on a mistake says so and ends the process.
    pub(crate) fn from_command_line() -> Self {
        // A variable that is set to nothing counts as one that is not set, as everywhere else.
        let command = Self::command().mut_args(|argument| {
            let value = argument.get_env().and_then(std::env::var_os);
            let is_empty = value.is_some_and(|value| value.is_empty());
            if is_empty { argument.env(None::<&'static str>) } else { argument }
        });
        let matches =
            help::grouped(command).try_get_matches().unwrap_or_else(|error| usage_error::exit(&error));
        let mut arguments = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        // A global argument is known to the innermost command it was given to.
        let mut innermost = &matches;
        while let Some((_, inner)) = innermost.subcommand() {
            innermost = inner;
        }
        arguments.names_store = innermost.value_source("named_store") == Some(ValueSource::CommandLine);
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
