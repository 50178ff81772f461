//! The changes of a command, for a person to read before they come out.
//!
//! Whoever looks at it must not be blinded: what is done to something that was there before is always listed, and comes first;
//! of what is new the uppermost comes first, and what is not listed is counted; whatever is not shown says so, with its size.
//! A command that does more to what was there than a person can read has nothing come out.
//!
//! | file | what it is for |
//! |---|---|
//! | `walk` | the changes, path by path, as the gate will judge them |
//! | `one` | what is to be known of one of them |
//! | `git` | changes in repositories' own folders, in words |
//! | `diff` | the changes inside of texts |
//! | `words` | all of it as text |

mod diff;
mod git;
mod one;
mod walk;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, openat};

use self::one::{Change, Changed};
use self::walk::Place;
use super::{FOLDER, Gate, Refusal, Refused, why_nothing_is_removed};
use crate::workspace::FileError;

/// So much that was there before may be changed or removed: more is not read by anybody.
const MOST_EXISTING: usize = 2_000;
/// So much of what is new is listed.
const MOST_NEW: usize = 1_000;

/// What a command has changed.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// What was there before, by its path.
    existing: Vec<Changed>,
    /// What is new, the uppermost first.
    new: Vec<Changed>,
    /// How much more is new, by the uppermost folders it is in.
    more_new: BTreeMap<PathBuf, usize>,
    /// Changes of repositories' own data, which nobody reads, by what they are.
    data: BTreeMap<String, usize>,
    /// What will not come out, whatever a person says.
    refused: Vec<Refusal>,
    /// The changes inside of texts.
    texts: String,
    /// Knows the same changes again.
    hash: blake3::Hasher,
}

impl Changes {
    /// Reads what is in the upper layer of a view. `None` if nothing of it could come out.
    pub(in super::super) fn read(gate: &Gate<'_>, upper: &Path) -> Result<Option<Self>, FileError> {
        let failed = |errno| FileError::io("look at the changes in", Path::new(""), errno);
        let upper = openat(CWD, upper, FOLDER, Mode::empty()).map_err(failed)?;
        let lower = openat(&**gate.workspace.root(), ".", FOLDER, Mode::empty()).map_err(failed)?;
        let mut changes = Self::default();
        changes.folder(gate, &Place::top(&upper, &lower));
        changes.existing.sort_by(|one, other| one.path.cmp(&other.path));
        changes.thin_out(MOST_NEW);
        if changes.too_much().is_none() {
            changes.keep_removed();
            changes.show_texts(&upper, &lower);
        }
        let is_nothing = changes.existing.is_empty() && changes.new.is_empty() && changes.data.is_empty();
        Ok((!is_nothing).then_some(changes))
    }

    /// Leaves out what is removed, where the gate will keep it.
    fn keep_removed(&mut self) {
        let Some(why) = why_nothing_is_removed(&self.refused) else { return };
        let is_removed = |changed: &mut Changed| changed.change == Change::Removed;
        let kept = self.existing.extract_if(.., is_removed);
        self.refused.extend(kept.map(|kept| Refusal {
            path: kept.path,
            why: why.clone(),
            what: Refused::Kept,
        }));
    }

    /// Why nobody can look at it, if it is too much.
    pub(crate) fn too_much(&self) -> Option<String> {
        let existing = self.existing.len();
        (existing > MOST_EXISTING).then(|| {
            format!(
                "the policy has changes reviewed, and more than {MOST_EXISTING} files and folders that were there before were \
                 changed or removed, which nobody can look through; do it in smaller parts"
            )
        })
    }

    /// The paths that are listed.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.existing.iter().chain(&self.new).map(|changed| &*changed.path)
    }

    /// What the same changes have in common, and others do not.
    pub(crate) fn digest(&self) -> String {
        self.hash.finalize().to_hex()[..32].to_owned()
    }

    fn add(&mut self, changed: Changed) {
        self.remember(&changed);
        if changed.change != Change::Made {
            // One more than may be says that it is too much.
            if self.existing.len() <= MOST_EXISTING {
                self.existing.push(changed);
            }
            return;
        }
        self.new.push(changed);
        if self.new.len() >= 2 * MOST_NEW {
            self.thin_out(MOST_NEW);
        }
    }

    /// Keeps so much of what is new, the uppermost, and counts the rest.
    fn thin_out(&mut self, most: usize) {
        self.new.sort_by(|one, other| one.depth_and_path().cmp(&other.depth_and_path()));
        let kept = self.new.len().min(most);
        for left_out in self.new.split_off(kept) {
            let top = left_out.path.iter().next().map(PathBuf::from).unwrap_or_default();
            *self.more_new.entry(top).or_default() += 1;
        }
    }

    fn remember(&mut self, changed: &Changed) {
        let Changed { path, change, details, content, .. } = changed;
        let text = format!("{}\0{change:?}\0{details:?}\0{content:?}\0", path.display());
        self.hash.update(text.as_bytes());
    }
}
