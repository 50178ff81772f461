//! The folder of a project's store, and which project it belongs to.
//!
//! It is this user's alone. A file in it says which folder it is for: nobody could tell from its name.

use std::io;
use std::path::{Path, PathBuf};

use convoke_config::{NewFile, Project, replace_file};
use convoke_sqlite::create_folder;

use crate::HostError;

/// The file that says which folder a store belongs to.
const OWNER: &str = "project";

/// A project whose runs are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptProject {
    /// Its folder, which need not be there any more.
    pub folder: PathBuf,
    /// The file with its runs.
    pub store: PathBuf,
}

/// Refuses a place for this store that is a link: it would be another folder than the one we keep to ourselves. What the user names is
/// the user's affair.
///
/// # Errors
/// If it is one.
pub fn must_be_own(project: &Project, store: &Path) -> Result<(), HostError> {
    let (Some(places), Some(place)) = (project.projects_folder(), project.data_folder()) else {
        return Ok(());
    };
    if place != store.parent().unwrap_or(store) {
        return Ok(());
    }
    match [places, place].into_iter().find(|folder| folder.is_symlink()) {
        Some(link) => Err(HostError::StoreLink { link }),
        None => Ok(()),
    }
}

/// Makes the place of a project's store, if it is this one, and says in it which project it is for.
///
/// # Errors
/// If it cannot be made.
pub fn make_place(project: &Project, store: &Path) -> Result<(), HostError> {
    let Some(place) = project.data_folder().filter(|place| Some(&**place) == store.parent()) else {
        return Ok(());
    };
    let failed = |source: io::Error| HostError::StoreFolder { folder: place.clone(), source };
    create_folder(&place).map_err(failed)?;
    must_be_own(project, store)?;
    let owner = place.join(OWNER);
    if owner.symlink_metadata().is_ok() {
        return Ok(());
    }
    let text = format!("{}\n", project.folder.display());
    replace_file(&owner, text.as_bytes(), NewFile::Private).map_err(failed)
}

/// All projects whose runs are kept, by their folders.
#[must_use]
pub fn projects(project: &Project) -> Vec<KeptProject> {
    let places = project.projects_folder().and_then(|places| std::fs::read_dir(places).ok());
    let mut found: Vec<KeptProject> =
        places.into_iter().flatten().flatten().filter_map(|entry| kept(&entry.path())).collect();
    found.sort_by(|one, other| one.folder.cmp(&other.folder));
    found
}

fn kept(place: &Path) -> Option<KeptProject> {
    let folder = std::fs::read_to_string(place.join(OWNER)).ok()?;
    let store = place.join(convoke_config::STORE);
    store.exists().then(|| KeptProject { folder: PathBuf::from(folder.trim_end_matches('\n')), store })
}

/// Projects whose folder is above that of this one, or in it: a folder can become part of another project, or one of its own.
#[must_use]
pub fn related_projects(project: &Project) -> Vec<KeptProject> {
    let is_related = |kept: &KeptProject| {
        project.folder.starts_with(&kept.folder) || kept.folder.starts_with(&project.folder)
    };
    projects(project).into_iter().filter(is_related).collect()
}

/// Removes the place of a project whose runs were taken elsewhere.
pub(super) fn remove_place(project: &Project, store: &Path) {
    let place = store.parent().filter(|place| place.parent() == project.projects_folder().as_deref());
    if let Some(place) = place {
        // An empty folder does no harm.
        let _ = std::fs::remove_file(place.join(OWNER)).and_then(|()| std::fs::remove_dir(place));
    }
}
