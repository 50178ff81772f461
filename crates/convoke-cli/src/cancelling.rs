//! Why a process that works on a run was asked to stop.
//!
//! `convoke cancel` asks it with a signal, as Ctrl-C does, which does not say why. So a file beside the store says it as long
//! as the run is being cancelled: to the process, which must not offer to go on then, and to whoever watches.

use std::io::Write;
use std::path::{Path, PathBuf};

use convoke_core::RunId;

/// Says that a run is being cancelled, until it is dropped.
pub(crate) struct Notice {
    file: PathBuf,
}

impl Notice {
    /// Says to this process that it is to stop because its run is cancelled, and by whom. If it cannot be said, the run is
    /// cancelled all the same.
    pub(crate) fn leave(store: &Path, process: u32, run: &RunId, reason: &str) -> Self {
        let file = place(store, process);
        // One that is left over is of no use; and never is a file written that somebody else has put there.
        let _ = std::fs::remove_file(&file);
        if let Ok(mut notice) = std::fs::File::create_new(&file) {
            let _ = write!(notice, "{run}\n{reason}");
        }
        Self { file }
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Why a run is being cancelled that this process works on, if it is.
pub(crate) fn reason(store: &Path, process: u32, run: &RunId) -> Option<String> {
    let notice = std::fs::read_to_string(place(store, process)).ok()?;
    // One that nobody took away may be about another run of a process with the same number.
    let (cancelled, reason) = notice.split_once('\n')?;
    (cancelled == run.as_str()).then(|| reason.to_owned())
}

fn place(store: &Path, process: u32) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(format!("-cancel-{process}"));
    name.into()
}
