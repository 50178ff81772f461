//! Agentfiles that are read out of packages.

use convoke_package::{Package, PackageFiles, TrustStore, Verification};

use crate::HostError;

/// A package that is to be used like an Agentfile.
pub(crate) struct UnpackedPackage {
    /// What to call its Agentfile in messages.
    pub(crate) name: String,
    /// Its Agentfile.
    pub(crate) agentfile: Vec<u8>,
    /// Everything in it, and nothing else.
    pub(crate) files: PackageFiles,
    /// What the user ought to know about it.
    pub(crate) note: Option<String>,
}

/// What is in a file, if it is a package. One with a wrong signature is refused; that nobody vouches for one is noted.
pub(crate) fn unpacked(
    name: &str,
    bytes: &[u8],
    trust: &TrustStore,
) -> Result<Option<UnpackedPackage>, HostError> {
    if !Package::is_package(bytes) {
        return Ok(None);
    }
    let package = Package::from_bytes(bytes)?;
    let verification = package.verify(trust);
    if matches!(verification, Verification::Invalid { .. }) {
        return Err(HostError::Unverified { name: name.to_owned(), verification });
    }
    let files = package.files()?;
    let agentfile =
        files.get("Agentfile").ok_or_else(|| HostError::EmptyPackage { name: name.to_owned() })?.to_vec();
    let note = (!verification.is_verified()).then(|| format!("{name} is {}", in_words(&verification)));
    Ok(Some(UnpackedPackage { name: format!("{name}/Agentfile"), agentfile, files, note }))
}

/// Describes what is known of a signature, in a few words.
#[must_use]
pub fn in_words(verification: &Verification) -> String {
    match verification {
        Verification::Verified { key, name } => format!("signed by {name} ({key})"),
        Verification::Unsigned => "not signed".to_owned(),
        Verification::UnknownKey { fingerprint: Some(key) } => {
            format!("signed with a key that is not trusted here; it says {key}")
        }
        Verification::UnknownKey { fingerprint: None } => {
            "signed with a key that is not trusted here".to_owned()
        }
        Verification::Invalid { reason } => format!("wrongly signed: {reason}"),
    }
}
