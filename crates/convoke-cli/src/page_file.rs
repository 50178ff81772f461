//! The page of a run, written to a file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use convoke_config::{NewFile, replace_file};
use convoke_history::account::PAGE_MARK;

use crate::failure::Failure;
use crate::terminal::text;

/// How much of a file is looked at.
const BEGINNING: u64 = 1_024;

/// Writes a page to a file, whole or not at all. A file that is there is replaced only if it is such a page too, or if
/// that is asked for.
pub(crate) fn save(page: &str, path: &Path, force: bool) -> Result<(), Failure> {
    debug_assert!(page.get(..BEGINNING as usize).is_some_and(|beginning| beginning.contains(PAGE_MARK)));
    let place = text::one_line(&path.display().to_string());
    let folder = folder_of(path);
    if !folder.is_dir() {
        let folder = text::one_line(&folder.display().to_string());
        return Err(Failure::failed(format!("there is no folder {folder}"))
            .hint("make it, or name another file: `--html FILE`"));
    }
    if path.is_dir() {
        return Err(Failure::failed(format!("{place} is a folder")).hint("name a file: `--html FILE`"));
    }
    if !force && !may_replace(path).map_err(|error| unwritable(&place, &error))? {
        return Err(Failure::failed(format!("{place} is there already, and is not a page of this program"))
            .hint("name another file, or replace it with `--force`"));
    }
    replace_file(path, page.as_bytes(), NewFile::Usual).map_err(|error| unwritable(&place, &error))
}

fn unwritable(place: &str, error: &io::Error) -> Failure {
    // Only the kind: the whole error names the file beside it, which nobody asked for.
    Failure::failed(format!("{place} cannot be written: {}", error.kind()))
        .hint("name another file: `--html FILE`")
}

fn may_replace(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    let mut beginning = Vec::new();
    file.take(BEGINNING).read_to_end(&mut beginning)?;
    Ok(String::from_utf8_lossy(&beginning).contains(PAGE_MARK))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
