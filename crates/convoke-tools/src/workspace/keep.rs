//! Restores read-only files, for the sandbox. No tool gets here: protection is not asked for.

use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, fstat, openat, readlinkat, statat, unlinkat};
use rustix::io::Errno;

use super::open::FILE;
use super::remove::{empty, opened_up};
use super::write::make_folder;
use super::{FileError, FileKind, Follow, Target, Workspace};

impl Workspace {
    /// A file's content and permissions, by its own name.
    pub(crate) fn look(&self, path: &Path) -> Result<(Vec<u8>, u32), FileError> {
        let failed = |errno: Errno| FileError::io("look at", path, errno);
        let place = self.resolve(path, Follow::Nothing)?;
        let Target::There { name, .. } = &place.target else {
            return Err(FileError::Missing { path: path.to_owned() });
        };
        let file = openat(&*place.parent, name, FILE, Mode::empty()).map_err(failed)?;
        let mode = fstat(&file).map_err(failed)?.st_mode & 0o7777;
        let mut content = Vec::new();
        let mut reader = std::fs::File::from(file).take(64 << 20);
        reader.read_to_end(&mut content).map_err(|error| FileError::io("look at", path, error))?;
        Ok((content, mode))
    }

    /// Where a link leads.
    pub(crate) fn link_at(&self, path: &Path) -> Result<PathBuf, FileError> {
        let place = self.resolve(path, Follow::Nothing)?;
        let Target::There { name, .. } = &place.target else {
            return Err(FileError::Missing { path: path.to_owned() });
        };
        let target = readlinkat(&*place.parent, name, Vec::new());
        let target = target.map_err(|errno| FileError::io("look at", path, errno))?;
        Ok(PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes())))
    }

    /// Makes this path a file with this content, or nothing. What stands in the way and is no folder is removed: a link
    /// in the place of a folder would lead whoever trusts the path elsewhere.
    pub(crate) fn put_back(&self, path: &Path, file: Option<(&[u8], u32)>) -> Result<(), FileError> {
        let failed = |errno: Errno| FileError::io("put back", path, errno);
        let Some(name) = path.file_name() else { return Ok(()) };
        let folder = self.put_back_folder(path.parent().unwrap_or(Path::new("")))?;
        match unlinkat(&*folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR | Errno::PERM) => {
                let inner = opened_up(&folder, name).map_err(failed)?;
                empty(&inner, path, opened_up)?;
                unlinkat(&*folder, name, AtFlags::REMOVEDIR).map_err(failed)?;
            }
            Err(errno) => return Err(failed(errno)),
        }
        match file {
            Some((content, mode)) => self.put(&folder, name, content, Some(mode)).map_err(failed),
            None => Ok(()),
        }
    }

    /// Makes this path a folder, and those above it.
    pub(crate) fn put_back_folder(
        &self,
        path: &Path,
    ) -> Result<std::sync::Arc<std::os::fd::OwnedFd>, FileError> {
        let failed = |errno: Errno| FileError::io("put back", path, errno);
        let mut folder = std::sync::Arc::clone(self.root());
        for name in path {
            if let Ok(stat) = statat(&*folder, name, AtFlags::SYMLINK_NOFOLLOW)
                && FileKind::of(FileType::from_raw_mode(stat.st_mode)) != FileKind::Folder
            {
                unlinkat(&*folder, name, AtFlags::empty()).map_err(failed)?;
            }
            folder = make_folder(&folder, name).map_err(failed)?;
        }
        Ok(folder)
    }
}
