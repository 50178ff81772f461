//! The `diff` tool.

use convoke_agent::FunctionTool;
use convoke_core::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use similar::TextDiff;

use super::{HasPath, MOST_BYTES, note, tool};
use crate::workspace::Workspace;

/// Arguments of `diff`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Diff {
    /// The one file, from the top of the workspace.
    file_a: String,
    /// The other file.
    file_b: String,
}

impl HasPath for Diff {
    fn path(&self) -> &str {
        &self.file_a
    }
}

pub(super) fn diff(workspace: &Workspace) -> FunctionTool {
    tool(
        workspace,
        "diff",
        "Compares two text files and gives a unified diff.",
        |workspace, arguments: Diff, _| {
            let one = workspace.open_file(&arguments.file_a)?.read_text()?;
            let other = workspace.open_file(&arguments.file_b)?.read_text()?;
            if one == other {
                return Ok("Files are identical".to_owned());
            }
            let diff = TextDiff::configure()
                .timeout(std::time::Duration::from_secs(5))
                .diff_lines(&one, &other)
                .unified_diff()
                .header(&arguments.file_a, &arguments.file_b)
                .to_string();
            Ok(cut(diff))
        },
        |workspace, arguments| {
            [&arguments.file_a, &arguments.file_b].map(|path| Access::read(workspace.resource(path))).to_vec()
        },
    )
}

fn cut(mut diff: String) -> String {
    if diff.len() > MOST_BYTES {
        let bytes = diff.len();
        diff.truncate(diff.floor_char_boundary(MOST_BYTES));
        note(&mut diff, &format!("cut: the whole diff has {bytes} bytes"));
    }
    diff
}
