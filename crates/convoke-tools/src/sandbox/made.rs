//! Keys and certificates that commands have made themselves.
//!
//! By their names they would be secrets, and a test that makes a certificate could not read it again. What comes out of a
//! view and was not there before bears a mark with its size and time; once somebody changes it, it is a secret again.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, XattrFlags, fsetxattr, lgetxattr, statat};

const MARK: &str = "user.convoke.made";
/// Names that keys have which programs make for tests.
const ENDINGS: &[&[u8]] = &[b".pem", b".key", b".p12", b".pfx", b".jks", b".keystore", b".pub"];

/// Whether files of this name may be made by commands, though by their name they are secrets.
pub(super) fn may_be(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes().to_ascii_lowercase();
    let is_hidden_away = path.parent().is_some_and(|folder| {
        folder.components().any(|part| part.as_os_str().as_bytes().starts_with(b".ssh"))
    });
    !is_hidden_away && !name.starts_with(b".") && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Marks a file that a command has made.
pub(super) fn mark(file: &std::fs::File) {
    // Where it cannot be marked it is a secret for the next command.
    if let Ok(stat) = rustix::fs::fstat(file) {
        let _ = fsetxattr(file, MARK, &text(&stat), XattrFlags::empty());
    }
}

/// Whether a file was made by a command, and by nobody changed since.
pub(super) fn is_by_a_command(place: &Path, path: &Path) -> bool {
    if !may_be(path) {
        return false;
    }
    let mut found = [0_u8; 64];
    let Ok(length) = lgetxattr(place, MARK, &mut found) else { return false };
    statat(CWD, place, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| found.get(..length) == Some(&text(&stat)))
}

fn text(stat: &rustix::fs::Stat) -> Vec<u8> {
    format!("{}.{}:{}", stat.st_mtime, stat.st_mtime_nsec, stat.st_size).into_bytes()
}
