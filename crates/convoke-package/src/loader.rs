//! Loads Agentfiles out of packages.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use convoke_goals::agentfile::load::{FileLoader, LoadError, Loader, PathContent};

use crate::content::ArchiveEntry;
use crate::limits::Limits;
use crate::package::Package;
use crate::trust::{TrustStore, Verification};

/// Texts for models are short. What is larger was not meant.
const LARGEST: u64 = 4 * 1024 * 1024;

/// The files of a package, in memory. Nothing outside of it can be seen from there.
#[derive(Debug, Clone, Default)]
pub struct PackageFiles {
    files: BTreeMap<String, Arc<[u8]>>,
}

impl PackageFiles {
    pub(crate) fn add(&mut self, entry: &ArchiveEntry, bytes: Vec<u8>) {
        if !entry.is_folder {
            self.insert(entry.path.clone(), bytes);
        }
    }

    pub(crate) fn insert(&mut self, path: String, bytes: Vec<u8>) {
        self.files.insert(path, bytes.into());
    }

    /// The bytes of a file; a leading `./` does not matter.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path.strip_prefix("./").unwrap_or(path)).map(|bytes| &**bytes)
    }

    /// The Agentfile's text, if there is one and it is text.
    #[must_use]
    pub fn agentfile(&self) -> Option<&str> {
        std::str::from_utf8(self.get("Agentfile")?).ok()
    }

    /// The paths, in order.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

impl Loader for PackageFiles {
    fn find(&self, path: &str) -> Result<PathContent, LoadError> {
        let Some(plain) = inside(path) else { return Err(LoadError::Outside { path: path.to_owned() }) };
        if let Some(bytes) = self.files.get(&plain) {
            if bytes.len() as u64 > LARGEST {
                return Err(LoadError::TooLarge { path: path.to_owned(), limit: LARGEST });
            }
            return Ok(String::from_utf8(bytes.to_vec()).map_or(PathContent::Binary, PathContent::Text));
        }
        let below = format!("{plain}/");
        let is_folder = plain.is_empty()
            || self.files.range(below.clone()..).next().is_some_and(|(name, _)| name.starts_with(&below));
        Ok(if is_folder { PathContent::Folder } else { PathContent::Nothing })
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        let Some(plain) = inside(folder) else { return Err(LoadError::Outside { path: folder.to_owned() }) };
        let below = if plain.is_empty() { String::new() } else { format!("{plain}/") };
        let within = self.files.keys().filter_map(|path| path.strip_prefix(&below));
        Ok(within.filter(|name| !name.contains('/')).map(str::to_owned).collect())
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        let Some(plain) = inside(folder) else { return Err(LoadError::Outside { path: folder.to_owned() }) };
        let below = if plain.is_empty() { String::new() } else { format!("{plain}/") };
        let within = self.files.keys().filter_map(|path| path.strip_prefix(&below)?.split_once('/'));
        let mut folders: Vec<String> = within.map(|(folder, _)| folder.to_owned()).collect();
        folders.dedup();
        Ok(folders)
    }

    fn skill(&self, _: &str) -> Option<String> {
        None
    }
}

/// A path without `.` and `..`; `None` if it leads outside.
fn inside(path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Files on a disk, with packages among them: a package `x.agent` is a folder there, with its files in it.
///
/// What is in a package sees nothing but the package. One with a wrong signature cannot be read at all; one without, or
/// with one that nobody knows, can, like any other file beside an Agentfile.
#[derive(Debug)]
pub struct PackageLoader {
    files: FileLoader,
    trust: TrustStore,
    /// What has been opened, by path.
    opened: Mutex<BTreeMap<String, Option<PackageFiles>>>,
}

impl PackageLoader {
    /// Makes a loader of these files.
    #[must_use]
    pub fn new(files: FileLoader, trust: TrustStore) -> Self {
        Self { files, trust, opened: Mutex::default() }
    }

    /// The package that a path leads into or is, and the path from there on.
    fn package<'p>(&self, path: &'p str) -> Result<Option<(PackageFiles, &'p str)>, LoadError> {
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        for end in ends.filter(|end| path[..*end].ends_with(".agent")) {
            if let Some(files) = self.open(&path[..end])? {
                return Ok(Some((files, path[end..].trim_start_matches('/'))));
            }
        }
        Ok(None)
    }

    fn open(&self, path: &str) -> Result<Option<PackageFiles>, LoadError> {
        // A panic elsewhere leaves nothing half done in it.
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = opened.get(path) {
            return Ok(known.clone());
        }
        let files = match self.files.bytes(path, Limits::default().package)? {
            Some(bytes) if Package::is_package(&bytes) => Some(self.unpacked(path, &bytes)?),
            _ => None,
        };
        opened.insert(path.to_owned(), files.clone());
        Ok(files)
    }

    fn unpacked(&self, path: &str, bytes: &[u8]) -> Result<PackageFiles, LoadError> {
        let failed = |reason: String| LoadError::Failed { path: path.to_owned(), reason };
        let package = Package::from_bytes(bytes).map_err(|error| failed(error.to_string()))?;
        if let Verification::Invalid { reason } = package.verify(&self.trust) {
            return Err(failed(format!("signature verification failed: {reason}")));
        }
        package.files().map_err(|error| failed(error.to_string()))
    }
}

impl Loader for PackageLoader {
    fn find(&self, path: &str) -> Result<PathContent, LoadError> {
        match self.package(path)? {
            Some((files, rest)) => files.find(rest),
            None => self.files.find(path),
        }
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        match self.package(folder)? {
            Some((files, rest)) => files.names(rest),
            None => self.files.names(folder),
        }
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        match self.package(folder)? {
            Some((files, rest)) => files.folders(rest),
            None => self.files.folders(folder),
        }
    }

    fn skill(&self, name: &str) -> Option<String> {
        self.files.skill(name)
    }

    fn skill_names(&self) -> Vec<String> {
        self.files.skill_names()
    }
}
