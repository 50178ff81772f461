//! Conversations that are remembered: what an agent is reminded of, and what is kept.
//!
//! Only the contract. What is loaded becomes part of the board that a run begins with, so it is in the run's record and the same
//! however often the run goes on. Only what is new is handed back: whoever shows an agent a part of a conversation loses nothing of
//! the rest.

use convoke_core::{BoxFuture, Error, Message};
use serde_json::{Map, Value};

use super::Request;

/// Opens conversations.
pub trait Sessions: Send + Sync {
    /// The conversation of this agent with this id; `None` if nothing is to be remembered.
    ///
    /// # Errors
    /// If it cannot be opened.
    fn open<'a>(
        &'a self,
        agent: &'a str,
        context: &'a str,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Session>>, Error>>;
}

/// A conversation.
pub trait Session: Send + Sync {
    /// What was said before and matters to this request, without the request itself.
    ///
    /// # Errors
    /// If it cannot be had.
    fn load<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Vec<Message>, Error>>;

    /// Variables of the board. What a request gives takes precedence.
    ///
    /// # Errors
    /// If they cannot be had.
    fn vars(&self) -> BoxFuture<'_, Result<Map<String, Value>, Error>> {
        Box::pin(async { Ok(Map::new()) })
    }

    /// Keeps what was said in a run that has completed, the request first.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn append<'a>(&'a self, new: &'a [Message]) -> BoxFuture<'a, Result<(), Error>>;

    /// Is told once, at the end, why the request did not come to its end, if it did not.
    fn close<'a>(&'a self, error: Option<&'a Error>) -> BoxFuture<'a, ()> {
        let _ = error;
        Box::pin(async {})
    }
}
