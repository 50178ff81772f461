//! The `write` tool.

use convoke_agent::FunctionTool;
use convoke_core::{Access, Repeat, ToolEffect};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{HasPath, tool};
use crate::workspace::{Existing, Workspace, WriteOutcome};

/// Arguments of `write`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Write {
    /// The file, from the top of the workspace. Missing folders are made.
    path: String,
    /// All that the file shall contain.
    content: String,
}

impl HasPath for Write {
    fn path(&self) -> &str {
        &self.path
    }
}

pub(super) fn write(workspace: &Workspace) -> FunctionTool {
    tool(
        workspace,
        "write",
        "Writes a file: makes it, or replaces all of its content at once. To change a part of a file, use edit.",
        |workspace, arguments: Write, _| {
            let _alone = workspace.changing();
            let bytes = arguments.content.len();
            Ok(match workspace.write_file(&arguments.path, arguments.content.as_bytes(), Existing::Replace)? {
                WriteOutcome::Made => format!("made {} ({bytes} bytes)", arguments.path),
                WriteOutcome::Replaced => format!("replaced {} ({bytes} bytes)", arguments.path),
            })
        },
        |workspace, arguments| vec![Access::write(workspace.resource(&arguments.path))],
    )
    .effects([ToolEffect::Writes])
    // The same content again is the same file.
    .repeat(Repeat::Safe)
}
