//! The `workspace` section: the folder that agents work in.

use std::path::{Path, PathBuf};

use crate::schema::path;
use crate::{Setting, Value};

/// The folder that agents work in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Workspace {
    /// The folder.
    pub path: PathBuf,
    /// Whether agents are told what is in it.
    pub summary: bool,
    /// Whether they must leave it as it is.
    pub read_only: bool,
}

pub(crate) fn workspace(settings: &[Setting], folder: &Path) -> Workspace {
    let path = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut workspace = Workspace { path: path.to_owned(), summary: true, read_only: false };
    for setting in settings {
        match (setting.key.path, &setting.value) {
            (path::WORKSPACE_PATH, Value::Path(path)) => workspace.path.clone_from(path),
            (path::WORKSPACE_SUMMARY, Value::Flag(flag)) => workspace.summary = *flag,
            (path::WORKSPACE_READ_ONLY, Value::Flag(flag)) => workspace.read_only = *flag,
            _ => {}
        }
    }
    workspace
}
