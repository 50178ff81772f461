//! Tool chains in a home: rustup, pyenv and their like, which commands can use without anybody saying so.
//!
//! What is on the user's `PATH` is there to be run. So the folders of the path that are in the home are opened for commands,
//! and for the chains in the [table](CHAINS) what they need besides: the compilers and packages they have fetched. All of it
//! is for reading and executing only.
//!
//! Folders of the table are opened as they are. They hold what comes from public registries, where `credentials.rs` and
//! `cacert.pem` are parts of programs; looking for protected names among their hundred thousands of files would break these,
//! and take longer than most commands. Other folders of the path are looked through like every other folder.
//!
//! It must never open a folder in which a chain keeps credentials: of a chain's own folder, only the parts that are named.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::openings::{NotOpened, Openings};

/// A tool chain with a folder of its own.
struct Chain {
    name: &'static str,
    /// Where that folder is: the first variable that is set, and what to go to from there.
    folder: &'static [(&'static str, &'static str)],
    /// Programs that need it, wherever they are. Without them, some folder of the path must be in it.
    programs: &'static [&'static str],
    /// What of it is opened.
    parts: &'static [&'static str],
    /// Files in it that are opened if no key is in them.
    settings: &'static [&'static str],
    /// The variable that tells commands where it is: their home is another one.
    told_by: Option<&'static str>,
    /// Variables that are handed on.
    kept: &'static [&'static str],
}

const PLAIN: Chain =
    Chain { name: "", folder: &[], programs: &[], parts: &[], settings: &[], told_by: None, kept: &[] };

/// The chains that are known.
const CHAINS: &[Chain] = &[
    Chain {
        name: "rustup",
        folder: &[("RUSTUP_HOME", ""), ("HOME", ".rustup")],
        programs: &["rustup", "cargo", "rustc"],
        parts: &["settings.toml", "toolchains", "update-hashes"],
        told_by: Some("RUSTUP_HOME"),
        kept: &["RUSTUP_TOOLCHAIN"],
        ..PLAIN
    },
    Chain {
        name: "cargo",
        folder: &[("CARGO_HOME", ""), ("HOME", ".cargo")],
        programs: &["cargo"],
        parts: &["bin", "registry", "git"],
        settings: &["config.toml", "config"],
        told_by: Some("CARGO_HOME"),
        ..PLAIN
    },
    Chain {
        name: "pyenv",
        folder: &[("PYENV_ROOT", ""), ("HOME", ".pyenv")],
        parts: &["bin", "libexec", "plugins", "pyenv.d", "shims", "version", "versions"],
        told_by: Some("PYENV_ROOT"),
        kept: &["PYENV_VERSION"],
        ..PLAIN
    },
    Chain {
        name: "uv",
        folder: &[("XDG_DATA_HOME", "uv"), ("HOME", ".local/share/uv")],
        programs: &["uv"],
        parts: &["python", "tools"],
        ..PLAIN
    },
    Chain {
        name: "pipx",
        folder: &[("PIPX_HOME", ""), ("HOME", ".local/share/pipx")],
        programs: &["pipx"],
        parts: &["venvs"],
        ..PLAIN
    },
    Chain {
        name: "rbenv",
        folder: &[("RBENV_ROOT", ""), ("HOME", ".rbenv")],
        parts: &["bin", "libexec", "plugins", "rbenv.d", "shims", "version", "versions"],
        told_by: Some("RBENV_ROOT"),
        kept: &["RBENV_VERSION"],
        ..PLAIN
    },
    Chain { name: "nvm", folder: &[("NVM_DIR", ""), ("HOME", ".nvm")], parts: &["versions"], ..PLAIN },
    Chain {
        name: "fnm",
        folder: &[("FNM_DIR", ""), ("XDG_DATA_HOME", "fnm"), ("HOME", ".local/share/fnm")],
        parts: &["node-versions"],
        ..PLAIN
    },
    Chain {
        name: "volta",
        folder: &[("VOLTA_HOME", ""), ("HOME", ".volta")],
        parts: &["bin", "tools", "layout.v3", "layout.v4"],
        told_by: Some("VOLTA_HOME"),
        ..PLAIN
    },
    Chain {
        name: "go modules",
        folder: &[("GOMODCACHE", ""), ("GOPATH", "pkg/mod"), ("HOME", "go/pkg/mod")],
        programs: &["go"],
        parts: &[""],
        told_by: Some("GOMODCACHE"),
        ..PLAIN
    },
];

/// Chains that can be anywhere: what is beside a folder `bin` of the path, what shows it, and what of it is opened.
const BESIDE: &[(&str, &str, &[&str])] = &[
    ("go", "pkg/tool", &["VERSION", "go.env", "lib", "pkg", "src"]),
    ("java", "lib/modules", &["conf", "lib", "release"]),
    ("python", "pyvenv.cfg", &["lib", "lib64", "pyvenv.cfg"]),
    ("conda", "conda-meta", &["conda-meta", "lib", "libexec", "share", "ssl"]),
];

/// The tool chains that were found.
#[derive(Debug, Clone, Default)]
pub struct Chains {
    names: Vec<String>,
    remarks: Vec<String>,
    /// Opened as it is.
    pub(super) whole: Vec<PathBuf>,
    /// Opened but for secrets.
    pub(super) folders: Vec<PathBuf>,
    pub(super) variables: BTreeMap<String, OsString>,
}

impl Chains {
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

    /// What they are called: a chain's name, or a folder of the path.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What of them commands do not get, and why.
    #[must_use]
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    fn add(
        &mut self,
        chain: &Chain,
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
        let opened: Vec<bool> =
            chain.parts.iter().map(|part| self.open(&folder.join(part), openings)).collect();
        if !opened.contains(&true) {
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
            Err(why) => why == NotOpened::InWorkspace,
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

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Whether a file of settings in TOML has nothing in it that is named like a key, and no address with a password.
fn has_no_key(file: &Path) -> bool {
    /// Larger files are nobody's settings.
    const LARGEST: u64 = 256 * 1024;
    let is_small = file.metadata().is_ok_and(|found| found.len() <= LARGEST);
    let text = if is_small { std::fs::read_to_string(file).ok() } else { None };
    let Some(text) = text else { return false };
    DeTable::parse(&text).is_ok_and(|table| !names_a_key(table.get_ref()))
}

fn names_a_key(table: &DeTable<'_>) -> bool {
    table.iter().any(|(name, value)| {
        let name = name.get_ref().to_lowercase();
        let words = ["token", "secret", "password", "key", "auth"];
        words.iter().any(|word| name.contains(word)) || holds_a_key(value.get_ref())
    })
}

fn holds_a_key(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::Table(table) => names_a_key(table),
        DeValue::Array(all) => all.iter().any(|value| holds_a_key(value.get_ref())),
        DeValue::String(text) => text.contains('@') || text.to_lowercase().contains("bearer"),
        _ => false,
    }
}
