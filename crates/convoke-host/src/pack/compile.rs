//! Packs made of the files they are authored in.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use convoke_goals::agentfile::Source;
use convoke_goals::agentfile::diagnostic::Diagnostics;
use convoke_goals::agentfile::load::{LoadError, Loader, PathContent};
use convoke_machine::pack;

use super::PackKind;
use crate::HostError;
use crate::agentfile::{beside, bytes_of};
use crate::definition::DefinitionKind;

/// A pack that was made of the files it is authored in.
#[non_exhaustive]
pub struct CompiledFile {
    /// The pack, as JSON.
    pub source: Source,
    /// What is wrong with it.
    pub diagnostics: Diagnostics,
    /// What the files say that has no place in a pack, one line each.
    pub left_out: Vec<String>,
    /// The files that it was made of.
    made_of: Vec<PathBuf>,
}

impl CompiledFile {
    /// Whether it was made of this file, by whatever name: of one that it names, also in a package, or of what is in a skill's folder.
    #[must_use]
    pub fn is_made_of(&self, path: &Path) -> bool {
        let Ok(whole) = path.canonicalize() else { return false };
        let is_it = |source: &Path| source.canonicalize().is_ok_and(|source| source == whole);
        let has_it = |skill: &Path| skill.canonicalize().is_ok_and(|folder| whole.starts_with(folder));
        self.made_of.iter().any(|source| {
            let skill = source.parent().filter(|_| source.ends_with("SKILL.md"));
            source.ancestors().any(is_it) || skill.is_some_and(has_it)
        })
    }
}

/// Files, and which of them were read.
struct ReadFiles {
    files: Box<dyn Loader>,
    read: RefCell<Vec<String>>,
}

impl Loader for ReadFiles {
    fn find(&self, path: &str) -> Result<PathContent, LoadError> {
        let found = self.files.find(path)?;
        if matches!(found, PathContent::Text(_) | PathContent::Binary) {
            self.read.borrow_mut().push(path.to_owned());
        }
        Ok(found)
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        self.files.names(folder)
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>, LoadError> {
        self.files.folders(folder)
    }

    fn skill(&self, name: &str) -> Option<String> {
        self.files.skill(name)
    }
}

/// Makes a pack of a file and those it names. Its id is the name of the file's folder.
///
/// # Errors
/// If the file cannot be read, or it and those it names make no pack: a line each.
pub fn compile_pack(path: &Path) -> Result<CompiledFile, HostError> {
    let (name, bytes) = bytes_of(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let files = beside(path, &[], convoke_package::TrustStore::default());
    let files = ReadFiles { files, read: RefCell::default() };
    let open = |file: &str| match files.find(file) {
        Ok(PathContent::Text(text)) => Ok(text),
        Ok(_) => Err(format!("there is no such file; paths are relative to the folder of {name}")),
        Err(error) => Err(error.to_string()),
    };
    let imported = pack::import(&id_of(path), &name, &text, &open).map_err(|errors| {
        HostError::NotCompiled { problems: errors.iter().map(ToString::to_string).collect() }
    })?;
    let text = serde_json::to_string_pretty(&imported.pack).map_err(HostError::Unwritable)? + "\n";
    let source = Source::new(format!("{name}, compiled"), text);
    let (_, diagnostics) = PackKind.read(&source, &files);
    let read = files.read.into_inner().into_iter().map(|file| path.with_file_name(file));
    let made_of = std::iter::once(path.to_owned()).chain(read).collect();
    Ok(CompiledFile { source, diagnostics, left_out: imported.left_out, made_of })
}

/// The name of the folder that a file is in, as an id.
fn id_of(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = whole.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let id: String = folder
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' })
        .collect();
    let id = id.trim_start_matches(|first: char| !first.is_ascii_lowercase());
    if id.is_empty() { "pack".to_owned() } else { id.to_owned() }
}
