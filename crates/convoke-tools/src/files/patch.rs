//! The `patch` tool: applies a unified diff, all of it or nothing.

use convoke_agent::FunctionTool;
use convoke_core::{Access, Reconciliation, Repeat, ToolEffect};
use schemars::JsonSchema;
use serde::Deserialize;

use super::preimage::{change, changed, with_preimage};
use super::unified::Patch as Unified;
use super::{HasPath, plural, tool};
use crate::workspace::{Existing, FileError, Follow, Workspace};

/// Arguments of `patch`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Patch {
    /// The file to change, from the top of the workspace. The names inside the patch are not looked at.
    path: String,
    /// A unified diff for this one file.
    patch: String,
}

impl HasPath for Patch {
    fn path(&self) -> &str {
        &self.path
    }
}

pub(super) fn patch(workspace: &Workspace) -> FunctionTool {
    let tool = tool(
        workspace,
        "patch",
        "Applies a unified diff to a file. Either every hunk fits and all are applied, or the file stays as it is.",
        |workspace, arguments: Patch, _| apply(workspace, &arguments),
        |workspace, arguments| vec![Access::write(workspace.resource(&arguments.path))],
    )
    .effects([ToolEffect::Writes])
    .repeat(Repeat::Never);
    let look = |workspace: &Workspace, arguments: &Patch| {
        let content = before(workspace, &arguments.path)?;
        let after = Unified::parse(&arguments.patch).and_then(|patch| patch.apply(&content));
        Ok(change(&content, &after.map_err(FileError::Unfit)?))
    };
    with_preimage(tool, workspace, look, |workspace, arguments: &Patch, seen| {
        let Ok(patch) = Unified::parse(&arguments.patch) else { return Ok(Reconciliation::NotDone) };
        let content = before(workspace, &arguments.path)?;
        if let Some(seen) = seen {
            return Ok(changed(seen, &content, || format!("patched {}", arguments.path)));
        }
        Ok(match (patch.apply(&content).is_ok(), patch.reversed().apply(&content).is_ok()) {
            (true, false) => Reconciliation::NotDone,
            (false, true) => Reconciliation::Done(format!("patched {}", arguments.path)),
            _ => Reconciliation::Unknown,
        })
    })
}

fn apply(workspace: &Workspace, arguments: &Patch) -> Result<String, FileError> {
    let path = &arguments.path;
    let unfit = |why: String| FileError::Unfit(format!("{path} was not changed: {why}"));
    let patch = Unified::parse(&arguments.patch).map_err(unfit)?;
    let _alone = workspace.changing();
    let after = patch.apply(&before(workspace, path)?).map_err(unfit)?;
    workspace.write_file(path, after.as_bytes(), Existing::Replace)?;
    Ok(format!("applied {} to {path}", plural(patch.hunks(), "hunk")))
}

/// What is there now; a file that is to be made is empty.
fn before(workspace: &Workspace, path: &str) -> Result<String, FileError> {
    let place = workspace.resolve(path, Follow::Links)?;
    match place.kind() {
        None => Ok(String::new()),
        Some(_) => {
            workspace.open_place(&place, &mut crate::workspace::HardLinkCensus::default())?.read_text()
        }
    }
}
