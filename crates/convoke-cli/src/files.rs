//! Reads and writes files of the user: whole or not at all, and never over something by accident.

use std::io::{ErrorKind, Write};
use std::path::Path;

use convoke_config::{NewFile, is_stream, replace_file};
use convoke_host::is_standard_input;
use convoke_text::read_bounded;

use crate::failure::Failure;

/// A report of a large eval is below this.
const LARGEST_FILE: u64 = 32 << 20;

/// As much as any other input may have.
const LARGEST_INPUT: u64 = 8 << 20;

/// The text of a file, or of standard input if it is `-`, and what to call it.
pub(crate) fn read(path: &Path) -> Result<(String, String), Failure> {
    if is_standard_input(path) {
        return Ok(("standard input".to_owned(), standard_input()?));
    }
    let name = path.display().to_string();
    let text = std::fs::File::open(path)
        .and_then(|file| read_bounded(file, LARGEST_FILE))
        .map_err(|error| Failure::failed(format!("{name} cannot be read: {error}")))?;
    Ok((name, text))
}

/// Everything that comes on standard input.
pub(crate) fn standard_input() -> Result<String, Failure> {
    read_bounded(std::io::stdin(), LARGEST_INPUT)
        .map_err(|error| Failure::failed(format!("standard input cannot be read: {error}")))
}

/// Writes a file that is not there yet.
pub(crate) fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let name = path.display();
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::failed(format!("{name} is there already"))
            .hint("write it somewhere else with --output, and compare the two"),
        _ => Failure::failed(format!("{name} cannot be written: {error}")),
    })
}

/// Checks whether what is written to this file is to be printed.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Writes a file so that there is always a whole one: the old or the new.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    replace_file(path, text.as_bytes(), NewFile::Private).map_err(|error| {
        Failure::failed(format!("{} cannot be written: {error}", path.display()))
            .hint("check its permissions, and that the disk is not full; the file is as it was")
    })
}

/// Refuses a place that no file could be written to, before work is done whose result belongs there.
pub(crate) fn check_place(path: &Path) -> Result<(), Failure> {
    if is_stream(path) {
        return Ok(());
    }
    let refused = |why: String| Err(Failure::failed(format!("{} cannot be written: {why}", path.display())));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let refused = refused(format!("there is no folder {}", folder.display()));
        return refused
            .map_err(|failure| failure.hint("make that folder, or name another file; nothing was begun"));
    }
    if path.is_dir() {
        return refused("it is a folder: name a file in it".to_owned());
    }
    // Only who tries knows: permissions are not all there is.
    let probe = folder.join(format!(".convoke-{}", std::process::id()));
    match std::fs::OpenOptions::new().write(true).create_new(true).open(&probe) {
        Ok(_) => drop(std::fs::remove_file(&probe)),
        Err(error) => return refused(format!("{}: {error}", folder.display())),
    }
    Ok(())
}
