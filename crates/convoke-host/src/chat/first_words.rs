//! Words that are ready before it is the person's turn.

use std::sync::{Mutex, PoisonError};

use convoke_core::{Answer, BoxFuture, PendingQuestion, Responder};

use super::TURN;

/// Says some words as soon as it is the person's turn, once, and leaves whatever else is asked to somebody else, if anybody is there.
pub struct FirstWords<R> {
    words: Mutex<Option<String>>,
    then: Option<R>,
}

impl<R: Responder> FirstWords<R> {
    /// Says these words, and leaves the rest to this responder.
    pub fn new(words: Option<String>, then: Option<R>) -> Self {
        Self { words: Mutex::new(words), then }
    }

    fn words(&self, asked: &PendingQuestion) -> Option<String> {
        // What went wrong must be seen before anybody goes on.
        let is_turn = asked.question.title == TURN && asked.question.details.is_empty();
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        is_turn.then(|| words.take()).flatten()
    }
}

impl<R: Responder> Responder for FirstWords<R> {
    fn respond<'a>(&'a self, asked: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        match (self.words(asked), &self.then) {
            (Some(words), _) => Box::pin(std::future::ready(Some(Answer::text(words)))),
            (None, Some(then)) => then.respond(asked),
            (None, None) => Box::pin(std::future::ready(None)),
        }
    }
}
