//! Toolchains in a home: rustup, pyenv and their like, which commands can use without anybody saying so.
//!
//! What is on the user's `PATH` is there to be run. So the folders of the path that are in the home are opened for commands,
//! and for the chains in the table what they need besides: the compilers and packages they have fetched. All of it
//! is for reading and executing only.
//!
//! Folders of the table are opened as they are. They hold what comes from public registries, where `credentials.rs` and
//! `cacert.pem` are parts of programs; looking for protected names among their hundred thousands of files would break these,
//! and take longer than most commands. Other folders of the path are looked through like every other folder.
//!
//! It must never open a folder in which a chain keeps credentials: of a chain's own folder, only the parts that are named.

mod settings;
mod table;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use self::settings::has_no_key;
use self::table::{BESIDE, CHAINS, LEFT_OUT, Toolchain};
use super::openings::{OpeningError, Openings};

/// The tool chains that were found.
#[derive(Debug, Clone, Default)]
pub struct Toolchains {
    names: Vec<String>,
    remarks: Vec<String>,
    /// Opened as it is.
    pub(super) whole: Vec<PathBuf>,
    /// Other names of what is opened, which lead there by links.
    pub(super) aliases: Vec<(PathBuf, PathBuf)>,
    /// Opened but for secrets.
    pub(super) folders: Vec<PathBuf>,
    pub(super) variables: BTreeMap<String, OsString>,
}

impl Toolchains {
    /// Looks for them, by the variables of the user.
    #[must_use]
    pub fn find(openings: &Openings, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let mut chains = Self::default();
        let (Some(home), Some(path)) = (openings.home(), variable("PATH")) else { return chains };
        let entries: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let reals: Vec<Option<PathBuf>> = entries.iter().map(|entry| real(entry)).collect();
        let there: Vec<&PathBuf> = reals.iter().flatten().collect();
        for chain in CHAINS {
            chains.add(chain, &there, openings, &variable);
        }
        for entry in there.into_iter().filter(|entry| entry.starts_with(home) && entry.is_dir()) {
            chains.add_folder(entry, home, openings);
        }
        // A folder that is reached by a link is also named without it: the link itself may not be there for commands.
        let named = entries.iter().zip(&reals).flat_map(|(entry, real)| {
            let other = real.as_ref().filter(|real| *real != entry && real.starts_with(home));
            [Some(entry), other].into_iter().flatten()
        });
        // What was split at colons has none.
        chains.variables.insert("PATH".to_owned(), std::env::join_paths(named).unwrap_or(path));
        chains
    }

    /// Returns their names: a chain's name, or a folder of the path.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns remarks about what of them commands do not get, and why.
    #[must_use]
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    fn add(
        &mut self,
        chain: &Toolchain,
        path: &[&PathBuf],
        openings: &Openings,
        variable: &impl Fn(&str) -> Option<OsString>,
    ) {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let folder = chain.folder.iter().find_map(|(name, below)| {
            // GOPATH can be a list; what is fetched goes into its first folder.
            let first = std::env::split_paths(&set(name)?).next()?;
            Some(if below.is_empty() { first } else { first.join(below) })
        });
        let Some(folder) = folder.as_deref().and_then(real) else { return };
        let is_installed = |program: &&str| path.iter().any(|entry| entry.join(program).is_file());
        if !path.iter().any(|entry| entry.starts_with(&folder)) && !chain.programs.iter().any(is_installed) {
            return;
        }
        let parts = chain.parts.iter().flat_map(|part| named(&folder, part));
        let mut is_open = false;
        for part in parts.filter(|part| self.open(part, openings)).collect::<Vec<_>>() {
            is_open = true;
            // What is in the workspace has secrets, which are known by its own name only.
            let alias = real(&part).filter(|real| *real != part && self.has(real));
            self.aliases.extend(alias.map(|real| (real, part)));
        }
        if !is_open {
            return;
        }
        for file in chain.settings.iter().map(|name| folder.join(name)).filter(|file| file.exists()) {
            if has_no_key(&file) {
                self.open(&file, openings);
            } else {
                self.remarks.push(format!(
                    "{} may hold a key, so no command can read it, and {} may fail; keep keys in a file of their own",
                    file.display(),
                    chain.name
                ));
            }
        }
        self.name(chain.name.to_owned());
        if let Some(name) = chain.told_by {
            self.variables.insert(name.to_owned(), folder.into());
        }
        for name in chain.kept {
            self.variables.extend(set(name).map(|value| ((*name).to_owned(), value)));
        }
    }

    /// Opens a folder of the path, what its links lead to, and what a chain has beside it.
    fn add_folder(&mut self, folder: &Path, home: &Path, openings: &Openings) {
        if !self.has(folder) {
            let Ok(real) = openings.folder(folder) else { return };
            self.folders.push(real);
            let below = folder.strip_prefix(home).unwrap_or(folder);
            self.name(format!("~/{}", below.display()));
        }
        let links = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        for link in links.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink())) {
            let Some(program) = real(&link.path()) else { continue };
            if program.starts_with(home) && is_program(&program) {
                self.open(&program, openings);
            }
        }
        let Some(above) = folder.parent().filter(|above| openings.place(above).is_ok()) else { return };
        for (name, shown_by, parts) in BESIDE {
            if above.join(shown_by).exists() {
                for part in *parts {
                    self.open(&above.join(part), openings);
                }
                self.name((*name).to_owned());
            }
        }
    }

    /// Opens something as it is. Gives whether commands can read it then.
    fn open(&mut self, path: &Path, openings: &Openings) -> bool {
        match openings.place(path) {
            Ok(real) if self.has(&real) => true,
            Ok(real) => {
                self.whole.push(real);
                true
            }
            Err(why) => why == OpeningError::InWorkspace,
        }
    }

    fn has(&self, path: &Path) -> bool {
        self.whole.iter().chain(&self.folders).any(|opened| path.starts_with(opened))
    }

    fn name(&mut self, name: String) {
        if !self.names.contains(&name) {
            self.names.push(name);
        }
    }
}

/// Where a whole path leads. What depends on the folder one is in leads nowhere.
fn real(path: &Path) -> Option<PathBuf> {
    path.is_absolute().then(|| path.canonicalize().ok()).flatten()
}

/// What a part of a chain is called, where every name is meant.
fn named(folder: &Path, part: &str) -> Vec<PathBuf> {
    let Some((before, after)) = part.split_once('*') else { return vec![folder.join(part)] };
    let entries = std::fs::read_dir(folder.join(before)).into_iter().flatten().filter_map(Result::ok);
    let is_meant = |path: &PathBuf| !LEFT_OUT.iter().any(|name| path.ends_with(name));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_meant).collect();
    paths.sort();
    match after.strip_prefix('/') {
        Some(after) => paths.iter().flat_map(|path| named(path, after)).collect(),
        None => paths,
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
