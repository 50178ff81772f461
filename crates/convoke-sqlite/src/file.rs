//! Checks of a database file: its path, its owner, and the files beside it.

use std::io;
use std::path::{Path, PathBuf};

/// The reason why a file is not opened.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum UntrustedFile {
    /// It is a link.
    #[error("{} is a link, and links are not followed: name the file itself", .0.display())]
    Link(PathBuf),
    /// It is not a regular file.
    #[error("{} is not a regular file: name another", .0.display())]
    Irregular(PathBuf),
    /// Another user owns it.
    #[error("{} belongs to another user (number {owner}), who could have written anything into it: use it as that user, or give it to \
             this one (`chown`) if you know what is in it", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The user's number.
        owner: u32,
    },
    /// Anybody may write to it.
    #[error("anybody may write to {}: take that right away (`chmod o-w`) if you know what is in it", .0.display())]
    Anybodys(PathBuf),
    /// There is a rollback journal beside it.
    #[error("{} would be rolled back into the database, and Convoke leaves no such file: somebody else has put it there, or an earlier \
             version was killed while it made the database. Nothing was read or changed; delete that file if it is not yours (and the \
             database too if it was never finished)", .0.display())]
    Journal(PathBuf),
}

/// The path of a file in its real folder. Links among the folders are followed, and must lead somewhere; a link in the place of
/// the file is refused.
///
/// # Errors
/// If its folder is not there, or the file is a link.
pub fn place(path: &Path) -> io::Result<PathBuf> {
    // SQLite gives some names a meaning of their own (`:memory:`), but only to relative ones.
    let absolute = std::path::absolute(path)?;
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it names no file"));
    };
    let place = folder.canonicalize()?.join(name);
    match place.is_symlink() {
        true => Err(io::Error::new(io::ErrorKind::InvalidInput, UntrustedFile::Link(place))),
        false => Ok(place),
    }
}

/// Looks at what is at a [`place`] before it is opened for writing. What is not there is no reason against it.
///
/// # Errors
/// Why it is not to be opened.
pub fn examine(place: &Path) -> Result<(), UntrustedFile> {
    let Ok(metadata) = place.symlink_metadata() else { return Ok(()) };
    if metadata.is_symlink() {
        return Err(UntrustedFile::Link(place.to_owned()));
    }
    if !metadata.is_file() {
        return Err(UntrustedFile::Irregular(place.to_owned()));
    }
    refuse_journal(place)?;
    owned(place, &metadata)
}

/// Refuses a rollback journal beside the database at a [`place`]. Ours are made without one, and have a log from then on.
///
/// # Errors
/// If there is one.
pub fn refuse_journal(place: &Path) -> Result<(), UntrustedFile> {
    let journal = beside(place, "-journal");
    // Of an empty database SQLite rolls nothing back, and an empty journal has nothing in it.
    let is_empty =
        |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() == 0);
    match journal.symlink_metadata().is_err() || is_empty(&journal) || is_empty(place) {
        true => Ok(()),
        false => Err(UntrustedFile::Journal(journal)),
    }
}

#[cfg(unix)]
fn owned(place: &Path, metadata: &std::fs::Metadata) -> Result<(), UntrustedFile> {
    use std::os::unix::fs::MetadataExt;
    // What belongs to root, root has put there.
    let (owner, trusted) = (metadata.uid(), [0, rustix::process::geteuid().as_raw()]);
    if !trusted.contains(&owner) {
        return Err(UntrustedFile::Foreign { path: place.to_owned(), owner });
    }
    if metadata.mode() & 0o002 != 0 {
        return Err(UntrustedFile::Anybodys(place.to_owned()));
    }
    Ok(())
}

#[cfg(not(unix))]
fn owned(_: &Path, _: &std::fs::Metadata) -> Result<(), UntrustedFile> {
    Ok(())
}

/// Makes a folder and those above it that are not there, for this user alone.
///
/// # Errors
/// If that cannot be done.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The path of what is kept beside a database: `beside(path, "-wal")`.
#[must_use]
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
