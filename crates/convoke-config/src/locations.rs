//! Locates configuration, policy and credentials files.

use std::path::{Path, PathBuf};

use convoke_models::{Credentials, Environment};

use crate::FILE;
use crate::existence::may_exist;
use crate::project::{Project, STORE};

/// The name of the file that says what tools may do.
const POLICY: &str = "policy.toml";

/// The locations where files are looked for, and which of them exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileLocations {
    /// The user's own file, there or not. `None` if this user has no home.
    pub user: Option<PathBuf>,
    /// The file that the user named instead of the folder's.
    pub named: Option<PathBuf>,
    /// The nearest file in the working folder or above it.
    pub folder: Option<PathBuf>,
    /// A file in the working folder that is not used: anybody may write there, and it is somebody else's.
    pub foreign: Option<PathBuf>,
    /// The nearest policy in the working folder or above it.
    pub policy: Option<PathBuf>,
    /// The credentials file, or where it belongs.
    pub credentials: Option<PathBuf>,
    /// The folder that counts as one project: see [`Project`].
    pub project: Project,
    /// A store where earlier versions kept it: beside the folder's file; without one, in the working folder or the nearest above
    /// it. `None` if none is there.
    pub old_store: Option<PathBuf>,
}

impl FileLocations {
    pub(crate) fn find(environment: &Environment, folder: &Path, named: Option<PathBuf>) -> Self {
        let user = environment.configuration_folder().map(|folder| folder.join(FILE));
        let home = environment.get("HOME").and_then(|home| Path::new(&home).canonicalize().ok());
        let found = if named.is_none() { upwards(folder, FILE, home.as_deref()) } else { None };
        let foreign = Some(folder.join(FILE)).filter(|file| named.is_none() && is_foreign(file));
        // Whoever works in the configuration folder has one file, not two.
        let is_users = |found: &PathBuf, name: &str| {
            let own = user.as_ref().map(|user| user.with_file_name(name));
            own.and_then(|own| real(&own)).is_some_and(|own| real(found) == Some(own))
        };
        let found = found.filter(|found| !is_users(found, FILE));
        let policy = upwards(folder, POLICY, home.as_deref()).filter(|found| !is_users(found, POLICY));
        let old_store = match &found {
            Some(file) => Some(file.with_file_name(STORE)).filter(|file| may_exist(file)),
            None => upwards(folder, STORE, home.as_deref()),
        };
        let project = Project::of(environment, folder, found.as_deref().map(folder_of), home.as_deref());
        let credentials = Credentials::find(environment).or_else(|| Credentials::home(environment));
        Self {
            user,
            named,
            folder: found,
            foreign,
            policy,
            credentials,
            project,
            old_store: old_store.map(below_dot),
        }
    }
}

/// Where a file really is; for a link that leads nowhere, where the link is.
fn real(path: &Path) -> Option<PathBuf> {
    let link = || Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(link)
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A name alone, as people write a file of the working folder.
fn below_dot(path: PathBuf) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new(".").join(path),
        _ => path,
    }
}

/// The nearest file of this name, from a folder upwards: not beyond the project (where `.git` is), not beyond the user's home, and never
/// into a folder that anybody may write to. In the folder itself, what others have put there for anybody to find does not count.
fn upwards(folder: &Path, name: &str, home: Option<&Path>) -> Option<PathBuf> {
    let here = folder.join(name);
    if may_exist(&here) && !is_foreign(&here) {
        return Some(here);
    }
    let absolute = if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.canonicalize().ok()?;
    above(&absolute, home).map(|folder| folder.join(name)).find(|file| may_exist(file))
}

/// The folders above one that belong to the same project, as far as anybody can say: up to where `.git` is, up to the user's home,
/// and none that anybody may write to.
pub(crate) fn above<'a>(folder: &'a Path, home: Option<&Path>) -> impl Iterator<Item = &'a Path> {
    let pairs = folder.ancestors().zip(folder.ancestors().skip(1));
    let is_within = move |(below, folder): &(&Path, &Path)| {
        !(below.join(".git").exists() || Some(*below) == home || is_anybodys(folder))
    };
    pairs.take_while(is_within).map(|(_, folder)| folder)
}

#[cfg(unix)]
fn is_anybodys(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    folder.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o002 != 0)
}

/// Whether it is a file of somebody else in a folder that anybody may write to.
#[cfg(unix)]
fn is_foreign(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let trusted = [0, rustix::process::geteuid().as_raw()];
    is_anybodys(folder_of(file))
        && file.symlink_metadata().is_ok_and(|metadata| !trusted.contains(&metadata.uid()))
}

#[cfg(not(unix))]
fn is_foreign(_: &Path) -> bool {
    false
}

#[cfg(not(unix))]
fn is_anybodys(_: &Path) -> bool {
    false
}
