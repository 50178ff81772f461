//! The `grep` tool.

use std::fmt::Write;
use std::path::Path;

use convoke_agent::FunctionTool;
use convoke_core::Access;
use globset::GlobMatcher;
use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::ignore_rules::IgnoreRules;
use super::{HasPath, MOST_BYTES, is_git_folder, note, plural, tool};
use crate::blocking::CancelFlag;
use crate::workspace::{
    FileError, FileKind, Follow, HardLinkCensus, OpenFile, Protection, TreeEntry, Visit, Workspace, is_binary,
};

/// Lines given when nobody says how many.
const MOST_LINES: usize = 200;
/// What is shown of one line.
const LONGEST_LINE: usize = 400;
/// The largest program that a pattern may become.
const LARGEST_PATTERN: usize = 4 << 20;

/// Arguments of `grep`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Grep {
    /// A regular expression, matched within lines.
    pattern: String,
    /// The file to search, or the folder with everything beneath it.
    #[serde(default = "crate::workspace::top")]
    path: String,
    /// Only files whose path matches this pattern, such as `*.rs` or `src/**/*.ts`.
    #[serde(default)]
    include: Option<String>,
    /// Take upper and lower case as the same.
    #[serde(default)]
    ignore_case: bool,
    /// How many lines to give at most.
    #[serde(default = "most")]
    #[schemars(range(min = 1, max = 2_000))]
    limit: usize,
    /// Search what `.gitignore` names too.
    #[serde(default)]
    ignored: bool,
}

fn most() -> usize {
    MOST_LINES
}

impl HasPath for Grep {
    fn path(&self) -> &str {
        &self.path
    }
}

pub(super) fn grep(workspace: &Workspace) -> FunctionTool {
    tool(
        workspace,
        "grep",
        "Searches files for a regular expression and gives `file:line: text`, sorted by path. Binary and protected files, \
         links, git's own folder and what `.gitignore` names are passed over; a path that is named is searched.",
        search,
        |workspace, arguments| vec![Access::read(workspace.resource_tree(&arguments.path))],
    )
}

fn search(workspace: &Workspace, arguments: Grep, cancel: &CancelFlag) -> Result<String, FileError> {
    let pattern = RegexBuilder::new(&arguments.pattern)
        .case_insensitive(arguments.ignore_case)
        .size_limit(LARGEST_PATTERN)
        .build()
        .map_err(|error| FileError::Unfit(format!("`pattern` is not a regular expression: {error}")))?;
    let include = arguments.include.as_deref().map(super::glob::matcher).transpose()?;
    let mut search = Search {
        pattern,
        include,
        limit: arguments.limit,
        found: 0,
        lines: String::new(),
        protected: 0,
        unreadable: 0,
    };
    let mut census = HardLinkCensus::default();
    let place = workspace.resolve(&arguments.path, Follow::Links)?;
    if place.kind() != Some(FileKind::Folder) {
        // Whoever names a file is told why it cannot be searched.
        search.lines_of(&mut workspace.open_place(&place, &mut census)?)?;
        return Ok(search.result());
    }
    let mut ignored = match arguments.ignored {
        true => IgnoreRules::nothing(workspace),
        false => {
            let include = arguments.include.as_deref().map(super::glob::literal).unwrap_or_default();
            IgnoreRules::unless_named(workspace, &place.path.join(include))
        }
    };
    let into_git = arguments.path.contains(".git");
    workspace.walk_place(&place, &mut |entry: TreeEntry<'_>| {
        if cancel.is_cancelled() {
            return Err(FileError::GivenUp);
        }
        if entry.protection == Some(Protection::Secret) {
            search.protected += 1;
            return Ok(Visit::Pass);
        }
        if is_git_folder(entry.name) && !into_git {
            return Ok(Visit::Pass);
        }
        // What would not be searched anyway is not told of.
        let is_wanted = entry.kind == FileKind::File && search.includes(&entry, &place.path);
        if (is_wanted || entry.kind == FileKind::Folder) && ignored.passes_over(&entry) {
            return Ok(Visit::Pass);
        }
        if !is_wanted {
            return Ok(Visit::Enter);
        }
        match workspace.open_counted(entry.path, &mut census) {
            Ok(mut opened) => search.lines_of(&mut opened)?,
            Err(_) => search.unreadable += 1,
        }
        Ok(if search.is_full() { Visit::Stop } else { Visit::Enter })
    })?;
    let mut result = search.result();
    ignored.note(&mut result);
    Ok(result)
}

struct Search {
    pattern: Regex,
    include: Option<GlobMatcher>,
    limit: usize,
    found: usize,
    lines: String,
    protected: usize,
    unreadable: usize,
}

impl Search {
    fn includes(&self, entry: &TreeEntry<'_>, top: &Path) -> bool {
        let below = entry.path.strip_prefix(top).unwrap_or(entry.path);
        self.include.as_ref().is_none_or(|include| include.is_match(below) || include.is_match(entry.path))
    }

    fn is_full(&self) -> bool {
        self.found > self.limit || self.lines.len() > MOST_BYTES
    }

    fn lines_of(&mut self, opened: &mut OpenFile) -> Result<(), FileError> {
        let Ok(content) = opened.read_all() else {
            self.unreadable += 1;
            return Ok(());
        };
        if is_binary(&content) || !self.pattern.is_match(&content) {
            return Ok(());
        }
        for (index, line) in content.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !self.pattern.is_match(line) {
                continue;
            }
            self.found += 1;
            if self.is_full() {
                return Ok(());
            }
            let shown = String::from_utf8_lossy(&line[..line.len().min(LONGEST_LINE)]);
            let cut = if line.len() > LONGEST_LINE { " […]" } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(self.lines, "{}:{}: {shown}{cut}", opened.path.display(), index + 1);
        }
        Ok(())
    }

    fn result(self) -> String {
        let full = self.is_full();
        let mut result = self.lines;
        if full {
            note(&mut result, "there are more; narrow the pattern or the path, or raise the limit");
        } else if self.found == 0 {
            result.push_str("No matches found.");
        }
        if self.protected > 0 {
            note(&mut result, &format!("not searched: {}", plural(self.protected, "protected path")));
        }
        if self.unreadable > 0 {
            note(
                &mut result,
                &format!("not searched: {} too long or not readable", plural(self.unreadable, "file")),
            );
        }
        result
    }
}
