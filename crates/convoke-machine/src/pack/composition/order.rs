//! The order of steps: which wait for which, and whether that ever ends.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Action, Step, references};

/// The steps that wait for each other in a circle, or for such steps.
pub(super) fn stuck<'a>(steps: &'a [Step], waits: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<&'a str> {
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    let mut waiting: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (step, before) in waits {
        let known = before.iter().filter(|name| waits.contains_key(*name));
        open.insert(step, known.clone().count());
        known.for_each(|name| waiting.entry(name).or_default().push(step));
    }
    let mut free: Vec<&str> = open.iter().filter(|(_, count)| **count == 0).map(|(step, _)| *step).collect();
    while let Some(step) = free.pop() {
        open.remove(step);
        for next in waiting.get(step).into_iter().flatten() {
            if let Some(count) = open.get_mut(next) {
                *count -= 1;
                if *count == 0 {
                    free.push(next);
                }
            }
        }
    }
    steps.iter().map(|step| step.id.as_str()).filter(|id| open.contains_key(id)).collect()
}

/// What top-level steps wait for: what they say, otherwise the step before; branches before where they lead; whatever is
/// referred to before whoever refers to it.
pub(crate) fn waits(steps: &[Step]) -> BTreeMap<&str, BTreeSet<&str>> {
    let ids: BTreeSet<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    let mut waits = said(steps);
    for (index, step) in steps.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| steps[before].id.as_str());
        let own = waits.entry(&step.id).or_default();
        if own.is_empty() && step.depends_on.is_none() {
            // Two steps of one name are a mistake of their own, not a circle.
            own.extend(before.filter(|before| *before != step.id));
        }
        own.extend(mentioned(step).iter().filter_map(|root| ids.get(root.as_str())));
        if let Action::Branch { then, otherwise, .. } = &step.action {
            for target in std::iter::once(then).chain(otherwise) {
                if let Some(target) = ids.get(target.as_str()) {
                    waits.entry(target).or_default().insert(&step.id);
                }
            }
        }
    }
    waits
}

/// What steps say they wait for.
pub(crate) fn said(steps: &[Step]) -> BTreeMap<&str, BTreeSet<&str>> {
    steps
        .iter()
        .map(|step| (step.id.as_str(), step.depends_on.iter().flatten().map(String::as_str).collect()))
        .collect()
}

/// The roots of the references in a step, and in the steps within it.
fn mentioned(step: &Step) -> BTreeSet<String> {
    let mut roots = BTreeSet::new();
    let mut add = |text: &str| roots.extend(references(text).flatten().map(|path| path.root().to_owned()));
    match &step.action {
        Action::Prompt { input, .. } | Action::Agent { input, .. } => {
            input.iter().for_each(|value| texts(value, &mut add));
        }
        Action::Tool { args, .. } => args.values().for_each(|value| texts(value, &mut add)),
        Action::Branch { predicate, .. } => texts(predicate, &mut add),
        Action::Parallel { branches, .. } => {
            return branches.iter().flat_map(mentioned).collect();
        }
    }
    roots
}

/// Every text in a value.
pub(super) fn texts(value: &Value, each: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, each)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, each)),
        _ => {}
    }
}
