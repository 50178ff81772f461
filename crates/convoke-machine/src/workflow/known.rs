//! Names of the rest of a pack that its workflow may refer to.

use std::collections::{BTreeMap, BTreeSet};

/// The prompts and compositions of a pack. What is not given is not checked.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The prompts, with the artifacts that their templates use.
    pub(super) prompts: Option<BTreeMap<String, BTreeSet<String>>>,
    pub(super) compositions: Option<BTreeSet<String>>,
    /// States that something begins in besides the first one.
    pub(crate) entries: BTreeSet<String>,
}

impl Known {
    /// Nothing is known, and so every name is taken as it is.
    #[must_use]
    pub fn anything() -> Self {
        Self::default()
    }

    /// Declares that these are all prompts.
    #[must_use]
    pub fn prompts(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let prompts = self.prompts.get_or_insert_default();
        prompts.extend(keys.into_iter().map(|key| (key.into(), BTreeSet::new())));
        self
    }

    /// A prompt's template uses an artifact.
    #[must_use]
    pub fn template_uses(mut self, prompt: &str, artifact: &str) -> Self {
        let prompts = self.prompts.get_or_insert_default();
        prompts.entry(prompt.to_owned()).or_default().insert(artifact.to_owned());
        self
    }

    /// Declares that these are all compositions.
    #[must_use]
    pub fn compositions(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.compositions.get_or_insert_default().extend(names.into_iter().map(Into::into));
        self
    }
}
