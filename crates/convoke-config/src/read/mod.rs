//! Reads files, variables and flags into settings, and reports everything that is wrong with them at once.

mod file;
mod text;
mod toml_value;
mod variables;
mod walk;

pub(crate) use file::file;
pub(crate) use text::from_text;
pub(crate) use variables::{flag, variables};

use std::path::{Path, PathBuf};

/// What a path means: `~/` is the user's home, anything relative is beside the file.
pub(crate) fn resolved(path: &str, folder: &Path, home: Option<&Path>) -> PathBuf {
    let path = Path::new(path);
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => folder.join(path),
    }
}
