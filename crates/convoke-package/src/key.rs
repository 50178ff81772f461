//! Keys: Ed25519, in PEM files.
//!
//! The files are those of the `agent` program: the raw bytes of the key, 64 for a private one (its seed, then the public
//! key), 32 for a public one.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use ed25519_dalek::{Signature, Signer};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::error::KeyError;
use crate::pem;

const PRIVATE: &str = "ED25519 PRIVATE KEY";
const PUBLIC: &str = "ED25519 PUBLIC KEY";

/// No key file is longer.
const LONGEST: u64 = 16 * 1024;

/// The fingerprint of a key, in 16 hexadecimal digits: the first 8 bytes of SHA-256 of the public key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Fingerprint(String);

impl Fingerprint {
    pub(crate) fn claimed(text: &str) -> Self {
        Self(text.chars().filter(char::is_ascii_hexdigit).take(64).collect())
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A key that signs. Its debug output says nothing but which one it is.
#[derive(Clone)]
pub struct SigningKey(ed25519_dalek::SigningKey);

/// A key that signatures are checked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(ed25519_dalek::VerifyingKey);

impl SigningKey {
    /// A new key.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn generate() -> Result<Self, KeyError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| KeyError::Random(error.to_string()))?;
        Ok(Self(ed25519_dalek::SigningKey::from_bytes(&seed)))
    }

    /// Reads a private key.
    ///
    /// # Errors
    /// If the file is not one, or others may read it.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let path = path.as_ref();
        let (text, mode) = read(path)?;
        let invalid =
            |reason: String| KeyError::Invalid { path: path.to_owned(), expected: "a private key", reason };
        let bytes = pem::decode(PRIVATE, &text).map_err(invalid)?;
        if let Some(mode) = mode.filter(|mode| mode & 0o077 != 0) {
            return Err(KeyError::Exposed { path: path.to_owned(), mode });
        }
        if let Ok(seed) = <[u8; 32]>::try_from(bytes.as_slice()) {
            return Ok(Self(ed25519_dalek::SigningKey::from_bytes(&seed)));
        }
        let pair = <[u8; 64]>::try_from(bytes.as_slice())
            .map_err(|_| invalid(format!("it has {} bytes instead of 64", bytes.len())))?;
        ed25519_dalek::SigningKey::from_keypair_bytes(&pair)
            .map(Self)
            .map_err(|_| invalid("its two halves do not belong together".to_owned()))
    }

    /// Its public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Writes the key to a file that only this user may read, and its public half beside it, with the extension `pub`.
    /// Gives the place of the latter.
    ///
    /// # Errors
    /// If either file is there already: nothing is overwritten.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<PathBuf, KeyError> {
        let path = path.as_ref();
        let public = path.with_extension("pub");
        if let Some(there) = [path, &public].into_iter().find(|path| path.symlink_metadata().is_ok()) {
            return Err(KeyError::Exists { path: there.to_owned() });
        }
        write_new(path, &pem::encode(PRIVATE, &self.0.to_keypair_bytes()), 0o600)?;
        if let Err(error) = self.public().save(&public) {
            // Half a pair is of no use, and would be in the way of the next attempt.
            let _ = fs::remove_file(path);
            return Err(error);
        }
        Ok(public)
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl PublicKey {
    /// Reads a public key.
    ///
    /// # Errors
    /// If the file is not one.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let path = path.as_ref();
        let (text, _) = read(path)?;
        let invalid =
            |reason: String| KeyError::Invalid { path: path.to_owned(), expected: "a public key", reason };
        let bytes = pem::decode(PUBLIC, &text).map_err(invalid)?;
        let bytes = <[u8; 32]>::try_from(bytes.as_slice())
            .map_err(|_| invalid(format!("it has {} bytes instead of 32", bytes.len())))?;
        ed25519_dalek::VerifyingKey::from_bytes(&bytes)
            .map(Self)
            .map_err(|_| invalid("its bytes are not a valid key".to_owned()))
    }

    /// Writes it to a new file that anybody may read.
    ///
    /// # Errors
    /// If the file is there already, or cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), KeyError> {
        write_new(path.as_ref(), &pem::encode(PUBLIC, self.0.as_bytes()), 0o644)
    }

    /// Returns the fingerprint of the key.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let digest = Sha256::digest(self.0.as_bytes());
        Fingerprint(convoke_text::hex(&digest[..8]))
    }

    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SigningKey({})", self.public().fingerprint())
    }
}

/// The text of a file, and its mode where files have one.
fn read(path: &Path) -> Result<(String, Option<u32>), KeyError> {
    let unreadable = |source| KeyError::Files { doing: "read", path: path.to_owned(), source };
    let file = fs::File::open(path).map_err(unreadable)?;
    #[cfg(unix)]
    let mode = {
        use std::os::unix::fs::PermissionsExt;
        // Asked of the file that is open: what the path names may change in between.
        Some(file.metadata().map_err(unreadable)?.permissions().mode() & 0o7777)
    };
    #[cfg(not(unix))]
    let mode = None;
    let mut text = String::new();
    match file.take(LONGEST).read_to_string(&mut text) {
        Ok(_) => Ok((text, mode)),
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(KeyError::Invalid {
            path: path.to_owned(),
            expected: "a key",
            reason: "it is not a PEM file".to_owned(),
        }),
        Err(error) => Err(unreadable(error)),
    }
}

fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), KeyError> {
    let failed = |source: std::io::Error| match source.kind() {
        ErrorKind::AlreadyExists => KeyError::Exists { path: path.to_owned() },
        _ => KeyError::Files { doing: "written", path: path.to_owned(), source },
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(mode);
    }
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
}
