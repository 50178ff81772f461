//! Agentfiles that are read out of packages.

use convoke_package::{Package, PackageFiles, Verification};

use super::{in_words, places};
use crate::failure::Failure;

/// A package that is to be used like an Agentfile.
pub(crate) struct Unpacked {
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
pub(crate) fn unpacked(name: &str, bytes: &[u8]) -> Result<Option<Unpacked>, Failure> {
    if !Package::is_package(bytes) {
        return Ok(None);
    }
    let package = Package::from_bytes(bytes)?;
    let verification = package.verify(&places::trust_store()?);
    if matches!(verification, Verification::Invalid { .. }) {
        return Err(Failure::failed(format!("{name} is {}", in_words(&verification)))
            .hint("it was changed after it was signed: get it again from where it is from"));
    }
    let files = package.files()?;
    let agentfile = files
        .get("Agentfile")
        .ok_or_else(|| Failure::failed(format!("there is no Agentfile in the package {name}")))?
        .to_vec();
    let note = (!verification.is_verified()).then(|| format!("{name} is {}", in_words(&verification)));
    Ok(Some(Unpacked { name: format!("{name}/Agentfile"), agentfile, files, note }))
}
