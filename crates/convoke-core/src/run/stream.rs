//! The events of a run under way.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Outcome;
use crate::event::Event;
use crate::scope::Canceller;
use crate::{Error, Path};

/// The events of a run under way, then its outcome. Dropping it cancels the run.
pub struct RunStream<S> {
    events: mpsc::Receiver<Event>,
    task: Option<JoinHandle<Result<Outcome<S>, Error>>>,
    canceller: Canceller,
}

impl<S> RunStream<S> {
    pub(crate) fn new(
        events: mpsc::Receiver<Event>,
        task: JoinHandle<Result<Outcome<S>, Error>>,
        canceller: Canceller,
    ) -> Self {
        Self { events, task: Some(task), canceller }
    }

    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Ends the run from outside.
    #[must_use]
    pub fn canceller(&self) -> &Canceller {
        &self.canceller
    }

    /// Reads the rest of the events and gives them with the outcome.
    ///
    /// # Errors
    /// If the run could not be started.
    pub async fn collect(mut self) -> (Vec<Event>, Result<Outcome<S>, Error>) {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        (events, self.outcome().await)
    }

    /// Waits for the end. Events not read yet are thrown away.
    ///
    /// # Errors
    /// If the run could not be started.
    pub async fn outcome(mut self) -> Result<Outcome<S>, Error> {
        while self.next().await.is_some() {}
        let Some(task) = self.task.take() else { unreachable!("the task is taken only here, by value") };
        task.await.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => Err(Error::panicked(&Path::from(""), &*panic)),
            Err(_) => Err(Error::Cancelled("the runtime was shut down".into())),
        })
    }
}

impl<S> Stream for RunStream<S> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.events.poll_recv(context)
    }
}

impl<S> Drop for RunStream<S> {
    fn drop(&mut self) {
        if self.task.is_some() {
            self.canceller.cancel("nobody listens any more");
        }
    }
}

impl<S> std::fmt::Debug for RunStream<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RunStream").field("canceller", &self.canceller).finish_non_exhaustive()
    }
}
