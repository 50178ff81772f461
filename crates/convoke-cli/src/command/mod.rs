//! One module per command.

mod answer;
mod fork;
mod purge;
mod questions;
mod replay;
mod runs;
mod show;

use crate::arguments::Command;
use crate::failure::Failure;
use crate::session::Session;

/// Does what a command says.
pub(crate) async fn run(session: &mut Session<'_>, command: &Command) -> Result<(), Failure> {
    match command {
        Command::Runs(arguments) => runs::run(session, arguments).await,
        Command::Show(arguments) => show::run(session, arguments).await,
        Command::Replay(arguments) => replay::run(session, arguments).await,
        Command::Fork(arguments) => fork::run(session, arguments).await,
        Command::Answer(arguments) => answer::run(session, arguments).await,
        Command::Questions => questions::run(session).await,
        Command::Purge(arguments) => purge::run(session, arguments).await,
    }
}
