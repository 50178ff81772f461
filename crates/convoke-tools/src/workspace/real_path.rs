//! The real path of a file whose path is a link.
//!
//! What agents must not touch is both: the link, and the file that it leads to.

use std::path::{Path, PathBuf};

/// So many links in a row are followed, as many as Linux does. Opening the file then says that there are too many.
const MOST_LINKS: usize = 40;

/// The file that a path means: where the links lead that it is, whether anything is there yet or not. Links among its
/// folders stay.
fn real_path(path: &Path) -> PathBuf {
    let mut real = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = real.read_link() else { break };
        real = real.parent().unwrap_or(Path::new("")).join(target);
    }
    real
}

/// A file, and the one that it leads to if it is a link.
pub(crate) fn with_real(path: PathBuf) -> impl Iterator<Item = PathBuf> {
    let real = Some(real_path(&path)).filter(|real| *real != path);
    std::iter::once(path).chain(real)
}
