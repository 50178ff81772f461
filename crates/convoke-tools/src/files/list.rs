//! The `ls` and `tree` tools.

use std::fmt::Write;

use convoke_agent::FunctionTool;
use convoke_core::Access;
use rustix::fs::{AtFlags, statat};
use schemars::JsonSchema;
use serde::Deserialize;

use super::ignore_rules::IgnoreRules;
use super::{HasPath, MOST_BYTES, note, tool};
use crate::blocking::CancelFlag;
use crate::workspace::{FileError, FileKind, Follow, Protection, TreeEntry, Visit, Workspace};

/// The most entries that are listed.
const MOST_ENTRIES: usize = 1_000;

/// Arguments of `ls`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// The folder, from the top of the workspace.
    #[serde(default = "crate::workspace::top")]
    path: String,
}

/// Arguments of `tree`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Tree {
    /// The folder, from the top of the workspace.
    #[serde(default = "crate::workspace::top")]
    path: String,
    /// How many levels to show.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 20))]
    depth: usize,
    /// Show what `.gitignore` names too.
    #[serde(default)]
    ignored: bool,
}

fn three() -> usize {
    3
}

impl HasPath for List {
    fn path(&self) -> &str {
        &self.path
    }
}

impl HasPath for Tree {
    fn path(&self) -> &str {
        &self.path
    }
}

pub(super) fn ls(workspace: &Workspace) -> FunctionTool {
    tool(
        workspace,
        "ls",
        "Lists a folder: a line for each entry, sorted, folders with `/`, files with their size in bytes.",
        |workspace, arguments: List, cancel| {
            list(workspace, &arguments.path, 1, Hidden::Shown, &mut IgnoreRules::nothing(workspace), cancel)
        },
        |workspace, arguments| vec![Access::read(workspace.resource_tree(&arguments.path))],
    )
}

pub(super) fn tree(workspace: &Workspace) -> FunctionTool {
    tool(
        workspace,
        "tree",
        "Shows a folder and what is beneath it, indented, to a depth. Names that begin with a dot, and what `.gitignore` names, \
         are left out.",
        |workspace, arguments: Tree, cancel| {
            let mut ignored = match arguments.ignored {
                true => IgnoreRules::nothing(workspace),
                false => IgnoreRules::unless_named(
                    workspace,
                    &workspace.resolve(&arguments.path, Follow::Links)?.path,
                ),
            };
            list(workspace, &arguments.path, arguments.depth, Hidden::LeftOut, &mut ignored, cancel)
        },
        |workspace, arguments| vec![Access::read(workspace.resource_tree(&arguments.path))],
    )
}

#[derive(Clone, Copy, PartialEq)]
enum Hidden {
    Shown,
    LeftOut,
}

fn list(
    workspace: &Workspace,
    path: &str,
    depth: usize,
    hidden: Hidden,
    ignored: &mut IgnoreRules<'_>,
    cancel: &CancelFlag,
) -> Result<String, FileError> {
    let (mut result, mut count, mut more) = (String::new(), 0_usize, false);
    workspace.walk(path, &mut |entry: TreeEntry<'_>| {
        if cancel.is_cancelled() {
            return Err(FileError::GivenUp);
        }
        if hidden == Hidden::LeftOut && entry.name.as_encoded_bytes().starts_with(b".") {
            return Ok(Visit::Pass);
        }
        if ignored.passes_over(&entry) {
            return Ok(Visit::Pass);
        }
        count += 1;
        if count > MOST_ENTRIES || result.len() > MOST_BYTES {
            more = true;
            return Ok(Visit::Stop);
        }
        let indent = "  ".repeat(entry.depth - 1);
        // Writing to a string cannot fail.
        let _ = writeln!(result, "{indent}{}{}", entry.name.display(), about(&entry));
        let secret = entry.protection == Some(Protection::Secret);
        Ok(if entry.depth < depth && !secret { Visit::Enter } else { Visit::Pass })
    })?;
    if more {
        note(&mut result, &format!("more than {} entries; list a folder inside", count - 1));
    } else if count == 0 {
        note(&mut result, "the folder is empty");
    }
    ignored.note(&mut result);
    Ok(result)
}

fn about(entry: &TreeEntry<'_>) -> String {
    let protected = match entry.protection {
        Some(Protection::Secret) => "  (protected)",
        _ => "",
    };
    match entry.kind {
        FileKind::Folder => format!("/{protected}"),
        FileKind::Link => format!("  (link){protected}"),
        FileKind::Other(kind) => format!("  ({kind})"),
        FileKind::File if protected.is_empty() => {
            let size = statat(entry.folder, entry.name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| stat.st_size);
            size.map_or(String::new(), |bytes| format!("  {bytes}"))
        }
        FileKind::File => protected.to_owned(),
    }
}
