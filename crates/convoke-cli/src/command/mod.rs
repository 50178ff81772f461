//! One module per command.

mod answer;
mod chat;
mod doctor;
mod fmt;
mod fork;
mod inspect;
mod model;
mod purge;
mod questions;
mod replay;
mod runs;
mod show;
mod validate;

pub(crate) use chat::run as chat;
pub(crate) use doctor::run as doctor;
pub(crate) use fmt::run as fmt;
pub(crate) use inspect::run as inspect;
pub(crate) use model::run as model;
pub(crate) use validate::run as validate;

use crate::arguments::Stored;
use crate::failure::Failure;
use crate::session::Session;

/// Does what a command on a store says.
pub(crate) async fn run(session: &mut Session<'_>, command: &Stored) -> Result<(), Failure> {
    match command {
        Stored::Runs(arguments) => runs::run(session, arguments).await,
        Stored::Show(arguments) => show::run(session, arguments).await,
        Stored::Replay(arguments) => replay::run(session, arguments).await,
        Stored::Fork(arguments) => fork::run(session, arguments).await,
        Stored::Answer(arguments) => answer::run(session, arguments).await,
        Stored::Questions => questions::run(session).await,
        Stored::Purge(arguments) => purge::run(session, arguments).await,
    }
}
