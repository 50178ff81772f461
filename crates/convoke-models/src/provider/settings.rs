//! Settings of a provider: which one, its address, limits and options.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::Price;
use convoke_http::address::shown_with_query;
use http::HeaderMap;

use super::StructuredOutput;
use super::reply_size::MIB;
use crate::http::{ApiKey, HttpTransport, Transport};

/// A family of models and the protocol it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    OpenAi,
    /// Chat completions, as OpenAI began them and many servers speak them.
    OpenAiCompatible,
    /// Google's Gemini.
    Gemini,
    /// Ollama.
    Ollama,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Anthropic, Self::OpenAi, Self::OpenAiCompatible, Self::Gemini, Self::Ollama];

    /// Its name in front of a model's: `anthropic/…`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiCompatible => "compatible",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Returns its address, without a slash at the end. A compatible server has no address of its own.
    #[must_use]
    pub const fn base_url(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::OpenAi => Some("https://api.openai.com/v1"),
            Self::OpenAiCompatible => None,
            Self::Gemini => Some("https://generativelanguage.googleapis.com/v1beta"),
            Self::Ollama => Some("http://127.0.0.1:11434"),
        }
    }

    /// The environment variables its key is looked for in, first one first.
    #[must_use]
    pub const fn key_variables(self) -> &'static [&'static str] {
        match self {
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::OpenAi => &["OPENAI_API_KEY"],
            Self::OpenAiCompatible => &["CONVOKE_COMPATIBLE_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::Ollama => &["OLLAMA_API_KEY"],
        }
    }

    /// Returns whether it answers nobody without a key.
    #[must_use]
    pub const fn needs_key(self) -> bool {
        matches!(self, Self::Anthropic | Self::OpenAi | Self::Gemini)
    }
}

/// Prompt caching, for providers that must be asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PromptCache {
    /// The tools, the instructions and the conversation so far, for as long as the provider usually keeps them.
    #[default]
    Automatic,
    /// The same, for an hour where the provider offers it.
    Hour,
    /// Nothing.
    Off,
}

/// Time limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimits {
    /// From sending a request to the first sign of life of the answer.
    pub first_token: Duration,
    /// Between two signs of life after that.
    pub idle: Duration,
}

impl Default for TimeLimits {
    /// Ten minutes for the first sign of life: models that think may be silent for long, and giving up means paying twice.
    /// Two minutes between two.
    fn default() -> Self {
        Self { first_token: Duration::from_mins(10), idle: Duration::from_mins(2) }
    }
}

/// Settings of a provider. Made with [`ProviderSettings::new`] and changed as needed.
#[derive(Clone)]
#[non_exhaustive]
pub struct ProviderSettings {
    /// Which one.
    pub provider: Provider,
    /// The name of the service, in front of the model's: the provider's own, or of one that speaks like it.
    pub service: String,
    /// Where it is, without a slash at the end.
    pub base_url: String,
    /// The key, if one is needed.
    pub key: Option<ApiKey>,
    /// Further headers for every request; sensitive ones must be marked as such.
    pub headers: HeaderMap,
    /// How long to wait.
    pub time_limits: TimeLimits,
    /// What the provider should keep.
    pub prompt_cache: PromptCache,
    /// How it is asked for an answer of a given shape; `None`: with a schema, and in words if it refuses that.
    pub structured_output: Option<StructuredOutput>,
    /// How many bytes of text, thoughts and calls a reply may have: 16 MiB.
    pub max_reply_bytes: usize,
    /// What the model costs, if that is known.
    pub price: Option<Price>,
    /// What requests go through.
    pub transport: Arc<dyn Transport>,
}

impl ProviderSettings {
    /// This provider, at its usual place. A compatible server needs a `base_url` besides.
    #[must_use]
    pub fn new(provider: Provider) -> Self {
        Self {
            provider,
            service: provider.name().to_owned(),
            base_url: provider.base_url().unwrap_or_default().to_owned(),
            key: None,
            headers: HeaderMap::new(),
            time_limits: TimeLimits::default(),
            prompt_cache: PromptCache::default(),
            structured_output: None,
            max_reply_bytes: 16 * MIB,
            price: None,
            transport: HttpTransport::shared(),
        }
    }

    /// Sets the service's name.
    #[must_use]
    pub fn service(mut self, name: impl Into<String>) -> Self {
        self.service = name.into();
        self
    }

    /// Sets where it is.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = url.into();
        while self.base_url.ends_with('/') {
            self.base_url.pop();
        }
        self
    }

    /// Sets the key.
    #[must_use]
    pub fn key(mut self, key: ApiKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets what requests go through.
    #[must_use]
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = transport;
        self
    }

    /// Sets the price.
    #[must_use]
    pub fn price(mut self, price: Option<Price>) -> Self {
        self.price = price;
        self
    }

    /// Sets how it is asked for an answer of a given shape.
    #[must_use]
    pub fn structured_output(mut self, how: Option<StructuredOutput>) -> Self {
        self.structured_output = how;
        self
    }

    /// Sets how many bytes a reply may have.
    #[must_use]
    pub fn max_reply_bytes(mut self, most: usize) -> Self {
        self.max_reply_bytes = most;
        self
    }

    /// Sets how long to wait.
    #[must_use]
    pub fn time_limits(mut self, limits: TimeLimits) -> Self {
        self.time_limits = limits;
        self
    }
}

impl fmt::Debug for ProviderSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProviderSettings")
            .field("provider", &self.provider)
            .field("service", &self.service)
            .field("base_url", &shown_with_query(&self.base_url))
            .field("key", &self.key)
            .field("headers", &self.headers)
            .field("time_limits", &self.time_limits)
            .field("prompt_cache", &self.prompt_cache)
            .field("structured_output", &self.structured_output)
            .field("max_reply_bytes", &self.max_reply_bytes)
            .field("price", &self.price)
            .field("transport", &self.transport)
            .finish()
    }
}
