//! One embedding model of one provider.

use std::fmt;
use std::time::Duration;

use bytes::BytesMut;
use convoke_core::{
    BoxFuture, Embedder, EmbeddingPurpose, Embeddings, ModelError, ModelErrorKind, Price, Usage,
};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::batch;
use super::wire::{EmbeddingCall, EmbeddingReply, Prefixes, malformed};
use crate::provider::Exchange;
use crate::{Provider, ProviderSettings};

/// How many requests are under way at once.
const AT_ONCE: usize = 4;

/// A larger answer is none.
const LARGEST_ANSWER: usize = 128 * 1024 * 1024;

/// An embedding model that a provider runs.
///
/// Tries each request once. Any number of texts may be given; they go out in batches, a few at a time.
///
/// ```
/// use convoke_core::Embedder;
/// use convoke_models::{ApiKey, Provider, ProviderEmbedder, ProviderSettings};
///
/// let settings = ProviderSettings::new(Provider::OpenAi).key(ApiKey::new("sk-very-secret"));
/// let embedder = ProviderEmbedder::new("text-embedding-3-small", 1_536, settings)?.shortened_to(512);
/// assert_eq!((embedder.name(), embedder.dimensions()), ("openai/text-embedding-3-small@512", 512));
/// # Ok::<(), convoke_core::ModelError>(())
/// ```
pub struct ProviderEmbedder {
    exchange: Exchange,
    /// The model's name, and what else its vectors depend on.
    name: String,
    dimensions: usize,
    shortened: bool,
    prefixes: Option<Prefixes>,
    most_texts: usize,
}

impl ProviderEmbedder {
    /// The model that this provider calls `model`, whose vectors have so many numbers.
    ///
    /// # Errors
    /// [`InvalidRequest`](ModelErrorKind::InvalidRequest) if the provider has no embeddings or no address,
    /// [`Authentication`](ModelErrorKind::Authentication) if a key is needed and missing.
    pub fn new(model: &str, dimensions: usize, settings: ProviderSettings) -> Result<Self, ModelError> {
        let provider = settings.provider;
        if provider == Provider::Anthropic {
            return Err(ModelError::new(
                ModelErrorKind::InvalidRequest,
                format!("{}/{model}: it has no embeddings; use another provider for them", provider.name()),
            ));
        }
        let exchange = Exchange::new(model, settings)?;
        Ok(Self {
            name: exchange.name.clone(),
            exchange,
            dimensions,
            shortened: false,
            prefixes: Prefixes::usual(provider, model),
            most_texts: batch::most_texts(provider),
        })
    }

    /// Asks the provider to shorten the vectors to so many numbers, for models that can. They cannot be compared with others
    /// of the same model, so the name says it.
    #[must_use]
    pub fn shortened_to(mut self, dimensions: usize) -> Self {
        self.dimensions = dimensions;
        self.shortened = true;
        self.name = format!("{}@{dimensions}", self.exchange.name);
        self
    }

    /// Puts these words before the texts, for models that are told so what a text is for: `search_document: ` and
    /// `search_query: ` with many open ones.
    #[must_use]
    pub fn prefixes(mut self, document: impl Into<String>, query: impl Into<String>) -> Self {
        self.prefixes = Some(Prefixes { document: document.into(), query: query.into() });
        self
    }

    /// Sends at most so many texts in one request, for servers that take fewer than usual. At least one is sent.
    #[must_use]
    pub fn batches_of(mut self, texts: usize) -> Self {
        self.most_texts = texts.max(1);
        self
    }

    async fn answer(&self, texts: Vec<String>, purpose: EmbeddingPurpose) -> Result<Embeddings, ModelError> {
        if let Some(empty) = texts.iter().position(|text| text.trim().is_empty()) {
            let message = format!("text {} of {} is empty; leave it out", empty + 1, texts.len());
            return Err(self.exchange.named(ModelError::new(ModelErrorKind::InvalidRequest, message)));
        }
        let batches = batch::split(texts, self.most_texts);
        let answers = stream::iter(batches).map(|batch| self.batch(batch, purpose)).buffered(AT_ONCE);
        let answers: Vec<EmbeddingReply> = answers.try_collect().await?;
        let tokens = answers.iter().try_fold(0, |sum: u64, answer| Some(sum.saturating_add(answer.tokens?)));
        let vectors = answers.into_iter().flat_map(|answer| answer.vectors).collect();
        Ok(Embeddings { vectors, usage: self.usage(tokens) })
    }

    /// One request.
    async fn batch(
        &self,
        texts: Vec<String>,
        purpose: EmbeddingPurpose,
    ) -> Result<EmbeddingReply, ModelError> {
        let asked = EmbeddingCall {
            provider: self.exchange.settings.provider,
            model: &self.exchange.model,
            texts: &texts,
            purpose,
            prefixes: self.prefixes.as_ref(),
            shortened_to: self.shortened.then_some(self.dimensions),
        };
        let bytes: usize = texts.iter().map(String::len).sum();
        let body = self.body(&asked, bytes as u64 / 4).await?;
        let understood = asked.read(&body).and_then(|answer| self.checked(answer));
        understood.map_err(|error| self.exchange.named(error))
    }

    /// Sends a request and reads the whole answer.
    async fn body(&self, asked: &EmbeddingCall<'_>, tokens: u64) -> Result<BytesMut, ModelError> {
        let mut opened = self.exchange.send(asked.write(), tokens).await?;
        let mut body = BytesMut::new();
        let (mut deadline, mut waited) = (Some(opened.deadline), None);
        while let Some(bytes) = self.exchange.bytes(&mut opened.body, deadline, waited).await? {
            if body.len() + bytes.len() > LARGEST_ANSWER {
                let error = malformed(format!("an answer of more than {LARGEST_ANSWER} bytes came in"));
                return Err(self.exchange.named(error));
            }
            body.extend_from_slice(&bytes);
            (deadline, waited) = (None, Some(Duration::ZERO));
        }
        Ok(body)
    }

    /// The answer with vectors of length one, if they are what was asked for.
    fn checked(&self, mut answer: EmbeddingReply) -> Result<EmbeddingReply, ModelError> {
        for vector in &mut answer.vectors {
            if vector.len() != self.dimensions {
                let message = format!(
                    "its vectors have {} numbers, not {}; make the embedder with the right number",
                    vector.len(),
                    self.dimensions
                );
                return Err(ModelError::new(ModelErrorKind::InvalidRequest, message));
            }
            normalise(vector).ok_or_else(|| malformed("a vector without a direction came"))?;
        }
        Ok(answer)
    }

    fn usage(&self, tokens: Option<u64>) -> Usage {
        let usage = Usage::tokens(tokens.unwrap_or_default(), 0);
        let price = self.exchange.settings.price;
        let is_known = tokens.is_some() || price == Some(Price::FREE);
        Usage { cost: price.filter(|_| is_known).map(|price| price.of(&usage)), ..usage }
    }
}

impl Embedder for ProviderEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed<'a>(
        &'a self,
        texts: Vec<String>,
        purpose: EmbeddingPurpose,
    ) -> BoxFuture<'a, Result<Embeddings, ModelError>> {
        Box::pin(self.answer(texts, purpose))
    }
}

impl fmt::Debug for ProviderEmbedder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProviderEmbedder")
            .field("name", &self.name)
            .field("dimensions", &self.dimensions)
            .finish_non_exhaustive()
    }
}

/// Makes a vector's length one. `None` if it has no direction.
fn normalise(vector: &mut [f32]) -> Option<()> {
    let square: f64 = vector.iter().map(|number| f64::from(*number).powi(2)).sum();
    let length = square.sqrt();
    if !length.is_normal() {
        return None;
    }
    for number in vector {
        *number = (f64::from(*number) / length) as f32;
    }
    Some(())
}
