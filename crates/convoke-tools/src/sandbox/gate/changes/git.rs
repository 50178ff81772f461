//! Changes in repositories' own folders, in words: settings that come out, where `HEAD` is, branches and tags.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::Path;

use super::super::judge::{Candidate, read};
use super::Changes;
use super::one::{Change, Changed};
use super::words::plain;
use crate::repository::{Config, Setting};

/// So many settings of a file are named.
const MOST_SETTINGS: usize = 100;
/// So much of a value is shown.
const LONGEST: usize = 200;

/// Whether a change of a file in a folder of git's is told by itself: the rest is data that nobody reads.
pub(super) fn is_told(git: &Path) -> bool {
    let mut names = git.iter();
    let first = names.next().unwrap_or_default();
    // A working tree or a module has a folder like its repository's.
    if first == "worktrees" || first == "modules" {
        return names.next().is_some() && is_told(names.as_path());
    }
    first == "refs" || matches!(git.to_str(), Some("HEAD" | "packed-refs" | "config" | "config.worktree"))
}

impl Changes {
    /// A setting is named with what it was and what it becomes.
    pub(super) fn settings(&mut self, judged: &Candidate<'_>, content: &[u8], is_new_repository: bool) {
        let before = judged.before.filter(|_| !is_new_repository);
        let before = before.and_then(|folder| read(folder, judged.name));
        let before = before.and_then(|content| Config::read(&content)).unwrap_or_default();
        let after = Config::read(content).unwrap_or_default();
        let names: BTreeSet<String> = before.settings.iter().chain(&after.settings).map(name).collect();
        let change = if judged.before.is_some() { Change::Changed } else { Change::Made };
        let mut changed = Changed::new(judged.path, change);
        for key in names {
            let (was, is) = (values(&before, &key), values(&after, &key));
            match (was.is_empty(), is.is_empty()) {
                _ if was == is => {}
                (true, _) => changed.lines.push(format!("{key} = {is}")),
                (_, true) => changed.lines.push(format!("{key} is removed (was {was})")),
                _ => changed.lines.push(format!("{key}: {was} → {is}")),
            }
        }
        if let Some(more) = changed.lines.len().checked_sub(MOST_SETTINGS).filter(|more| *more > 0) {
            changed.lines.truncate(MOST_SETTINGS);
            changed.lines.push(format!("… and {more} more settings"));
        }
        self.add(changed);
    }

    /// Where a branch, a tag or `HEAD` is, and was.
    pub(super) fn reference(&mut self, judged: &Candidate<'_>) {
        let is = |folder: &OwnedFd| {
            let content = read(folder, judged.name).unwrap_or_default();
            let text = String::from_utf8_lossy(&content);
            let line = text.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
            short(line)
        };
        let is_list = judged.name == "packed-refs";
        let was = judged.before.filter(|_| !is_list).map(|folder| format!("{} → ", is(folder)));
        let mut changed = Changed::of(judged);
        // Its content is one line, or too long a list to be read.
        let content = changed.content.take();
        let says = match is_list {
            true => format!("{} bytes, not shown", content.map_or(0, |content| content.after.0)),
            false => format!("{}{}", was.unwrap_or_default(), is(judged.folder)),
        };
        self.add(changed.saying(says));
    }
}

fn name(setting: &Setting) -> String {
    let sub = setting.subsection.as_ref().map(|sub| format!(".{sub}")).unwrap_or_default();
    plain(&format!("{}{sub}.{}", setting.section, setting.key))
}

fn values(config: &Config, key: &str) -> String {
    let own = config.settings.iter().filter(|setting| name(setting) == key);
    let all: Vec<String> = own.map(|setting| short(setting.value.as_deref().unwrap_or("true"))).collect();
    all.join(", ")
}

fn short(text: &str) -> String {
    plain(&convoke_text::one_line_of(text, LONGEST))
}
