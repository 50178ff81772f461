//! Compatibility of a run's journal with the steps of the workflow that is to resume it.
//!
//! Effects are found by their paths, and paths are made of the names of steps. A step that was renamed, moved or removed
//! finds none of its effects, and would perform them all again. So the outline of the workflow is kept with the run, and
//! compared before anything is done.
//!
//! An outline does not know everything that happens below a step (turns, tools, workflows in tools). Of a recorded path
//! only the part that the kept outline knew is asked for in the new one: what nobody declared is never missed.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::Names;
use crate::journal::JournalIndex;
use crate::step::Outline;
use crate::store::RunRecord;
use crate::{Error, Path, StepsMissing};

/// An outline as far as it decides about paths.
#[derive(Deserialize)]
struct Shape {
    name: String,
    #[serde(default)]
    children: Vec<Shape>,
}

/// An outline with the names that a run knows its steps by.
pub(super) fn called_before(root: Outline, names: &Names) -> Outline {
    fn within(parent: &Path, step: Outline, names: &Names) -> Outline {
        let name = names.of(parent, &step.name).to_owned();
        let own = Path::join(parent, &name, 1);
        let children = step.children.into_iter().map(|child| within(&own, child, names)).collect();
        Outline { name, children, ..step }
    }
    within(&Path::from(""), root, names)
}

impl Shape {
    /// All steps called like this below the step, in declared order.
    fn called<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Shape> {
        self.children.iter().filter(move |child| child.segment() == name)
    }

    /// The name as paths have it.
    fn segment(&self) -> String {
        Path::join(&Path::from(""), &self.name, 1).as_str().to_owned()
    }
}

/// Refuses to go on with a run whose effects the workflow would not find.
pub(super) fn must_fit(
    record: &RunRecord,
    workflow: &str,
    outline: &[u8],
    index: &JournalIndex,
    names: &Names,
) -> Result<(), Error> {
    let Some(kept) = &record.outline else { return Ok(()) };
    // What cannot be read was written by another version of this code, which knew more than we do.
    let Ok(kept) = serde_json::from_slice::<Shape>(kept) else { return Ok(()) };
    let (kept, now) = (around(kept), around(serde_json::from_slice(outline)?));
    let missing = index.paths().filter_map(|path| missing_on_the_way(path, &kept, &now));
    let missing: BTreeSet<Path> = missing.filter(|step| !names.is_dropped(step)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut added = Vec::new();
    list_added(&Path::from(""), &kept, &now, &mut added);
    let (run, workflow, missing) = (record.id.clone(), workflow.to_owned(), missing.into_iter().collect());
    Err(Error::StepsMissing(Box::new(StepsMissing { run, workflow, missing, added })))
}

/// The run itself, which has one child.
fn around(root: Shape) -> Shape {
    Shape { name: String::new(), children: vec![root] }
}

/// The first step on the way to a path that was declared once and is not any more.
fn missing_on_the_way(path: &Path, kept: &Shape, now: &Shape) -> Option<Path> {
    let (mut before, mut after) = (vec![kept], vec![now]);
    let mut place = String::new();
    for segment in path.segments() {
        let (name, repetition) = parse(segment);
        let declared: Vec<&Shape> = before.iter().flat_map(|shape| shape.called(name)).collect();
        if declared.is_empty() {
            return None;
        }
        if !place.is_empty() {
            place.push('/');
        }
        place.push_str(segment);
        let present: Vec<&Shape> = after.iter().flat_map(|shape| shape.called(name)).collect();
        // The second of a name is the second one declared; if fewer are declared, the parent repeats them.
        let wanted = if repetition <= declared.len() { repetition } else { 1 };
        if present.len() < wanted {
            return Some(Path::from(place.as_str()));
        }
        // Whoever repeats its children, or chooses one of them, may be in any of that name.
        (before, after) = (declared, present);
    }
    None
}

/// The name and the number of a segment.
fn parse(segment: &str) -> (&str, usize) {
    match segment.split_once('#') {
        Some((name, number)) => (name, number.parse().unwrap_or(1)),
        None => (segment, 1),
    }
}

/// The outermost steps that are declared now and were not.
fn list_added(place: &Path, kept: &Shape, now: &Shape, added: &mut Vec<Path>) {
    for child in &now.children {
        let own = Path::join(place, &child.name, 1);
        match kept.called(&child.segment()).next() {
            Some(before) => list_added(&own, before, child, added),
            None => added.push(own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(name: &str, children: &[&str]) -> Shape {
        let children = children.iter().map(|name| Outline::leaf(*name, "func"));
        let outline = serde_json::to_vec(&Outline::composite(name, "chain", children)).unwrap();
        around(serde_json::from_slice(&outline).unwrap())
    }

    fn missing(path: &str, kept: &Shape, now: &Shape) -> Option<String> {
        missing_on_the_way(&Path::from(path), kept, now).map(|path| path.as_str().to_owned())
    }

    #[test]
    fn only_what_was_declared_and_has_happened_must_still_be_there() {
        let (kept, now) = (chain("main", &["a", "b/c", "b/c"]), chain("main", &["new", "a", "b/c"]));
        assert_eq!(missing("main/a/turn#3/model", &kept, &now), None);
        assert_eq!(missing("main/b%2fc", &kept, &now), None);
        assert_eq!(missing("main/b%2fc#2/turn", &kept, &now).as_deref(), Some("main/b%2fc#2"));
        assert_eq!(missing("main/b%2fc#7", &kept, &now), None, "whoever repeats it may still do so");
        assert_eq!(missing("main/undeclared/x", &kept, &now), None);
        assert_eq!(missing("main/a", &kept, &chain("other", &["a"])).as_deref(), Some("main"));
        assert_eq!(missing("main", &kept, &now), None);
    }
}
