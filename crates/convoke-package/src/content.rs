//! The files of a package: a compressed tar archive.
//!
//! It is read as a stream that stops when a limit is reached. Only files and folders are understood; whatever else a tar
//! archive can have in it is refused, not skipped.

use std::collections::BTreeMap;
use std::io::{self, Read};

use flate2::bufread::GzDecoder;
use flate2::{Compression, GzBuilder};
use tar::{Archive, Builder, EntryType, Header};

use crate::archive_path;
use crate::error::PackageError;
use crate::limits::Limits;

/// The time of everything in a package: the first second of 2020, UTC.
pub(crate) const EPOCH: u64 = 1_577_836_800;

/// An entry of the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArchiveEntry {
    /// Checked: see [`archive_path::checked`].
    pub(crate) path: String,
    pub(crate) is_folder: bool,
    /// Whether its owner may run it.
    pub(crate) executable: bool,
    pub(crate) size: u64,
}

/// Goes through the entries. `take` is given each with its bytes, and may leave them unread.
pub(crate) fn read(
    content: &[u8],
    limits: &Limits,
    mut take: impl FnMut(&ArchiveEntry, &mut dyn Read) -> Result<(), PackageError>,
) -> Result<(), PackageError> {
    let most = limits.unpacked_from(content.len());
    let mut rest = content;
    let unpacked = Bounded { inner: GzDecoder::new(&mut rest), left: most };
    let mut archive = Archive::new(unpacked);
    let mut seen = SeenPaths::default();
    for entry in archive.entries().map_err(|error| broken(&error, most))? {
        let mut entry = entry.map_err(|error| broken(&error, most))?;
        let header = entry.header();
        let is_folder = match header.entry_type() {
            EntryType::Regular => false,
            EntryType::Directory => true,
            other => {
                let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                return Err(PackageError::Content { reason: format!("{path:?} is {}", kind(other)) });
            }
        };
        if is_cut(header) {
            let path = String::from_utf8_lossy(&entry.path_bytes()).escape_debug().to_string();
            return Err(PackageError::Path { path, reason: "something comes after the end of its name" });
        }
        let executable = header.mode().map_err(|error| broken(&error, most))? & 0o100 != 0;
        let bytes = entry.path_bytes();
        let path = std::str::from_utf8(&bytes).map_err(|_| PackageError::Path {
            path: String::from_utf8_lossy(&bytes).escape_debug().to_string(),
            reason: "it is not UTF-8",
        })?;
        let path = archive_path::checked(path)?;
        seen.note(&path, is_folder, limits)?;
        let entry_of = ArchiveEntry { path, is_folder, executable, size: entry.size() };
        take(&entry_of, &mut entry)?;
        // What was left unread counts, too.
        io::copy(&mut entry, &mut io::sink()).map_err(|error| broken(&error, most))?;
    }
    // To the very end: the sum of everything is there.
    let mut unpacked = archive.into_inner();
    io::copy(&mut unpacked, &mut io::sink()).map_err(|error| broken(&error, most))?;
    drop(unpacked);
    if rest.is_empty() {
        Ok(())
    } else {
        Err(PackageError::Content { reason: "something comes after its end".to_owned() })
    }
}

/// Whether there is more of a name than is read of it, behind a NUL.
fn is_cut(header: &Header) -> bool {
    let name = &header.as_old().name;
    let prefix = header.as_ustar().map(|header| &header.prefix[..]).unwrap_or_default();
    let cut = |field: &[u8]| field.iter().skip_while(|byte| **byte != 0).any(|byte| *byte != 0);
    cut(name) || cut(prefix)
}

fn kind(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Symlink => "a symbolic link",
        EntryType::Link => "a hard link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a pipe",
        _ => "neither a file nor a folder",
    }
}

/// What has been seen, so that nothing comes twice, on systems either that take different spellings of a name for one.
#[derive(Default)]
struct SeenPaths {
    /// Whether it is a folder that has been named itself.
    paths: BTreeMap<String, PathKind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PathKind {
    File,
    /// Something is in it.
    Implied,
    Folder,
}

impl SeenPaths {
    fn note(&mut self, path: &str, is_folder: bool, limits: &Limits) -> Result<(), PackageError> {
        let refused = |reason| PackageError::Path { path: path.to_owned(), reason };
        let path = archive_path::folded(path);
        for (end, _) in path.match_indices('/') {
            let above = self.paths.entry(path[..end].to_owned()).or_insert(PathKind::Implied);
            if *above == PathKind::File {
                return Err(refused("it is below a file"));
            }
        }
        match (self.paths.get(&path), is_folder) {
            (None, _) | (Some(PathKind::Implied), true) => {}
            _ => return Err(refused("it is there twice")),
        }
        self.paths.insert(path.clone(), if is_folder { PathKind::Folder } else { PathKind::File });
        if self.paths.len() > limits.files {
            let what = format!("it has more than {} files and folders", limits.files);
            return Err(PackageError::TooLarge { what });
        }
        Ok(())
    }
}

/// Fails as soon as there is more than there may be.
struct Bounded<R> {
    inner: R,
    left: u64,
}

/// What [`Bounded`] fails with.
#[derive(Debug, thiserror::Error)]
#[error("more than it may unpack to")]
struct UnpackedTooLarge;

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| io::Error::other(UnpackedTooLarge))?;
        Ok(read)
    }
}

/// What an error of reading means. The tar reader wraps errors in its own.
pub(crate) fn broken(error: &io::Error, most: u64) -> PackageError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if error.is::<UnpackedTooLarge>() || inner.is_some_and(|inner| inner.is::<UnpackedTooLarge>()) {
            let what = format!("its content unpacks to more than {most} bytes");
            return PackageError::TooLarge { what };
        }
        cause = inner.map(|inner| inner as &(dyn std::error::Error + 'static)).or_else(|| error.source());
    }
    PackageError::Content { reason: error.to_string() }
}

/// A file or a folder to be packed.
pub(crate) struct PackedFile {
    pub(crate) executable: bool,
    /// `None`: it is a folder.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// Packs files in the order of their paths, with nothing of this machine or this day.
pub(crate) fn write(files: &BTreeMap<String, PackedFile>) -> io::Result<Vec<u8>> {
    // 255: made on no system in particular.
    let encoder = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    let mut archive = Builder::new(encoder);
    for (path, file) in files {
        let mut header = Header::new_gnu();
        header.set_mtime(EPOCH);
        header.set_uid(0);
        header.set_gid(0);
        match &file.bytes {
            None => {
                header.set_entry_type(EntryType::Directory);
                header.set_mode(0o755);
                header.set_size(0);
                archive.append_data(&mut header, format!("{path}/"), io::empty())?;
            }
            Some(bytes) => {
                header.set_entry_type(EntryType::Regular);
                header.set_mode(if file.executable { 0o755 } else { 0o644 });
                header.set_size(bytes.len() as u64);
                archive.append_data(&mut header, path, bytes.as_slice())?;
            }
        }
    }
    archive.into_inner()?.finish()
}
