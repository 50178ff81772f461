//! The [`Memories`] interface of agents, on the database: sessions that load, tell, add and sum up.

use std::sync::Arc;

use convoke_agent::memory::{Memories, MemorySession, Recollection, Unsummarized};
use convoke_core::{BoxFuture, EmbeddingPurpose, Error, IdempotencyKey, Message, Role, RunId};
use rusqlite::{Connection, Transaction};
use serde_json::{Map, Value};

use super::Memory;
use super::assemble::assemble;
use super::remarks::{self, NewRemark, RememberedConversation};
use crate::database::{self, StorageError};

/// The longest name, in characters.
const LONGEST_NAME: usize = 100;

/// So much is kept of one message, in bytes.
const MOST_KEPT: usize = 64 << 10;

impl Memory {
    /// Lists the conversations that are remembered in this workspace, by name.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub async fn conversations(&self) -> Result<Vec<RememberedConversation>, Error> {
        let scope = Arc::clone(&self.workspace);
        database::read(&self.database, move |connection| remarks::conversations(connection, &scope)).await
    }

    /// Forgets a conversation of this workspace for good; gives how much was said in it, if there was one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub async fn forget_conversation(&self, name: &str) -> Result<Option<u64>, Error> {
        let (scope, name) = (Arc::clone(&self.workspace), name.to_owned());
        database::write(&self.database, move |transaction| remarks::forget(transaction, &scope, &name)).await
    }

    /// Returns what is remembered under a name in this workspace.
    ///
    /// # Errors
    /// If the name is empty, too long, or has control characters in it.
    pub fn session(&self, name: &str) -> Result<ConversationMemory, StorageError> {
        check_name(name)?;
        Ok(ConversationMemory { memory: self.clone(), name: name.into() })
    }
}

/// Checks the name of a conversation.
///
/// # Errors
/// What is wrong with it, if it is empty, too long, or has control characters in it.
pub fn check_name(name: &str) -> Result<(), StorageError> {
    let problem = if name.trim().is_empty() {
        "there is nothing in it"
    } else if name.chars().count() > LONGEST_NAME {
        "it is too long"
    } else if name.contains(['\n', '\r']) {
        "there is a line break in it"
    } else if name.contains(char::is_control) {
        "there is a control character in it"
    } else {
        return Ok(());
    };
    let shown: String = name.chars().take(LONGEST_NAME).collect();
    Err(StorageError::Unfit(format!(
        "{shown:?} is not a name for a memory: {problem}; use one to {LONGEST_NAME} characters in one line"
    )))
}

impl Memories for Memory {
    fn open<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn MemorySession>>, Error>> {
        let session = self.session(name).map_err(Error::failed);
        Box::pin(std::future::ready(session.map(|session| Some(Arc::new(session) as Arc<dyn MemorySession>))))
    }
}

/// One conversation that is remembered.
#[derive(Debug, Clone)]
pub struct ConversationMemory {
    memory: Memory,
    name: Arc<str>,
}

impl ConversationMemory {
    /// Looks something up in the conversation; what there is nothing of is empty.
    async fn read<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, i64) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, Error> {
        let (scope, name) = (Arc::clone(&self.memory.workspace), Arc::clone(&self.name));
        let look = move |connection: &Connection| match remarks::find(connection, &scope, &name)? {
            Some(conversation) => work(connection, conversation),
            None => Ok(T::default()),
        };
        database::read(&self.memory.database, look).await
    }

    async fn write(
        &self,
        work: impl FnOnce(&Transaction<'_>, (&str, &str)) -> Result<(), StorageError> + Send + 'static,
    ) -> Result<(), Error> {
        let (scope, name) = (Arc::clone(&self.memory.workspace), Arc::clone(&self.name));
        database::write(&self.memory.database, move |transaction| work(transaction, (&scope, &name))).await
    }
}

impl MemorySession for ConversationMemory {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Message>, Error>> {
        Box::pin(async move {
            let said = self.read(remarks::load).await?.into_iter();
            let message = |(role, text): (Role, String)| match role {
                Role::User => Message::user(text),
                _ => Message::assistant(text),
            };
            Ok(said.map(|remark| message((remark.role, remark.text))).collect())
        })
    }

    fn assemble<'a>(
        &'a self,
        words: &'a Message,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Recollection, Error>> {
        Box::pin(async move {
            let (text, run) = (words.text(), run.as_str().to_owned());
            let meaning = self.memory.meaning_of_query(&text).await;
            let look = move |connection: &Connection, conversation| {
                assemble(connection, conversation, &run, &text, meaning.as_ref())
            };
            self.read(look).await
        })
    }

    fn vars(&self) -> BoxFuture<'_, Result<Map<String, Value>, Error>> {
        Box::pin(self.read(remarks::vars))
    }

    fn append<'a>(
        &'a self,
        said: &'a [Message],
        (run, key): (&'a RunId, &'a IdempotencyKey),
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            // What tools were asked and said is in the record of the run.
            let spoken = said.iter().filter(|message| matches!(message.role, Role::User | Role::Assistant));
            let spoken: Vec<(Role, String)> = spoken
                .map(|message| (message.role, message.text()))
                .filter(|(_, text)| !text.trim().is_empty())
                .map(|(role, text)| (role, text[..text.floor_char_boundary(MOST_KEPT)].to_owned()))
                .collect();
            let texts = spoken.iter().map(|(_, text)| text.clone()).collect();
            let meanings = self.memory.meanings(texts, EmbeddingPurpose::Document).await;
            let new = spoken.into_iter().zip(meanings).map(|((role, text), meaning)| NewRemark {
                role,
                text,
                meaning,
            });
            let new: Vec<NewRemark> = new.collect();
            let (run, key, now) = (run.as_str().to_owned(), key.as_str().to_owned(), (self.memory.clock)());
            self.write(move |transaction, of| remarks::append(transaction, of, (&run, &key), &new, now)).await
        })
    }

    fn save<'a>(&'a self, vars: &'a Map<String, Value>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let vars = serde_json::to_string(vars)?;
            self.write(move |transaction, of| remarks::save(transaction, of, &vars)).await
        })
    }

    fn longest(&self) -> Option<usize> {
        Some(MOST_KEPT)
    }

    fn unsummarized(&self) -> BoxFuture<'_, Result<Option<Unsummarized>, Error>> {
        Box::pin(self.read(remarks::unsummarized))
    }

    fn summarize<'a>(&'a self, through: i64, summary: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let summary = summary.to_owned();
            self.write(move |transaction, of| remarks::summarize(transaction, of, through, &summary)).await
        })
    }
}
