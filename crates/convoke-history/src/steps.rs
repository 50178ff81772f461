//! Kinds of the steps of a run, from the outline kept with it.

use std::collections::HashMap;

use serde::Deserialize;

use convoke_core::{Path, Segment};

/// The kinds of a run's steps. A run without an outline has none: then nothing is known, and nothing is guessed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Steps {
    /// By path without repetitions.
    kinds: HashMap<String, String>,
}

/// A step on the way to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathStep<'a> {
    /// The path up to here.
    pub path: &'a str,
    /// The name as it is written in paths, without its repetition.
    pub name: &'a str,
    /// Which one of this name it is, from 1.
    pub repetition: u32,
    /// Its kind, if it was declared.
    pub kind: Option<&'a str>,
}

impl Steps {
    /// The kinds that an outline declares, as it is kept with a run: JSON. Nothing, if it cannot be read: then another
    /// version of this code wrote it.
    #[must_use]
    pub fn declared_in(outline: &[u8]) -> Self {
        let mut steps = Self::default();
        if let Ok(outline) = serde_json::from_slice::<Shape>(outline) {
            steps.add(&Path::from(""), outline);
        }
        steps
    }

    fn add(&mut self, parent: &Path, shape: Shape) {
        let path = Path::join(parent, &shape.name, 1);
        for child in shape.children {
            self.add(&path, child);
        }
        // Of several children with one name the first speaks for all.
        self.kinds.entry(path.as_str().to_owned()).or_insert(shape.kind);
    }

    /// The steps on the way to a path, outermost first.
    #[must_use]
    pub fn along<'a>(&'a self, path: &'a Path) -> Vec<PathStep<'a>> {
        let mut stops = Vec::new();
        let mut plain = String::with_capacity(path.as_str().len());
        let mut end = 0;
        for segment in path.segments() {
            if end > 0 {
                plain.push('/');
                end += 1;
            }
            end += segment.len();
            let segment = Segment::of(segment);
            let (name, repetition) = (segment.written(), segment.repetition());
            plain.push_str(name);
            let kind = self.kinds.get(&plain).map(String::as_str);
            stops.push(PathStep {
                path: path.as_str().get(..end).unwrap_or_default(),
                name,
                repetition,
                kind,
            });
        }
        stops
    }

    /// The innermost step of one of these kinds on the way to a path.
    #[must_use]
    pub fn innermost<'a>(&'a self, path: &'a Path, kinds: &[&str]) -> Option<PathStep<'a>> {
        self.along(path).into_iter().rev().find(|stop| stop.kind.is_some_and(|kind| kinds.contains(&kind)))
    }
}

/// An outline as it is stored.
#[derive(Deserialize)]
struct Shape {
    name: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    children: Vec<Shape>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_found_by_path_whatever_their_repetition() {
        let steps = Steps::declared_in(
            br#"{"name": "main", "kind": "workflow", "children": [
                {"name": "a/b", "kind": "goal", "children": [{"name": "critic", "kind": "agent"}]}]}"#,
        );
        let path = Path::from("main/a%2fb#3/critic/search");
        let kinds: Vec<_> = steps.along(&path).iter().map(|stop| stop.kind).collect();
        assert_eq!(kinds, [Some("workflow"), Some("goal"), Some("agent"), None]);
        let goal = steps.innermost(&path, &["goal", "convergence"]).unwrap();
        assert_eq!((goal.path, goal.name, goal.repetition), ("main/a%2fb#3", "a%2fb", 3));
    }
}
