//! The table of services known by name, in the order of preference: address, protocol, and variables of the key.

use crate::provider::Provider;

/// A place where models can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Service {
    /// Its name, in front of a model's: `groq/…`.
    pub name: &'static str,
    /// Other names people know it by.
    pub aliases: &'static [&'static str],
    /// What it speaks.
    pub provider: Provider,
    /// Where it is, if it has a place of its own.
    pub base_url: Option<&'static str>,
    /// The environment variables its key is looked for in.
    pub key_variables: &'static [&'static str],
    /// Whether it answers nobody without a key.
    pub needs_key: bool,
    /// How the names of its models begin, for those who do not name the service.
    pub prefixes: &'static [&'static str],
    /// The model to use when nobody names one.
    pub default_model: Option<&'static str>,
}

impl Service {
    /// All services, in the order in which their keys are looked for.
    pub const ALL: &'static [Self] = &[
        Self {
            prefixes: &["claude"],
            default_model: Some("claude-sonnet-5-5"),
            ..Self::native(Provider::Anthropic)
        },
        Self {
            prefixes: &["gpt-", "o1", "o3", "o4", "chatgpt"],
            default_model: Some("gpt-5.4-mini"),
            ..Self::native(Provider::OpenAi)
        },
        Self {
            aliases: &["google"],
            prefixes: &["gemini", "gemma"],
            default_model: Some("gemini-3.5-flash"),
            ..Self::native(Provider::Gemini)
        },
        Self {
            prefixes: &["mistral", "mixtral", "codestral", "pixtral", "magistral", "devstral"],
            default_model: Some("mistral-small-latest"),
            ..Self::compatible("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"])
        },
        Self {
            prefixes: &["grok"],
            default_model: Some("grok-4"),
            ..Self::compatible("xai", "https://api.x.ai/v1", &["XAI_API_KEY"])
        },
        Self {
            prefixes: &["llama"],
            default_model: Some("llama-3.3-70b-versatile"),
            ..Self::compatible("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"])
        },
        Self {
            prefixes: &["deepseek"],
            default_model: Some("deepseek-chat"),
            ..Self::compatible("deepseek", "https://api.deepseek.com/v1", &["DEEPSEEK_API_KEY"])
        },
        Self {
            prefixes: &["cerebras"],
            default_model: Some("llama-3.3-70b"),
            ..Self::compatible("cerebras", "https://api.cerebras.ai/v1", &["CEREBRAS_API_KEY"])
        },
        Self {
            default_model: Some("openrouter/auto"),
            ..Self::compatible("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"])
        },
        Self::compatible("together", "https://api.together.xyz/v1", &["TOGETHER_API_KEY"]),
        Self {
            base_url: Some("https://ollama.com"),
            needs_key: true,
            key_variables: &["OLLAMA_API_KEY"],
            name: "ollama-cloud",
            ..Self::native(Provider::Ollama)
        },
        Self { aliases: &["ollama-local"], key_variables: &[], ..Self::native(Provider::Ollama) },
        Self {
            needs_key: false,
            ..Self::compatible("lmstudio", "http://127.0.0.1:1234/v1", &["LMSTUDIO_API_KEY"])
        },
        Self {
            aliases: &["openai-compatible", "openai-compat", "litellm"],
            ..Self::native(Provider::OpenAiCompatible)
        },
    ];

    const fn native(provider: Provider) -> Self {
        Self {
            name: provider.name(),
            aliases: &[],
            provider,
            base_url: provider.base_url(),
            key_variables: provider.key_variables(),
            needs_key: provider.needs_key(),
            prefixes: &[],
            default_model: None,
        }
    }

    const fn compatible(
        name: &'static str,
        base_url: &'static str,
        key_variables: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            base_url: Some(base_url),
            key_variables,
            needs_key: true,
            ..Self::native(Provider::OpenAiCompatible)
        }
    }

    /// The service with this name or alias, in any case.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        let is_it = |known: &str| known.eq_ignore_ascii_case(name);
        Self::ALL
            .iter()
            .find(|service| is_it(service.name) || service.aliases.iter().any(|alias| is_it(alias)))
    }

    /// The service whose models have names that begin like this one.
    #[must_use]
    pub fn of_model(model: &str) -> Option<&'static Self> {
        let model = model.to_ascii_lowercase();
        Self::ALL.iter().find(|service| service.prefixes.iter().any(|prefix| model.starts_with(prefix)))
    }
}
