//! Partial files of interrupted downloads, and the notes needed to resume them.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Digest, WeightsError};

/// A file on its way, beside the place where it will be.
#[derive(Debug, Clone)]
pub(super) struct Partial {
    pub(super) path: PathBuf,
    note: PathBuf,
}

/// The note on a partial file: what it is going to be. Only what comes from the same origin may be added to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartialNote {
    /// Where it comes from, without secrets.
    pub(super) origin: String,
    /// What its digest will be.
    pub(super) sha256: Option<Digest>,
    /// By what its server tells versions of it apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) validator: Option<String>,
    /// How many of its pieces are in.
    #[serde(default)]
    pub(super) parts: usize,
    /// How long those are together.
    #[serde(default)]
    pub(super) bytes: u64,
}

impl Partial {
    /// For the file of this name in this folder.
    pub(super) fn of(folder: &Path, name: &str) -> Self {
        Self {
            path: folder.join(format!("{name}.partial")),
            note: folder.join(format!("{name}.partial.json")),
        }
    }

    /// For the wheel this file is in.
    pub(super) fn of_wheel(folder: &Path, name: &str) -> Self {
        Self::of(folder, &format!("{name}.wheel"))
    }

    /// The note, if there is one that makes sense.
    pub(super) fn note(&self) -> Option<PartialNote> {
        serde_json::from_str(&std::fs::read_to_string(&self.note).ok()?).ok()
    }

    /// How long the file is.
    pub(super) fn length(&self) -> u64 {
        self.path.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Writes the note.
    pub(super) fn write_note(&self, note: &PartialNote) -> Result<(), WeightsError> {
        let text = serde_json::to_string_pretty(note).map_err(std::io::Error::other);
        text.and_then(|text| std::fs::write(&self.note, text + "\n"))
            .map_err(WeightsError::files("write", &self.note))
    }

    /// The file, cut to this length, to be gone on with.
    pub(super) fn open(&self, length: u64) -> Result<File, WeightsError> {
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        let file = file.and_then(|file| file.set_len(length).map(|()| file));
        file.map_err(WeightsError::files("write", &self.path))
    }

    /// Removes file and note, as far as they are there.
    pub(super) fn discard(&self) {
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(&self.note);
    }

    /// Gives the file its name and tells its length. It is on the disk before it has its name.
    pub(super) fn settle(&self, path: &Path) -> Result<u64, WeightsError> {
        let failed = || WeightsError::files("write", path);
        let file = File::open(&self.path).map_err(failed())?;
        file.sync_all().map_err(failed())?;
        std::fs::rename(&self.path, path).map_err(failed())?;
        let _ = std::fs::remove_file(&self.note);
        Ok(file.metadata().map_err(failed())?.len())
    }
}
