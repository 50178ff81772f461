//! Where a store really is, if its path is a link.
//!
//! SQLite puts what belongs to a database beside the file itself, not beside a link to it. Whoever looks for that, or keeps
//! something there as well, has to go by the same path, whichever one the user wrote.

use std::path::{Path, PathBuf};

/// So many links in a row are followed, as many as Linux does. Opening the file then says that there are too many.
const MOST_LINKS: usize = 40;

/// The file that a path means: where the links lead that it is, whether anything is there yet or not. Links among its
/// folders stay: beside the file is beside it on either way.
#[must_use]
pub fn real_path(path: &Path) -> PathBuf {
    let mut real = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = real.read_link() else { break };
        real = real.parent().unwrap_or(Path::new("")).join(target);
    }
    real
}
