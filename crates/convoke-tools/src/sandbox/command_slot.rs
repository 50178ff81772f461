//! Slots for commands: one at a time in a workspace, each with the mark its processes will have.
//!
//! Both are had before a call counts as begun: what only waits has not acted, and by its mark a call that was interrupted
//! can be told from any other, also by another process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use convoke_core::{Preparation, Reconciliation};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::command_processes::{end_marked, new_mark};
use super::layers::Layers;
use super::process::{ChosenConfinement, choose};
use super::scratch::Scratch;
use super::start::InPlaceConfinement;
use super::{Network, Sandbox, SandboxError};

/// A place among the commands of a workspace, as long as it is held.
#[derive(Debug, Clone)]
pub(crate) struct CommandSlot {
    mark: u64,
    /// Where the layers of its view will be, if it does nothing before they come out.
    layers: Option<PathBuf>,
    _place: Option<Arc<OwnedSemaphorePermit>>,
}

impl CommandSlot {
    pub(super) fn mark(&self) -> u64 {
        self.mark
    }
}

impl Sandbox {
    /// Waits until a command may run.
    pub(crate) async fn turn(&self) -> Result<CommandSlot, SandboxError> {
        let sandbox = self.clone();
        let how = tokio::task::spawn_blocking(move || choose(&sandbox)).await;
        // On the workspace itself one command at a time: each would take what another has planted for what was there.
        let is_alone = matches!(how, Ok(Ok(ChosenConfinement::InPlace(InPlaceConfinement::Landlock))));
        // What works in a view, and reaches nobody, has done nothing until it comes out.
        let is_contained = matches!(how, Ok(Ok(ChosenConfinement::View))) && self.network == Network::None;
        let place = self.workspace.for_command(is_alone).await;
        let mark = new_mark().map_err(|error| SandboxError::setup("a mark", error))?;
        let layers = is_contained.then(|| Scratch::place(&self.layers, mark));
        Ok(CommandSlot { mark, layers, _place: place.map(Arc::new) })
    }

    /// The turn that a call has, or has to wait for.
    pub(crate) async fn turn_of(&self, prepared: &Preparation) -> Result<CommandSlot, SandboxError> {
        match prepared.held::<CommandSlot>() {
            Some(turn) => Ok(turn.clone()),
            None => self.turn().await,
        }
    }

    /// Makes ready for a call that runs commands.
    pub(crate) async fn prepared(self) -> Preparation {
        match self.turn().await {
            Ok(turn) => {
                let seen = json!({"mark": turn.mark, "boot": boot(), "layers": turn.layers});
                Preparation::default().keeping(seen).holding(turn)
            }
            // The call says why there is no turn.
            Err(_) => Preparation::default(),
        }
    }
}

/// What is known of a call that ran a command and was interrupted. What still lives of the command is ended: whoever is
/// asked looks at what it has done, and that must not change any more.
pub(crate) fn interrupted(before: Option<&Value>) -> Reconciliation {
    let mark = before.filter(|seen| seen["boot"] == boot()).and_then(|seen| seen["mark"].as_u64());
    let layers = before.filter(|_| mark.is_some()).and_then(|seen| seen["layers"].as_str());
    match mark.map(end_marked) {
        // Whatever it did was in its view, and went with it.
        Some((_, 0)) if layers.is_some_and(|path| Layers::had_kept_everything(Path::new(path))) => {
            Reconciliation::NotDone
        }
        None | Some((0, 0)) => Reconciliation::Unknown,
        Some((ended, 0)) => Reconciliation::Ask(format!(
            "{} it had started still ran, and {} ended just now, so it may have been cut short.",
            processes(ended),
            if ended == 1 { "was" } else { "were" }
        )),
        Some((_, left)) => Reconciliation::Ask(format!(
            "{} it had started still {} and cannot be ended: wait for the end of it before you answer `again`.",
            processes(left),
            if left == 1 { "runs" } else { "run" }
        )),
    }
}

fn processes(count: usize) -> String {
    if count == 1 { "A process".to_owned() } else { format!("{count} processes") }
}

/// Which start of the machine this is: no process outlives it.
fn boot() -> Value {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Value::String(id.trim().to_owned())
}
