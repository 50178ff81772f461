//! A command's turn, and the mark its processes will have.
//!
//! Both are had before a call counts as begun: what only waits has not acted, and by its mark a call that was interrupted
//! can be told from any other, also by another process.

use std::sync::Arc;

use convoke_core::{Preparation, Reconciled};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::members::{end_marked, new_mark};
use super::{Confinement, Sandbox, SandboxError};

/// A place among the commands of a workspace, as long as it is held.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    mark: u64,
    _place: Option<Arc<OwnedSemaphorePermit>>,
}

impl Turn {
    pub(super) fn mark(&self) -> u64 {
        self.mark
    }
}

impl Sandbox {
    /// Waits until a command may run.
    pub(crate) async fn turn(&self) -> Result<Turn, SandboxError> {
        let may_use_paths = match self.confinement {
            Confinement::Off | Confinement::Landlock => false,
            Confinement::Bubblewrap => true,
            Confinement::Best => self.bubblewrap.is_some(),
        };
        let place = self.workspace.for_command(may_use_paths).await;
        let mark = new_mark().map_err(|error| SandboxError::setup("a mark", error))?;
        Ok(Turn { mark, _place: place.map(Arc::new) })
    }

    /// The turn that a call has, or has to wait for.
    pub(crate) async fn turn_of(&self, prepared: &Preparation) -> Result<Turn, SandboxError> {
        match prepared.held::<Turn>() {
            Some(turn) => Ok(turn.clone()),
            None => self.turn().await,
        }
    }

    /// Makes ready for a call that runs commands.
    pub(crate) async fn prepared(self) -> Preparation {
        match self.turn().await {
            Ok(turn) => {
                let seen = json!({"mark": turn.mark, "boot": boot()});
                Preparation::default().keeping(seen).holding(turn)
            }
            // The call says why there is no turn.
            Err(_) => Preparation::default(),
        }
    }
}

/// What is known of a call that ran a command and was interrupted. What still lives of the command is ended: whoever is
/// asked looks at what it has done, and that must not change any more.
pub(crate) fn interrupted(before: Option<&Value>) -> Reconciled {
    let mark = before.filter(|seen| seen["boot"] == boot()).and_then(|seen| seen["mark"].as_u64());
    match mark.map(end_marked) {
        None | Some((0, 0)) => Reconciled::Unknown,
        Some((ended, 0)) => Reconciled::Ask(format!(
            "{} it had started still ran, and {} ended just now, so it may have been cut short.",
            processes(ended),
            if ended == 1 { "was" } else { "were" }
        )),
        Some((_, left)) => Reconciled::Ask(format!(
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
