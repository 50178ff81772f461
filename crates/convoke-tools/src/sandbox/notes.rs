//! What whoever gave a command should know about its confinement.

use std::path::{Path, PathBuf};

use super::holes::Holes;
use super::{End, Output};
use crate::workspace::shown;

/// How many protected files are named.
const NAMED: usize = 8;

/// The secrets that a command could not get at.
#[derive(Debug)]
pub(super) enum Secrets {
    /// Nothing was kept from it.
    Open,
    /// They were hidden.
    Hidden(Holes),
    /// The folders they are in were closed.
    Closed(Holes),
}

/// Says what was put back, and, of a command that failed, what may be the reason.
pub(super) fn notes(changed: &[PathBuf], secrets: &Secrets, end: End, stderr: &Output) -> Vec<String> {
    let mut notes = Vec::new();
    if !changed.is_empty() {
        let changed = list(changed.iter().map(PathBuf::as_path));
        notes.push(format!("denied: {changed} may not be changed; it was put back"));
    }
    let (Secrets::Hidden(holes) | Secrets::Closed(holes)) = secrets else { return notes };
    if end == End::Exited(0) || holes.secret.is_empty() {
        return notes;
    }
    let said = stderr.to_string();
    let is_named =
        |path: &Path| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| said.contains(name));
    let named: Vec<&Path> =
        holes.secret.iter().map(|(path, _)| path.as_path()).filter(|path| is_named(path)).collect();
    if !named.is_empty() {
        let named = some(&named);
        notes.push(format!("denied: these are protected, and no command may read or change them: {named}"));
    }
    if let Secrets::Closed(holes) = secrets {
        let secrets: Vec<&Path> = holes.secret.iter().map(|(path, _)| path.as_path()).collect();
        notes.push(format!(
            "there are protected files in {}: {}. Landlock, which confines this command, cannot leave out single files, so \
             nothing can be made, renamed or removed directly in there. Use the file tools for that, or a folder inside. A \
             person can end this: install bubblewrap, or move these files out of the workspace",
            list(holes.around().iter().map(PathBuf::as_path)),
            some(&secrets)
        ));
    }
    notes
}

fn list<'a>(paths: impl Iterator<Item = &'a Path>) -> String {
    paths.map(|path| format!("`{}`", shown(path))).collect::<Vec<_>>().join(", ")
}

/// The first of them, and how many more there are.
fn some(paths: &[&Path]) -> String {
    let first = list(paths.iter().take(NAMED).copied());
    match paths.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
