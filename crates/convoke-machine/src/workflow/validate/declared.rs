//! The artifacts that states declare, found once for all of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::workflow::compiled::named_or_usual;
use crate::workflow::{ArtifactMode, ArtifactSpec, Spec};

/// How an artifact is declared: its mode, if that is one, and its type.
type Declaration<'a> = (Option<ArtifactMode>, &'a str);

/// The artifacts of all states.
pub(super) struct DeclaredArtifacts<'a> {
    by_prompt: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Each way in which an artifact is declared, with the first state by name that does so.
    ways: BTreeMap<&'a str, Vec<(Declaration<'a>, &'a str)>>,
}

impl<'a> DeclaredArtifacts<'a> {
    pub(super) fn of(spec: &'a Spec) -> Self {
        let mut declared = Self { by_prompt: BTreeMap::new(), ways: BTreeMap::new() };
        for (name, state) in &spec.states {
            let known = declared.by_prompt.entry(&state.prompt_task).or_default();
            known.extend(state.artifacts.keys().map(String::as_str));
            for (artifact, spec) in &state.artifacts {
                let ways = declared.ways.entry(artifact).or_default();
                let way = declaration(spec);
                match ways.iter_mut().find(|(known, _)| *known == way) {
                    Some((_, first)) => *first = (*first).min(name),
                    None => ways.push((way, name)),
                }
            }
        }
        declared
    }

    /// Whether a state with this prompt declares an artifact.
    pub(super) fn has(&self, prompt: &str, artifact: &str) -> bool {
        self.by_prompt.get(prompt).is_some_and(|artifacts| artifacts.contains(artifact))
    }

    /// The first state before another one, by name, that declares an artifact in another way.
    pub(super) fn otherwise(&self, artifact: &str, spec: &ArtifactSpec, before: &str) -> Option<&'a str> {
        let way = declaration(spec);
        let others = self.ways.get(artifact)?.iter().filter(|(other, _)| *other != way);
        others.map(|(_, state)| *state).filter(|state| *state < before).min()
    }
}

fn declaration(spec: &ArtifactSpec) -> Declaration<'_> {
    (named_or_usual(&spec.mode), &spec.media_type)
}
