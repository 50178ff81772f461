//! Finds folders of skills that are missing.

use std::path::{Path, PathBuf};

use convoke_config::Config;
use convoke_text::nearest;

/// The folders of skills that are configured and not there, each in words.
pub fn missing_skills(config: &Config) -> impl Iterator<Item = String> {
    config.skills().iter().filter_map(|folder| missing_folder(folder))
}

/// Says that a folder is not there, and which one beside it was perhaps meant; `None` if it is.
#[must_use]
pub fn missing_folder(folder: &Path) -> Option<String> {
    let place = at_home(folder);
    if place.is_dir() {
        return None;
    }
    let beside = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(beside).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let name = place.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let shown = folder.display();
    Some(match nearest(name, names.iter().map(String::as_str)) {
        Some(meant) => {
            format!("there is no folder {shown}; did you mean {}?", folder.with_file_name(meant).display())
        }
        None => format!("there is no folder {shown}"),
    })
}

/// A folder as it is meant: a leading `~` is the user's home.
fn at_home(folder: &Path) -> PathBuf {
    match (folder.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => folder.to_owned(),
    }
}
