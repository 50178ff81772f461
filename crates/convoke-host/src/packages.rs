//! The folders of this user's keys and packages, and the installed package that a name means.

use std::path::{Component, Path, PathBuf};

use convoke_config::Environment;
use convoke_package::{InstalledVersion, PublicKey, TrustStore};
use convoke_text::nearest;

use crate::HostError;

/// The folder of keys that this user trusts. `None` for a user without a home.
#[must_use]
pub fn trusted_folder(environment: &Environment) -> Option<PathBuf> {
    Some(environment.configuration_folder()?.join("trusted"))
}

/// Reads the keys that this user trusts. Without a home, nobody.
///
/// # Errors
/// If a trusted key cannot be read.
pub fn trust_store(environment: &Environment) -> Result<TrustStore, HostError> {
    Ok(trusted_folder(environment).map_or_else(|| Ok(TrustStore::default()), TrustStore::read)?)
}

/// Only this key, called like its file.
///
/// # Errors
/// If it cannot be read.
pub fn trust_only(key: &Path) -> Result<TrustStore, HostError> {
    let name = key.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(TrustStore::default().with(name, PublicKey::read(key)?))
}

/// The folder that packages are unpacked to. `None` for a user without a home.
#[must_use]
pub fn packages_folder(environment: &Environment) -> Option<PathBuf> {
    Some(environment.data_folder()?.join("packages"))
}

/// Finds what is installed of `NAME[@VERSION]`, the newest first.
///
/// # Errors
/// If the folder cannot be read.
pub fn installed_packages(home: &Path, wanted: &str) -> Result<Vec<InstalledVersion>, HostError> {
    let (name, version) = parts(wanted);
    Ok(convoke_package::versions(home, name, version)?)
}

/// The newest installed package of this name, if the path is nothing but a name and no file has it. A folder of that name may be what
/// the package was made of.
#[must_use]
pub fn package_named(home: &Path, path: &Path) -> Option<InstalledVersion> {
    let name = path.to_str().filter(|_| is_bare(path) && (!path.exists() || path.is_dir()))?;
    installed_packages(home, name).ok()?.into_iter().next()
}

/// What is installed under nearly this name, or in other versions, in words: it may have been meant by a path that is nothing but a
/// name.
pub(crate) fn similar_package(environment: &Environment, path: &Path) -> Option<String> {
    let (name, version) = parts(path.to_str().filter(|_| is_bare(path))?);
    let home = packages_folder(environment)?;
    if let Some(others) = version.and_then(|_| other_versions(&home, name)) {
        return Some(others);
    }
    let all = convoke_package::installed(home).ok()?;
    let meant = nearest(name, all.iter().map(|found| &*found.name))?;
    Some(format!("did you mean the package `{meant}`?"))
}

/// Returns which versions of `NAME[@VERSION]` are installed, in words.
#[must_use]
pub fn other_versions(home: &Path, wanted: &str) -> Option<String> {
    let (name, _) = parts(wanted);
    let all = convoke_package::versions(home, name, None).ok()?;
    let versions: Vec<&str> = all.iter().map(|found| &*found.version).collect();
    (!versions.is_empty()).then(|| format!("of the package {name} there is {} here", versions.join(", ")))
}

fn parts(wanted: &str) -> (&str, Option<&str>) {
    wanted.split_once('@').map_or((wanted, None), |(name, version)| (name, Some(version)))
}

/// Whether a path is nothing but a name.
fn is_bare(path: &Path) -> bool {
    let mut parts = path.components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}
