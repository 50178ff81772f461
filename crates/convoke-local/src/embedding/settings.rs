//! Settings of a local embedder.

use std::path::Path;
use std::thread::available_parallelism;

use serde::{Deserialize, Serialize};

use crate::LocalError;

/// Settings of a local embedder. The defaults suit all-MiniLM-L6-v2 on a small machine.
///
/// ```
/// use convoke_local::{EmbedderSettings, LongTexts};
///
/// let settings = EmbedderSettings::default().threads(1).long_texts(LongTexts::Cut);
/// assert_eq!((settings.max_tokens, settings.batch_size), (256, 8));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct EmbedderSettings {
    /// What the model is called, after `local/`. By default the file's name, in small letters and without its ending; or
    /// its folder's, if the file is called no more than `model`.
    pub name: Option<String>,
    /// How many tokens of a text the model reads, with the two that frame it. More than it was trained for makes worse
    /// vectors.
    pub max_tokens: u32,
    /// What becomes of a text with more tokens.
    pub long_texts: LongTexts,
    /// How many texts are computed together. A dropped request stops after as many, and others wait for as many.
    pub batch_size: u32,
    /// How many batches of different requests may wait before the next has to wait to be let in.
    pub queue: usize,
    /// How many threads compute. By default all processors but one, and at least one.
    pub threads: Option<u32>,
}

/// The policy for texts that are longer than the model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LongTexts {
    /// The request fails, and says which text it is.
    #[default]
    Refuse,
    /// Its beginning stands for it, and a warning is logged.
    Cut,
}

impl Default for EmbedderSettings {
    fn default() -> Self {
        Self {
            name: None,
            max_tokens: 256,
            long_texts: LongTexts::Refuse,
            batch_size: 8,
            queue: 64,
            threads: None,
        }
    }
}

impl EmbedderSettings {
    /// Sets what the model is called, after `local/`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets how many tokens of a text the model reads.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = tokens;
        self
    }

    /// Sets what becomes of a text with more tokens.
    #[must_use]
    pub fn long_texts(mut self, long_texts: LongTexts) -> Self {
        self.long_texts = long_texts;
        self
    }

    /// Sets how many texts are computed together.
    #[must_use]
    pub fn batch_size(mut self, texts: u32) -> Self {
        self.batch_size = texts;
        self
    }

    /// Sets how many threads compute.
    #[must_use]
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Checks that every setting makes sense.
    ///
    /// # Errors
    /// [`LocalError::Settings`] names the one that does not.
    pub fn check(&self) -> Result<(), LocalError> {
        let counts = [
            // A text of one token is framed by two; networks of this kind know 512 places.
            ("max_tokens", u64::from(self.max_tokens), 3..=512),
            ("batch_size", u64::from(self.batch_size), 1..=1024),
            ("queue", self.queue as u64, 1..=1 << 20),
            ("threads", u64::from(self.threads.unwrap_or(1)), 1..=1024),
        ];
        for (setting, value, allowed) in counts {
            if !allowed.contains(&value) {
                let problem =
                    format!("is {value}, and must be from {} to {}", allowed.start(), allowed.end());
                return Err(LocalError::Settings { setting, problem });
            }
        }
        Ok(())
    }

    /// What the model in this file is called.
    pub(super) fn name_of(&self, model: &Path) -> String {
        let name = self.name.clone().unwrap_or_else(|| {
            let own = model.file_stem().unwrap_or_default();
            let folder = model.parent().and_then(Path::file_name);
            let name = folder.filter(|_| own == "model").unwrap_or(own);
            name.to_string_lossy().to_lowercase().replace(char::is_whitespace, "-")
        });
        format!("local/{name}")
    }

    /// How many threads compute: if all processors did, whatever else runs would hold them up.
    pub(super) fn thread_count(&self) -> usize {
        let spare = || available_parallelism().map_or(1, |all| all.get().saturating_sub(1)).max(1);
        self.threads.map_or_else(spare, |threads| threads as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_called_as_its_file_or_its_folder_is() {
        let settings = EmbedderSettings::default();
        let name = |path: &str| settings.name_of(Path::new(path));
        assert_eq!(name("models/all-minilm-l6-v2/model.onnx"), "local/all-minilm-l6-v2");
        assert_eq!(name("models/All MiniLM.onnx"), "local/all-minilm");
        assert_eq!(name("model.onnx"), "local/model");
        assert_eq!(settings.clone().name("Mine").name_of(Path::new("a/b.onnx")), "local/Mine");
    }

    #[test]
    fn settings_that_make_no_sense_are_named() {
        let sound = EmbedderSettings::default;
        for (bad, name) in [
            (sound().max_tokens(2), "max_tokens"),
            (sound().max_tokens(513), "max_tokens"),
            (sound().batch_size(0), "batch_size"),
            (sound().threads(0), "threads"),
            (EmbedderSettings { queue: 0, ..sound() }, "queue"),
        ] {
            assert!(
                matches!(bad.check(), Err(LocalError::Settings { setting, .. }) if setting == name),
                "{name}"
            );
        }
        assert!(sound().check().is_ok());
        assert!(sound().thread_count() >= 1);
    }
}
