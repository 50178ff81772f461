//! The role of a step in supervision and retries: whether it supervises a goal, and which attempt it belongs to.
//!
//! Goals and retries make steps as they go, which no outline has: they are known by their names below a step that is
//! declared. Elsewhere a step may be called as it likes.

use convoke_core::{EffectKind, Path};

use crate::{History, PathStep, Steps, TimelineEntry};

/// What a step that watches over a goal does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Supervision {
    /// Says before the work what it is going to do.
    Commit,
    /// Says after the work what it did.
    Post,
    /// Judges whether that is good enough.
    Supervise,
}

impl Supervision {
    /// The name of such steps.
    pub(super) const fn name(self) -> &'static str {
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

/// What part in the supervision of a goal something at this path has.
pub(super) fn supervision(steps: &Steps, path: &Path) -> Option<Supervision> {
    let stops = steps.along(path);
    stops.iter().enumerate().rev().find_map(|(index, stop)| match stop.kind {
        Some(kind) => Supervision::named(kind),
        None => Supervision::named(stop.name).filter(|_| stops[..index].iter().any(is_watched)),
    })
}

fn is_watched(stop: &PathStep<'_>) -> bool {
    matches!(stop.kind, Some("goal" | "convergence" | "agent"))
}

/// Which attempt of the innermost step that is tried again something at this path belongs to, from 1.
pub(super) fn attempt(steps: &Steps, path: &Path) -> Option<u32> {
    let stops = steps.along(path);
    stops.windows(2).rev().find_map(|pair| match (pair[0].kind, pair[1].kind) {
        (Some("retry"), _) => Some(pair[1].repetition),
        // The first attempt at a step that is tried again in its own place is the step itself.
        (Some(_), None) if pair[1].name == "again" => Some(pair[1].repetition + 1),
        _ => None,
    })
}

/// Whether this is the wait between two attempts. Goals wait for nothing else.
pub(super) fn waits_to_retry(history: &History, moment: &TimelineEntry<'_>) -> bool {
    let is_tried_again = |stop: &PathStep<'_>| stop.kind == Some("retry") || is_watched(stop);
    moment.effect.kind == EffectKind::Sleep
        && history.steps.along(&moment.effect.path).last().is_some_and(is_tried_again)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> Steps {
        Steps::declared_in(
            br#"{"name": "main", "kind": "workflow", "children": [
                {"name": "post", "kind": "func"},
                {"name": "a/b", "kind": "goal", "children": [{"name": "critic", "kind": "agent"}]},
                {"name": "again", "kind": "retry", "children": [{"name": "draft", "kind": "prompt"}]}]}"#,
        )
    }

    #[test]
    fn supervision_is_known_below_goals_only() {
        let steps = steps();
        let of = |path: &str| supervision(&steps, &Path::from(path));
        assert_eq!(of("main/a%2fb/commit"), Some(Supervision::Commit));
        assert_eq!(of("main/a%2fb/supervise#2"), Some(Supervision::Supervise));
        assert_eq!(of("main/a%2fb/critic/post"), Some(Supervision::Post));
        assert_eq!(of("main/post"), None, "somebody's own step of that name");
        assert_eq!(supervision(&Steps::default(), &Path::from("main/commit")), None, "nothing is guessed");
    }

    #[test]
    fn attempts_are_counted_below_what_is_tried_again_only() {
        let steps = steps();
        let of = |path: &str| attempt(&steps, &Path::from(path));
        assert_eq!([of("main/again/draft"), of("main/again/draft#2/x")], [Some(1), Some(2)]);
        assert_eq!([of("main/again"), of("main/post#2")], [None, None]);
        assert_eq!(
            [of("main/a%2fb/again/turn"), of("main/a%2fb/again#2")],
            [Some(2), Some(3)],
            "in its place"
        );
    }
}
