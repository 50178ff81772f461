//! What kinds of steps a run is made of, as far as the outline kept with it says.

use std::collections::HashMap;

use serde::Deserialize;

use crate::Path;
use crate::store::RunRecord;

/// The kinds of a run's steps. A run without an outline has none: then nothing is known, and nothing is guessed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Steps {
    /// By path without repetitions.
    kinds: HashMap<String, String>,
}

/// A step on the way to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stop<'a> {
    /// The path up to here.
    pub path: &'a str,
    /// The name as it is written in paths, without its repetition.
    pub name: &'a str,
    /// Which one of this name it is, from 1.
    pub repetition: u32,
    /// Its kind, if it was declared.
    pub kind: Option<&'a str>,
}

/// What a step that watches over a goal does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Supervision {
    /// Says before the work what it is going to do.
    Commit,
    /// Says after the work what it did.
    Post,
    /// Judges whether that is good enough.
    Supervise,
}

impl Supervision {
    /// The name of such steps.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Post => "post",
            Self::Supervise => "supervise",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Commit, Self::Post, Self::Supervise].into_iter().find(|phase| phase.name() == name)
    }
}

impl Steps {
    pub(super) fn of(record: &RunRecord) -> Self {
        // An outline that cannot be read was written by another version of this code.
        let outline = record.outline.as_deref().and_then(|json| serde_json::from_slice::<Shape>(json).ok());
        let mut steps = Self::default();
        if let Some(outline) = outline {
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
    pub fn along<'a>(&'a self, path: &'a Path) -> Vec<Stop<'a>> {
        let mut stops = Vec::new();
        let mut plain = String::with_capacity(path.as_str().len());
        let mut end = 0;
        for segment in path.segments() {
            if end > 0 {
                plain.push('/');
                end += 1;
            }
            end += segment.len();
            let (name, repetition) = split(segment);
            plain.push_str(name);
            let kind = self.kinds.get(&plain).map(String::as_str);
            stops.push(Stop { path: path.as_str().get(..end).unwrap_or_default(), name, repetition, kind });
        }
        stops
    }

    /// The innermost step of one of these kinds on the way to a path.
    #[must_use]
    pub fn innermost<'a>(&'a self, path: &'a Path, kinds: &[&str]) -> Option<Stop<'a>> {
        self.along(path).into_iter().rev().find(|stop| stop.kind.is_some_and(|kind| kinds.contains(&kind)))
    }

    /// What part in the supervision of a goal something at this path has. Goals make these steps as they go, so they
    /// are known by their names below a goal; elsewhere a step may be called as it likes.
    #[must_use]
    pub fn supervision(&self, path: &Path) -> Option<Supervision> {
        let stops = self.along(path);
        stops.iter().enumerate().rev().find_map(|(index, stop)| match stop.kind {
            Some(kind) => Supervision::named(kind),
            None => {
                let is_watched = stops[..index]
                    .iter()
                    .any(|outer| matches!(outer.kind, Some("goal" | "convergence" | "agent")));
                Supervision::named(stop.name).filter(|_| is_watched)
            }
        })
    }

    /// Which attempt of the innermost retried step something at this path belongs to, from 1.
    #[must_use]
    pub fn attempt(&self, path: &Path) -> Option<u32> {
        let stops = self.along(path);
        stops.windows(2).rev().find(|pair| pair[0].kind == Some("retry")).map(|pair| pair[1].repetition)
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

fn split(segment: &str) -> (&str, u32) {
    let numbered = segment.rsplit_once('#').and_then(|(name, number)| Some((name, number.parse().ok()?)));
    numbered.unwrap_or((segment, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> Steps {
        let outline = serde_json::json!({"name": "main", "kind": "workflow", "children": [
            {"name": "post", "kind": "func"},
            {"name": "a/b", "kind": "goal", "children": [{"name": "critic", "kind": "agent"}]},
            {"name": "again", "kind": "retry", "children": [{"name": "draft", "kind": "prompt"}]},
        ]});
        let mut steps = Steps::default();
        steps.add(&Path::from(""), serde_json::from_value(outline).unwrap());
        steps
    }

    #[test]
    fn steps_are_found_by_path_whatever_their_repetition() {
        let (steps, path) = (steps(), Path::from("main/a%2fb#3/critic/search"));
        let kinds: Vec<_> = steps.along(&path).iter().map(|stop| stop.kind).collect();
        assert_eq!(kinds, [Some("workflow"), Some("goal"), Some("agent"), None]);
        let goal = steps.innermost(&path, &["goal", "convergence"]).unwrap();
        assert_eq!((goal.path, goal.name, goal.repetition), ("main/a%2fb#3", "a%2fb", 3));
    }

    #[test]
    fn supervision_is_known_below_goals_only() {
        let steps = steps();
        let of = |path: &str| steps.supervision(&Path::from(path));
        assert_eq!(of("main/a%2fb/commit"), Some(Supervision::Commit));
        assert_eq!(of("main/a%2fb/supervise#2"), Some(Supervision::Supervise));
        assert_eq!(of("main/a%2fb/critic/post"), Some(Supervision::Post));
        assert_eq!(of("main/post"), None, "somebody's own step of that name");
        assert_eq!(Steps::default().supervision(&Path::from("main/commit")), None, "nothing is guessed");
    }

    #[test]
    fn attempts_are_counted_below_retries_only() {
        let steps = steps();
        let of = |path: &str| steps.attempt(&Path::from(path));
        assert_eq!([of("main/again/draft"), of("main/again/draft#2/x")], [Some(1), Some(2)]);
        assert_eq!([of("main/again"), of("main/post#2")], [None, None]);
    }
}
