//! Merges layers; later layers override earlier ones.

use std::collections::HashSet;

use crate::permitted::may;
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
