//! Fingerprints of secrets: whether one is that which a run began with, without keeping it.
//!
//! What is kept is a salted digest. Whoever reads the store can try texts until one fits, so there is none of a secret that is
//! short enough to be guessed, and whether that is another one nobody can say.

use std::collections::BTreeMap;

use convoke_core::{Digest, RunId};
use convoke_goals::Values;
use convoke_goals::agentfile::model::Input;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The shortest secret of which there is a digest, in characters.
const SHORTEST: usize = 16;

/// What a run's secrets are known by.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fingerprints {
    /// What is digested with each of them, so that nobody can tell that two runs have the same secret.
    #[serde(default)]
    salt: String,
    #[serde(default)]
    digests: BTreeMap<String, Digest>,
}

impl Fingerprints {
    /// Those of the secrets among these values.
    pub(crate) fn of(values: &Values, inputs: &[Input]) -> Self {
        // An id is as good as any: it is new, and has 80 random bits.
        let salt = RunId::mint().to_string();
        let secrets = inputs.iter().filter(|input| input.secret);
        let digest = |input: &Input| Some((input.name.clone(), digest(&salt, secret(values, &input.name)?)));
        let digests = secrets.filter_map(digest).collect();
        Self { salt, digests }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// The names of secrets that are others now.
    pub(crate) fn differing(&self, values: &Values) -> Vec<&str> {
        let is_other = |(name, known): &(&String, &Digest)| {
            let given = values.get(name).and_then(|value| value.as_str());
            given.is_some_and(|given| digest(&self.salt, given) != **known)
        };
        self.digests.iter().filter(is_other).map(|(name, _)| name.as_str()).collect()
    }
}

/// A secret that is too long to be guessed.
fn secret<'a>(values: &'a Values, name: &str) -> Option<&'a str> {
    values.get(name)?.as_str().filter(|secret| secret.trim().chars().count() >= SHORTEST)
}

fn digest(salt: &str, secret: &str) -> Digest {
    Digest::of_json(&json!([salt, secret]))
}
