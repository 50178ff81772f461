//! System folders in a view, and what of them is covered.
//!
//! `/usr` and its like are shown. `/opt` is where anything may be: of it, what the path leads to. A home, the files that
//! Convoke itself uses and what surrounds the workspace are covered wherever they are. It must never show a folder in `/opt`
//! because it happens to lie beside a program.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use convoke_view::View;

use super::Sandbox;
use super::inventory::FoundSecrets;
use crate::workspace::FileKind;

/// Programs and libraries of the system.
pub(super) const PROGRAMS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// Where programs are that the system's packages do not bring.
const OPTIONAL: &str = "/opt";

/// What of `/usr/local` holds programs and packages. Whatever else is there is covered.
const LOCAL: &[&str] = &[
    "bin", "games", "go", "include", "lib", "lib32", "lib64", "libexec", "man", "sbin", "share", "src",
    "cargo", "rustup", "cuda", "texlive", "pyenv", "nvm", "sdkman", "gcc", "llvm",
];

/// Folders with packages, in which names like `credentials.py` are parts of programs.
const PACKAGES: &[&str] = &["include", "jmods", "lib", "lib32", "lib64", "libexec", "modules", "share"];

/// The places of a sandbox that views cover.
pub(super) fn places_of_the_user() -> Vec<PathBuf> {
    let variables =
        ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"];
    let named = variables.iter().filter_map(std::env::var_os).map(PathBuf::from);
    named.filter(|path| path.is_absolute()).collect()
}

impl Sandbox {
    /// A view with the programs of the system in it.
    pub(super) fn with_system(&self, mut view: View) -> View {
        for path in PROGRAMS.iter().map(Path::new).filter(|path| path.symlink_metadata().is_ok()) {
            view = view.read_only(path, path);
        }
        for entry in std::fs::read_dir("/usr/local").into_iter().flatten().flatten() {
            let is_known = LOCAL.iter().any(|known| entry.file_name() == *known);
            let is_version = LOCAL.iter().any(|known| {
                entry
                    .file_name()
                    .to_string_lossy()
                    .strip_prefix(known)
                    .is_some_and(|rest| rest.starts_with('-'))
            });
            let is_used = self.programs_elsewhere().iter().any(|program| program.starts_with(entry.path()));
            view = match entry.file_type() {
                _ if is_known || is_version => view,
                Ok(kind) if kind.is_dir() && is_used => match self.secrets_of(&entry.path()) {
                    Some(found) => hidden_in(view, &entry.path(), &found),
                    None => view.empty(entry.path()),
                },
                Ok(kind) if kind.is_dir() => view.empty(entry.path()),
                Ok(kind) if !kind.is_symlink() => view.hidden(entry.path()),
                _ => view,
            };
        }
        for place in self.covered_places() {
            view = if place.is_dir() { view.empty(place) } else { view.hidden(place) };
        }
        for folder in self.optional_folders() {
            // One that cannot be looked through is not shown: nobody knows what is in it.
            if let Some(found) = self.secrets_of(&folder) {
                view = hidden_in(view.read_only(&folder, &folder), &folder, &found);
            }
        }
        view
    }

    /// What is hidden of a folder with programs.
    fn secrets_of(&self, folder: &Path) -> Option<FoundSecrets> {
        let mut found = self.look(folder).ok()?;
        found.hidden.retain(|(path, kind)| {
            let first = path.iter().next().unwrap_or(OsStr::new(""));
            *kind != FileKind::File || !PACKAGES.iter().any(|packages| first == *packages)
        });
        Some(found)
    }

    /// What is covered though it lies where the system's programs are.
    fn covered_places(&self) -> BTreeSet<PathBuf> {
        let mut places: BTreeSet<PathBuf> = BTreeSet::new();
        let around = self.workspace.path().parent().map(Path::to_owned);
        for place in self.covered.iter().cloned().chain(around) {
            let real = place.canonicalize().unwrap_or(place);
            let is_shown = PROGRAMS.iter().any(|shown| real.starts_with(shown));
            if is_shown && real.exists() && !is_of_system(&real) {
                places.insert(real);
            }
        }
        let all = places.clone();
        places.retain(|place| !place.ancestors().skip(1).any(|above| all.contains(above)));
        places
    }

    /// The folders of `/opt` that the path leads to.
    pub(super) fn optional_folders(&self) -> BTreeSet<PathBuf> {
        let holds_ours = |folder: &Path| {
            let ours = self.covered.iter().map(PathBuf::as_path).chain([self.workspace.path()]);
            ours.into_iter().any(|ours| ours.starts_with(folder) || folder.starts_with(ours))
        };
        let mut folders = BTreeSet::new();
        for program in self.programs_elsewhere().iter().filter(|program| program.starts_with(OPTIONAL)) {
            let is_programs = |name: &OsStr| name == "bin" || name == "sbin";
            let whole = program.parent().filter(|_| program.file_name().is_some_and(is_programs));
            let candidates = [whole, Some(program.as_path())].into_iter().flatten();
            let fit = candidates.filter(|folder| *folder != Path::new(OPTIONAL) && !holds_ours(folder));
            folders.extend(fit.map(Path::to_owned).next());
        }
        folders
    }

    /// Folders with programs that are on the path, or that links on it lead to. FoundSecrets out once.
    fn programs_elsewhere(&self) -> &BTreeSet<PathBuf> {
        self.elsewhere.get_or_init(|| {
            let own =
                self.variables.get("PATH").cloned().or_else(|| std::env::var_os("PATH")).unwrap_or_default();
            let mut folders = BTreeSet::new();
            for entry in std::env::split_paths(&own).filter(|entry| entry.is_absolute()) {
                let Ok(real) = entry.canonicalize() else { continue };
                // Links in the workspace are whoever's.
                if real.starts_with(self.workspace.path()) {
                    continue;
                }
                let links = std::fs::read_dir(&real).into_iter().flatten().flatten();
                let links = links.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
                let targets = links.filter_map(|link| link.path().canonicalize().ok());
                folders.extend(
                    targets.filter(|to| to.is_file()).filter_map(|to| to.parent().map(Path::to_owned)),
                );
                folders.insert(real);
            }
            folders
        })
    }
}

/// Whether something is part of the system, which nobody keeps a home in.
fn is_of_system(place: &Path) -> bool {
    let is_system = |folder: &str| Path::new(folder).starts_with(place);
    let has_system = |above: &Path| above == Path::new("/usr") || above == Path::new("/usr/local");
    let standard = ["bin", "sbin", "lib", "lib32", "lib64", "libexec", "include", "share"];
    PROGRAMS.iter().any(|program| is_system(program))
        || place == Path::new("/usr/local")
        || (place.parent().is_some_and(has_system) && standard.iter().any(|name| place.ends_with(name)))
}

/// Hides the secrets of a folder outside of the workspace.
pub(super) fn hidden_in(view: View, folder: &Path, found: &FoundSecrets) -> View {
    found.hidden.iter().fold(view, |view, (path, kind)| match kind {
        FileKind::Folder => view.empty(folder.join(path)),
        // A link leads to something that is hidden by its own name, or is not there.
        FileKind::Link => view,
        FileKind::File | FileKind::Other(_) => view.hidden(folder.join(path)),
    })
}
