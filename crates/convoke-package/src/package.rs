//! A package: its manifest, files and signature.

use std::fs;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::container::{Container, MAGIC};
use crate::content;
use crate::error::PackageError;
use crate::key::{Fingerprint, SigningKey};
use crate::limits::Limits;
use crate::loader::PackageFiles;
use crate::manifest::Manifest;
use crate::trust::{TrustStore, Verification};

/// A package.
///
/// That there is one says that its bytes have the right form, nothing more: neither that it is signed, nor that its
/// content can be unpacked.
#[derive(Debug, Clone, PartialEq)]
pub struct Package {
    container: Container,
    manifest: Manifest,
    limits: Limits,
}

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct FileInfo {
    /// Its path, with `/` between the parts.
    pub path: String,
    /// How many bytes it has.
    #[serde(rename = "bytes")]
    pub size: u64,
    /// Whether its owner may run it.
    pub executable: bool,
}

impl Package {
    /// Returns whether bytes look like a package: they begin like a ZIP archive.
    #[must_use]
    pub fn is_package(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Reads a package.
    ///
    /// # Errors
    /// If it cannot be read, is too large, or is not a package.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, PackageError> {
        let (path, limits) = (path.as_ref(), Limits::default());
        let file = fs::File::open(path).map_err(PackageError::files("read", path))?;
        let mut bytes = Vec::new();
        file.take(limits.package + 1).read_to_end(&mut bytes).map_err(PackageError::files("read", path))?;
        Self::within(limits, bytes)
    }

    /// A package in memory.
    ///
    /// # Errors
    /// If it is too large, or is not a package.
    pub fn from_bytes(bytes: impl AsRef<[u8]>) -> Result<Self, PackageError> {
        Self::within(Limits::default(), bytes)
    }

    /// A package in memory, within other limits than the usual ones.
    ///
    /// # Errors
    /// If it is too large, or is not a package.
    pub fn within(limits: Limits, bytes: impl AsRef<[u8]>) -> Result<Self, PackageError> {
        let container = Container::read(bytes.as_ref(), &limits)?;
        let manifest = Manifest::of_package(&container.manifest)?;
        Ok(Self { container, manifest, limits })
    }

    /// Puts one together, and signs it.
    pub(crate) fn assemble(
        manifest: Manifest,
        content: Vec<u8>,
        key: Option<&SigningKey>,
        limits: Limits,
    ) -> Result<Self, PackageError> {
        let mut container = Container { manifest: manifest.to_bytes()?, content, signature: None };
        container.signature = key.map(|key| key.sign(&signed(&container)).to_vec());
        Ok(Self { container, manifest, limits })
    }

    /// The package as a file has it. Of one that was read, an archive with the same entries.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.container.write()
    }

    /// Returns its manifest, which nobody has checked.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The signature, if there is one. That there is one says nothing: [`verify`](Self::verify) does.
    #[must_use]
    pub fn signature(&self) -> Option<&[u8]> {
        self.container.signature.as_deref()
    }

    /// Verifies the signature against the trusted keys.
    #[must_use]
    pub fn verify(&self, trust: &TrustStore) -> Verification {
        let author = self.manifest.author.as_ref();
        let claimed = author.map(|author| author.key_fingerprint.as_str()).filter(|text| !text.is_empty());
        trust.judge(&signed(&self.container), self.signature(), claimed.map(Fingerprint::claimed))
    }

    /// The files in it, in order. All of it is unpacked for that, and thereby checked.
    ///
    /// # Errors
    /// If its content is damaged, too large, or would not stay in its folder.
    pub fn list(&self) -> Result<Vec<FileInfo>, PackageError> {
        let mut files = Vec::new();
        content::read(&self.container.content, &self.limits, |entry, _| {
            if !entry.is_folder {
                let (path, size) = (entry.path.clone(), entry.size);
                files.push(FileInfo { path, size, executable: entry.executable });
            }
            Ok(())
        })?;
        Ok(files)
    }

    /// The files in it, unpacked in memory: Agentfiles can be read from there.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn files(&self) -> Result<PackageFiles, PackageError> {
        let mut files = PackageFiles::default();
        content::read(&self.container.content, &self.limits, |entry, bytes| {
            let mut held = Vec::new();
            bytes.read_to_end(&mut held).map_err(|error| content::broken(&error, self.limits.unpacked))?;
            files.add(entry, held);
            Ok(())
        })?;
        Ok(files)
    }

    pub(crate) fn content(&self) -> (&[u8], &Limits) {
        (&self.container.content, &self.limits)
    }
}

/// What a signature is made over: the sums of the bytes as they are stored.
fn signed(container: &Container) -> [u8; 64] {
    let mut message = [0; 64];
    message[..32].copy_from_slice(&Sha256::digest(&container.manifest));
    message[32..].copy_from_slice(&Sha256::digest(&container.content));
    message
}
