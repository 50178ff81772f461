//! Runs a command: its confinement is chosen, and it is run there.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::process::geteuid;

use super::scratch::Scratch;
use super::start::InPlaceConfinement;
use super::{
    CommandResult, CommandSlot, Confinement, Sandbox, SandboxCommand, SandboxError, in_place, in_view,
    landlock,
};

/// The confinement that was chosen for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChosenConfinement {
    View,
    InPlace(InPlaceConfinement),
}

pub(super) async fn run(
    sandbox: Sandbox,
    task: SandboxCommand,
    slot: CommandSlot,
) -> Result<CommandResult, SandboxError> {
    let how = chosen(&sandbox).await?;
    match run_as(how, sandbox, task, slot).await? {
        EndedCommand::Held(held) => held.take_over().await,
        EndedCommand::Done(finished) => Ok(finished),
    }
}

/// A command that is over.
pub(crate) enum EndedCommand {
    /// Its changes are still in its view.
    Held(Box<in_view::HeldChanges>),
    /// It has changed what it has changed.
    Done(CommandResult),
}

/// Runs a command to its end, and leaves it to the caller what comes out of its view. What is to be reviewed and would come out
/// by itself is not run.
pub(super) async fn run_held(
    sandbox: Sandbox,
    task: SandboxCommand,
    slot: CommandSlot,
) -> Result<EndedCommand, SandboxError> {
    let how = chosen(&sandbox).await?;
    if sandbox.is_reviewed()
        && let ChosenConfinement::InPlace(way) = how
    {
        return Err(SandboxError::Unreviewable { why: way.why_in_place() });
    }
    run_as(how, sandbox, task, slot).await
}

async fn chosen(sandbox: &Sandbox) -> Result<ChosenConfinement, SandboxError> {
    let sandbox = sandbox.clone();
    let chosen = tokio::task::spawn_blocking(move || choose(&sandbox));
    chosen.await.map_err(|lost| SandboxError::setup("a thread", lost))?
}

async fn run_as(
    how: ChosenConfinement,
    sandbox: Sandbox,
    task: SandboxCommand,
    slot: CommandSlot,
) -> Result<EndedCommand, SandboxError> {
    match how {
        ChosenConfinement::View => Ok(EndedCommand::Held(Box::new(in_view::run(sandbox, task, slot).await?))),
        ChosenConfinement::InPlace(way) => {
            slot.acts_in_place()?;
            Ok(EndedCommand::Done(in_place::run(sandbox, task, way, slot.mark()).await?))
        }
    }
}

/// What confines commands of this sandbox.
pub(super) fn choose(sandbox: &Sandbox) -> Result<ChosenConfinement, SandboxError> {
    let unavailable = |why| SandboxError::Unavailable { why };
    let by_landlock =
        || landlock::available().map(|()| ChosenConfinement::InPlace(InPlaceConfinement::Landlock));
    match sandbox.confinement {
        Confinement::Off => Ok(ChosenConfinement::InPlace(InPlaceConfinement::Off)),
        Confinement::View => views(&sandbox.layers).map(|()| ChosenConfinement::View).map_err(unavailable),
        Confinement::Landlock => by_landlock().map_err(unavailable),
        Confinement::Best => match views(&sandbox.layers) {
            Ok(()) => Ok(ChosenConfinement::View),
            // Landlock alone leaves to root what belongs to everybody: modes, owners, other processes' priorities.
            Err(why) if geteuid().is_root() && !sandbox.landlock_will_do => {
                Err(SandboxError::OnlyLandlock { why })
            }
            Err(why) => by_landlock().map_err(|also| unavailable(format!("{why}, and {also}"))),
        },
    }
}

/// Whether there are views whose layers are here. It is tried once.
fn views(layers: &Path) -> Result<(), String> {
    static KNOWN: Mutex<Vec<(std::path::PathBuf, Result<(), String>)>> = Mutex::new(Vec::new());
    // The private folder of a sandbox is new, but not where it is.
    let place = layers.parent().unwrap_or(layers);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, found)) = known.iter().find(|(known, _)| known == place) {
        return found.clone();
    }
    let found = Scratch::make(layers, &[]).map_err(|error| error.to_string());
    let found = found.and_then(|folder| {
        convoke_view::available(folder.path()).map_err(|unavailable| unavailable.to_string())
    });
    known.push((place.to_owned(), found.clone()));
    found
}
