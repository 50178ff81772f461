//! Permitted settings of a file that comes with a project: it is refused what only the user may decide.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use convoke_models::choose::header;

use crate::problem::{Problem, Problems};
use crate::schema::{MergeRule, path};
use crate::{Setting, Value};

/// Whether whoever says this may say it. A folder's file may have come with somebody else's project.
pub(crate) fn may(setting: &Setting, decided: &HashSet<String>, problems: &mut Problems) -> bool {
    let Some(file) = setting.origin.folder_file() else { return true };
    let name = &setting.name;
    let variable = setting.key.variables.first().copied().unwrap_or_default();
    let refused = match setting.key.merge {
        MergeRule::UserOnly => {
            Some(format!("`{name}` counts only in your own file; this one may have come with the project"))
        }
        MergeRule::EnableByUserOnly if setting.value == Value::Flag(true) => {
            Some(format!("only you can turn `{name}` on; this file may have come with the project"))
        }
        _ if name == path::WORKSPACE_PATH && !is_inside(&setting.value, file) => {
            Some("`workspace.path` leads out of the folder, which only you can allow".to_owned())
        }
        _ if takes_variables(setting) => Some(format!(
            "`{name}` takes something from your environment; this file may have come with the project"
        )),
        _ => None,
    };
    let Some(message) = refused else { return true };
    if name == path::WORKSPACE_PATH && decided.contains(name) {
        let problem = Problem::warning(message).at(setting.place.clone()).label("does not count");
        problems.push(problem.help("you have named another folder, which does"));
        return false;
    }
    let own = "set it in your own convoke.toml (`convoke config path` says where)";
    let help = if variable.is_empty() { own.to_owned() } else { format!("{own}, or in {variable}") };
    problems.push(Problem::error(message).at(setting.place.clone()).help(help));
    false
}

/// Whether something of the environment goes into it, which may be a secret. An MCP server is trusted with all that is said of it,
/// or not spoken to.
fn takes_variables(setting: &Setting) -> bool {
    let Value::Headers(pairs) = &setting.value else { return false };
    !setting.key.path.starts_with("mcp.") && pairs.values().any(|value| header::has_variables(value))
}

/// Whether a path does not leave the folder of a file.
fn is_inside(value: &Value, file: &Path) -> bool {
    let Value::Path(path) = value else { return false };
    let folder = file.parent().unwrap_or(Path::new(""));
    let (Some(path), Some(folder)) = (real(path), real(folder)) else { return false };
    path.starts_with(folder)
}

/// The real place of a path; of what is not there, as far as it is.
pub(crate) fn real(path: &Path) -> Option<PathBuf> {
    let absolute =
        std::path::absolute(if path.as_os_str().is_empty() { Path::new(".") } else { path }).ok()?;
    let mut real = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                real.pop();
            }
            part => {
                real.push(part);
                real = real.canonicalize().unwrap_or(real);
            }
        }
    }
    Some(real)
}
