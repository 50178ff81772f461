//! Merges layers; later layers override earlier ones.

use std::collections::{BTreeMap, HashSet};

use crate::permitted::may;
use crate::problem::{Problem, Problems};
use crate::schema::path;
use crate::schema::{KEYS, Key, MergeRule};
use crate::{Origin, Setting, Value};

/// Merges layers in order; later layers override earlier ones.
pub(crate) fn merged(layers: Vec<Vec<Setting>>, problems: &mut Problems) -> Vec<Setting> {
    let mut merged: BTreeMap<String, Setting> = BTreeMap::new();
    // What the user has decided is decided, whatever a folder's file would have.
    let of_user = layers.iter().flatten().filter(|setting| setting.origin.folder_file().is_none());
    let decided: HashSet<String> = of_user.map(|setting| setting.name.clone()).collect();
    for layer in layers {
        let layer: Vec<Setting> =
            layer.into_iter().filter(|setting| may(setting, &decided, problems)).collect();
        let displaced = Displaced::by(&layer);
        merged.retain(|_, old| !displaced.has(old));
        for new in layer {
            let setting = match merged.remove(&new.name) {
                None => new,
                Some(old) => joined(old, new, problems),
            };
            merged.insert(setting.name.clone(), setting);
        }
    }
    let mut merged: Vec<Setting> = merged.into_values().collect();
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

/// The settings of other names that those of a layer take with them.
#[derive(Default)]
struct Displaced {
    /// By their sections, and the names that users gave them.
    sections: HashSet<(String, Option<String>)>,
    paths: HashSet<&'static str>,
}

impl Displaced {
    fn by(layer: &[Setting]) -> Self {
        let mut displaced = Self::default();
        for new in layer {
            if new.key.merge == MergeRule::ReplaceSection {
                displaced.sections.insert(section(new));
                continue;
            }
            displaced.paths.extend(match new.key.path {
                path::SUPERVISION_MODEL => Some(path::SUPERVISION_PROFILE),
                path::SUPERVISION_PROFILE => Some(path::SUPERVISION_MODEL),
                // What the user sends to one place must not go to another that a project names.
                path::TELEMETRY_ENDPOINT if new.origin.folder_file().is_some() => {
                    Some(path::TELEMETRY_HEADERS)
                }
                _ => None,
            });
        }
        displaced
    }

    fn has(&self, old: &Setting) -> bool {
        let replaced = old.key.merge == MergeRule::ReplaceSection && self.sections.contains(&section(old));
        replaced || self.paths.contains(old.key.path)
    }
}

fn section(setting: &Setting) -> (String, Option<String>) {
    (setting.key.section().to_owned(), setting.own_name().map(str::to_owned))
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
