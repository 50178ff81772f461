//! Lists, compares and removes installed packages.
//!
//! It only looks at names of folders: what is in a package was checked when it was installed.

use std::cmp::Ordering;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::PackageError;
use crate::install::{CONCERN, SIGNER};
use crate::trust::TrustStore;

/// An installed version of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InstalledVersion {
    /// What it is called.
    pub name: String,
    /// Which version.
    pub version: String,
    /// Where it is.
    pub path: PathBuf,
}

/// Every package in a folder that packages are installed to, by name, the newest version first. None if the folder is not
/// there.
///
/// # Errors
/// If the folder cannot be read.
pub fn installed(home: impl AsRef<Path>) -> Result<Vec<InstalledVersion>, PackageError> {
    let home = home.as_ref();
    let mut all = Vec::new();
    for (name, folder) in folders(home)? {
        for (version, path) in folders(&folder)? {
            all.push(InstalledVersion { name: name.clone(), version, path });
        }
    }
    all.sort_by(|first, second| {
        first.name.cmp(&second.name).then_with(|| newer_first(&first.version, &second.version))
    });
    Ok(all)
}

/// The versions of one package, the newest first; with a version, that one if it is there.
///
/// # Errors
/// If the folder cannot be read.
pub fn versions(
    home: impl AsRef<Path>,
    name: &str,
    version: Option<&str>,
) -> Result<Vec<InstalledVersion>, PackageError> {
    let mut all = installed(home)?;
    all.retain(|found| found.name == name && version.is_none_or(|version| found.version == version));
    Ok(all)
}

impl InstalledVersion {
    /// Returns what there is to be said against it: nobody vouched for it when it was installed, or who did is trusted no longer.
    #[must_use]
    pub fn concern(&self, trust: &TrustStore) -> Option<String> {
        let said = |name: &str| fs::read_to_string(self.path.join(name)).ok();
        let lost = |signer: &String| !trust.iter().any(|(_, key)| key.fingerprint().to_string() == *signer);
        let noted = said(CONCERN).map(|concern| format!("{concern} (when it was installed)"));
        noted.or_else(|| {
            let signer = said(SIGNER).filter(lost)?;
            Some(format!("the package is signed with the key {signer}, which is not trusted here any more"))
        })
    }

    /// Deletes it, and the folder of its name if no other version is in it.
    ///
    /// # Errors
    /// If it cannot be deleted.
    pub fn remove(&self) -> Result<(), PackageError> {
        fs::remove_dir_all(&self.path).map_err(PackageError::files("deleted", &self.path))?;
        if let Some(parent) = self.path.parent() {
            // Not empty means that there are others.
            let _ = fs::remove_dir(parent);
        }
        Ok(())
    }
}

/// The folders in a folder, by name. What is hidden is on its way in or out.
fn folders(folder: &Path) -> Result<Vec<(String, PathBuf)>, PackageError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(PackageError::files("read", folder)(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(PackageError::files("read", folder))?;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if let Some(name) = entry.file_name().to_str().filter(|name| is_folder && !name.starts_with('.')) {
            found.push((name.to_owned(), entry.path()));
        }
    }
    Ok(found)
}

/// Compares versions as their parts mean it: numbers by size, and what is before a release (`1.0.0-rc.1`) before it.
fn newer_first(first: &str, second: &str) -> Ordering {
    let parts = |version: &str| {
        let version = version.split('+').next().unwrap_or_default().to_owned();
        let (release, before) = match version.split_once('-') {
            Some((release, before)) => (release.to_owned(), Some(before.to_owned())),
            None => (version, None),
        };
        (release, before)
    };
    let ((first_release, first_before), (second_release, second_before)) = (parts(first), parts(second));
    by_parts(&second_release, &first_release)
        .then_with(|| match (&first_before, &second_before) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(first), Some(second)) => by_parts(second, first),
        })
        .then_with(|| second.cmp(first))
}

fn by_parts(first: &str, second: &str) -> Ordering {
    let key = |part: &str| match part.parse::<u64>() {
        Ok(number) => (0, number, String::new()),
        Err(_) => (1, 0, part.to_owned()),
    };
    first.split('.').map(key).cmp(second.split('.').map(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let mut versions = ["1.2.0", "1.10.0", "1.10.0-rc.2", "1.10.0-rc.10", "0.9", "2.0.0-alpha", "1.10"];
        versions.sort_by(|first, second| newer_first(first, second));
        assert_eq!(
            versions,
            ["2.0.0-alpha", "1.10.0", "1.10.0-rc.10", "1.10.0-rc.2", "1.10", "1.2.0", "0.9"]
        );
    }
}
