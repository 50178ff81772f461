//! One module per command.

mod answer;
mod attach;
mod attend;
mod cancel;
mod chat;
mod compile;
mod config;
mod confirm;
mod doctor;
mod drawing;
mod eval;
mod fmt;
mod fork;
mod init;
mod inspect;
mod knowledge;
mod manual;
mod mcp;
mod memory;
mod model;
mod policy;
mod purge;
mod questions;
mod replay;
mod resume;
mod rm;
mod run;
mod runs;
mod send;
mod show;
mod store;
mod validate;

pub(crate) use chat::run as chat;
pub(crate) use compile::run as compile;
pub(crate) use config::run as config;
pub(crate) use doctor::run as doctor;
pub(crate) use eval::{EvalArguments, run as eval};
pub(crate) use fmt::run as fmt;
pub(crate) use init::run as init;
pub(crate) use inspect::run as inspect;
pub(crate) use knowledge::{KnowledgeCommand, run as knowledge};
pub(crate) use manual::{completions, man};
pub(crate) use mcp::run as mcp;
pub(crate) use memory::{MemoryCommand, run as memory};
pub(crate) use model::run as model;
pub(crate) use policy::{PolicyCommand, run as policy};
pub(crate) use run::run as run_agentfile;
pub(crate) use store::{StoreCommand, run as store};
pub(crate) use validate::run as validate;

use crate::arguments::{Arguments, StoredCommand};
use crate::failure::Failure;
use crate::session::Session;

/// Does what a command on a store says.
pub(crate) async fn run(
    session: &mut Session<'_>,
    command: &StoredCommand,
    all: &Arguments,
) -> Result<(), Failure> {
    match command {
        StoredCommand::Runs(arguments) => runs::run(session, arguments).await,
        StoredCommand::Show(arguments) => show::run(session, arguments).await,
        StoredCommand::Replay(arguments) => replay::run(session, arguments).await,
        StoredCommand::Fork(arguments) => fork::run(session, arguments).await,
        StoredCommand::Answer(arguments) => answer::run(session, arguments, all).await,
        StoredCommand::Resume(arguments) => resume::run(session, arguments, all).await,
        StoredCommand::Questions => questions::run(session).await,
        StoredCommand::Send(arguments) => send::run(session, arguments).await,
        StoredCommand::Cancel(arguments) => cancel::run(session, arguments).await,
        StoredCommand::Attach(arguments) => attach::run(session, arguments, all).await,
        StoredCommand::Attend(arguments) => attend::run(session, arguments, all).await,
        StoredCommand::Rm(arguments) => rm::run(session, arguments, &all.store).await,
        StoredCommand::Purge(arguments) => purge::run(session, arguments, &all.store).await,
    }
}
