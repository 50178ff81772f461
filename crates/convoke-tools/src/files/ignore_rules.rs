//! Ignore rules of searches: build output, dependencies, whatever `.gitignore` names.
//!
//! Rules are read from `.git/info/exclude`, `.gitignore` and `.ignore` of every folder from the top of the workspace down,
//! through the workspace, so never through links and never from above its top. The `ignore` crate understands the patterns;
//! it must never open or walk anything itself. Files with rules come from anybody, so how much of them is taken is bounded.

use std::io::Read;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::{note, plural};
use crate::workspace::{FileKind, Follow, HardLinkCensus, Protection, TreeEntry, Workspace};

/// Where a folder's rules are. Later files override earlier ones, and folders those above them.
const RULES: [&str; 3] = [".git/info/exclude", ".gitignore", ".ignore"];
/// What is read of one file with rules.
const LONGEST_FILE: usize = 64 << 10;
/// What is read of all files whose rules hold at one place: patterns become programs that are much larger than they are.
const MOST_RULES: usize = 128 << 10;
/// How many paths that were passed over are named.
const MOST_NAMED: usize = 3;

/// The rules that hold where a walk is, and what was passed over for them.
pub(super) struct IgnoreRules<'w> {
    workspace: &'w Workspace,
    census: HardLinkCensus,
    /// The folders from the top to here with their rules. Empty while nothing is ignored.
    levels: Vec<Level>,
    is_off: bool,
    passed: usize,
    named: Vec<String>,
    /// Whether there were more rules than are taken.
    is_cut: bool,
}

struct Level {
    folder: PathBuf,
    rules: Gitignore,
    bytes: usize,
}

impl<'w> IgnoreRules<'w> {
    /// The rules for a search at a place that somebody named. Whoever names what is ignored wants it searched.
    pub(super) fn unless_named(workspace: &'w Workspace, named: &Path) -> Self {
        let mut ignored = Self {
            workspace,
            census: HardLinkCensus::default(),
            levels: Vec::new(),
            is_off: false,
            passed: 0,
            named: Vec::new(),
            is_cut: false,
        };
        let mut above: Vec<&Path> =
            named.ancestors().filter(|folder| !folder.as_os_str().is_empty()).collect();
        above.reverse();
        ignored.is_off = above.into_iter().any(|folder| ignored.is_ignored(folder, FileKind::Folder));
        ignored
    }

    /// No rules: everything is searched.
    pub(super) fn nothing(workspace: &'w Workspace) -> Self {
        Self { is_off: true, ..Self::unless_named(workspace, Path::new("")) }
    }

    /// Whether an entry of a walk is passed over, which is counted. What is protected is not: it is nowhere named.
    pub(super) fn passes_over(&mut self, entry: &TreeEntry<'_>) -> bool {
        let is_secret = entry.protection == Some(Protection::Secret);
        if self.is_off || is_secret || !self.is_ignored(entry.path, entry.kind) {
            return false;
        }
        self.passed += 1;
        if self.named.len() < MOST_NAMED {
            let end = if entry.kind == FileKind::Folder { "/" } else { "" };
            self.named.push(format!("{}{end}", entry.path.display()));
        }
        true
    }

    /// Says what was passed over, and how to see it.
    pub(super) fn note(&self, result: &mut String) {
        if self.passed > 0 {
            let more = if self.passed > self.named.len() { ", …" } else { "" };
            let (count, named) = (plural(self.passed, "ignored path"), self.named.join(", "));
            note(result, &format!("passed over {count} ({named}{more}); `ignored: true` includes them"));
        }
        if self.is_cut {
            note(result, "some ignore rules are too long, and were not applied");
        }
    }

    fn is_ignored(&mut self, path: &Path, kind: FileKind) -> bool {
        self.stand_in(path.parent().unwrap_or(Path::new("")));
        let decided = self.levels.iter().rev().find_map(|level| {
            let below = path.strip_prefix(&level.folder).ok()?;
            let found = level.rules.matched(below, kind == FileKind::Folder);
            (!found.is_none()).then(|| found.is_ignore())
        });
        decided.unwrap_or(false)
    }

    /// Takes the rules of a folder and of all above it, and drops those of others.
    fn stand_in(&mut self, folder: &Path) {
        while self.levels.last().is_some_and(|level| !folder.starts_with(&level.folder)) {
            self.levels.pop();
        }
        let mut missing: Vec<PathBuf> = folder
            .ancestors()
            .take_while(|above| self.levels.last().is_none_or(|level| level.folder != *above))
            .map(Path::to_owned)
            .collect();
        while let Some(folder) = missing.pop() {
            let level = self.read(folder);
            self.levels.push(level);
        }
    }

    fn read(&mut self, folder: PathBuf) -> Level {
        let mut builder = GitignoreBuilder::new("");
        let mut bytes = 0;
        let taken: usize = self.levels.iter().map(|level| level.bytes).sum();
        for name in RULES {
            let Some(text) = self.text(&folder.join(name)) else { continue };
            bytes += text.len();
            if taken + bytes > MOST_RULES {
                self.is_cut = true;
                break;
            }
            self.is_cut |= !add(&mut builder, &text);
        }
        let rules = builder.build().unwrap_or_else(|_| {
            self.is_cut = true;
            Gitignore::empty()
        });
        Level { folder, rules, bytes }
    }

    /// A file with rules, or nothing: whatever is not simply a file that may be read has none.
    fn text(&mut self, path: &Path) -> Option<String> {
        let place = self.workspace.resolve(path, Follow::Nothing).ok()?;
        // Links on the way to it lead elsewhere too: `.git` may be one.
        if place.path != path || place.kind() != Some(FileKind::File) {
            return None;
        }
        let opened = self.workspace.open_place(&place, &mut self.census).ok()?;
        let mut content = Vec::new();
        opened.file.take(LONGEST_FILE as u64 + 1).read_to_end(&mut content).ok()?;
        if content.len() > LONGEST_FILE {
            self.is_cut = true;
            // The line that is cut could mean anything.
            content.truncate(LONGEST_FILE);
            content.truncate(content.iter().rposition(|byte| *byte == b'\n').unwrap_or(0));
        }
        Some(String::from_utf8_lossy(&content).into_owned())
    }
}

/// Adds the rules of a file; says whether all of them could be taken. A line that is no pattern is none for git either.
fn add(builder: &mut GitignoreBuilder, text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (taken, left): (Vec<_>, Vec<_>) = text.lines().partition(|line| super::glob::is_bounded(line));
    for line in taken {
        let _ = builder.add_line(None, line);
    }
    left.is_empty()
}
