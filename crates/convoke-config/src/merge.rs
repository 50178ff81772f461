//! Merges layers; later layers override earlier ones.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use convoke_models::choose::header;

use crate::problem::{Problem, Problems};
use crate::schema::path;
use crate::schema::{KEYS, Key, MergeRule};
use crate::{Origin, Setting, Value};

/// Merges layers in order; later layers override earlier ones.
pub(crate) fn merged(layers: Vec<Vec<Setting>>, problems: &mut Problems) -> Vec<Setting> {
    let mut merged: Vec<Setting> = Vec::new();
    // What the user has decided is decided, whatever a folder's file would have.
    let of_user = layers.iter().flatten().filter(|setting| setting.origin.folder_file().is_none());
    let decided: HashSet<String> = of_user.map(|setting| setting.name.clone()).collect();
    for layer in layers {
        let layer: Vec<Setting> =
            layer.into_iter().filter(|setting| may(setting, &decided, problems)).collect();
        merged.retain(|old| !layer.iter().any(|new| displaces(new, old)));
        for new in layer {
            match merged.iter().position(|old| old.name == new.name) {
                None => merged.push(new),
                Some(at) => {
                    let old = merged.swap_remove(at);
                    merged.push(joined(old, new, problems));
                }
            }
        }
    }
    merged.sort_by_cached_key(order);
    merged
}

/// The order of the schema; what users gave names to stays together, name by name.
fn order(setting: &Setting) -> (Option<usize>, Option<String>, Option<usize>) {
    let own = KEYS.iter().position(|key| key.path == setting.key.path);
    let is_sibling = |key: &Key| key.is_named() && key.section() == setting.key.section();
    match setting.own_name() {
        Some(name) => (KEYS.iter().position(is_sibling), Some(name.to_owned()), own),
        None => (own, None, None),
    }
}

/// Whether a new setting takes an old one of another name with it.
fn displaces(new: &Setting, old: &Setting) -> bool {
    let same_section = || new.key.section() == old.key.section() && new.own_name() == old.own_name();
    if new.key.merge == MergeRule::ReplaceSection && old.key.merge == MergeRule::ReplaceSection {
        return same_section();
    }
    match (new.key.path, old.key.path) {
        (path::SUPERVISION_MODEL, path::SUPERVISION_PROFILE)
        | (path::SUPERVISION_PROFILE, path::SUPERVISION_MODEL) => true,
        // What the user sends to one place must not go to another that a project names.
        (path::TELEMETRY_ENDPOINT, path::TELEMETRY_HEADERS) => new.origin.folder_file().is_some(),
        _ => false,
    }
}

/// Two layers set the same.
fn joined(old: Setting, new: Setting, problems: &mut Problems) -> Setting {
    match new.key.merge {
        MergeRule::Append | MergeRule::UserOnly => {
            let value = match (&new.value, &old.value) {
                (Value::Paths(new), Value::Paths(old)) => Value::Paths(united(new, old)),
                (Value::Texts(new), Value::Texts(old)) => Value::Texts(united(new, old)),
                // There are not several.
                _ => return new,
            };
            Setting { value, origin: new.origin.and(old.origin), ..new }
        }
        MergeRule::FileOverridesEnv if old.origin.is_file() && matches!(new.origin, Origin::Variable(_)) => {
            old
        }
        MergeRule::Narrow
            if new.origin.folder_file().is_some()
                && old.origin.is_file()
                && !new.value.is_within(&old.value) =>
        {
            let message = format!("`{}` cannot allow more than your own file does: {}", new.name, old.value);
            let mut problem = Problem::warning(message).at(new.place).label("does not count");
            let variable = new.key.variables.first();
            if let Some(variable) = variable {
                problem = problem.help(format!("change it at {}, or set {variable}", old.origin));
            }
            problems.push(problem);
            old
        }
        _ => new,
    }
}

fn united<T: Clone + PartialEq>(first: &[T], then: &[T]) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    for one in first.iter().chain(then) {
        if !all.contains(one) {
            all.push(one.clone());
        }
    }
    all
}

/// Whether whoever says this may say it. A folder's file may have come with somebody else's project.
fn may(setting: &Setting, decided: &HashSet<String>, problems: &mut Problems) -> bool {
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
