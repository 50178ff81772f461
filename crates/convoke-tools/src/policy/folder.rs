//! Folders that a policy opens for commands, for reading.
//!
//! What can be told from the text alone is told here. What is in a folder is looked at by whoever opens it.

use std::path::{Component, Path, PathBuf};

/// Where a folder is. A leading `~` is the home folder.
pub(super) fn folder(text: &str, home: Option<&Path>) -> Result<PathBuf, String> {
    let path = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = home.ok_or("it is not known where the home folder is; write the whole path")?;
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(text),
    };
    if text.contains(['*', '?', '[', '{', '$']) {
        return Err("folders are named here, not patterns of them".to_owned());
    }
    if !path.is_absolute() {
        return Err("it must be a whole path: begin it with `/` or `~/`".to_owned());
    }
    if path.components().any(|component| component == Component::ParentDir) {
        return Err("`..` is not followed here; write where it leads".to_owned());
    }
    let path: PathBuf = path.components().collect();
    if path == Path::new("/") {
        return Err("that is everything there is; name the folders that commands need".to_owned());
    }
    if home.is_some_and(|home| home.starts_with(&path)) {
        return Err("your home is not opened as a whole; name the folders that commands need".to_owned());
    }
    Ok(path)
}
