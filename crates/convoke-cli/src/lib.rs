//! The `convoke` command: talk to models; look at stored runs, replay and fork them, answer their questions.
//!
//! A conversation is a run like any other: journaled, resumable, and shown by the same commands. Every other run is
//! resumed by the program that knows its workflow, never by this one.
//!
//! # For scripts
//! Standard output carries results only; notes, hints and errors go to standard error. `--json` gives every result as
//! JSON: times in RFC 3339, durations in seconds, costs in dollars, `null` for what is not known.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | what was asked for failed or cannot be done |
//! | 2 | the command line is wrong |
//! | 3 | there is no such run, entry or question, or more than one fits |
//! | 4 | the store is missing, damaged, newer than this program, too old to be read as it is, or cannot be read |
//!
//! To look at a run that failed is not a failure: `convoke show` then exits with 0.
//!
//! # Where to find what
//! | module | what it is for |
//! |---|---|
//! | `arguments` | the command line |
//! | `command` | one module per command |
//! | `chat` | a conversation as a workflow |
//! | `agentfiles` | Agentfiles as they come from disks and pipes |
//! | `models` | which model is meant, and how to get hold of it |
//! | `local`, `weights` | models that run in this process, and their files |
//! | `session` | what every command has at hand: the store, the output |
//! | `select` | which run or question is meant |
//! | `view` | the JSON form of everything |
//! | `render` | the form for people: trees, blocks of text, one-line summaries |
//! | `terminal` | colours, widths, tables, standard output |
//! | `failure` | errors, hints, exit codes |

mod agentfiles;
mod arguments;
mod chat;
mod command;
mod failure;
mod human;
mod local;
mod models;
mod render;
mod select;
mod session;
mod shell;
mod terminal;
mod view;
mod weights;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use failure::{Exit, Failure};
use session::Session;
use terminal::Output;

/// Does what the command line says.
#[must_use]
pub fn main() -> ExitCode {
    // Prints help, versions and mistakes by itself, and ends with 0 or 2.
    let arguments = Arguments::from_command_line();
    let mut output = Output::new(arguments.color);
    let result = run(&arguments, &mut output);
    match result.and_then(|()| output.flush()) {
        Ok(()) => Exit::Done.into(),
        // Whoever read our output has seen enough.
        Err(Failure::ClosedPipe) => Exit::Done.into(),
        Err(Failure::Told(report)) => {
            // What was printed before the failure is still a result.
            let _ = output.flush();
            output.report(&report);
            report.exit.into()
        }
    }
}

fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("this process cannot run asynchronous code: {error}")))?;
    let result = match &arguments.command {
        Command::Chat(chat) => runtime.block_on(command::chat(arguments, chat, output)),
        Command::Model(model) => runtime.block_on(command::model(arguments, model, output)),
        Command::Doctor(doctor) => runtime.block_on(command::doctor(arguments, doctor, output)),
        Command::Validate(validate) => command::validate(arguments, validate, output),
        Command::Fmt(fmt) => command::fmt(arguments, fmt, output),
        Command::Inspect(inspect) => command::inspect(arguments, inspect, output),
        Command::Stored(stored) => {
            let mut session = Session::open(arguments, stored, output)?;
            runtime.block_on(command::run(&mut session, stored))
        }
    };
    // A thread that waits for somebody to type must not keep the process.
    runtime.shutdown_background();
    result
}
