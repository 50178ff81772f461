//! Slots for commands: one at a time in a workspace, each with the mark its processes will have.
//!
//! Both are had before a call counts as begun: what only waits has not acted, and by its mark a call that was interrupted
//! can be told from any other, also by another process. So are the layers of its view, which tell whether something has come out: they
//! are there until it is written down what came of the call.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use convoke_core::{Preparation, Reconciliation};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::command_processes::{end_marked, new_mark};
use super::layers::{CameOut, Layers};
use super::process::{ChosenConfinement, choose};
use super::start::InPlaceConfinement;
use super::{Network, Sandbox, SandboxError};

/// What the layers are called, in what is kept of a call, of a command that does nothing before they come out.
const CONTAINED: &str = "layers";
/// And of one that may reach other machines.
const REACHING: &str = "reaching_layers";

/// A place among the commands of a workspace, as long as it is held.
#[derive(Debug, Clone)]
pub(crate) struct CommandSlot {
    mark: u64,
    /// The layers of its view.
    layers: Option<Arc<Layers>>,
    /// Whether it does nothing before they come out.
    is_contained: bool,
    /// Whether a command has had them.
    are_used: Arc<AtomicBool>,
    _place: Option<Arc<OwnedSemaphorePermit>>,
}

impl CommandSlot {
    pub(super) fn mark(&self) -> u64 {
        self.mark
    }

    /// The same for a command that only looks, before the one that it is all about.
    pub(crate) fn for_a_look(&self) -> Self {
        Self { layers: None, ..self.clone() }
    }

    /// The layers for a command in a view; new ones at this place if there are none, or another command of the call has had them: then
    /// what came out of that one is not known any more.
    pub(super) fn layers(&self, place: &Path) -> Result<Arc<Layers>, SandboxError> {
        match &self.layers {
            Some(layers) if !self.are_used.swap(true, Ordering::Relaxed) => Ok(Arc::clone(layers)),
            reserved => {
                reserved.as_ref().map_or(Ok(()), |layers| layers.tell_nothing())?;
                let number = new_mark().map_err(|error| SandboxError::setup("a mark", error))?;
                Layers::reserve(place, number).map(Arc::new)
            }
        }
    }

    /// Says that the call is over, and its result known: its layers tell nobody anything any more. A call that is dropped, or whose
    /// Convoke ends, wherever that is, never comes to this.
    pub(crate) fn is_over(&self) {
        if let Some(layers) = &self.layers {
            layers.settle();
        }
    }

    /// Says that a command changes the workspace itself.
    pub(super) fn acts_in_place(&self) -> Result<(), SandboxError> {
        self.layers.as_ref().map_or(Ok(()), |layers| layers.tell_nothing())
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
        let is_in_view = matches!(how, Ok(Ok(ChosenConfinement::View)));
        let is_contained = is_in_view && self.network == Network::None;
        let place = self.workspace.for_command(is_alone).await;
        let mark = new_mark().map_err(|error| SandboxError::setup("a mark", error))?;
        // Without them it is not known later, and whoever makes others says what is wrong.
        let layers = is_in_view.then(|| Layers::reserve(&self.layers, mark).ok()).flatten().map(Arc::new);
        let (are_used, _place) = (Arc::default(), place.map(Arc::new));
        Ok(CommandSlot { mark, layers, is_contained, are_used, _place })
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
                if let Some(layers) = &turn.layers {
                    layers.open();
                }
                let layers = turn.layers.as_ref().map(|layers| layers.path().to_owned());
                let layers_are = if turn.is_contained { CONTAINED } else { REACHING };
                let seen = json!({"mark": turn.mark, "boot": boot(), layers_are: layers});
                Preparation::default().keeping(seen).holding(turn)
            }
            // The call says why there is no turn.
            Err(_) => Preparation::default(),
        }
    }
}

/// What is known of a call that ran a command and was interrupted. What still lives of the command is ended, and its view closed: whoever
/// is asked looks at what it has done, and that must not change any more, also if its process was only stopped.
pub(crate) fn interrupted(before: Option<&Value>) -> Reconciliation {
    let before = before.filter(|seen| seen["boot"] == boot());
    let mark = before.and_then(|seen| seen["mark"].as_u64());
    let closed =
        |layers| before.and_then(|seen| seen[layers].as_str()).map(|at| Layers::close(Path::new(at)));
    let contained = closed(CONTAINED);
    let came_out = contained.or_else(|| closed(REACHING));
    match mark.map(end_marked) {
        // Whatever it did was in its view, and went with it.
        Some((_, 0)) if contained == Some(CameOut::Nothing) => Reconciliation::NotDone,
        Some((_, 0)) if came_out == Some(CameOut::Still) => Reconciliation::Ask(
            "What it changed was just coming out of its view, and the process that brings it out has not ended: if it is stopped, end \
             it before you look, and answer then."
                .to_owned(),
        ),
        Some((_, 0)) if came_out == Some(CameOut::Everything) => Reconciliation::Ask(
            "The command had ended, and what it changed has come out of its view.".to_owned(),
        ),
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
