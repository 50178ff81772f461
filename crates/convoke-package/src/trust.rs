//! The trust store, and verification of signatures.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;

use crate::archive_path;
use crate::error::KeyError;
use crate::key::{Fingerprint, PublicKey};

/// The keys that are trusted, each with the name of whoever it belongs to.
///
/// On a disk it is a folder of public keys: `NAME.pub`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustStore {
    keys: Vec<(String, PublicKey)>,
}

/// The result of verifying a package's signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Verification {
    /// It was made with a trusted key, over exactly these bytes.
    Verified {
        /// Which key.
        key: Fingerprint,
        /// Whose.
        name: String,
    },
    /// There is none.
    Unsigned,
    /// There is one, and none of the trusted keys made it: nothing is known.
    UnknownKey {
        /// The key that the package names. Anybody can write that.
        #[serde(rename = "key")]
        fingerprint: Option<Fingerprint>,
    },
    /// There is one, and it is wrong.
    Invalid {
        /// In which way.
        reason: String,
    },
}

impl Verification {
    /// Returns whether a trusted key vouches for the package.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        matches!(self, Self::Verified { .. })
    }
}

impl TrustStore {
    const EXTENSION: &str = "pub";

    /// These keys, and one more.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, key: PublicKey) -> Self {
        self.keys.push((name.into(), key));
        self
    }

    /// Reads the keys of a folder, in the order of their names. A folder that is not there has none.
    ///
    /// # Errors
    /// If a key in it cannot be read: one that is silently not trusted would be looked for elsewhere.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, KeyError> {
        let folder = folder.as_ref();
        let failed = |source| KeyError::Files { doing: "read", path: folder.to_owned(), source };
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(failed(error)),
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == Self::EXTENSION) {
                paths.push(path);
            }
        }
        paths.sort();
        let mut store = Self::default();
        for path in paths {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            store = store.with(name, PublicKey::read(&path)?);
        }
        Ok(store)
    }

    /// Adds a key to a folder, which is made if it is not there.
    ///
    /// # Errors
    /// If the name is not fit for a file, or taken.
    pub fn add(folder: impl AsRef<Path>, name: &str, key: &PublicKey) -> Result<(), KeyError> {
        let folder = folder.as_ref();
        if archive_path::segment(name).is_err() {
            return Err(KeyError::Name { name: name.to_owned() });
        }
        fs::create_dir_all(folder).map_err(|source| KeyError::Files {
            doing: "made",
            path: folder.to_owned(),
            source,
        })?;
        key.save(folder.join(format!("{name}.{}", Self::EXTENSION)))
    }

    /// The keys and whose they are.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &PublicKey)> {
        self.keys.iter().map(|(name, key)| (name.as_str(), key))
    }

    /// What a signature over a message is worth, given which key it is said to be of.
    pub(crate) fn judge(
        &self,
        message: &[u8],
        signature: Option<&[u8]>,
        claimed: Option<Fingerprint>,
    ) -> Verification {
        let Some(signature) = signature else { return Verification::Unsigned };
        let Ok(signature) = <&[u8; 64]>::try_from(signature) else {
            let reason = format!("it has {} bytes instead of 64", signature.len());
            return Verification::Invalid { reason };
        };
        if let Some((name, key)) = self.keys.iter().find(|(_, key)| key.verifies(message, signature)) {
            return Verification::Verified { key: key.fingerprint(), name: name.clone() };
        }
        match claimed {
            Some(claimed) if self.keys.iter().any(|(_, key)| key.fingerprint() == claimed) => {
                let reason = format!("it is not one that the key {claimed} made for this package");
                Verification::Invalid { reason }
            }
            claimed => Verification::UnknownKey { fingerprint: claimed },
        }
    }
}
