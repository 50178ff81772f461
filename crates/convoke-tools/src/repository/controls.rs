//! Files of a working tree that git executes or believes because a repository says so: hooks kept elsewhere, included
//! configuration, programs that settings name.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::config::{Config, Setting, reduced};
use super::layout::{is_repository, plain};
use super::setting_paths::paths_in;

/// More than this is no configuration.
const LONGEST: u64 = 1 << 20;
/// How deep configuration includes configuration: as deep as git itself goes.
const MOST_INCLUDES: usize = 10;
/// As many links as Linux itself follows.
const MOST_LINKS: usize = 40;

/// A tree that no file can be in: what is named from there is named in every tree.
const NOWHERE: &str = "/\u{0}";

/// Paths that no tool may change, from the root, whether something is there or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Controls {
    paths: BTreeSet<PathBuf>,
    /// Paths from the top of every repository there is or will be: the user's own settings name them.
    everywhere: BTreeSet<PathBuf>,
}

impl Controls {
    /// Those that the repository of this working tree names, and its user's own settings. Nothing if there is no repository.
    pub(crate) fn of(tree: &Path) -> Self {
        let mut controls = Self::default();
        let Some(git) = folder_of(tree) else { return controls };
        // A working tree's folder says where the repository's own is.
        let common = read(&git.join("commondir"))
            .and_then(|to| plain(&git.join(String::from_utf8(to).ok()?.trim_end())));
        let common = common.unwrap_or_else(|| git.clone());
        for file in [common.join("config"), common.join("config.worktree"), git.join("config.worktree")] {
            controls.settings(&file, tree, 0);
        }
        for file in users_own() {
            controls.settings(&file, tree, 0);
        }
        let folder = common.join("hooks");
        if folder.is_symlink() {
            controls.add(&folder);
        }
        let hooks = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for hook in hooks.filter(|hook| hook.file_type().is_ok_and(|kind| kind.is_symlink())) {
            controls.add(&hook.path());
        }
        controls
    }

    /// Those that the user's own settings name in every repository, also in one that is still to be made.
    pub(crate) fn of_every_repository() -> Self {
        let mut named = Self::default();
        for file in users_own() {
            named.settings(&file, Path::new(NOWHERE), 0);
        }
        let below = |path: &PathBuf| path.strip_prefix(NOWHERE).ok().map(Path::to_owned);
        let everywhere = named.paths.iter().filter_map(below).filter(|path| !path.as_os_str().is_empty());
        Self { paths: BTreeSet::new(), everywhere: everywhere.collect() }
    }

    /// Whether a path, from the root, is one of them or beneath one.
    pub(crate) fn hold(&self, path: &Path) -> bool {
        self.paths.iter().any(|control| path.starts_with(control))
            || self.everywhere.iter().any(|control| has_in_a_row(path, control))
    }

    /// Whether one of them is beneath a path: were that a link, something else would be executed.
    pub(crate) fn are_beneath(&self, path: &Path) -> bool {
        self.paths.iter().any(|control| control.starts_with(path))
            || self.everywhere.iter().any(|control| {
                let mut above = control.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
                above.any(|above| path.ends_with(above))
            })
    }

    fn settings(&mut self, file: &Path, tree: &Path, depth: usize) {
        let Some(config) = read(file).and_then(|content| Config::read(&content)) else { return };
        for path in config.values("core", "hookspath").chain(config.values("core", "attributesfile")) {
            self.named(path, tree);
        }
        let beside = file.parent().unwrap_or(tree);
        for path in config.values("include", "path").chain(config.values("includeif", "path")) {
            self.named(path, beside);
            if let Some(included) = resolved(path, beside).filter(|_| depth < MOST_INCLUDES) {
                self.settings(&included, tree, depth + 1);
            }
        }
        self.programs(&config, tree);
    }

    /// Adds what settings execute.
    fn programs(&mut self, config: &Config, tree: &Path) {
        let harmless = reduced(&Config::default(), config, &|_| true).config.settings;
        for setting in config.settings.iter().filter(|setting| !harmless.contains(setting)) {
            let value = setting.value.as_deref().unwrap_or_default();
            let is_program = match &*setting.section {
                "include" | "includeif" | "url" | "remote" | "branch" => false,
                // Another command of git's, unless it says otherwise. Nobody runs one by accident in a repository that is new.
                "alias" => value.starts_with('!') && tree != Path::new(NOWHERE),
                _ => true,
            };
            let paths = paths_in(value, tree).into_iter().filter(|_| is_program);
            for path in paths.filter_map(|path| plain(&path)) {
                // A single name is that of too many files to be kept wherever it is found.
                if path.parent() != Some(Path::new(NOWHERE)) {
                    self.add(&path);
                }
            }
        }
    }

    fn named(&mut self, path: &str, from: &Path) {
        if let Some(path) = resolved(path, from) {
            self.add(&path);
        }
    }

    /// Adds a path, and what it is wherever the links on its way lead, there or not.
    fn add(&mut self, path: &Path) {
        self.paths.insert(path.to_owned());
        let mut ahead: Vec<OsString> = names(path);
        let mut here = PathBuf::from("/");
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            here.push(&name);
            let Ok(to) = std::fs::read_link(&here) else { continue };
            links += 1;
            here.pop();
            let Some(to) = plain(&here.join(to)).filter(|_| links <= MOST_LINKS) else { return };
            let rest: PathBuf = ahead.iter().rev().collect();
            let whole = to.join(rest);
            ahead = names(&whole);
            here = PathBuf::from("/");
            self.paths.insert(whole);
        }
    }
}

/// The names of a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        _ => None,
    });
    let mut names: Vec<_> = names.collect();
    names.reverse();
    names
}

/// Whether the names of one path follow each other somewhere in another.
fn has_in_a_row(path: &Path, names: &Path) -> bool {
    path.ancestors().any(|above| above.ends_with(names))
}

fn resolved(path: &str, from: &Path) -> Option<PathBuf> {
    if path.is_empty() {
        return None;
    }
    let path = match path.strip_prefix("~/") {
        Some(path) => PathBuf::from(std::env::var_os("HOME")?).join(path),
        None => from.join(path),
    };
    plain(&path)
}

/// The folder of git's of a working tree.
fn folder_of(tree: &Path) -> Option<PathBuf> {
    let git = tree.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    if is_repository(&|name| tree.join(name).exists()) {
        // One without a working tree: what it names, it names from itself.
        return Some(tree.to_owned());
    }
    let content = String::from_utf8(read(&git)?).ok()?;
    plain(&tree.join(content.strip_prefix("gitdir: ")?.trim_end()))
}

/// What the user has set for all repositories: a relative path in it is one of each tree.
fn users_own() -> impl Iterator<Item = PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let settings = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let settings = settings.or_else(|| home.as_ref().map(|home| home.join(".config")));
    let own = home.map(|home| home.join(".gitconfig"));
    own.into_iter()
        .chain(settings.map(|folder| folder.join("git/config")))
        .chain([PathBuf::from("/etc/gitconfig")])
}

/// Who this user is to git: nothing else of what they have set.
pub(crate) fn identity() -> Config {
    let own = users_own().filter_map(|file| Config::read(&read(&file)?));
    let settings = own.flat_map(|config| config.settings);
    let is_identity = |one: &Setting| one.section == "user" && matches!(&*one.key, "name" | "email");
    let mut identity = Config::default();
    for setting in settings.filter(is_identity) {
        // The nearest file comes first.
        if !identity.settings.iter().any(|known| known.key == setting.key) {
            identity.settings.push(setting);
        }
    }
    identity
}

fn read(path: &Path) -> Option<Vec<u8>> {
    // What is no file, a pipe for instance, is not even opened.
    if !path.is_file() {
        return None;
    }
    let file = std::fs::File::open(path).ok()?;
    let mut content = Vec::new();
    file.take(LONGEST).read_to_end(&mut content).ok()?;
    Some(content)
}
