//! The files that an Agentfile named with `FROM`, kept with the run so that the run outlives them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use convoke_goals::agentfile::load::{LoadError, Loader, PathContent};
use serde::{Deserialize, Serialize};

/// What was found where. As a loader it gives the same again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct KeptFiles {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    found: BTreeMap<String, KeptFile>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    names: BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    folders: BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    skills: BTreeMap<String, String>,
}

/// What was at a path. What was not there is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptFile {
    Folder,
    Text(String),
    Binary,
}

impl Loader for KeptFiles {
    fn find(&self, path: &str) -> Result<PathContent, LoadError> {
        Ok(match self.found.get(path) {
            None => PathContent::Nothing,
            Some(KeptFile::Folder) => PathContent::Folder,
            Some(KeptFile::Text(text)) => PathContent::Text(text.clone()),
            Some(KeptFile::Binary) => PathContent::Binary,
        })
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        Ok(self.names.get(folder).cloned().unwrap_or_default())
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        Ok(self.folders.get(folder).cloned().unwrap_or_default())
    }

    fn skill(&self, name: &str) -> Option<String> {
        self.skills.get(name).cloned()
    }
}

/// A loader that keeps what another one gives.
pub(crate) struct RecordingLoader<'l> {
    loader: &'l dyn Loader,
    kept: RefCell<KeptFiles>,
    chain: Vec<String>,
}

impl<'l> RecordingLoader<'l> {
    /// For the file that everything begins with: no other may lead back to it.
    pub(crate) fn new(loader: &'l dyn Loader, file: &str) -> Self {
        let name = Path::new(file).file_name().and_then(OsStr::to_str);
        let chain = name.into_iter().map(str::to_owned).collect();
        Self { loader, kept: RefCell::default(), chain }
    }

    pub(crate) fn into_kept(self) -> KeptFiles {
        self.kept.into_inner()
    }
}

impl Loader for RecordingLoader<'_> {
    fn find(&self, path: &str) -> Result<PathContent, LoadError> {
        let found = self.loader.find(path)?;
        let file = match &found {
            PathContent::Nothing => None,
            PathContent::Folder => Some(KeptFile::Folder),
            PathContent::Text(text) => Some(KeptFile::Text(text.clone())),
            PathContent::Binary => Some(KeptFile::Binary),
        };
        if let Some(file) = file {
            self.kept.borrow_mut().found.insert(path.to_owned(), file);
        }
        Ok(found)
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        let names = self.loader.names(folder)?;
        self.kept.borrow_mut().names.insert(folder.to_owned(), names.clone());
        Ok(names)
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        let folders = self.loader.folders(folder)?;
        self.kept.borrow_mut().folders.insert(folder.to_owned(), folders.clone());
        Ok(folders)
    }

    fn skill(&self, name: &str) -> Option<String> {
        let folder = self.loader.skill(name)?;
        self.kept.borrow_mut().skills.insert(name.to_owned(), folder.clone());
        Some(folder)
    }

    fn skill_names(&self) -> Vec<String> {
        self.loader.skill_names()
    }

    fn chain(&self) -> &[String] {
        &self.chain
    }
}
