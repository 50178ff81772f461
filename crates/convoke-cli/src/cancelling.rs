//! Why a process that works on a run was asked to stop.
//!
//! `convoke cancel` asks it with a signal, as Ctrl-C does, which does not say why. So a file beside the store says it as long
//! as the run is being cancelled: to the process, which must not offer to go on then, and to whoever watches.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use convoke_core::RunId;
use convoke_store::real_path;

/// Nothing is being cancelled for longer. A file that is older was left by somebody who was killed.
const LONGEST: Duration = Duration::from_secs(120);

/// Says that a run is being cancelled, until it is dropped.
pub(crate) struct Notice {
    file: PathBuf,
}

impl Notice {
    /// Says that a run is being cancelled, and why. If it cannot be said, the run is cancelled all the same.
    pub(crate) fn leave(store: &Path, run: &RunId, reason: &str) -> Self {
        let file = place(store, run);
        // One that is left over is of no use; and never is a file written that somebody else has put there.
        let _ = std::fs::remove_file(&file);
        if let Ok(mut notice) = std::fs::File::create_new(&file) {
            let _ = notice.write_all(reason.as_bytes());
        }
        Self { file }
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Why a run is being cancelled, if it is.
pub(crate) fn reason(store: &Path, run: &RunId) -> Option<String> {
    let file = place(store, run);
    let written = file.metadata().and_then(|metadata| metadata.modified()).ok()?;
    let is_recent = written.elapsed().unwrap_or_default() < LONGEST;
    std::fs::read_to_string(file).ok().filter(|_| is_recent)
}

fn place(store: &Path, run: &RunId) -> PathBuf {
    // Whoever cancels it may name the store another way than whoever works on it.
    let mut name = real_path(store).into_os_string();
    name.push(format!("-cancel-{run}"));
    name.into()
}
