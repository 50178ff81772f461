//! The changes inside of texts, as far as there is room for them. What is not shown says so.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, openat};

use super::super::FOLDER;
use super::Changes;
use super::one::{Change, Changed};
use super::words::{plain, size};
use crate::workspace::shown;

/// So much is shown of what changed in files that were there, in bytes, and of one of them.
const OF_EXISTING: Room = Room { all: 48 << 10, each: 8 << 10 };
/// So much is shown of new files, and of one of them.
const OF_NEW: Room = Room { all: 16 << 10, each: 4 << 10 };
/// Files that are longer are not compared.
const LONGEST: u64 = 256 << 10;
/// So long two texts are compared.
const PATIENCE: Duration = Duration::from_millis(500);

#[derive(Clone, Copy)]
struct Room {
    all: usize,
    each: usize,
}

impl Changes {
    /// Shows what changed in texts: first in those that were there.
    pub(super) fn show_texts(&mut self, upper: &OwnedFd, lower: &OwnedFd) {
        for (list, mut room) in [(&mut self.existing, OF_EXISTING), (&mut self.new, OF_NEW)] {
            for changed in list.iter_mut() {
                let Some(content) = changed.content else { continue };
                if content.before == Some(content.after) {
                    continue;
                }
                let text = of(changed, upper, lower).filter(|_| room.all > 0);
                match text {
                    Some(text) => {
                        let kept = cut(text, room.each.min(room.all), &changed.path);
                        room.all = room.all.saturating_sub(kept.len());
                        self.texts.push_str(&kept);
                    }
                    None if content.after.0 == 0 && content.before.is_none() => {}
                    None => changed.details.push(format!("not shown: {}", size(content.after.0))),
                }
            }
        }
    }
}

/// What changed in a text, if it is one.
fn of(changed: &Changed, upper: &OwnedFd, lower: &OwnedFd) -> Option<String> {
    let content = changed.content?;
    let after = text(upper, &changed.path)?;
    let before = match (content.before, changed.change) {
        (Some(_), Change::Changed) => text(lower, &changed.path)?,
        _ => String::new(),
    };
    let name = plain(&shown(&changed.path));
    let lines = similar::TextDiff::configure().timeout(PATIENCE).diff_lines(&*before, &*after);
    let mut unified = lines.unified_diff();
    let diff = unified.context_radius(2).header(&format!("a/{name}"), &format!("b/{name}")).to_string();
    (!diff.is_empty()).then_some(diff)
}

/// As many lines of a difference as there is room for, and how many more there are.
fn cut(text: String, room: usize, path: &Path) -> String {
    if text.len() <= room {
        return text;
    }
    let mut kept = String::new();
    let mut lines = text.split_inclusive('\n');
    let mut left = 0;
    for line in lines.by_ref() {
        if kept.len() + line.len() > room {
            left = 1;
            break;
        }
        kept.push_str(line);
    }
    left += lines.count();
    let name = plain(&shown(path));
    let more = if left == 1 { "1 more line".to_owned() } else { format!("{left} more lines") };
    kept + &format!("… not shown: {more} of changes in {name}\n")
}

/// What is in a file, if it is a text that is not too long. No link is followed on the way to it.
fn text(top: &OwnedFd, path: &Path) -> Option<String> {
    const FILE: OFlags =
        OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
    let mut folder = openat(top, ".", FOLDER, Mode::empty()).ok()?;
    for name in path.parent()?.iter() {
        folder = openat(&folder, name, FOLDER, Mode::empty()).ok()?;
    }
    let file = File::from(openat(&folder, path.file_name()?, FILE, Mode::empty()).ok()?);
    let mut content = Vec::new();
    let is_whole = file.take(LONGEST + 1).read_to_end(&mut content).ok()? as u64 <= LONGEST;
    String::from_utf8(content).ok().filter(|text| is_whole && !text.contains('\0'))
}
