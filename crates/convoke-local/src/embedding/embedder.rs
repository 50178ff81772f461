//! An embedding model in this process.

use std::fmt;
use std::path::Path;
use std::sync::mpsc as std_mpsc;
use std::thread::{Builder, JoinHandle};

use convoke_core::{
    BoxFuture, Embedder, EmbeddingPurpose, Embeddings, ModelError, ModelErrorKind, Price, Usage,
};
use tokio::sync::{mpsc, oneshot};

use super::bert::Bert;
use super::settings::EmbedderSettings;
use super::tokenizer::Token;
use super::worker::{self, EmbedderJob, Engine, TextPosition, TokenLimit};
use crate::LocalError;

/// How many texts are read as tokens before it is another request's turn. It takes some milliseconds.
const READ_AT_ONCE: usize = 256;

/// An embedding model in this process, read from an ONNX file.
///
/// Any number of texts may be given, and any number of requests made at once: they take turns, batch by batch. Dropping a
/// request stops its work after the batch under way. A text's vector depends on nothing but the text; what it is embedded
/// for makes no difference to models of this kind.
///
/// ```no_run
/// use convoke_core::Embedder;
/// use convoke_local::{EmbedderSettings, LocalEmbedder};
///
/// let folder = std::path::Path::new("models/all-minilm-l6-v2");
/// let settings = EmbedderSettings::default();
/// let embedder = LocalEmbedder::open(folder.join("model.onnx"), folder.join("tokenizer.json"), settings)?;
/// assert_eq!((embedder.name(), embedder.dimensions()), ("local/all-minilm-l6-v2", 384));
/// # Ok::<(), convoke_local::LocalError>(())
/// ```
pub struct LocalEmbedder {
    name: String,
    dimensions: usize,
    batch_size: usize,
    /// Taken when the embedder is dropped, which ends the thread.
    queue: Option<mpsc::Sender<EmbedderJob>>,
    thread: Option<JoinHandle<()>>,
}

impl LocalEmbedder {
    /// Opens a model, with the `tokenizer.json` that belongs to it, and tries it out. Blocks meanwhile, for some tenths of
    /// a second.
    ///
    /// # Errors
    /// [`LocalError`] says what is wrong with the files or the settings.
    pub fn open(
        model: impl AsRef<Path>,
        tokenizer: impl AsRef<Path>,
        settings: EmbedderSettings,
    ) -> Result<Self, LocalError> {
        settings.check()?;
        let (model, tokenizer) = (model.as_ref().to_owned(), tokenizer.as_ref().to_owned());
        let name = settings.name_of(&model);
        let engine = {
            let settings = settings.clone();
            move || Bert::open(&model, &tokenizer, &settings)
        };
        Self::start(name, &settings, engine)
    }

    /// Starts the thread, which makes the engine and works with it.
    pub(super) fn start<E: Engine>(
        name: String,
        settings: &EmbedderSettings,
        engine: impl FnOnce() -> Result<E, LocalError> + Send + 'static,
    ) -> Result<Self, LocalError> {
        let limit = TokenLimit { tokens: settings.max_tokens as usize, long_texts: settings.long_texts };
        let (queue, received) = mpsc::channel(settings.queue);
        let (ready, opened) = std_mpsc::sync_channel(1);
        let work = move || match engine() {
            // Nobody has gone: `start` waits for this.
            Err(error) => drop(ready.send(Err(error))),
            Ok(engine) => {
                let _ = ready.send(Ok(engine.dimensions()));
                worker::run(&engine, limit, received);
            }
        };
        let failed = |reason: String| LocalError::Engine { reason };
        let thread = Builder::new().name("convoke-embedder".to_owned()).spawn(work);
        let thread = thread.map_err(|error| failed(error.to_string()))?;
        let dimensions =
            opened.recv().map_err(|_| failed("its thread died while it loaded the model".to_owned()))??;
        let batch_size = settings.batch_size as usize;
        Ok(Self { name, dimensions, batch_size, queue: Some(queue), thread: Some(thread) })
    }

    async fn answer(&self, texts: Vec<String>) -> Result<Embeddings, ModelError> {
        if let Some(empty) = texts.iter().position(|text| text.trim().is_empty()) {
            let message = format!("text {} of {} is empty; leave it out", empty + 1, texts.len());
            return Err(self.named(ModelError::new(ModelErrorKind::InvalidRequest, message)));
        }
        let mut texts = self.read(texts).await?;
        let tokens: usize = texts.iter().map(Vec::len).sum();
        // Texts of about equal length together: a batch is as long as its longest.
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|index| texts[*index].len());
        let mut vectors = vec![Vec::new(); texts.len()];
        for places in order.chunks(self.batch_size) {
            let batch = places.iter().map(|index| std::mem::take(&mut texts[*index])).collect();
            let computed = self.ask(|answer| EmbedderJob::Compute { batch, answer }).await?;
            for (index, vector) in places.iter().zip(computed) {
                vectors[*index] = vector;
            }
        }
        let usage = Usage::tokens(tokens as u64, 0);
        Ok(Embeddings { vectors, usage: Usage { cost: Some(Price::FREE.of(&usage)), ..usage } })
    }

    /// The texts as tokens.
    async fn read(&self, texts: Vec<String>) -> Result<Vec<Vec<Token>>, ModelError> {
        let of = texts.len();
        let (mut read, mut cut) = (Vec::with_capacity(of), 0);
        let mut texts = texts.into_iter();
        while read.len() < of {
            let (texts, place) =
                (texts.by_ref().take(READ_AT_ONCE).collect(), TextPosition { before: read.len(), of });
            let part = self.ask(|answer| EmbedderJob::Read { texts, place, answer }).await?;
            read.extend(part.texts);
            cut += part.cut;
        }
        if cut > 0 {
            tracing::warn!(model = self.name, cut, of, "texts were cut to what the model reads");
        }
        Ok(read)
    }

    /// Has the thread do something, and waits for it.
    async fn ask<T>(
        &self,
        work: impl FnOnce(oneshot::Sender<Result<T, ModelError>>) -> EmbedderJob,
    ) -> Result<T, ModelError> {
        let stopped = || {
            let message = "its thread has stopped; open the model again";
            self.named(ModelError::new(ModelErrorKind::Other, message))
        };
        let (answer, answered) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or_else(stopped)?;
        queue.send(work(answer)).await.map_err(|_| stopped())?;
        answered.await.map_err(|_| stopped())?.map_err(|error| self.named(error))
    }

    fn named(&self, error: ModelError) -> ModelError {
        ModelError { message: format!("{}: {}", self.name, error.message), ..error }
    }
}

impl Embedder for LocalEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed<'a>(
        &'a self,
        texts: Vec<String>,
        _purpose: EmbeddingPurpose,
    ) -> BoxFuture<'a, Result<Embeddings, ModelError>> {
        Box::pin(self.answer(texts))
    }
}

impl fmt::Debug for LocalEmbedder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LocalEmbedder")
            .field("name", &self.name)
            .field("dimensions", &self.dimensions)
            .finish_non_exhaustive()
    }
}

impl Drop for LocalEmbedder {
    /// Waits for the thread, which ends within a batch: nobody who could still wait for a vector is left.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic in it was seen by whoever waited for an answer.
            let _ = thread.join();
        }
    }
}
