//! Determines which folder counts as one project, and where its runs are kept.
//!
//! Not in the folder: commands of agents work there, and whoever can write where a store is can write what it says. A folder may
//! also have come from somebody else, with a store in it. So every project has a folder of its own where this user's data is.
//!
//! **What it must never do.** Take a place from what is in the folder.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use convoke_core::Digest;
use convoke_models::Environment;

use crate::locations::above;

/// The name of the file that holds the runs.
pub const STORE: &str = "convoke.db";

/// So many characters of a folder's name are in the name of its place, for people who look.
const NAME: usize = 40;

/// So many digits of the digest of its path tell it from others of that name.
const DIGITS: usize = 16;

/// A project, and where its runs are kept if nobody says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Project {
    /// The folder: that of the `convoke.toml` that is used; without one, the nearest with a `.git`, from the working folder upwards;
    /// without that, the nearest whose runs are kept already, or the working folder.
    pub folder: PathBuf,
    /// Where this user's data of ours is. `None` for a user without a home.
    pub data: Option<PathBuf>,
}

impl Project {
    pub(crate) fn of(
        environment: &Environment,
        working: &Path,
        of_file: Option<&Path>,
        home: Option<&Path>,
    ) -> Self {
        let data = environment.data_folder();
        let real = |folder: &Path| {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            folder
                .canonicalize()
                .or_else(|_| std::path::absolute(folder))
                .unwrap_or_else(|_| folder.to_owned())
        };
        let project = |folder: &Path| Self { folder: folder.to_owned(), data: data.clone() };
        if let Some(folder) = of_file {
            return project(&real(folder));
        }
        let working = real(working);
        let has_git = |folder: &&Path| folder.join(".git").exists();
        if has_git(&&*working) {
            return project(&working);
        }
        // Whoever keeps the home in git does not mean everything below it to be one project.
        let git = above(&working, home).filter(|folder| Some(*folder) != home).find(has_git);
        let is_kept = |folder: &&Path| project(folder).store().is_some_and(|store| store.exists());
        let kept = || std::iter::once(&*working).chain(above(&working, home)).find(is_kept);
        project(git.or_else(kept).unwrap_or(&working))
    }

    /// Returns the folder with the data of this project alone. `None` for a user without a home.
    #[must_use]
    pub fn data_folder(&self) -> Option<PathBuf> {
        let name: String = self
            .folder
            .file_name()
            .unwrap_or(OsStr::new("root"))
            .to_string_lossy()
            .chars()
            .take(NAME)
            .collect();
        let plain =
            |letter: char| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '_' };
        let name: String = name.chars().map(plain).collect();
        let digest = Digest::of_parts(&[self.folder.as_os_str().as_encoded_bytes()]).to_string();
        let digits: String = digest.chars().take(DIGITS).collect();
        Some(self.projects_folder()?.join(format!("{name}-{digits}")))
    }

    /// Returns the file that its runs are kept in. `None` for a user without a home.
    #[must_use]
    pub fn store(&self) -> Option<PathBuf> {
        Some(self.data_folder()?.join(STORE))
    }

    /// Returns the folder with the data folders of all projects.
    #[must_use]
    pub fn projects_folder(&self) -> Option<PathBuf> {
        Some(self.data.as_ref()?.join("projects"))
    }
}
