//! Protected files, which no tool may touch.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use globset::{Glob, GlobBuilder, GlobSet};

use super::FileError;

/// Neither read nor changed: configuration, policy, credentials, keys, stores.
const SECRET: &[&str] = &[
    "convoke.toml",
    "policy.toml",
    "agent.toml",
    "convoke.db",
    "convoke.db-*",
    "credentials",
    "credentials.*",
    ".credentials*",
    ".env",
    ".env.*",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    // `id_*` as such would catch source files; these are the names that keys have.
    "id_{rsa,dsa,ecdsa,ecdsa_sk,ed25519,ed25519_sk,xmss}",
    "id_{rsa,dsa,ecdsa,ecdsa_sk,ed25519,ed25519_sk,xmss}[._-]*",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".config/gcloud",
    // Where Convoke's settings are, and the keys of those whose packages are trusted.
    ".config/convoke",
    ".docker/config.json",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".cargo/credentials*",
    "*.env",
    "*.env.{local,dev,development,test,staging,prod,production}",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    "*.tfvars.json",
    // `secrets.*` as such would catch source files; these are the formats in which secrets are kept.
    "secrets.{yaml,yml,json,toml,ini,conf,txt,xml,properties,enc,gpg,age}",
    "secrets.*.{yaml,yml,json,toml,ini,conf}",
    "service[-_]account*.json",
    "serviceaccount*.json",
    "client_secret*.json",
    "application_default_credentials.json",
    "kubeconfig",
    "kubeconfig.*",
    "*.kubeconfig",
    ".vault-token",
    ".vault_pass*",
    ".pgpass",
    "pgpass.conf",
    ".my.cnf",
    ".mylogin.cnf",
    ".htpasswd",
    ".dockercfg",
    ".dockerconfigjson",
    ".yarnrc.yml",
    ".m2/settings*.xml",
    ".terraformrc",
    ".s3cfg",
    ".boto",
    ".databrickscfg",
    ".password-store",
    ".config/{gh,glab-cli,hub,op,rclone,sops}",
    "*.ppk",
    "*.p8",
    "*.ovpn",
];

/// What Convoke itself goes by where it finds it.
#[cfg(target_os = "linux")]
const FOLLOWED: &[&str] = &["convoke.toml", "policy.toml", "agent.toml"];

/// Read, but not changed: what git executes or believes.
const READ_ONLY: &[&str] = &[
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/info/attributes",
    // Where there is one, configuration and hooks are read from the folder it names.
    ".git/commondir",
    // What an interrupted rebase still has to do, which may be to execute something.
    ".git/**/rebase-merge",
    ".git/**/rebase-apply",
    ".git/**/sequencer",
    // Remotes can be written there as well as in the settings.
    ".git/remotes",
    ".git/branches",
    ".git/objects/info/alternates",
    ".git/modules/**/hooks",
    ".git/modules/**/config",
    ".git/modules/**/commondir",
    ".git/worktrees/*/config.worktree",
    ".git/worktrees/*/commondir",
];

/// Examples of secrets are no secrets.
const EXCEPT: &[&str] = &[
    ".env.{example,sample,template,dist,defaults}",
    "{example,sample,template,dist,defaults}.{env,tfvars}",
    "*.{example,sample,template,dist,defaults}.{env,tfvars}",
    "secrets.{example,sample,template,dist,defaults}.*",
    // Certificates of public authorities, as Python has them.
    "certifi/cacert.pem",
];

/// The protection of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protection {
    /// It can be neither read nor changed.
    Secret,
    /// It can be read.
    ReadOnly,
}

impl fmt::Display for Protection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Secret => "configuration, credentials, keys or a store",
            Self::ReadOnly => "read-only, because other programs act on it",
        })
    }
}

/// A pattern that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a pattern of files: {why}")]
pub struct InvalidPattern {
    /// The pattern.
    pub pattern: String,
    /// The problem.
    pub why: String,
}

/// The files that no tool may read or change, bash included.
///
/// Files are named by patterns, which hold at any depth and for everything beneath what they match; upper and lower case
/// are the same. What decides is the name of the file that is reached, not the name it was reached by.
///
/// ```
/// use convoke_tools::workspace::{Protected, Protection};
/// use std::path::Path;
///
/// let protected = Protected::defaults().secret("*.sqlite")?.read_only("Cargo.lock")?.except("tests/certs/*.pem")?;
/// assert_eq!(protected.of(Path::new("deep/down/.env")), Some(Protection::Secret));
/// assert_eq!(protected.of(Path::new("home/.ssh/known_hosts")), Some(Protection::Secret));
/// assert_eq!(protected.of(Path::new("data.sqlite")), Some(Protection::Secret));
/// assert_eq!(protected.of(Path::new(".git/config")), Some(Protection::ReadOnly));
/// assert_eq!(protected.of(Path::new("tests/certs/ca.pem")), None);
/// assert_eq!(protected.of(Path::new("src/id_map.rs")), None);
/// # Ok::<(), convoke_tools::workspace::InvalidPattern>(())
/// ```
#[derive(Debug, Clone)]
pub struct Protected {
    secret: Patterns,
    read_only: Patterns,
    except: Patterns,
    stores: Vec<PathBuf>,
    /// What is run outside of the sandbox, by its place.
    programs: Vec<PathBuf>,
    /// Secrets by patterns of their whole paths, from the root.
    whole: Patterns,
    /// The workspace, which whole paths lead through.
    root: PathBuf,
}

/// Patterns, each checked when it is added. They are compiled together when the first file is asked about, once for all copies.
#[derive(Debug, Clone, Default)]
struct Patterns {
    texts: Vec<String>,
    globs: Vec<Glob>,
    /// Several only where they are too many for one.
    sets: Arc<OnceLock<Vec<GlobSet>>>,
}

impl Default for Protected {
    fn default() -> Self {
        Self::defaults()
    }
}

impl Protected {
    /// Protects what is always worth it: Convoke's own configuration, policy and stores, credentials and private keys as
    /// they are usually named, and (from changes) what git executes.
    #[must_use]
    pub fn defaults() -> Self {
        let set = |texts: &[&str]| {
            let mut patterns = Patterns::default();
            for text in texts {
                // The lists above are constants, and every test of this crate reads them.
                let globs = anywhere(text).unwrap_or_else(|invalid| unreachable!("{invalid}"));
                patterns.push((*text).to_owned(), globs);
            }
            patterns
        };
        Self {
            secret: set(SECRET),
            read_only: set(READ_ONLY),
            except: set(EXCEPT),
            stores: Vec::new(),
            programs: Vec::new(),
            whole: Patterns::default(),
            root: PathBuf::new(),
        }
    }

    /// Also keeps these from being read or changed.
    ///
    /// # Errors
    /// If the pattern is none.
    pub fn secret(mut self, pattern: &str) -> Result<Self, InvalidPattern> {
        self.keep_secret(pattern)?;
        Ok(self)
    }

    /// Also keeps these from being read or changed. With a pattern that is none, everything stays as it is.
    pub(crate) fn keep_secret(&mut self, pattern: &str) -> Result<(), InvalidPattern> {
        self.secret.add(pattern)
    }

    /// Also keeps these from being read or changed: a pattern of whole paths, from the root.
    pub(crate) fn keep_secret_at(&mut self, pattern: &str) -> Result<(), InvalidPattern> {
        let globs = checked(pattern, [pattern.to_owned(), format!("{pattern}/**")])?;
        self.whole.push(pattern.to_owned(), globs);
        Ok(())
    }

    /// Also keeps these from being changed.
    pub(crate) fn keep_from_changes(&mut self, pattern: &str) -> Result<(), InvalidPattern> {
        self.read_only.add(pattern)
    }

    /// Whether something is a pattern of files.
    pub(crate) fn check_pattern(pattern: &str) -> Result<(), InvalidPattern> {
        Patterns::default().add(pattern)
    }

    /// Also keeps these from being changed.
    ///
    /// # Errors
    /// If the pattern is none.
    pub fn read_only(mut self, pattern: &str) -> Result<Self, InvalidPattern> {
        self.keep_from_changes(pattern)?;
        Ok(self)
    }

    /// Does not protect these, whatever the other patterns say.
    ///
    /// # Errors
    /// If the pattern is none.
    pub fn except(mut self, pattern: &str) -> Result<Self, InvalidPattern> {
        self.except.add(pattern)?;
        Ok(self)
    }

    /// Also keeps this one file, a database in use, from being read or changed, with the files SQLite has beside it. Of a
    /// link, both: the link, and the file that it leads to.
    #[must_use]
    pub fn store(mut self, path: impl Into<PathBuf>) -> Self {
        self.stores.extend(super::real_path::with_real(path.into()));
        self
    }

    /// Also keeps this one file or folder from being changed, because something that nothing confines is run from it.
    #[must_use]
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.programs.push(path.into());
        self
    }

    /// Stores and programs are named by any path; from here on by their place in the workspace. Those elsewhere need no protection
    /// here: nothing leads there.
    pub(super) fn placed_in(mut self, root: &Path) -> Self {
        let place = |store: &PathBuf| {
            let store = std::path::absolute(store).ok()?;
            let folder = store.parent()?;
            // Folders that are still to be made are where they are said to be.
            let there = folder.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
            let (above, real) = there?;
            let folder = real.join(folder.strip_prefix(above).ok()?);
            Some(folder.strip_prefix(root).ok()?.join(store.file_name()?))
        };
        self.stores = self.stores.iter().filter_map(place).collect();
        self.programs = self.programs.iter().filter_map(place).collect();
        root.clone_into(&mut self.root);
        self
    }

    /// Returns how far this file is protected, named from the top of the workspace.
    #[must_use]
    pub fn of(&self, path: &Path) -> Option<Protection> {
        if self.is_store(path)
            || (!self.whole.globs.is_empty() && self.whole.match_path(&self.root.join(path)))
        {
            return Some(Protection::Secret);
        }
        let is_program = self.programs.iter().any(|program| path.starts_with(program));
        if self.except.match_path(path) {
            return is_program.then_some(Protection::ReadOnly);
        }
        if self.secret.match_path(path) {
            return Some(Protection::Secret);
        }
        (is_program || self.read_only.match_path(path)).then_some(Protection::ReadOnly)
    }

    fn is_store(&self, path: &Path) -> bool {
        let text = path.as_os_str().as_encoded_bytes();
        self.stores.iter().any(|store| {
            let rest = text.strip_prefix(store.as_os_str().as_encoded_bytes());
            rest.is_some_and(|rest| [&b""[..], b"-wal", b"-shm", b"-journal"].contains(&rest))
        })
    }

    /// Whether this is a file that Convoke itself goes by when it is started in its folder: made by a command, it would
    /// decide what the next run may do.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_followed(path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        FOLLOWED.iter().any(|own| name.eq_ignore_ascii_case(own))
    }

    /// Patterns for git that leave secrets out of what it shows. Exceptions are not told to it: too little is shown then,
    /// never too much.
    #[cfg(target_os = "linux")]
    pub(crate) fn left_out(&self) -> impl Iterator<Item = String> + '_ {
        let stores = self.stores.iter().map(|store| format!("{}*", store.display()));
        // Those that name the workspace itself; what lies across it is left to the sandbox, which keeps files from git.
        let top = format!("{}/", globset::escape(&self.root.display().to_string()));
        let whole =
            self.whole.texts.iter().filter_map(move |text| text.strip_prefix(&top).map(str::to_owned));
        let own = self.secret.texts.iter().cloned().chain(whole);
        let texts = own.flat_map(|text| alternatives(&text)).chain(stores);
        texts.flat_map(|text| {
            [format!("**/{text}"), format!("**/{text}/**")]
                .map(|pattern| format!(":(top,exclude,glob,icase){pattern}"))
        })
    }

    pub(crate) fn may_read(&self, path: &Path) -> Result<(), FileError> {
        match self.of(path) {
            Some(protection @ Protection::Secret) => {
                Err(FileError::Protected { path: path.to_owned(), action: "read", protection })
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn may_change(&self, path: &Path) -> Result<(), FileError> {
        match self.of(path) {
            Some(protection) => {
                Err(FileError::Protected { path: path.to_owned(), action: "change", protection })
            }
            None => Ok(()),
        }
    }
}

/// A pattern without `{a,b}`, which git does not know.
#[cfg(target_os = "linux")]
fn alternatives(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let Some((inside, after)) = rest.split_once('}') else { return vec![pattern.to_owned()] };
    let choices = inside.split(',').map(|choice| format!("{before}{choice}{after}"));
    choices.flat_map(|choice| alternatives(&choice)).collect()
}

impl Patterns {
    fn add(&mut self, text: &str) -> Result<(), InvalidPattern> {
        let text = text.trim_start_matches("./").trim_end_matches('/');
        if text.is_empty() || text.starts_with('/') {
            let why = "it must name something in the workspace, without a leading `/`".to_owned();
            return Err(InvalidPattern { pattern: text.to_owned(), why });
        }
        let globs = checked(text, anywhere_forms(text))?;
        self.push(text.to_owned(), globs);
        Ok(())
    }

    fn push(&mut self, text: String, globs: [Glob; 2]) {
        self.texts.push(text);
        self.globs.extend(globs);
        self.sets = Arc::default();
    }

    fn match_path(&self, path: &Path) -> bool {
        self.sets.get_or_init(|| compiled(&self.globs)).iter().any(|set| set.is_match(path))
    }
}

/// A file or folder at any depth, and everything beneath it.
fn anywhere_forms(text: &str) -> [String; 2] {
    [format!("**/{text}"), format!("**/{text}/**")]
}

fn anywhere(text: &str) -> Result<[Glob; 2], InvalidPattern> {
    globs(text, anywhere_forms(text))
}

fn globs(pattern: &str, [one, beneath]: [String; 2]) -> Result<[Glob; 2], InvalidPattern> {
    let glob = |form: &str| {
        let glob = GlobBuilder::new(form).literal_separator(true).case_insensitive(true).build();
        glob.map_err(|error| InvalidPattern { pattern: pattern.to_owned(), why: error.kind().to_string() })
    };
    Ok([glob(&one)?, glob(&beneath)?])
}

/// The globs of a pattern that can be compiled.
fn checked(pattern: &str, forms: [String; 2]) -> Result<[Glob; 2], InvalidPattern> {
    let globs = globs(pattern, forms)?;
    let together = GlobSet::new(&globs);
    together
        .map_err(|error| InvalidPattern { pattern: pattern.to_owned(), why: error.kind().to_string() })?;
    Ok(globs)
}

/// All of them, in as few sets as can be. Each pattern is known to be one by itself; together they may be too large.
fn compiled(globs: &[Glob]) -> Vec<GlobSet> {
    match GlobSet::new(globs) {
        Ok(set) => vec![set],
        Err(error) if globs.len() < 2 => unreachable!("{error}"),
        Err(_) => {
            let (first, rest) = globs.split_at(globs.len() / 2);
            [compiled(first), compiled(rest)].concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_patterns_there_are_they_are_compiled_once_for_all_who_protect_by_them() {
        let mut protected = Protected::defaults();
        for number in 0..50 {
            protected.keep_secret(&format!("folder{number}/*.txt")).unwrap();
            protected.keep_secret_at(&format!("/elsewhere/{number}/*")).unwrap();
        }
        for patterns in [&protected.secret, &protected.whole] {
            assert!(patterns.sets.get().is_none(), "no file has been asked about");
        }
        let copy = protected.clone();
        assert_eq!(protected.of(Path::new("a/folder49/b.txt")), Some(Protection::Secret));
        assert_eq!(copy.secret.sets.get().map(Vec::len), Some(1));
        assert_eq!(copy.whole.sets.get().map(Vec::len), Some(1));
        assert_eq!(copy.of(Path::new("a/folder50/b.txt")), None);
    }

    #[test]
    fn patterns_that_are_too_large_for_one_set_hold_all_the_same() {
        let mut patterns = Patterns::default();
        let filler = "?".repeat(400);
        for number in 0..600 {
            let text = format!("{filler}{number}");
            let globs = anywhere(&text).unwrap();
            patterns.push(text, globs);
        }
        patterns.add("last").unwrap();
        assert!(GlobSet::new(&patterns.globs).is_err(), "they are not too large for one");
        assert!(patterns.match_path(Path::new("deep/last")));
        assert!(patterns.match_path(Path::new(&format!("{}599", "x".repeat(400)))));
        assert!(!patterns.match_path(Path::new("deep/first")));
        assert!(patterns.sets.get().is_some_and(|sets| sets.len() > 1));
    }

    #[test]
    fn what_is_no_pattern_changes_nothing() {
        let mut protected = Protected::defaults();
        for wrong in ["[", "", "/etc/passwd", "{a"] {
            assert!(protected.keep_secret(wrong).is_err(), "{wrong}");
            assert!(Protected::check_pattern(wrong).is_err(), "{wrong}");
        }
        assert_eq!(protected.secret.texts.len(), SECRET.len());
    }
}
