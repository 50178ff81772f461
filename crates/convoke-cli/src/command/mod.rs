//! One module per command.

mod answer;
mod attach;
mod attend;
mod cancel;
pub(crate) mod chat;
pub(crate) mod compile;
pub(crate) mod config;
mod confirm;
pub(crate) mod doctor;
mod drawing;
pub(crate) mod eval;
pub(crate) mod fmt;
mod fork;
pub(crate) mod init;
pub(crate) mod inspect;
pub(crate) mod knowledge;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod model;
pub(crate) mod policy;
mod purge;
mod questions;
mod replay;
mod resume;
mod rm;
pub(crate) mod run;
mod runs;
mod send;
mod show;
pub(crate) mod store;
pub(crate) mod validate;

pub(crate) use eval::EvalArguments;
pub(crate) use knowledge::KnowledgeCommand;
pub(crate) use memory::MemoryCommand;
pub(crate) use policy::PolicyCommand;
pub(crate) use store::StoreCommand;

use crate::arguments::{Arguments, StoredCommand};
use crate::failure::Failure;
use crate::session::Session;

/// Does what a command on a store says.
pub(crate) async fn on_store(
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
