//! An installed model, and the note that describes it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Digest, ModelKind, WeightsError};

/// The note's name. A model is here if its note is.
const NOTE: &str = "model.json";

/// A model on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InstalledModel {
    /// Its name.
    pub name: String,
    /// What it is, for people.
    pub title: String,
    /// What it does.
    pub kind: ModelKind,
    /// Its licence, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// How many tokens it can read at once, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Where it came from.
    pub origin: String,
    /// Its files; the first is the model itself.
    pub files: Vec<InstalledFile>,
    #[serde(skip)]
    folder: PathBuf,
}

/// A file of a model on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InstalledFile {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Its digest, as it was when it was pulled.
    pub sha256: Digest,
}

impl InstalledFile {
    pub(crate) fn new(name: String, bytes: u64, sha256: Digest) -> Self {
        Self { name, bytes, sha256 }
    }
}

impl InstalledModel {
    pub(crate) fn new(
        folder: PathBuf,
        name: String,
        title: String,
        kind: ModelKind,
        origin: String,
        files: Vec<InstalledFile>,
    ) -> Self {
        Self { name, title, kind, licence: None, context_tokens: None, origin, files, folder }
    }

    /// The model itself.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.files.first().map_or_else(|| self.folder.clone(), |file| self.folder.join(&file.name))
    }

    /// Returns the path of one of its files, by name.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        self.files.iter().find(|file| file.name == name).map(|file| self.folder.join(&file.name))
    }

    /// The size of all its files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// The model in this folder. `None` if it is not there, or files of it have gone.
    pub(crate) fn load(folder: &Path) -> Result<Option<Self>, WeightsError> {
        let note = folder.join(NOTE);
        let text = match std::fs::read_to_string(&note) {
            Ok(text) => text,
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(WeightsError::files("read", &note)(error)),
        };
        let mut found: Self = serde_json::from_str(&text)
            .map_err(|error| WeightsError::Manifest { file: note.clone(), message: error.to_string() })?;
        found.folder = folder.to_owned();
        let is_whole = found.files.iter().all(|file| {
            folder.join(&file.name).metadata().is_ok_and(|metadata| metadata.len() == file.bytes)
        });
        Ok((is_whole && !found.files.is_empty()).then_some(found))
    }

    /// Writes the note, all of it or nothing.
    pub(crate) fn save(&self) -> Result<(), WeightsError> {
        let note = self.folder.join(NOTE);
        let temporary = self.folder.join(format!("{NOTE}.partial"));
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| WeightsError::Manifest { file: note.clone(), message: error.to_string() })?;
        std::fs::write(&temporary, text + "\n").map_err(WeightsError::files("write", &temporary))?;
        std::fs::rename(&temporary, &note).map_err(WeightsError::files("write", &note))
    }

    /// Removes the note.
    pub(crate) fn forget(folder: &Path) -> Result<(), WeightsError> {
        let note = folder.join(NOTE);
        match std::fs::remove_file(&note) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(WeightsError::files("remove", &note)(error))
            }
            _ => Ok(()),
        }
    }
}
