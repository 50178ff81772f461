//! Opens files for reading.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use super::links::HardLinkCensus;
use super::{FileError, FileKind, Follow, ResolvedPath, Target, Workspace};

/// The longest file that a tool reads as a whole.
const LONGEST: u64 = 16 << 20;

/// Opens a file: not blocking, lest a pipe hold us; not following, lest a link has come here meanwhile.
pub(super) const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);

/// A file of the workspace, open for reading.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) bytes: u64,
    pub(crate) mode: u32,
}

impl Workspace {
    /// Opens a file that may be read.
    pub(crate) fn open_file(&self, path: &str) -> Result<OpenFile, FileError> {
        self.open_counted(path, &mut HardLinkCensus::default())
    }

    /// Opens one of many files: links are counted once for all of them.
    pub(crate) fn open_counted(
        &self,
        path: impl AsRef<std::path::Path>,
        census: &mut HardLinkCensus,
    ) -> Result<OpenFile, FileError> {
        let place = self.resolve(path, Follow::Links)?;
        self.open_place(&place, census)
    }

    /// Opens the file at a place.
    pub(crate) fn open_place(
        &self,
        place: &ResolvedPath,
        census: &mut HardLinkCensus,
    ) -> Result<OpenFile, FileError> {
        // A protected file is not even looked at: whether it exists is nobody's business.
        self.protected().may_read(&place.path)?;
        let name = match &place.target {
            Target::There { name, .. } => name,
            Target::Top => {
                let path = place.path.clone();
                return Err(FileError::WrongKind { path, is: FileKind::Folder.name(), wanted: "a file" });
            }
            Target::Missing { .. } => return Err(FileError::Missing { path: place.path.clone() }),
        };
        let path = place.path.clone();
        let wrong =
            |kind: FileKind| FileError::WrongKind { path: path.clone(), is: kind.name(), wanted: "a file" };
        if let Some(kind) = place.kind().filter(|kind| *kind != FileKind::File) {
            return Err(wrong(kind));
        }
        let file = openat(&*place.parent, name, FILE, Mode::empty()).map_err(|errno| match errno {
            Errno::LOOP | Errno::NOENT => FileError::Unsteady { path: path.display().to_string() },
            errno => FileError::io("open", &path, errno),
        })?;
        let stat = fstat(&file).map_err(|errno| FileError::io("look at", &path, errno))?;
        match FileKind::of(FileType::from_raw_mode(stat.st_mode)) {
            FileKind::File => {}
            kind => return Err(wrong(kind)),
        }
        census.may_read(self, &path, &stat)?;
        let bytes = u64::try_from(stat.st_size).unwrap_or(0);
        Ok(OpenFile { path, file: File::from(file), bytes, mode: stat.st_mode })
    }
}

impl OpenFile {
    /// All of it, unless it is too long for one.
    pub(crate) fn read_all(&mut self) -> Result<Vec<u8>, FileError> {
        let too_long = |bytes| FileError::TooLong {
            path: self.path.clone(),
            bytes,
            limit: LONGEST,
            action: "read as a whole",
        };
        if self.bytes > LONGEST {
            return Err(too_long(self.bytes));
        }
        let mut content = Vec::new();
        // It may grow while it is read.
        let read = (&self.file).take(LONGEST + 1).read_to_end(&mut content);
        read.map_err(|error| FileError::io("read", &self.path, error))?;
        let length = content.len() as u64;
        if length > LONGEST { Err(too_long(length)) } else { Ok(content) }
    }

    /// All of it, if it is text.
    pub(crate) fn read_text(&mut self) -> Result<String, FileError> {
        let content = self.read_all()?;
        if is_binary(&content) {
            return Err(self.binary(&content));
        }
        String::from_utf8(content).map_err(|error| self.binary(error.as_bytes()))
    }

    pub(crate) fn binary(&self, content: &[u8]) -> FileError {
        FileError::Binary { path: self.path.clone(), kind: kind_of(content), bytes: self.bytes }
    }
}

/// Whether these bytes are the beginning of something that is not text.
pub(crate) fn is_binary(content: &[u8]) -> bool {
    content[..content.len().min(8192)].contains(&0)
}

/// What bytes seem to be.
fn kind_of(content: &[u8]) -> &'static str {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\x7fELF", "a program or library"),
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "gzip data"),
        (b"SQLite format 3", "an SQLite database"),
        (b"\0asm", "WebAssembly"),
        (b"\xff\xfe", "text in UTF-16"),
        (b"\xfe\xff", "text in UTF-16"),
    ];
    let known = KINDS.iter().find(|(magic, _)| content.starts_with(magic));
    known.map_or(if is_binary(content) { "binary data" } else { "text that is not UTF-8" }, |(_, name)| name)
}
