//! Files that are replaced whole: there is always the old one or the new one.

use std::io::{ErrorKind, Result, Write};
use std::path::Path;

/// The permissions of a file that is not there yet. One that is there keeps its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewFile {
    /// Its owner alone can read it.
    Private,
    /// The user's mask decides.
    Usual,
}

/// Writes a file, or replaces it. If the path is a link, what it leads to is replaced.
///
/// # Errors
/// If it cannot be written; then it is as it was.
pub fn replace_file(path: &Path, bytes: &[u8], new: NewFile) -> Result<()> {
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
}
