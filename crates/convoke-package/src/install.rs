//! Installs a package: all of it or nothing, and never outside of its folder.
//!
//! Files are made in a new folder beside their place, each anew and none through a link (there are none: nothing but
//! files and folders is ever made there). When all are there the folder is moved to its place at once.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::content;
use crate::error::{PackageError, refusal};
use crate::package::Package;
use crate::trust::{TrustStore, Verification};

/// Beside the files of a package that nobody vouched for when it was installed: what is said of it whenever it is used. No
/// file of a package is hidden, so that none can stand in its place.
pub(crate) const CONCERN: &str = ".concern";

/// Beside the files of a package that somebody vouched for: the fingerprint of their key, which may not be trusted for ever.
pub(crate) const SIGNER: &str = ".signer";

/// Options of installing a package.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct InstallOptions {
    /// Who is trusted.
    pub trust: TrustStore,
    /// Whether they are trusted for this package alone. Of what others signed it is noted once they are trusted no longer.
    pub trust_is_given_once: bool,
    /// Install a package that is not signed, or signed with a key nobody knows, all the same. One whose signature is wrong
    /// is never installed.
    pub allow_unsigned: bool,
    /// Replace this version if it is there already.
    pub replace: bool,
    /// Write nothing.
    pub dry_run: bool,
}

/// A package that was installed, or would have been.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledPackage {
    /// What it is called.
    pub name: String,
    /// Which version.
    pub version: String,
    /// Where.
    pub path: PathBuf,
    /// Who vouches for it.
    pub verification: Verification,
    /// The packages it wants beside it, with versions; they are not fetched.
    pub dependencies: Vec<(String, String)>,
}

impl Package {
    /// Unpacks it to `home/NAME/VERSION`, if its signature is good enough.
    ///
    /// # Errors
    /// If it is refused, damaged, too large, or there already.
    pub fn install(
        &self,
        home: impl AsRef<Path>,
        options: &InstallOptions,
    ) -> Result<InstalledPackage, PackageError> {
        let verification = self.verify(&options.trust);
        let admitted = match verification {
            Verification::Verified { .. } => true,
            Verification::Unsigned | Verification::UnknownKey { .. } => options.allow_unsigned,
            Verification::Invalid { .. } => false,
        };
        if !admitted {
            return Err(PackageError::Refused { verification });
        }
        let manifest = self.manifest();
        // Both were checked to be one part of a path when the package was read.
        let name = home.as_ref().join(&manifest.name);
        let path = name.join(&manifest.version);
        // Whoever made a link there would say where files go.
        for folder in [home.as_ref(), &name, &path] {
            if folder.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
                return Err(PackageError::Link { path: folder.to_owned() });
            }
        }
        let exists = path.symlink_metadata().is_ok();
        if exists && !options.replace {
            return Err(PackageError::Exists { path });
        }
        if options.dry_run {
            self.list()?;
        } else {
            let said = match &verification {
                Verification::Verified { .. } if options.trust_is_given_once => None,
                Verification::Verified { key, .. } => Some((SIGNER, key.to_string())),
                other => Some((CONCERN, refusal(other))),
            };
            self.place(&path, exists, said)?;
        }
        let dependencies = manifest.dependencies.iter();
        Ok(InstalledPackage {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            path,
            verification,
            dependencies: dependencies.map(|(name, range)| (name.clone(), range.clone())).collect(),
        })
    }

    /// Unpacks it into a folder that is not there yet. What it is signed with is not asked: see
    /// [`verify`](Self::verify).
    ///
    /// # Errors
    /// If it is damaged or too large, or the folder is there already; then nothing is left behind.
    pub fn extract(&self, folder: impl AsRef<Path>) -> Result<(), PackageError> {
        let folder = folder.as_ref();
        if folder.symlink_metadata().is_ok() {
            return Err(PackageError::Exists { path: folder.to_owned() });
        }
        self.place(folder, false, None)
    }

    /// Unpacks it; what there is to be said of it is put beside its files, under this name.
    fn place(&self, path: &Path, exists: bool, said: Option<(&str, String)>) -> Result<(), PackageError> {
        let parent = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(PackageError::files("made", parent))?;
        let staging = Staging::new(parent)?;
        self.unpack(&staging.path)?;
        if let Some((name, text)) = said {
            let file = staging.path.join(name);
            fs::write(&file, text).map_err(PackageError::files("written", &file))?;
        }
        if exists {
            let old = Staging::reserve(parent)?;
            fs::rename(path, &old.path).map_err(PackageError::files("moved away", path))?;
            if let Err(error) = fs::rename(&staging.path, path) {
                // Back to how it was.
                let _ = fs::rename(&old.path, path);
                return Err(PackageError::files("written", path)(error));
            }
        } else {
            fs::rename(&staging.path, path).map_err(PackageError::files("written", path))?;
        }
        Ok(())
    }

    fn unpack(&self, root: &Path) -> Result<(), PackageError> {
        let (bytes, limits) = self.content();
        content::read(bytes, limits, |entry, bytes| {
            let path = root.join(&entry.path);
            let folder = if entry.is_folder { Some(path.as_path()) } else { path.parent() };
            if let Some(folder) = folder {
                fs::create_dir_all(folder).map_err(PackageError::files("made", folder))?;
            }
            if entry.is_folder {
                return Ok(());
            }
            let mut file =
                new_file(&path, entry.executable).map_err(PackageError::files("written", &path))?;
            io::copy(bytes, &mut file).map_err(|error| content::broken(&error, limits.unpacked))?;
            Ok(())
        })
    }
}

fn new_file(path: &Path, executable: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(if executable { 0o755 } else { 0o644 });
    }
    #[cfg(not(unix))]
    let _ = executable;
    options.open(path)
}

/// A new folder that nobody else knows of. Whatever is still there in the end is deleted.
struct Staging {
    path: PathBuf,
}

impl Staging {
    fn new(parent: &Path) -> Result<Self, PackageError> {
        let staging = Self::reserve(parent)?;
        fs::create_dir(&staging.path).map_err(PackageError::files("made", &staging.path))?;
        Ok(staging)
    }

    /// Only the name of one.
    fn reserve(parent: &Path) -> Result<Self, PackageError> {
        let mut random = [0; 8];
        getrandom::fill(&mut random)
            .map_err(|error| PackageError::files("made", parent)(io::Error::other(error.to_string())))?;
        let name = format!(".new-{:016x}", u64::from_le_bytes(random));
        Ok(Self { path: parent.join(name) })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
