//! The `glob` tool.

use std::path::PathBuf;

use convoke_agent::FunctionTool;
use convoke_core::Access;
use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;

use super::ignore_rules::IgnoreRules;
use super::{HasPath, MOST_BYTES, is_git_folder, note, plural, tool};
use crate::blocking::CancelFlag;
use crate::workspace::{FileError, FileKind, Protection, TreeEntry, Visit, Workspace};

/// Paths given when nobody says how many.
const MOST_PATHS: usize = 500;
/// The longest pattern, in bytes.
const LONGEST_PATTERN: usize = 1_024;
/// The most choices (`{a,b}`) in a pattern. They may be in each other, and so deep that reading them has no end.
const MOST_CHOICES: usize = 50;

/// Arguments of `glob`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Glob {
    /// The pattern, from the top of the workspace: `*` within a name, `**` any folders, `{a,b}`, `[a-z]`.
    pattern: String,
    /// The folder to look in.
    #[serde(default = "crate::workspace::top")]
    path: String,
    /// How many paths to give at most.
    #[serde(default = "most")]
    #[schemars(range(min = 1, max = 5_000))]
    limit: usize,
    /// Look at what `.gitignore` names too.
    #[serde(default)]
    ignored: bool,
}

fn most() -> usize {
    MOST_PATHS
}

impl HasPath for Glob {
    fn path(&self) -> &str {
        &self.path
    }
}

pub(super) fn glob(workspace: &Workspace) -> FunctionTool {
    tool(
        workspace,
        "glob",
        "Finds files and folders by pattern, sorted by path. A pattern without `/` is for names at any depth. Folders end \
         in `/`. Links are not followed; what `.gitignore` names, and git's \
         own folder, only if the pattern or the path names it.",
        find,
        |workspace, arguments| vec![Access::read(workspace.resource_tree(&arguments.path))],
    )
}

pub(super) fn matcher(pattern: &str) -> Result<GlobMatcher, FileError> {
    let pattern = pattern.trim_start_matches("./");
    if !is_bounded(pattern) {
        return Err(FileError::Unfit(format!(
            "the pattern is too long: {LONGEST_PATTERN} bytes and {MOST_CHOICES} choices are the most"
        )));
    }
    let anywhere = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
    let glob = GlobBuilder::new(&anywhere).literal_separator(true).build();
    Ok(glob
        .map_err(|error| FileError::Unfit(format!("`{pattern}` is not a pattern: {}", error.kind())))?
        .compile_matcher())
}

/// Whether a pattern is short and simple enough to be read.
pub(super) fn is_bounded(pattern: &str) -> bool {
    pattern.len() <= LONGEST_PATTERN && pattern.matches('{').count() <= MOST_CHOICES
}

/// The folders and names at the beginning of a pattern that stand for themselves.
pub(super) fn literal(pattern: &str) -> PathBuf {
    let pattern = pattern.trim_start_matches("./");
    let names = pattern.split('/').take_while(|name| !name.contains(['*', '?', '[', '{', '\\']));
    if pattern.contains('/') { names.collect() } else { PathBuf::new() }
}

fn find(workspace: &Workspace, arguments: Glob, cancel: &CancelFlag) -> Result<String, FileError> {
    if arguments.pattern.starts_with('/') || arguments.pattern.split('/').any(|name| name == "..") {
        return Err(FileError::Outside {
            path: arguments.pattern,
            how: "patterns are for what is inside".to_owned(),
        });
    }
    let matcher = matcher(&arguments.pattern)?;
    let into_git = arguments.pattern.contains(".git") || arguments.path.contains(".git");
    let place = workspace.resolve(&arguments.path, crate::workspace::Follow::Links)?;
    let mut ignored = match arguments.ignored {
        true => IgnoreRules::nothing(workspace),
        false => IgnoreRules::unless_named(workspace, &place.path.join(literal(&arguments.pattern))),
    };
    let (mut result, mut found, mut hidden) = (String::new(), 0_usize, 0_usize);
    workspace.walk_place(&place, &mut |entry: TreeEntry<'_>| {
        if cancel.is_cancelled() {
            return Err(FileError::GivenUp);
        }
        let below = entry.path.strip_prefix(&place.path).unwrap_or(entry.path);
        let is_match = matcher.is_match(below);
        if (is_match || entry.kind == FileKind::Folder) && ignored.passes_over(&entry) {
            return Ok(Visit::Pass);
        }
        if is_match {
            if entry.protection == Some(Protection::Secret) {
                hidden += 1;
            } else {
                found += 1;
                if found <= arguments.limit && result.len() < MOST_BYTES {
                    let end = if entry.kind == FileKind::Folder { "/\n" } else { "\n" };
                    result.push_str(&entry.path.display().to_string());
                    result.push_str(end);
                } else {
                    return Ok(Visit::Stop);
                }
            }
        }
        let enter = entry.protection != Some(Protection::Secret) && (into_git || !is_git_folder(entry.name));
        Ok(if enter { Visit::Enter } else { Visit::Pass })
    })?;
    if found > arguments.limit || result.len() >= MOST_BYTES {
        note(&mut result, "there are more; narrow the pattern, or raise the limit");
    } else if found == 0 {
        note(&mut result, "nothing matches");
    }
    if hidden > 0 {
        note(&mut result, &format!("{} not shown", plural(hidden, "protected path")));
    }
    ignored.note(&mut result);
    Ok(result)
}
