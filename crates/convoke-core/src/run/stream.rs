//! The events of a run under way.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{FutureExt, Stream};
use tokio::sync::mpsc;

use super::Outcome;
use crate::Error;
use crate::event::{Event, EventKind};
use crate::scope::Canceller;
use crate::step::BoxFuture;

/// The events of a run under way, then its outcome. Dropping it cancels the run.
pub struct RunStream<S> {
    events: mpsc::Receiver<Event>,
    run: BoxFuture<'static, Result<Outcome<S>, Error>>,
    outcome: Option<Result<Outcome<S>, Error>>,
    is_over: bool,
    canceller: Canceller,
}

impl<S> RunStream<S> {
    pub(crate) fn new(
        events: mpsc::Receiver<Event>,
        run: BoxFuture<'static, Result<Outcome<S>, Error>>,
        canceller: Canceller,
    ) -> Self {
        Self { events, run, outcome: None, is_over: false, canceller }
    }

    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    /// Ends the run from outside.
    #[must_use]
    pub fn canceller(&self) -> &Canceller {
        &self.canceller
    }

    /// Reads the rest of the events and gives them with the outcome.
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
        match self.outcome.take() {
            Some(outcome) => outcome,
            None => (&mut self.run).await,
        }
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if let Poll::Ready(event) = self.events.poll_recv(context) {
            return Poll::Ready(self.noted(event));
        }
        // Nothing to read: look after the run itself, which notices a step that blocks its thread.
        if self.outcome.is_none()
            && let Poll::Ready(outcome) = self.run.poll_unpin(context)
        {
            self.outcome = Some(outcome);
            // Its last event may have come in the meantime.
            if let Poll::Ready(event) = self.events.poll_recv(context) {
                return Poll::Ready(self.noted(event));
            }
        }
        Poll::Pending
    }

    fn noted(&mut self, event: Option<Event>) -> Option<Event> {
        self.is_over = event.as_ref().is_none_or(|event| matches!(event.kind, EventKind::RunEnded(_)));
        event
    }
}

impl<S> Stream for RunStream<S> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.poll_event(context)
    }
}

// The future is boxed and the rest is plain data: nothing in here minds being moved.
impl<S> Unpin for RunStream<S> {}

impl<S> std::fmt::Debug for RunStream<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RunStream").field("canceller", &self.canceller).finish_non_exhaustive()
    }
}
