//! Dialects: where servers deviate from what most of them understand.
//!
//! An exception is made only for what a server is known to refuse, and is told from its address: there is no way to ask.

use super::common;
use crate::provider::StructuredOutput;

/// The dialect of one model of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dialect {
    /// What the most tokens of output are called. OpenAI's thinking models refuse the name that all others know.
    pub(super) limit: &'static str,
    /// What the seed is called.
    pub(super) seed: &'static str,
    /// Whether usage must be asked for. Mistral gives it unasked, and refuses the question.
    pub(super) ask_for_usage: bool,
    /// The form of call ids.
    pub(super) ids: CallIds,
    /// Whether every message of the model must have a thought, if only an empty one, as DeepSeek's thinking mode wants.
    pub(super) thoughts_required: bool,
    /// The way a shape is asked for.
    pub(super) shapes: Shapes,
}

/// The form of call ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallIds {
    /// Like anything.
    Any,
    /// Nine letters or digits: Mistral refuses all others, and a conversation may have begun elsewhere.
    NineCharacters,
}

/// The way a shape is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shapes {
    /// With `json_schema`.
    Enforced,
    /// With `json_object`, and the schema in words: DeepSeek knows nothing else.
    Told,
}

impl Dialect {
    /// The dialect of this model at this address.
    pub(super) fn of(base_url: &str, model: &str) -> Self {
        let at = |domain| common::is_at(base_url, domain);
        let is_openai = at("openai.com") || at("openai.azure.com") || common::reasons(model);
        let (is_mistral, is_deepseek) = (at("mistral.ai"), at("deepseek.com"));
        Self {
            limit: if is_openai { "max_completion_tokens" } else { "max_tokens" },
            seed: if is_mistral { "random_seed" } else { "seed" },
            ask_for_usage: !is_mistral,
            ids: if is_mistral { CallIds::NineCharacters } else { CallIds::Any },
            thoughts_required: is_deepseek,
            shapes: if is_deepseek { Shapes::Told } else { Shapes::Enforced },
        }
    }

    /// The same, with shapes asked for as the settings say. A request in words has no shape any more when it is written.
    pub(super) fn asking(&self, how: Option<StructuredOutput>) -> Self {
        let shapes = match how {
            Some(StructuredOutput::JsonSchema) => Shapes::Enforced,
            Some(StructuredOutput::JsonObject) => Shapes::Told,
            Some(StructuredOutput::Words) | None => self.shapes,
        };
        Self { shapes, ..self.clone() }
    }
}

impl CallIds {
    /// The id this call goes by. The same one always, or its result would not be found.
    pub(super) fn written(self, id: &str) -> String {
        const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        let fits = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if self == Self::Any || fits {
            return id.to_owned();
        }
        let hash = blake3::hash(id.as_bytes());
        let letters = hash.as_bytes()[..9].iter().map(|byte| LETTERS[usize::from(*byte) % LETTERS.len()]);
        letters.map(char::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_limit_depends_on_who_is_asked() {
        let limit = |url, model| Dialect::of(url, model).limit;
        assert_eq!(limit("http://127.0.0.1:8080/v1", "qwen3"), "max_tokens");
        assert_eq!(limit("https://openrouter.ai/api/v1", "openai/gpt-oss-120b"), "max_tokens");
        assert_eq!(limit("https://notopenai.com/v1", "gpt-4o"), "max_tokens");
        assert_eq!(limit("https://gateway.example/v1", "openai/gpt-5-mini"), "max_completion_tokens");
        assert_eq!(limit("https://gateway.example/v1", "o3-mini"), "max_completion_tokens");
        assert_eq!(limit("https://api.openai.com/v1", "gpt-4o"), "max_completion_tokens");
        assert_eq!(limit("https://me.openai.azure.com/openai/v1", "my-own"), "max_completion_tokens");
    }

    #[test]
    fn mistral_and_deepseek_are_known_by_their_addresses() {
        let mistral = Dialect::of("https://user:word@API.mistral.ai:443/v1", "mistral-large");
        assert_eq!((mistral.seed, mistral.ask_for_usage), ("random_seed", false));
        let id = mistral.ids.written("toolu_01A");
        assert_eq!(id.len(), 9);
        assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        assert_eq!(mistral.ids.written("toolu_01A"), id);
        assert_eq!(mistral.ids.written("D681PevKs"), "D681PevKs");
        let deepseek = Dialect::of("https://api.deepseek.com", "deepseek-v4");
        assert!(deepseek.thoughts_required);
        assert_eq!(deepseek.shapes, Shapes::Told);
    }
}
