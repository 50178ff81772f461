//! Embedding requests and replies of each provider.

use convoke_core::{EmbeddingPurpose, ModelError, ModelErrorKind};
use http::HeaderMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Provider;
use crate::provider::{WireRequest, excerpt, gemini_resource};

/// How much of an answer that makes no sense is shown.
const SHOWN: usize = 120;

/// Prefixes of texts that say what they are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prefixes {
    pub(super) document: String,
    pub(super) query: String,
}

impl Prefixes {
    /// What a model wants without being told: Gemini's newer ones have no other way of saying what a text is for.
    pub(super) fn usual(provider: Provider, model: &str) -> Option<Self> {
        let wants = provider == Provider::Gemini && !has_task_types(model);
        wants.then(|| Self {
            document: "title: none | text: ".to_owned(),
            query: "task: search result | query: ".to_owned(),
        })
    }

    fn put(&self, purpose: EmbeddingPurpose, text: &str) -> String {
        let prefix = match purpose {
            EmbeddingPurpose::Document => &self.document,
            EmbeddingPurpose::Query => &self.query,
        };
        format!("{prefix}{text}")
    }
}

/// Whether a model of Gemini's is told in a field what a text is for.
fn has_task_types(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    name == "gemini-embedding-001" || name.starts_with("text-embedding-") || name.starts_with("embedding-")
}

/// An embedding request.
pub(super) struct EmbeddingCall<'a> {
    pub(super) provider: Provider,
    pub(super) model: &'a str,
    pub(super) texts: &'a [String],
    pub(super) purpose: EmbeddingPurpose,
    pub(super) prefixes: Option<&'a Prefixes>,
    /// How many numbers a vector shall have, if not as many as the model gives by itself.
    pub(super) shortened_to: Option<usize>,
}

impl EmbeddingCall<'_> {
    /// The request.
    pub(super) fn write(&self) -> WireRequest {
        let texts: Vec<String> = match self.prefixes {
            Some(prefixes) => self.texts.iter().map(|text| prefixes.put(self.purpose, text)).collect(),
            None => self.texts.to_vec(),
        };
        let (path, body) = match self.provider {
            Provider::Gemini => {
                let model = gemini_resource(self.model);
                let requests: Vec<_> = texts.iter().map(|text| self.gemini(&model, text)).collect();
                (format!("/{model}:batchEmbedContents"), json!({ "requests": requests }))
            }
            Provider::Ollama => {
                // Otherwise it silently cuts what is too long.
                let body = json!({ "model": self.model, "input": texts, "truncate": false });
                ("/api/embed".to_owned(), self.with_dimensions(body))
            }
            _ => {
                let body = json!({ "model": self.model, "input": texts });
                ("/embeddings".to_owned(), self.with_dimensions(body))
            }
        };
        WireRequest { path, headers: HeaderMap::new(), body }
    }

    fn with_dimensions(&self, mut body: Value) -> Value {
        if let Some(dimensions) = self.shortened_to {
            body["dimensions"] = json!(dimensions);
        }
        body
    }

    fn gemini(&self, model: &str, text: &str) -> Value {
        let mut request = json!({ "model": model, "content": { "parts": [{ "text": text }] } });
        if has_task_types(self.model) && self.prefixes.is_none() {
            request["taskType"] = json!(match self.purpose {
                EmbeddingPurpose::Document => "RETRIEVAL_DOCUMENT",
                EmbeddingPurpose::Query => "RETRIEVAL_QUERY",
            });
        }
        if let Some(dimensions) = self.shortened_to {
            request["outputDimensionality"] = json!(dimensions);
        }
        request
    }

    /// The answer: a vector for every text, in their order.
    pub(super) fn read(&self, body: &[u8]) -> Result<EmbeddingReply, ModelError> {
        let answer = match self.provider {
            Provider::Gemini => parse::<Gemini>(body)?.into(),
            Provider::Ollama => parse::<Ollama>(body)?.into(),
            _ => parse::<OpenAi>(body)?.in_order()?,
        };
        if answer.vectors.len() != self.texts.len() {
            let (came, asked) = (answer.vectors.len(), self.texts.len());
            return Err(malformed(format!("{came} vectors came for {asked} texts")));
        }
        Ok(answer)
    }
}

/// Vectors as they came.
#[derive(Debug)]
pub(super) struct EmbeddingReply {
    pub(super) vectors: Vec<Vec<f32>>,
    /// How many tokens were read, if the provider says.
    pub(super) tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OpenAi {
    data: Vec<Embedded>,
    usage: Option<OpenAiUsage>,
}

#[derive(Deserialize)]
struct Embedded {
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct OpenAiUsage {
    prompt_tokens: Option<u64>,
    total_tokens: Option<u64>,
}

impl OpenAi {
    /// Nothing promises the order of the vectors; their numbers tell it. Where they have none, it is that of the texts.
    fn in_order(mut self) -> Result<EmbeddingReply, ModelError> {
        self.data.sort_by_key(|embedded| embedded.index);
        let is_amiss =
            |(place, embedded): (usize, &Embedded)| embedded.index.is_some_and(|index| index != place);
        if self.data.iter().enumerate().any(is_amiss) {
            return Err(malformed("the vectors are not numbered as the texts are"));
        }
        Ok(EmbeddingReply {
            vectors: self.data.into_iter().map(|embedded| embedded.embedding).collect(),
            tokens: self.usage.and_then(|usage| usage.prompt_tokens.or(usage.total_tokens)),
        })
    }
}

#[derive(Deserialize)]
struct Gemini {
    embeddings: Vec<Values>,
    #[serde(rename = "usageMetadata")]
    usage: Option<GeminiUsage>,
}

#[derive(Deserialize)]
struct Values {
    values: Vec<f32>,
}

#[derive(Deserialize)]
struct GeminiUsage {
    #[serde(rename = "promptTokenCount")]
    tokens: Option<u64>,
}

impl From<Gemini> for EmbeddingReply {
    fn from(answer: Gemini) -> Self {
        Self {
            vectors: answer.embeddings.into_iter().map(|embedding| embedding.values).collect(),
            tokens: answer.usage.and_then(|usage| usage.tokens),
        }
    }
}

#[derive(Deserialize)]
struct Ollama {
    embeddings: Vec<Vec<f32>>,
    prompt_eval_count: Option<u64>,
}

impl From<Ollama> for EmbeddingReply {
    fn from(answer: Ollama) -> Self {
        Self { vectors: answer.embeddings, tokens: answer.prompt_eval_count }
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ModelError> {
    serde_json::from_slice(body).map_err(|error| {
        let said = excerpt(&String::from_utf8_lossy(body), SHOWN);
        malformed(format!("the answer has no embeddings ({error}): {said}"))
    })
}

pub(super) fn malformed(message: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, message)
}
