//! The engine: llama.cpp in a thread of its own.
//!
//! | file | what it is for |
//! |---|---|
//! | `load`, `file`, `memory`, `processor`, `load_errors` | opening a model, and saying why it cannot be |
//! | `vocabulary` | texts, tokens, compiled grammars |
//! | `job` | a request made ready, outside the engine's thread |
//! | `worker`, `slot` | the engine's thread, and the work in it |
//! | `status` | what it is doing |

mod file;
mod job;
mod load;
mod load_errors;
mod memory;
mod processor;
mod slot;
mod status;
mod vocabulary;
mod worker;

#[cfg(test)]
pub(crate) use load::backend;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use convoke_core::{
    CallContext, Model, ModelError, ModelErrorKind, ModelRequest, Price, Reality, ReplyDelta, ReplyStream,
};
use futures_util::{StreamExt, stream};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{LocalError, LocalSettings};
use job::{Job, QueuedJob};
use load::{EngineCapacity, LoadedModel};
pub use status::LocalStatus;
use status::StatusBoard;
use worker::Worker;

/// A language model in this process, read from a GGUF file.
///
/// Clones share one loaded model. Requests are worked on together, as many at once as the settings say; the others wait
/// in the order they came. Dropping a reply's stream frees its place at the next token. A conversation that goes on is
/// read from where it was left, if its place was not needed for another.
///
/// The same request with the same seed gets the same reply, if nothing else is asked at the same time: the engine
/// computes requests together, and then rounds differently.
///
/// ```no_run
/// use convoke_local::{LocalModel, LocalSettings};
///
/// # async fn open() -> Result<(), convoke_local::LocalError> {
/// let model = LocalModel::open("models/smollm2-135m.gguf", LocalSettings::default()).await?;
/// assert_eq!(convoke_core::Model::name(&model), "local/smollm2-135m");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct LocalModel {
    shared: Arc<Shared>,
}

struct Shared {
    name: String,
    settings: LocalSettings,
    loaded: Arc<LoadedModel>,
    board: StatusBoard,
    /// Taken when the model is dropped, which ends the thread.
    jobs: Option<mpsc::Sender<QueuedJob>>,
    thread: Option<JoinHandle<()>>,
}

impl LocalModel {
    /// Opens a model. The work is done in the engine's own thread.
    ///
    /// # Errors
    /// [`LocalError`] says what is wrong with the file, the settings or the machine.
    pub async fn open(path: impl Into<PathBuf>, settings: LocalSettings) -> Result<Self, LocalError> {
        settings.check()?;
        let path = path.into();
        let name = settings.name.clone().unwrap_or_else(|| file::name(&path));
        let board = StatusBoard::new(settings.parallel);
        let (jobs, received) = mpsc::channel(settings.queue);
        let (ready, loaded) = oneshot::channel();
        let engine = {
            let (settings, board) = (settings.clone(), board.clone());
            move || run(&path, &settings, board, received, ready)
        };
        let failed = |reason: String| LocalError::Engine { reason };
        let thread = Builder::new().name("convoke-local".to_owned()).spawn(engine);
        let thread = thread.map_err(|error| failed(error.to_string()))?;
        let loaded =
            loaded.await.map_err(|_| failed("its thread died while it loaded the model".to_owned()))??;
        let name = format!("local/{name}");
        let shared = Shared { name, settings, loaded, board, jobs: Some(jobs), thread: Some(thread) };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns what it is doing, and has done.
    #[must_use]
    pub fn status(&self) -> LocalStatus {
        self.shared.board.now()
    }

    /// Returns a receiver of status changes.
    #[must_use]
    pub fn status_changes(&self) -> watch::Receiver<LocalStatus> {
        self.shared.board.changes()
    }

    /// Returns how many tokens a conversation may have, prompt and answer together.
    #[must_use]
    pub fn context_tokens(&self) -> u32 {
        self.shared.loaded.context_tokens
    }

    /// Makes the request ready, and hands it to the engine.
    async fn submit(
        &self,
        request: ModelRequest,
    ) -> Result<mpsc::Receiver<Result<ReplyDelta, ModelError>>, ModelError> {
        let shared = Arc::clone(&self.shared);
        // Long conversations and large schemas take a while.
        let prepared =
            tokio::task::spawn_blocking(move || Job::new(&request, &shared.loaded, &shared.settings));
        let job = prepared.await.map_err(|error| self.stopped(&error.to_string()))??;
        let waiting = self.shared.board.wait();
        let (replies, received) = mpsc::channel(job.most_pieces());
        let jobs = self.shared.jobs.as_ref().ok_or_else(|| self.stopped("it was closed"))?;
        let sent = jobs.send(QueuedJob { job, replies, waiting }).await;
        sent.map_err(|_| self.stopped("its thread has ended"))?;
        Ok(received)
    }

    fn stopped(&self, reason: &str) -> ModelError {
        let message =
            format!("the engine of {} has stopped: {reason}; open the model again", self.shared.name);
        ModelError::new(ModelErrorKind::Other, message)
    }
}

impl Model for LocalModel {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn reply<'a>(&'a self, request: ModelRequest, _call: CallContext) -> ReplyStream<'a> {
        let pieces = stream::once(self.submit(request)).flat_map(|submitted| match submitted {
            Ok(received) => stream::unfold(received, |mut received| async {
                received.recv().await.map(|piece| (piece, received))
            })
            .boxed(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        });
        Box::pin(pieces)
    }

    fn reality(&self) -> Reality {
        Reality::Live
    }

    fn price(&self) -> Option<Price> {
        Some(Price::FREE)
    }
}

impl std::fmt::Debug for LocalModel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LocalModel")
            .field("name", &self.shared.name)
            .field("status", &self.status())
            .finish()
    }
}

impl Drop for Shared {
    /// Waits for the thread, which ends within a step: nobody who could still read a reply is left.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic in it was seen by whoever waited for a reply.
            let _ = thread.join();
        }
    }
}

/// The engine's thread: loads the model, says how that went, and works.
fn run(
    path: &Path,
    settings: &LocalSettings,
    board: StatusBoard,
    jobs: mpsc::Receiver<QueuedJob>,
    ready: oneshot::Sender<Result<Arc<LoadedModel>, LocalError>>,
) {
    let loaded = match load::load(path, settings) {
        Ok(loaded) => Arc::new(loaded),
        // Nobody may be there to hear it.
        Err(error) => return drop(ready.send(Err(error))),
    };
    let first = EngineCapacity::of(0, loaded.context_tokens, settings.parallel);
    let (context, room) = match load::context(&loaded.model, first, settings) {
        Ok(made) => made,
        Err(error) => return drop(ready.send(Err(error))),
    };
    let mut worker = Worker::new(&loaded, settings, jobs, board, context, room);
    if ready.send(Ok(Arc::clone(&loaded))).is_ok() {
        worker.run();
    }
}
