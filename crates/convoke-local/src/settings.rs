//! Settings of a local model.

use serde::{Deserialize, Serialize};

use crate::LocalError;

/// Settings of a local model. Every setting has a default that suits a small model on a small machine.
///
/// ```
/// use convoke_local::LocalSettings;
///
/// let settings = LocalSettings::default().context_tokens(8192).parallel(2);
/// assert_eq!(settings.temperature, 0.2);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LocalSettings {
    /// What the model is called, after `local/`. By default the file's name, in small letters and without its ending.
    pub name: Option<String>,
    /// How many tokens a conversation may have at most, prompt and answer together; by default as many as the model was
    /// trained for. Memory is taken only for what conversations need.
    pub context_tokens: Option<u32>,
    /// How many requests are worked on at once, where memory allows it. Each has room of its own for its conversation.
    pub parallel: u32,
    /// How many further requests may wait before the next has to wait to be let in.
    pub queue: usize,
    /// How many threads compute. By default as many as there are processors.
    pub threads: Option<u32>,
    /// The most tokens of an answer whose request does not say.
    pub max_tokens: u32,
    /// The randomness of a request that does not say. 0 always takes the likeliest token.
    pub temperature: f64,
    /// Of the likeliest tokens, the share a request picks from that does not say.
    pub top_p: f64,
    /// Of the likeliest tokens, how many a reply picks from; 0: any number.
    pub top_k: u32,
    /// How likely a token must be, as a share of the likeliest one's, to be picked; 0: not at all.
    pub min_p: f64,
    /// By how much a token is made less likely that the reply has said already; 1: not at all.
    pub repeat_penalty: f64,
    /// How strongly a reply is kept from going round in circles (llama.cpp's DRY sampler); 0: not at all.
    pub dry_multiplier: f64,
    /// The most tools one reply may call. Small models like to repeat themselves.
    pub calls_per_reply: u32,
    /// A chat template to use instead of the file's own.
    pub chat_template: Option<String>,
    /// Whether the user tells the model what its tools returned, instead of the template; see
    /// [`ChatTemplate::tell_results_in_words`](crate::ChatTemplate::tell_results_in_words). By default only where it is
    /// known to be better: for the Qwen2.5-Coder models.
    pub results_in_words: Option<bool>,
}

impl Default for LocalSettings {
    fn default() -> Self {
        Self {
            name: None,
            context_tokens: None,
            parallel: 4,
            queue: 64,
            threads: None,
            max_tokens: 1024,
            temperature: 0.2,
            top_p: 0.9,
            top_k: 40,
            min_p: 0.05,
            repeat_penalty: 1.05,
            dry_multiplier: 0.8,
            calls_per_reply: 4,
            chat_template: None,
            results_in_words: None,
        }
    }
}

impl LocalSettings {
    /// Sets what the model is called, after `local/`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets how many tokens a conversation may have at most.
    #[must_use]
    pub fn context_tokens(mut self, tokens: u32) -> Self {
        self.context_tokens = Some(tokens);
        self
    }

    /// Sets how many requests are worked on at once.
    #[must_use]
    pub fn parallel(mut self, requests: u32) -> Self {
        self.parallel = requests;
        self
    }

    /// Sets how many threads compute.
    #[must_use]
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets the chat template to use instead of the file's own.
    #[must_use]
    pub fn chat_template(mut self, source: impl Into<String>) -> Self {
        self.chat_template = Some(source.into());
        self
    }

    /// Checks that every setting makes sense.
    ///
    /// # Errors
    /// [`LocalError::Settings`] names the one that does not.
    pub fn check(&self) -> Result<(), LocalError> {
        let counts = [
            ("context_tokens", u64::from(self.context_tokens.unwrap_or(1)), 1 << 24),
            ("parallel", u64::from(self.parallel), 64),
            ("queue", self.queue as u64, 1 << 20),
            ("threads", u64::from(self.threads.unwrap_or(1)), 1024),
            ("max_tokens", u64::from(self.max_tokens), 1 << 24),
            ("calls_per_reply", u64::from(self.calls_per_reply), 64),
        ];
        for (setting, value, most) in counts {
            if value == 0 || value > most {
                let problem = format!("is {value}, and must be from 1 to {most}");
                return Err(LocalError::Settings { setting, problem });
            }
        }
        let amounts = [
            ("temperature", self.temperature, 0.0, 10.0),
            ("min_p", self.min_p, 0.0, 1.0),
            ("repeat_penalty", self.repeat_penalty, 1.0, 2.0),
            ("dry_multiplier", self.dry_multiplier, 0.0, 10.0),
        ];
        for (setting, value, least, most) in amounts {
            if !(least..=most).contains(&value) {
                let problem = format!("is {value}, and must be from {least} to {most}");
                return Err(LocalError::Settings { setting, problem });
            }
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            let problem = format!("is {}, and must be more than 0 and at most 1", self.top_p);
            return Err(LocalError::Settings { setting: "top_p", problem });
        }
        Ok(())
    }
}
