//! Packs a folder into a package.

mod describe;
mod gather;

use std::path::Path;
use std::sync::Arc;

use convoke_goals::agentfile::diagnostic::Severity;
use convoke_goals::agentfile::load::{LoadError, Loader, PathContent};
use convoke_goals::agentfile::{Agentfile, Source, read_with};
use convoke_goals::embedded::{NoOtherKinds, WorkflowReader};

use crate::archive_path;
use crate::content;
use crate::error::PackageError;
use crate::key::SigningKey;
use crate::limits::Limits;
use crate::loader::PackageFiles;
use crate::manifest::{Author, Manifest};
use crate::package::Package;
use gather::PackContents;

/// Options of packing. They take precedence over what the folder says.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PackOptions {
    /// The key to sign it with.
    pub key: Option<SigningKey>,
    /// Its version.
    pub version: Option<String>,
    /// Who made it.
    pub author: Option<Author>,
    /// What it is for.
    pub description: Option<String>,
    /// Its licence.
    pub license: Option<String>,
    /// When it is to say that it was made, in seconds since 1970. Without this it does not say, and is the same whenever
    /// it is made.
    pub created_at: Option<u64>,
    /// How large it may be.
    pub limits: Limits,
    /// Who knows files of other kinds that goals may be. Without anybody, such a goal's file is taken for its text.
    pub reader: Option<Arc<dyn WorkflowReader>>,
}

impl PackOptions {
    /// Signs the package with this key.
    #[must_use]
    pub fn key(mut self, key: SigningKey) -> Self {
        self.key = Some(key);
        self
    }
}

/// A package that was made.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PackResult {
    /// The package.
    pub package: Package,
    /// What is in the folder and not in the package.
    pub excluded: Vec<ExcludedFile>,
}

/// A file of a folder that is not in its package.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ExcludedFile {
    /// Its path in the folder.
    pub path: String,
    /// Why.
    pub why: &'static str,
}

impl Package {
    /// Packs a folder with an `Agentfile` in it.
    ///
    /// The Agentfile must be valid, and everything it names must be in the package: whoever gets it has nothing else. A
    /// `manifest.json` in the folder says what the Agentfile cannot: a version, a description, a licence, dependencies.
    ///
    /// # Errors
    /// [`PackageError::Agentfile`] if it has errors; [`PackageError::Folder`] if there is something in the folder that
    /// cannot be packed; and if it is too large.
    pub fn pack(folder: impl AsRef<Path>, options: &PackOptions) -> Result<PackResult, PackageError> {
        let folder = folder.as_ref();
        if let Some(version) = &options.version {
            archive_path::segment(version)
                .map_err(|reason| PackageError::Version { version: version.clone(), reason })?;
        }
        let gathered = gather::gather(folder, &options.limits)?;
        let agentfile = agentfile(folder, &gathered, options.reader.as_deref())?;
        let source = gathered.files.get("manifest.json").and_then(|file| file.bytes.as_deref());
        let source = source.map(Manifest::of_folder).transpose()?.unwrap_or_default();
        let manifest = describe::manifest(source, &agentfile, options)?;
        let content = content::write(&gathered.files).map_err(PackageError::files("packed", folder))?;
        if content.len() as u64 > options.limits.package {
            let what =
                format!("compressed, it has {} bytes; {} are allowed", content.len(), options.limits.package);
            return Err(PackageError::TooLarge { what });
        }
        let package = Self::assemble(manifest, content, options.key.as_ref(), options.limits)?;
        // What we could not unpack ourselves is not given to others.
        package.list()?;
        Ok(PackResult { package, excluded: gathered.excluded })
    }
}

/// Reads the Agentfile as whoever gets the package will.
fn agentfile(
    folder: &Path,
    gathered: &PackContents,
    reader: Option<&dyn WorkflowReader>,
) -> Result<Agentfile, PackageError> {
    let mut files = PackageFiles::default();
    for (path, file) in &gathered.files {
        if let Some(bytes) = &file.bytes {
            files.insert(path.clone(), bytes.clone());
        }
    }
    let loader = PackedFilesLoader { files, excluded: &gathered.excluded };
    let Some(bytes) = loader.files.get("Agentfile") else {
        let reason = "there is no file Agentfile in it".to_owned();
        return Err(PackageError::Folder { folder: folder.to_owned(), reason });
    };
    let source = Source::from_bytes("Agentfile", bytes.to_vec())
        .map_err(|error| PackageError::Agentfile { problems: vec![error.1.message.clone()] })?;
    let (file, diagnostics) = read_with(&source, &loader, reader.unwrap_or(&NoOtherKinds));
    file.ok_or_else(|| {
        let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity() == Severity::Error);
        let line = |byte| source.position(byte).line;
        let problems = errors.map(|error| format!("line {}: {}", line(error.span.start), error.message));
        PackageError::Agentfile { problems: problems.collect() }
    })
}

/// The files of a package to be, which knows what is missing.
struct PackedFilesLoader<'g> {
    files: PackageFiles,
    excluded: &'g [ExcludedFile],
}

impl Loader for PackedFilesLoader<'_> {
    fn find(&self, path: &str) -> Result<PathContent, LoadError> {
        let found = self.files.find(path)?;
        let plain = path.strip_prefix("./").unwrap_or(path);
        match self.excluded.iter().find(|excluded| excluded.path == plain) {
            Some(ExcludedFile { why, .. }) if found == PathContent::Nothing => {
                Err(LoadError::Failed { path: path.to_owned(), reason: format!("it is not packed: {why}") })
            }
            _ => Ok(found),
        }
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
