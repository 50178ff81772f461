//! The `convoke` command: look at stored runs, replay and fork them, answer their questions.
//!
//! Everything here works on a store alone. No workflow is known and no model is called: a run is resumed by the program
//! that runs its workflow, never by this one.
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
//! | `session` | what every command has at hand: the store, the output |
//! | `select` | which run or question is meant |
//! | `view` | the JSON form of everything |
//! | `render` | the form for people: trees, blocks of text, one-line summaries |
//! | `terminal` | colours, widths, tables, standard output |
//! | `failure` | errors, hints, exit codes |

mod arguments;
mod command;
mod failure;
mod human;
mod render;
mod select;
mod session;
mod shell;
mod terminal;
mod view;

use std::process::ExitCode;

use arguments::Arguments;
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
        .build()
        .map_err(|error| Failure::failed(format!("this process cannot run asynchronous code: {error}")))?;
    let mut session = Session::open(arguments, output)?;
    runtime.block_on(command::run(&mut session, &arguments.command))
}
