//! Hard links: counts the names of files.
//!
//! A file with two names is in two places. If one of them is outside the workspace, or is protected, then reading the
//! other would be a way there. So a file with several names is read only if all of them are found in the workspace and
//! none is protected.

use std::collections::HashMap;
use std::path::Path;

use rustix::fs::{AtFlags, Stat, statat};

use super::{FileError, FileKind, TreeEntry, Visit, Workspace};

/// More files than this are not gone through to find names.
const MOST_ENTRIES: usize = 500_000;

/// The names that files of several names have in the workspace. Taken when first needed, for one call of a tool.
#[derive(Debug, Default)]
pub(crate) struct HardLinkCensus {
    names: Option<HashMap<(u64, u64), Names>>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Names {
    count: u64,
    protected: bool,
}

impl HardLinkCensus {
    pub(super) fn may_read(
        &mut self,
        workspace: &Workspace,
        path: &Path,
        stat: &Stat,
    ) -> Result<(), FileError> {
        let links = names_of(stat);
        if links <= 1 {
            return Ok(());
        }
        if self.names.is_none() {
            self.names = Some(take(workspace)?);
        }
        let names = self.names.as_ref().and_then(|names| names.get(&(stat.st_dev, stat.st_ino)));
        let names = names.copied().unwrap_or_default();
        let refused = |why| Err(FileError::HardLinks { path: path.to_owned(), links, why });
        if names.protected {
            return refused("one of which is protected");
        }
        if names.count < links {
            return refused("and not all of them are in the workspace");
        }
        Ok(())
    }
}

/// How many names a file has.
#[allow(clippy::useless_conversion, reason = "its type depends on the machine")]
pub(super) fn names_of(stat: &Stat) -> u64 {
    u64::from(stat.st_nlink)
}

fn take(workspace: &Workspace) -> Result<HashMap<(u64, u64), Names>, FileError> {
    let mut names: HashMap<(u64, u64), Names> = HashMap::new();
    let mut seen = 0_usize;
    workspace.walk(".", &mut |entry: TreeEntry<'_>| {
        seen += 1;
        if seen > MOST_ENTRIES {
            return Ok(Visit::Stop);
        }
        if entry.kind == FileKind::File
            && let Ok(stat) = statat(entry.folder, entry.name, AtFlags::SYMLINK_NOFOLLOW)
            && stat.st_nlink > 1
        {
            let names = names.entry((stat.st_dev, stat.st_ino)).or_default();
            names.count += 1;
            names.protected |= entry.protection.is_some_and(|how| how == super::Protection::Secret);
        }
        Ok(Visit::Enter)
    })?;
    Ok(names)
}
