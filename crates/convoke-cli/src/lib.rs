//! The `convoke` command: run Agentfiles, talk to models; look at stored runs, replay and fork them, answer their questions.
//!
//! A run of an Agentfile and a conversation are runs like any other: journaled, resumable, and shown by the same
//! commands. These two are resumed here; every other run by the program that knows its workflow, never by this one.
//!
//! # For scripts
//! Standard output carries results only; notes, hints and errors go to standard error. `--json` gives every result as
//! JSON: times in RFC 3339, durations in seconds, costs in dollars, `null` for what is not known; so are errors then, as
//! `{"error": {"message": …, "exit_code": …}}`, beside the words on standard error.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | what was asked for failed or cannot be done |
//! | 2 | the command line is wrong |
//! | 3 | there is no such run, entry or question, or more than one fits |
//! | 4 | the store is missing, damaged, newer than this program, too old to be read as it is, or cannot be used, also if that comes while a run is at work |
//! | 5 | the run waits for a person, or until a service can be asked again |
//! | 6 | the run was stopped, or cancelled for good |
//! | 7 | the run's time or budget is used up |
//!
//! To look at a run that failed is not a failure: `convoke show` then exits with 0.
//!
//! # Where to find what
//! | module | what it is for |
//! |---|---|
//! | `arguments`, `usage_error`, `help` | the command line, errors in it, and how its help is laid out |
//! | `command`, `package` | one module per command |
//! | `chat` | conversations: who types, and what is seen |
//! | `run` | running files: prompts, a person, signals, the result |
//! | `terminal` | colours, screens, standard output |
//! | `configuration`, `host`, `store`, `session` | the configuration, the host and the store as the command line says |
//! | `wizard` | the questions of `convoke init` |
//! | `diagnostics`, `logging`, `weights` | mistakes in files, the log, downloads |
//! | `files` | files of the user |
//! | `failure` | failures, exit codes |
//!
//! **What it must never do.** Decide what a run may do, keep anything of it, or assemble one: that is the host's.

mod arguments;
mod chat;
mod command;
mod configuration;
mod diagnostics;
mod failure;
mod files;
mod help;
mod host;
mod logging;
mod package;
mod run;
mod session;
mod store;
mod terminal;
mod usage_error;
mod weights;
mod wizard;

use std::process::ExitCode;
use std::time::Duration;

use arguments::{Arguments, Command};
use failure::{Exit, Failure};
use run::Format;
use session::Session;
use terminal::{Documents, Output};

/// Does what the command line says.
#[must_use]
pub fn main() -> ExitCode {
    // Prints help, versions and mistakes by itself, and ends with 0 or 2.
    let mut arguments = Arguments::from_command_line();
    let mut output = Output::new(arguments.color, documents(&arguments));
    let result = prepare(&mut arguments, &mut output).and_then(|()| run(&mut arguments, &mut output));
    match result.and_then(|()| output.flush()) {
        Ok(()) => Exit::Done.into(),
        // Whoever read our output has seen enough.
        Err(Failure::ClosedPipe) => Exit::Done.into(),
        Err(Failure::Ended(exit)) => exit.into(),
        Err(Failure::Reported(report)) => {
            output.report(&report);
            Exit::from(report.kind).into()
        }
    }
}

/// How long the end waits for what is coming out of a view.
const COMING_OUT: Duration = Duration::from_secs(30);

/// As what results are wanted, if not as text.
fn documents(arguments: &Arguments) -> Option<Documents> {
    let format = match &arguments.command {
        Command::Run(run) => run.common.output,
        Command::Stored(arguments::StoredCommand::Resume(resume)) => resume.common.output,
        Command::Stored(arguments::StoredCommand::Attend(_)) if arguments.json => Format::Ndjson,
        _ => Format::Text,
    };
    match format {
        Format::Ndjson => Some(Documents::Lines),
        Format::Json => Some(Documents::One),
        Format::Text => arguments.json.then_some(Documents::One),
    }
}

/// Settles what the configuration decides about every command: where the store is, and the log.
fn prepare(arguments: &mut Arguments, output: &mut Output) -> Result<(), Failure> {
    let config = configuration::load(arguments);
    // A command that needs a configuration says by itself what is wrong with it.
    logging::start_log(arguments, config.as_ref().ok())?;
    let uses_models = matches!(arguments.command, Command::Run(_) | Command::Chat(_) | Command::Doctor(_));
    if uses_models && let Some(note) = config.as_ref().ok().and_then(configuration::overlooked) {
        output.note(&note);
    }
    match (config, arguments.named_store.clone().filter(|_| arguments.names_store)) {
        (Ok(config), _) => store::settle(arguments, &config)?,
        // What is on the command line holds, whatever a file says.
        (Err(_), Some(named)) => arguments.store = named,
        (Err(failure), None) if arguments.command.has_store() => return Err(failure),
        (Err(_), None) => {}
    }
    package::name_files(&mut arguments.command, output);
    Ok(())
}

fn run(arguments: &mut Arguments, output: &mut Output) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("this process cannot run asynchronous code: {error}")))?;
    run::outlive_file_limits(&runtime);
    if let Ok(config) = configuration::load(arguments) {
        runtime.block_on(store::turn_to_earlier(arguments, &config, output));
    }
    let arguments = &*arguments;
    let result = match &arguments.command {
        Command::Run(run) => runtime.block_on(command::run::run(arguments, run, output)),
        Command::Chat(chat) => runtime.block_on(command::chat::run(arguments, chat, output)),
        Command::Model(model) => runtime.block_on(command::model::run(model, output)),
        Command::Mcp(mcp) => runtime.block_on(command::mcp::run(arguments, mcp, output)),
        Command::Knowledge(knowledge) => {
            runtime.block_on(command::knowledge::run(arguments, knowledge, output))
        }
        Command::Memory(memory) => runtime.block_on(command::memory::run(arguments, memory, output)),
        Command::Doctor(doctor) => runtime.block_on(command::doctor::run(arguments, doctor, output)),
        Command::Config(config) => command::config::run(arguments, config, output),
        Command::Policy(policy) => command::policy::run(arguments, policy, output),
        Command::Store(store) => runtime.block_on(command::store::run(arguments, store, output)),
        Command::Init(init) => runtime.block_on(command::init::run(arguments, init, output)),
        Command::Validate(validate) => command::validate::run(arguments, validate, output),
        Command::Fmt(fmt) => command::fmt::run(arguments, fmt, output),
        Command::Inspect(inspect) => command::inspect::run(arguments, inspect, output),
        Command::Compile(compile) => command::compile::run(arguments, compile, output),
        Command::Eval(eval) => runtime.block_on(command::eval::run(arguments, eval, output)),
        Command::Completions { shell } => command::manual::completions(*shell, output),
        Command::Man { folder } => command::manual::man(folder.as_deref(), output),
        Command::Package(package) => package::command(arguments, package, output),
        Command::Stored(stored) => {
            let mut session = Session::open(arguments, stored.usage(), output)?;
            runtime.block_on(command::on_store(&mut session, stored, arguments))
        }
    };
    // What is coming out of a view does so to its end, also if the run was stopped.
    convoke_tools::sandbox::wait_for_changes(COMING_OUT);
    // A thread that waits for somebody to type must not keep the process.
    runtime.shutdown_background();
    result
}
