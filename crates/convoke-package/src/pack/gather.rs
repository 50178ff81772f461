//! Gathers the files of a folder that go into its package.
//!
//! Hidden files, keys, credentials, databases and other packages stay where they are. A link is followed if it leads to a
//! file of the folder, and refused otherwise.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::ExcludedFile;
use crate::archive_path;
use crate::content::PackedFile;
use crate::error::PackageError;
use crate::excluded::by_name;
use crate::limits::Limits;
use crate::package::Package;

/// The contents of a package to be, and what is excluded.
pub(super) struct PackContents {
    pub(super) files: BTreeMap<String, PackedFile>,
    pub(super) excluded: Vec<ExcludedFile>,
}

pub(super) fn gather(folder: &Path, limits: &Limits) -> Result<PackContents, PackageError> {
    let root = folder.canonicalize().map_err(PackageError::files("read", folder))?;
    if !root.is_dir() {
        return Err(refused(folder, "it is not a folder".to_owned()));
    }
    let gathered = PackContents { files: BTreeMap::new(), excluded: Vec::new() };
    let mut gathering = PackWalk { folder, root, limits, bytes: 0, gathered };
    gathering.folder(&gathering.root.clone(), "")?;
    gathering.gathered.excluded.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(gathering.gathered)
}

struct PackWalk<'a> {
    /// As the user calls it.
    folder: &'a Path,
    root: PathBuf,
    limits: &'a Limits,
    bytes: u64,
    gathered: PackContents,
}

impl PackWalk<'_> {
    fn folder(&mut self, real: &Path, path: &str) -> Result<(), PackageError> {
        for entry in fs::read_dir(real).map_err(PackageError::files("read", real))? {
            let entry = entry.map_err(PackageError::files("read", real))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err(refused(self.folder, format!("the name {name:?} in it is not UTF-8")));
            };
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            if let Some(why) = by_name(name) {
                self.gathered.excluded.push(ExcludedFile { path, why });
                continue;
            }
            let kind = entry.file_type().map_err(PackageError::files("read", entry.path()))?;
            if kind.is_dir() {
                self.add(path.clone(), PackedFile { executable: false, bytes: None })?;
                self.folder(&entry.path(), &path)?;
            } else {
                self.file(&self.target(&entry.path(), &path)?, path)?;
            }
        }
        Ok(())
    }

    /// The file that is at a path in the end.
    fn target(&self, real: &Path, path: &str) -> Result<PathBuf, PackageError> {
        let target = real.canonicalize().map_err(PackageError::files("read", real))?;
        if !target.starts_with(&self.root) {
            return Err(refused(self.folder, format!("`{path}` in it is a link that leads outside")));
        }
        // What is not packed under its own name is not packed under another.
        let inner = target.strip_prefix(&self.root).unwrap_or(&target);
        let hidden = inner.components().find_map(|part| by_name(&part.as_os_str().to_string_lossy()));
        match hidden {
            Some(why) => {
                Err(refused(self.folder, format!("`{path}` in it is a link to what is not packed: {why}")))
            }
            None => Ok(target),
        }
    }

    fn file(&mut self, real: &Path, path: String) -> Result<(), PackageError> {
        // Neither a pipe nor a device is opened: that may wait for ever.
        let metadata = real.metadata().map_err(PackageError::files("read", real))?;
        if !metadata.is_file() {
            return Err(refused(self.folder, format!("`{path}` in it is neither a file nor a folder")));
        }
        let file = fs::File::open(real).map_err(PackageError::files("read", real))?;
        let left = self.limits.unpacked.saturating_sub(self.bytes);
        let mut bytes = Vec::new();
        file.take(left + 1).read_to_end(&mut bytes).map_err(PackageError::files("read", real))?;
        if let Some(why) = by_content(&path, &bytes) {
            self.gathered.excluded.push(ExcludedFile { path, why });
            return Ok(());
        }
        self.bytes += bytes.len() as u64;
        if self.bytes > self.limits.unpacked {
            let what =
                format!("there are more than {} bytes in {}", self.limits.unpacked, self.folder.display());
            return Err(PackageError::TooLarge { what });
        }
        self.add(path, PackedFile { executable: is_executable(&metadata), bytes: Some(bytes) })
    }

    fn add(&mut self, path: String, packing: PackedFile) -> Result<(), PackageError> {
        archive_path::checked(&path)?;
        if self.gathered.files.len() >= self.limits.files {
            let what =
                format!("there are more than {} files in {}", self.limits.files, self.folder.display());
            return Err(PackageError::TooLarge { what });
        }
        self.gathered.files.insert(path, packing);
        Ok(())
    }
}

fn refused(folder: &Path, reason: String) -> PackageError {
    PackageError::Folder { folder: folder.to_owned(), reason }
}

/// Why a file with these bytes stays where it is, if it does.
fn by_content(path: &str, bytes: &[u8]) -> Option<&'static str> {
    let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    if path.ends_with(".agent") && Package::is_package(bytes) {
        Some(".agent packages are not packed into others")
    } else if bytes.starts_with(b"SQLite format 3\0") {
        Some("databases stay where they are")
    } else if has(b"-----BEGIN ") && has(b"PRIVATE KEY-----") {
        Some("keys stay where they are")
    } else {
        None
    }
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}
