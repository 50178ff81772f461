//! Parses and checks the arguments of `git`.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::subcommands::{Content, Positionals, SUBCOMMANDS, Subcommand};
use crate::workspace::Protected;

/// The words that may come first after `stash`.
const STASH: &[&str] = &["push", "pop", "apply", "list", "drop"];

/// The names of the subcommands.
pub(super) fn names() -> String {
    SUBCOMMANDS.iter().map(|subcommand| subcommand.name).collect::<Vec<_>>().join(", ")
}

/// A command that git may be given.
pub(super) struct GitCommand {
    subcommand: &'static Subcommand,
    options: Vec<String>,
    words: Vec<String>,
    paths: Vec<String>,
}

impl GitCommand {
    /// Reads what git is to be told in this folder, named from the top of the workspace.
    pub(super) fn of(arguments: &[String], folder: &Path, protected: &Protected) -> Result<Self, String> {
        let (name, rest) = arguments.split_first().ok_or("denied: there is no subcommand")?;
        let subcommand = SUBCOMMANDS.iter().find(|subcommand| subcommand.name == name);
        let subcommand = subcommand
            .ok_or_else(|| format!("denied: `git {name}` is not among what may be done: {}", names()))?;
        let mut parsed = Self { subcommand, options: Vec::new(), words: Vec::new(), paths: Vec::new() };
        let mut rest = rest.iter();
        while let Some(argument) = rest.next() {
            if argument.contains(['\0', '\n']) && subcommand.name != "commit" {
                return Err("denied: an argument has a line end in it".to_owned());
            }
            if argument == "--" {
                parsed.paths.extend(rest.by_ref().cloned());
            } else if argument.starts_with('-') && argument.len() > 1 {
                parsed.option(argument, &mut rest)?;
            } else {
                parsed.words.push(argument.clone());
            }
        }
        parsed.check(folder, protected)?;
        Ok(parsed)
    }

    fn option<'a>(
        &mut self,
        argument: &str,
        rest: &mut impl Iterator<Item = &'a String>,
    ) -> Result<(), String> {
        let Subcommand { name, flags, valued, .. } = self.subcommand;
        // `-5` is the same as `-n 5`.
        let is_count = argument[1..].bytes().all(|byte| byte.is_ascii_digit());
        if flags.contains(&argument) || is_count && valued.contains(&"-n") {
            self.options.push(argument.to_owned());
            return Ok(());
        }
        if valued.contains(&argument) {
            let value = rest.next().ok_or_else(|| format!("`{argument}` has no value"))?;
            let long = argument.starts_with("--");
            self.options.push(if long {
                format!("{argument}={value}")
            } else {
                format!("{argument}{value}")
            });
            return Ok(());
        }
        let (option, _) = argument.split_once('=').unwrap_or((argument, ""));
        let attached = |short: &&str| short.len() == 2 && argument.starts_with(*short);
        if argument.contains('=') && valued.contains(&option) || valued.iter().any(attached) {
            self.options.push(argument.to_owned());
            return Ok(());
        }
        Err(format!(
            "denied: `git {name}` may not be given `{option}`; it may be given {}",
            [*flags, *valued].concat().join(" ")
        ))
    }

    fn check(&self, folder: &Path, protected: &Protected) -> Result<(), String> {
        let name = self.subcommand.name;
        let may_read = |path: &Path| protected.may_read(&plain(path)).map_err(|error| error.to_string());
        for path in &self.paths {
            if path.starts_with(':') {
                return Err(format!("denied: `{path}` is not a plain path"));
            }
            may_read(&folder.join(path))?;
        }
        // A folder of a commit would lose its name: what is protected by it would be so no more.
        if let Some(source) = self.source().filter(|source| source.contains(':')) {
            return Err(format!("denied: `{source}` is not a commit; paths come after `--`"));
        }
        if self.subcommand.words == Positionals::None && !self.words.is_empty() {
            return Err(format!(
                "denied: `git {name}` takes no `{}` here; paths come after `--`",
                self.words[0]
            ));
        }
        if name == "stash" && self.words.first().is_some_and(|word| !STASH.contains(&word.as_str())) {
            return Err(format!("denied: `git stash` may be followed by {}", STASH.join(", ")));
        }
        for word in
            self.words.iter().skip(usize::from(self.subcommand.words == Positionals::PatternThenCommits))
        {
            match word.split_once(':') {
                Some((commit, path))
                    if self.subcommand.words == Positionals::CommitsOrFiles && !commit.is_empty() =>
                {
                    let path = path.trim_start_matches("./");
                    // From the folder it is run in, or from the top of the repository, which is somewhere above.
                    for above in folder.ancestors() {
                        may_read(&above.join(path))?;
                    }
                    if path.split('/').any(|name| name == "..") || path.contains(':') {
                        return Err(format!("denied: `{word}` is not a plain path in a commit"));
                    }
                }
                Some(_) => return Err(format!("denied: `{word}` is not a commit; paths come after `--`")),
                None => {}
            }
        }
        Ok(())
    }

    /// Where `restore` takes content from, if that is said.
    fn source(&self) -> Option<&str> {
        let mut options = self.options.iter().filter(|_| self.subcommand.name == "restore");
        options.find_map(|option| option.strip_prefix("--source=").or_else(|| option.strip_prefix("-s")))
    }

    /// The words that must be commits.
    pub(super) fn commits(&self) -> Vec<String> {
        let skipped = match self.subcommand.words {
            Positionals::None | Positionals::Names => {
                return self.source().map(str::to_owned).into_iter().collect();
            }
            Positionals::PatternThenCommits => 1,
            Positionals::Commits | Positionals::CommitsOrFiles => 0,
        };
        let words = self.words.iter().skip(skipped);
        words
            .flat_map(|word| word.split_once(':').map_or(word.as_str(), |(commit, _)| commit).split(".."))
            .map(|commit| commit.trim_matches(['.', '^']).to_owned())
            .filter(|commit| !commit.is_empty())
            .collect()
    }

    /// What git is given.
    pub(super) fn into_arguments(self, protected: &Protected) -> Vec<OsString> {
        let Self { subcommand, options, words, paths } = self;
        let mut all = vec![subcommand.name.to_owned()];
        if subcommand.content == Content::Compared {
            all.extend(["--no-ext-diff".to_owned(), "--no-textconv".to_owned()]);
        }
        all.extend(options);
        let is_file =
            subcommand.words == Positionals::CommitsOrFiles && words.iter().any(|word| word.contains(':'));
        if subcommand.words == Positionals::PatternThenCommits {
            let mut words = words.into_iter();
            all.extend(words.next().into_iter().flat_map(|pattern| ["-e".to_owned(), pattern]));
            all.extend(words);
        } else {
            all.extend(words);
        }
        let by_path = subcommand.content != Content::None && !is_file;
        let everything = match subcommand.name {
            "add" => all.iter().any(|option| ["-A", "--all", "-u", "--update"].contains(&option.as_str())),
            "restore" => false,
            _ => by_path,
        };
        if !paths.is_empty() || everything {
            all.push("--".to_owned());
            if paths.is_empty() {
                all.push(":/".to_owned());
            }
            all.extend(paths);
            if by_path {
                all.extend(protected.left_out());
            }
        }
        all.into_iter().map(Into::into).collect()
    }
}

/// A path without `.` and `..`, as git takes it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::Normal(name) => plain.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}
