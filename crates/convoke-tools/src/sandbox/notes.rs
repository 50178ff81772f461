//! Notes about its confinement, for whoever gave a command.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::gate::Refusal;
use super::protected_paths::ProtectedPaths;
use super::{CapturedOutput, CommandEnd};
use crate::workspace::shown;

/// How many protected files are named.
const NAMED: usize = 8;

/// The secrets that a command could not get at.
#[derive(Debug)]
pub(super) enum SecretFolders {
    /// Nothing was kept from it.
    Open,
    /// The folders they are in were closed.
    Closed(ProtectedPaths),
}

/// Says what was put back, and, of a command that failed, what may be the reason.
pub(super) fn notes(
    changed: &[PathBuf],
    secrets: &SecretFolders,
    end: CommandEnd,
    stderr: &CapturedOutput,
) -> Vec<String> {
    let mut notes = Vec::new();
    if !changed.is_empty() {
        let changed = list(changed.iter().map(PathBuf::as_path));
        notes.push(format!("denied: {changed} may not be changed; it was put back"));
    }
    let SecretFolders::Closed(holes) = secrets else { return notes };
    if end == CommandEnd::Exited(0) || holes.secret.is_empty() {
        return notes;
    }
    notes.extend(hidden_and_named(holes.secret.iter().map(|(path, _)| path.as_path()), stderr));
    let secrets: Vec<&Path> = holes.secret.iter().map(|(path, _)| path.as_path()).collect();
    notes.push(format!(
        "there are protected files in {}: {}. Landlock, which confines this command, cannot leave out single files, so \
         nothing can be made, renamed or removed directly in there. Use the file tools for that, or a folder inside. A \
         person can end this: let Convoke have user namespaces, or move these files out of the workspace",
        list(holes.around().iter().map(PathBuf::as_path)),
        some(&secrets)
    ));
    notes
}

/// Says what did not come out of a view, and, of a command that failed, which of the files it complains of are hidden.
pub(super) fn of_view(
    refused: &[Refusal],
    hidden: &[PathBuf],
    end: CommandEnd,
    stderr: &CapturedOutput,
) -> Vec<String> {
    let mut notes = Vec::new();
    for refusal in refused.iter().take(NAMED) {
        notes.push(format!("denied: `{}` was not taken over: {}", on_a_line(&refusal.path), refusal.why));
    }
    if let Some(more) = refused.len().checked_sub(NAMED).filter(|more| *more > 0) {
        notes.push(format!("denied: {more} more changes were not taken over"));
    }
    if end != CommandEnd::Exited(0) {
        notes.extend(hidden_and_named(hidden.iter().map(PathBuf::as_path), stderr));
    }
    notes
}

/// What is behind complaints of programs that do not say it themselves.
pub(super) fn of_complaints(workspace: &Path, stderr: &CapturedOutput) -> Vec<String> {
    let mut notes = Vec::new();
    let said = stderr.to_string();
    if said.contains("hardlink different from source") {
        // Only root's views know a file again by its number once it was changed.
        notes.push(
            "hard links to files that were there before are new files in this sandbox; use `git clone --no-hardlinks`"
                .to_owned(),
        );
    }
    let group = std::fs::metadata(workspace).map(|found| found.gid()).ok();
    let own = rustix::process::getegid().as_raw();
    if let Some(group) = group.filter(|group| *group != own && !rustix::process::geteuid().is_root())
        && said.contains("Value too large for defined data type")
    {
        notes.push(format!(
            "denied: the workspace belongs to group {group}, and a sandbox of an ordinary user has only that user's own group \
             ({own}) in it, so files and folders of another group cannot be changed there. The file tools can change them. A person can \
             end this: `chgrp -R {own}` on the workspace, or start Convoke under that group (`sg`, `newgrp`)"
        ));
    }
    notes
}

/// A path on one line, whatever is in its name.
pub(super) fn on_a_line(path: &Path) -> String {
    let escape = |letter: char| match letter.is_control() {
        true => letter.escape_default().collect::<String>(),
        false => letter.to_string(),
    };
    shown(path).chars().map(escape).collect()
}

/// The protected files that a command complained of, as a note.
fn hidden_and_named<'a>(hidden: impl Iterator<Item = &'a Path>, stderr: &CapturedOutput) -> Option<String> {
    let said = stderr.to_string();
    let is_named =
        |path: &Path| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| said.contains(name));
    let named: Vec<&Path> = hidden.filter(|path| is_named(path)).collect();
    let note =
        || format!("denied: these are protected, and no command may read or change them: {}", some(&named));
    (!named.is_empty()).then(note)
}

fn list<'a>(paths: impl Iterator<Item = &'a Path>) -> String {
    paths.map(|path| format!("`{}`", on_a_line(path))).collect::<Vec<_>>().join(", ")
}

/// The first of them, and how many more there are.
fn some(paths: &[&Path]) -> String {
    let first = list(paths.iter().take(NAMED).copied());
    match paths.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
