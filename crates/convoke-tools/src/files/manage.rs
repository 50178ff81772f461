//! The `mkdir`, `mv`, `cp` and `rm` tools.

use convoke_agent::FunctionTool;
use convoke_core::{Access, Reconciliation, Repeat, ToolEffect};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::preimage::{content_at, identity_at, with_preimage};
use super::{HasPath, plural, tool};
use crate::blocking::CancelFlag;
use crate::workspace::{
    Existing, FileError, FileKind, Follow, HardLinkCensus, Protection, TreeEntry, Visit, Workspace, shown,
};

/// The most files that are copied at once.
const MOST_COPIED: usize = 10_000;

/// Arguments of `mkdir`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Make {
    /// The folder, from the top of the workspace. Those above it are made too.
    path: String,
}

/// Arguments of `mv` and `cp`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Transfer {
    /// What, from the top of the workspace.
    source: String,
    /// Where to. If it is a folder, into it, under the same name.
    destination: String,
    /// Replace a file that is there.
    #[serde(default)]
    replace: bool,
}

/// Arguments of `rm`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Remove {
    /// What to remove, from the top of the workspace.
    path: String,
    /// Remove a folder with everything in it.
    #[serde(default)]
    recursive: bool,
}

impl HasPath for Make {
    fn path(&self) -> &str {
        &self.path
    }
}

impl HasPath for Transfer {
    fn path(&self) -> &str {
        &self.source
    }
}

impl HasPath for Remove {
    fn path(&self) -> &str {
        &self.path
    }
}

impl Transfer {
    fn existing(&self) -> Existing {
        if self.replace { Existing::Replace } else { Existing::Keep }
    }
}

pub(super) fn mkdir(workspace: &Workspace) -> FunctionTool {
    tool(
        workspace,
        "mkdir",
        "Makes a folder, and those above it. One that is there already is fine.",
        |workspace, arguments: Make, _| {
            let _alone = workspace.changing();
            let made = workspace.make_folders(&arguments.path)?;
            Ok(format!("{} {}", arguments.path, if made { "made" } else { "was there already" }))
        },
        |workspace, arguments| vec![Access::write(workspace.resource(&arguments.path))],
    )
    .effects([ToolEffect::Writes])
    .repeat(Repeat::Safe)
}

pub(super) fn mv(workspace: &Workspace) -> FunctionTool {
    let tool = tool(
        workspace,
        "mv",
        "Moves or renames a file or a folder. What is at the destination stays, unless `replace` is said.",
        |workspace, arguments: Transfer, _| {
            let _alone = workspace.changing();
            let path = workspace.rename(&arguments.source, &arguments.destination, arguments.existing())?;
            Ok(format!("moved {} to {}", arguments.source, shown(&path)))
        },
        |workspace, arguments| {
            [&arguments.source, &arguments.destination]
                .map(|path| Access::write(workspace.resource_tree(path)))
                .to_vec()
        },
    )
    .effects([ToolEffect::Writes])
    .repeat(Repeat::Never);
    let look = |workspace: &Workspace, arguments: &Transfer| {
        let target = target(workspace, arguments)?;
        let (from, to) = (identity_at(workspace, &arguments.source)?, identity_at(workspace, &target)?);
        Ok(json!({"path": target, "from": from, "to": to}))
    };
    with_preimage(tool, workspace, look, |workspace, arguments: &Transfer, seen| {
        if let Some(seen) = seen {
            let from = identity_at(workspace, &arguments.source)?;
            let to = identity_at(workspace, seen["path"].as_str().unwrap_or_default())?;
            return Ok(if from == seen["from"] && to == seen["to"] {
                Reconciliation::NotDone
            } else if from.is_null() && to == seen["from"] {
                Reconciliation::Done(format!("moved {} to {}", arguments.source, arguments.destination))
            } else {
                Reconciliation::Unknown
            });
        }
        let there = |path: &str| workspace.resolve(path, Follow::Nothing).map(|place| place.kind());
        Ok(match (there(&arguments.source)?, there(&arguments.destination)?) {
            (Some(_), None) => Reconciliation::NotDone,
            (None, Some(kind)) if kind != FileKind::Folder => {
                Reconciliation::Done(format!("moved {} to {}", arguments.source, arguments.destination))
            }
            _ => Reconciliation::Unknown,
        })
    })
}

pub(super) fn cp(workspace: &Workspace) -> FunctionTool {
    let tool = tool(
        workspace,
        "cp",
        "Copies a file, or a folder with everything in it. What is at the destination stays, unless `replace` is said.",
        |workspace, arguments: Transfer, cancel| copy(workspace, &arguments, cancel),
        |workspace, arguments| {
            vec![
                Access::read(workspace.resource_tree(&arguments.source)),
                Access::write(workspace.resource_tree(&arguments.destination)),
            ]
        },
    )
    .effects([ToolEffect::Writes])
    .repeat(Repeat::Never);
    let look = |workspace: &Workspace, arguments: &Transfer| {
        let target = target(workspace, arguments)?;
        let (from, to) = (content_at(workspace, &arguments.source)?, content_at(workspace, &target)?);
        Ok(json!({"path": target, "from": from, "to": to}))
    };
    with_preimage(tool, workspace, look, |workspace, arguments: &Transfer, seen| {
        // A folder has no content of its own: of its files some may have been copied.
        if let Some(seen) = seen.filter(|seen| !seen["from"].is_null()) {
            let to = content_at(workspace, seen["path"].as_str().unwrap_or_default())?;
            return Ok(if to == seen["from"] {
                Reconciliation::Done(format!("copied {} to {}", arguments.source, arguments.destination))
            } else if to == seen["to"] {
                Reconciliation::NotDone
            } else {
                Reconciliation::Unknown
            });
        }
        let there = workspace.resolve(&arguments.destination, Follow::Links)?.kind();
        Ok(if there.is_none() { Reconciliation::NotDone } else { Reconciliation::Unknown })
    })
}

pub(super) fn rm(workspace: &Workspace) -> FunctionTool {
    let tool = tool(
        workspace,
        "rm",
        "Removes a file, a link or an empty folder; a folder with everything in it only if `recursive` is said. What is \
         removed cannot be brought back.",
        |workspace, arguments: Remove, _| {
            let _alone = workspace.changing();
            let removed = workspace.remove(&arguments.path, arguments.recursive)?;
            let with = if removed > 1 { format!(" ({removed} entries in all)") } else { String::new() };
            Ok(format!("removed {}{with}", arguments.path))
        },
        |workspace, arguments| vec![Access::write(workspace.resource_tree(&arguments.path))],
    )
    .effects([ToolEffect::Writes, ToolEffect::Irreversible])
    .repeat(Repeat::Never);
    let look = |workspace: &Workspace, arguments: &Remove| identity_at(workspace, &arguments.path);
    with_preimage(tool, workspace, look, |workspace, arguments: &Remove, seen| {
        let now = identity_at(workspace, &arguments.path)?;
        let done = || Reconciliation::Done(format!("removed {}", arguments.path));
        Ok(match seen {
            Some(seen) if *seen == now => Reconciliation::NotDone,
            Some(_) | None if now.is_null() => done(),
            // Another may have been made there since, or a part of it is gone.
            Some(_) | None => Reconciliation::Unknown,
        })
    })
}

/// What a file or folder will be called once it is moved or copied.
fn target(workspace: &Workspace, arguments: &Transfer) -> Result<String, FileError> {
    let target = workspace.resolve(&arguments.destination, Follow::Links)?;
    let source = workspace.resolve(&arguments.source, Follow::Nothing)?;
    let path = match (target.kind(), source.path.file_name()) {
        (Some(FileKind::Folder), Some(name)) => target.path.join(name),
        _ => target.path,
    };
    Ok(path.display().to_string())
}

fn copy(workspace: &Workspace, arguments: &Transfer, cancel: &CancelFlag) -> Result<String, FileError> {
    let _alone = workspace.changing();
    let source = workspace.resolve(&arguments.source, Follow::Links)?;
    let mut target = workspace.resolve(&arguments.destination, Follow::Links)?;
    if target.kind() == Some(FileKind::Folder)
        && let Some(name) = source.path.file_name()
    {
        target = workspace.resolve(target.path.join(name), Follow::Links)?;
    }
    let mut census = HardLinkCensus::default();
    let destination = target.path.clone();
    if source.kind() != Some(FileKind::Folder) {
        workspace.copy_file(&source, target, arguments.existing(), &mut census)?;
        return Ok(format!("copied {} to {}", arguments.source, shown(&destination)));
    }
    workspace.protected().may_read(&source.path)?;
    workspace.may_change(&destination)?;
    if destination.starts_with(&source.path) {
        return Err(FileError::Unfit(format!("`{}` cannot be copied into itself", arguments.source)));
    }
    // What is read-only may be read; a copy of git's configuration under another name is just a file.
    workspace.nothing_protected_in(&source, "copy", |how| how == Protection::Secret)?;
    let mut files = Vec::new();
    workspace.walk_place(&source, &mut |entry: TreeEntry<'_>| {
        if entry.kind == FileKind::File {
            files.push(entry.path.to_owned());
        }
        Ok(if files.len() > MOST_COPIED { Visit::Stop } else { Visit::Enter })
    })?;
    if files.len() > MOST_COPIED {
        return Err(FileError::Unfit(format!(
            "there are more than {MOST_COPIED} files in it; copy a part of it"
        )));
    }
    let copies: Vec<_> = files
        .iter()
        .map(|path| (path, destination.join(path.strip_prefix(&source.path).unwrap_or(path))))
        .collect();
    for (_, to) in &copies {
        workspace.may_change(to)?;
    }
    workspace.make_folders(&destination)?;
    for (path, to) in copies {
        if cancel.is_cancelled() {
            return Err(FileError::GivenUp);
        }
        let from = workspace.resolve(path, Follow::Nothing)?;
        workspace.copy_file(
            &from,
            workspace.resolve(&to, Follow::Links)?,
            arguments.existing(),
            &mut census,
        )?;
    }
    Ok(format!("copied {} to {} ({})", arguments.source, shown(&destination), plural(files.len(), "file")))
}
