//! Secrets: inputs that are kept out of journals, events and logs.
//!
//! A secret input is never in the state of a run. What stands there, and so in every prompt, is a mark that nobody can
//! guess. An [interceptor](convoke_core::Interceptor) stands between the run and its models and tools: on the way out it puts
//! the secret where the mark is, on the way back the mark where the secret is. The journal, events, questions and results
//! are all on this side of it, so none of them ever has a secret in it.
//!
//! # What is not sealed
//! What a model or a tool does by itself, on the other side, effects that a tool performs in its own scope included: a model that records its calls records secrets too, so a
//! recording is made around a run and not inside the models it is given. And what a secret was made into, unless that is one of
//! the [`forms`] it is known in or more than half of one: its letters backwards, a digest of it.

mod find;
mod forms;
mod interceptor;
mod model;
mod run;
mod seals;
mod stream;
mod tool;

pub(crate) use run::{SealedEquipment, is_long_enough, sealed};
pub(crate) use seals::{SHORTEST, Seals, mark, nonce};

use secrecy::{ExposeSecret, SecretString};

use crate::tree::Name;

/// Secret inputs, by name. They are never stored: whoever resumes a run gives them again.
#[derive(Clone, Default)]
pub struct Secrets {
    entries: Vec<(Name, SecretString)>,
}

impl Secrets {
    /// No secrets.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a secret, instead of one of this name that was given before.
    pub fn set(&mut self, name: impl Into<Name>, secret: impl Into<SecretString>) {
        let name = name.into();
        self.entries.retain(|(known, _)| *known != name);
        self.entries.push((name, secret.into()));
    }

    /// Adds a secret.
    #[must_use]
    pub fn with(mut self, name: impl Into<Name>, secret: impl Into<SecretString>) -> Self {
        self.set(name, secret);
        self
    }

    /// The names of those that are there.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.iter().map(|(name, _)| &**name)
    }

    /// Returns whether there is one of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.entries.iter().find(|(known, _)| **known == *name).map(|(_, secret)| secret.expose_secret())
    }
}

/// Names only.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secrets")?;
        formatter.debug_list().entries(self.names()).finish()
    }
}
