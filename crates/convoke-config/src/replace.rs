//! Files that are replaced whole: there is always the old one or the new one.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::{Path, PathBuf};

/// How much of a file is looked at to know what it is.
const BEGINNING: u64 = 1_024;

/// The permissions of a file that is not there yet. One that is there keeps its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewFile {
    /// Its owner alone can read it.
    Private,
    /// The user's mask decides.
    Usual,
}

/// Checks whether this is no file that could be replaced, but a device, a pipe, or what this process has open: it is written to as it is.
#[must_use]
pub fn is_stream(path: &Path) -> bool {
    let is_open =
        ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"].iter().any(|open| path.starts_with(open));
    is_open || path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// Writes a file, or replaces it. If the path is a link, what it leads to is replaced. A [stream](is_stream) is written to.
///
/// # Errors
/// If it cannot be written; then it is as it was.
pub fn replace_file(path: &Path, bytes: &[u8], new: NewFile) -> Result<()> {
    if is_stream(path) {
        return File::options().append(true).open(path)?.write_all(bytes);
    }
    let path = if path.exists() { path.canonicalize()? } else { path.to_owned() };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".convoke-");
    #[cfg(unix)]
    if new == NewFile::Usual {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = new;
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    match std::fs::metadata(&path) {
        Ok(metadata) => file.as_file().set_permissions(metadata.permissions())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

/// Reasons why a file of a kind that we make was not written.
#[derive(Debug)]
pub enum NotReplaced {
    /// There is no such folder.
    NoFolder(PathBuf),
    /// What is there is not a file of that kind.
    Foreign,
    /// It cannot be read or written.
    Failed(Error),
}

/// Writes a file of a kind that we make, whole or not at all. One that is there is replaced only if it begins like one of them.
///
/// # Errors
/// If there is something else, no such folder, or it cannot be written; then what was there is as it was.
pub fn replace_own_file(
    path: &Path,
    bytes: &[u8],
    is_own: impl Fn(&[u8]) -> bool,
) -> std::result::Result<(), NotReplaced> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(NotReplaced::NoFolder(folder.to_owned()));
    }
    if is_stream(path) {
        return replace_file(path, bytes, NewFile::Usual).map_err(NotReplaced::Failed);
    }
    match File::open(path) {
        Ok(file) => {
            let mut beginning = Vec::new();
            file.take(BEGINNING).read_to_end(&mut beginning).map_err(NotReplaced::Failed)?;
            if !is_own(&beginning) {
                return Err(NotReplaced::Foreign);
            }
        }
        // Whoever replaces anything need not read it.
        Err(error) if error.kind() == ErrorKind::NotFound || is_own(&[]) => {}
        Err(error) => return Err(NotReplaced::Failed(error)),
    }
    replace_file(path, bytes, NewFile::Usual).map_err(NotReplaced::Failed)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_new_file_is_private_or_usual_and_one_that_is_there_keeps_its_permissions_and_its_links() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
        replace_file(&folder.path().join("own"), b"a", NewFile::Private).unwrap();
        assert_eq!(mode("own"), 0o600);
        std::fs::write(folder.path().join("like"), "").unwrap();
        replace_file(&folder.path().join("usual"), b"a", NewFile::Usual).unwrap();
        assert_eq!(mode("usual"), mode("like"));
        std::fs::set_permissions(folder.path().join("own"), std::fs::Permissions::from_mode(0o640)).unwrap();
        symlink(folder.path().join("own"), folder.path().join("link")).unwrap();
        replace_file(&folder.path().join("link"), b"b", NewFile::Usual).unwrap();
        assert_eq!((mode("own"), std::fs::read(folder.path().join("own")).unwrap()), (0o640, b"b".to_vec()));
        assert!(folder.path().join("link").is_symlink());
    }

    #[test]
    fn a_pipe_is_written_to_and_stays_one() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let read = || {
            let pipe = pipe.clone();
            std::thread::spawn(move || std::fs::read(pipe).unwrap())
        };
        let reader = read();
        replace_file(&pipe, b"one", NewFile::Usual).unwrap();
        assert_eq!(reader.join().unwrap(), b"one");
        let reader = read();
        assert!(replace_own_file(&pipe, b"other", |_| false).is_ok());
        assert_eq!(reader.join().unwrap(), b"other");
        assert!(pipe.metadata().unwrap().file_type().is_fifo());
        assert!(is_stream(Path::new("/dev/null")) && is_stream(Path::new("/dev/stdout")));
    }

    #[test]
    fn only_a_file_of_our_own_kind_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        let write = |path: &Path, text: &str| {
            replace_own_file(path, text.as_bytes(), |beginning| beginning.starts_with(b"ours"))
        };
        assert!(write(&path, "ours 1").is_ok() && write(&path, "ours 2").is_ok());
        assert_eq!(std::fs::read(&path).unwrap(), b"ours 2");
        std::fs::write(&path, "a letter").unwrap();
        assert!(matches!(write(&path, "ours 3"), Err(NotReplaced::Foreign)));
        assert_eq!(std::fs::read(&path).unwrap(), b"a letter");
        let elsewhere = folder.path().join("none/page.html");
        assert!(matches!(write(&elsewhere, "ours"), Err(NotReplaced::NoFolder(_))));
    }
}
