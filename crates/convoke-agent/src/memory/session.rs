//! The interface that whoever keeps conversations beyond a run implements.

use std::sync::Arc;

use convoke_core::{BoxFuture, Error, IdempotencyKey, Message, RunId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Recollection;

/// The memories there are, by name.
pub trait Memories: Send + Sync {
    /// Opens the memory of this name; `None` if nothing is to be remembered under it.
    ///
    /// # Errors
    /// If it cannot be opened.
    fn open<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn MemorySession>>, Error>>;
}

/// One memory. Whatever is not implemented remembers nothing.
pub trait MemorySession: Send + Sync {
    /// Everything that was said, oldest first.
    fn load(&self) -> BoxFuture<'_, Result<Vec<Message>, Error>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// What is remembered that fits these words: by default everything. What the run itself has said need not be told to it.
    fn assemble<'a>(
        &'a self,
        words: &'a Message,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Recollection, Error>> {
        let _ = (words, run);
        Box::pin(async move { Ok(Recollection::of(&self.load().await?)) })
    }

    /// Values that go with the conversation.
    fn vars(&self) -> BoxFuture<'_, Result<Map<String, Value>, Error>> {
        Box::pin(std::future::ready(Ok(Map::new())))
    }

    /// Adds messages behind what was said. Twice the same key adds them once.
    fn append<'a>(
        &'a self,
        said: &'a [Message],
        by: (&'a RunId, &'a IdempotencyKey),
    ) -> BoxFuture<'a, Result<(), Error>> {
        let _ = (said, by);
        Box::pin(std::future::ready(Ok(())))
    }

    /// How many bytes of one message are kept at most: of a longer one the beginning. Who adds such a one is told.
    fn longest(&self) -> Option<usize> {
        None
    }

    /// Puts values that go with the conversation in the place of those there were. Messages are only ever added.
    fn save<'a>(&'a self, vars: &'a Map<String, Value>) -> BoxFuture<'a, Result<(), Error>> {
        let _ = vars;
        Box::pin(std::future::ready(Ok(())))
    }

    /// What should be summed up by now; `None` as long as it is short.
    fn unsummarized(&self) -> BoxFuture<'_, Result<Option<Unsummarized>, Error>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Keeps the summary of everything up to a place, unless there is one that reaches further.
    fn summarize<'a>(&'a self, through: i64, summary: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        let _ = (through, summary);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Is told, once, how the work ended that it was opened for.
    fn close<'a>(&'a self, failed: Option<&'a Error>) -> BoxFuture<'a, ()> {
        let _ = failed;
        Box::pin(std::future::ready(()))
    }
}

/// The messages that are to be summed up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsummarized {
    /// The summary so far, which the new one replaces.
    pub summary: Option<String>,
    /// What was said since, as text.
    pub text: String,
    /// The place it reaches to.
    pub through: i64,
}

/// Memories in which nothing is remembered: for whoever only reads along what others remembered.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMemories;

impl Memories for NoMemories {
    fn open<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn MemorySession>>, Error>> {
        Box::pin(std::future::ready(Ok(Some(Arc::new(Self) as Arc<dyn MemorySession>))))
    }
}

impl MemorySession for NoMemories {}
