//! The `edit` tool: replaces one text in a file by another.

use convoke_agent::FunctionTool;
use convoke_core::{Access, Reconciliation, Repeat, ToolEffect};
use schemars::JsonSchema;
use serde::Deserialize;

use super::preimage::{change, changed, with_preimage};
use super::{HasPath, plural, tool};
use crate::workspace::{Existing, FileError, Workspace};

/// The longest file that comes of it, in bytes.
const LONGEST: usize = 16 << 20;

/// Arguments of `edit`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// The file, from the top of the workspace.
    path: String,
    /// The text to be replaced, exactly as it stands in the file. It must be there once, unless `all` is said.
    old: String,
    /// The text to put there.
    new: String,
    /// Replace every occurrence.
    #[serde(default)]
    all: bool,
}

impl HasPath for Edit {
    fn path(&self) -> &str {
        &self.path
    }
}

pub(super) fn edit(workspace: &Workspace) -> FunctionTool {
    let tool = tool(
        workspace,
        "edit",
        "Replaces a text in a file. The text must match exactly and be unique; give more of the lines around it if it is \
         not.",
        |workspace, arguments: Edit, _| replace(workspace, &arguments),
        |workspace, arguments| vec![Access::write(workspace.resource(&arguments.path))],
    )
    .effects([ToolEffect::Writes])
    .repeat(Repeat::Never);
    let look = |workspace: &Workspace, arguments: &Edit| {
        let content = workspace.open_file(&arguments.path)?.read_text()?;
        let (after, _) = edited(&content, arguments)?;
        Ok(change(&content, &after))
    };
    with_preimage(tool, workspace, look, |workspace, arguments: &Edit, before| {
        let content = workspace.open_file(&arguments.path)?.read_text()?;
        let done = || format!("edited {}", arguments.path);
        if let Some(before) = before {
            return Ok(changed(before, &content, done));
        }
        // Nothing was kept: it is clear only if one of the texts is there and the other is not, and there are both.
        let (old, new) = (content.contains(&arguments.old), content.contains(&arguments.new));
        Ok(match (old, new) {
            _ if arguments.new.is_empty() => Reconciliation::Unknown,
            (true, false) => Reconciliation::NotDone,
            (false, true) => Reconciliation::Done(done()),
            _ => Reconciliation::Unknown,
        })
    })
}

fn replace(workspace: &Workspace, arguments: &Edit) -> Result<String, FileError> {
    let Edit { path, old, new, .. } = arguments;
    if old.is_empty() {
        return Err(FileError::Unfit(
            "`old` is empty; say which text to replace, or use write to make a file".to_owned(),
        ));
    }
    if old == new {
        return Err(FileError::Unfit("`old` and `new` are the same: nothing to do".to_owned()));
    }
    let _alone = workspace.changing();
    let content = workspace.open_file(path)?.read_text()?;
    let (after, places) = edited(&content, arguments)?;
    workspace.write_file(path, after.as_bytes(), Existing::Replace)?;
    Ok(format!("replaced {} in {path}, {}", plural(places.len(), "occurrence"), at_lines(&places)))
}

/// What comes of a file's content, and the lines at which it is changed.
fn edited(content: &str, arguments: &Edit) -> Result<(String, Vec<usize>), FileError> {
    let Edit { path, old, new, all } = arguments;
    let places = lines_of(content, old);
    match places.len() {
        0 => return Err(FileError::Unfit(not_found(path, content, old))),
        1 => {}
        _ if *all => {}
        count => {
            return Err(FileError::Unfit(format!(
                "`old` is in {path} {count} times, {}; give more of the lines around the one that is meant, or say \
                 `all`",
                at_lines(&places)
            )));
        }
    }
    let left = content.len() - places.len() * old.len();
    if places.len().saturating_mul(new.len()).saturating_add(left) > LONGEST {
        return Err(FileError::Unfit(format!(
            "{path} was not changed: {} replaced would make it longer than {LONGEST} bytes",
            plural(places.len(), "occurrence")
        )));
    }
    Ok((content.replace(old.as_str(), new), places))
}

/// The lines that a text begins at, each time it is there. Counted on from the one before: there may be millions.
fn lines_of(content: &str, text: &str) -> Vec<usize> {
    let (mut line, mut counted) = (1, 0);
    let places = content.match_indices(text).map(|(at, _)| {
        line += content[counted..at].bytes().filter(|byte| *byte == b'\n').count();
        counted = at;
        line
    });
    places.collect()
}

fn at_lines(places: &[usize]) -> String {
    let shown: Vec<String> = places.iter().take(20).map(ToString::to_string).collect();
    let more = if places.len() > 20 { " and more" } else { "" };
    format!("at line{} {}{more}", if places.len() == 1 { "" } else { "s" }, shown.join(", "))
}

/// Says what is there instead: usually it is white space that differs.
fn not_found(path: &str, content: &str, old: &str) -> String {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = old.lines().map(squeezed).find(|line| !line.is_empty()).unwrap_or_default();
    let near: Vec<usize> = content
        .lines()
        .enumerate()
        .filter(|(_, line)| !first.is_empty() && squeezed(line).contains(&first))
        .map(|(index, _)| index + 1)
        .collect();
    let hint = if near.is_empty() {
        "read the file and copy the text from it".to_owned()
    } else {
        format!(
            "its first line is there but for white space or what follows, {}; read it and copy it",
            at_lines(&near)
        )
    };
    format!("`old` is not in {path}: {hint}")
}
