//! The event stream of a run under way.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{FutureExt, Stream};

use super::Outcome;
use crate::event::{Event, EventKind, EventReceiver, RunEnd};
use crate::scope::Canceller;
use crate::step::BoxFuture;
use crate::{Error, Path, RunId, Timestamp};

/// The events of a run under way, then its outcome. Dropping it cancels the run.
pub struct RunStream<S> {
    events: EventReceiver,
    run: BoxFuture<'static, Result<Outcome<S>, Error>>,
    outcome: Option<Result<Outcome<S>, Error>>,
    is_over: bool,
    /// The run and the number of the last event.
    last: Option<(RunId, u64)>,
    canceller: Canceller,
}

impl<S> RunStream<S> {
    pub(crate) fn new(
        events: EventReceiver,
        run: BoxFuture<'static, Result<Outcome<S>, Error>>,
        canceller: Canceller,
    ) -> Self {
        Self { events, run, outcome: None, is_over: false, last: None, canceller }
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
        if let Poll::Ready(Some(event)) = self.events.poll_recv(context) {
            return Poll::Ready(self.noted(event));
        }
        // Nothing to read: look after the run itself, which notices a step that blocks its thread.
        if self.outcome.is_none()
            && let Poll::Ready(outcome) = self.run.poll_unpin(context)
        {
            self.outcome = Some(outcome);
            // Its last event may have come in the meantime.
            if let Poll::Ready(Some(event)) = self.events.poll_recv(context) {
                return Poll::Ready(self.noted(event));
            }
        }
        let Some(outcome) = &self.outcome else { return Poll::Pending };
        // No more comes through the buffer: a step that blocks its thread may keep it open, but is not heard any more.
        let event = self.events.next_of_rest().unwrap_or_else(|| end_of(outcome, self.last.as_ref()));
        Poll::Ready(self.noted(event))
    }

    fn noted(&mut self, event: Event) -> Option<Event> {
        self.is_over = matches!(event.kind, EventKind::RunEnded(_));
        self.last = Some((event.run.clone(), event.seq));
        Some(event)
    }
}

/// The last event of a run that could not tell it itself.
fn end_of<S>(outcome: &Result<Outcome<S>, Error>, last: Option<&(RunId, u64)>) -> Event {
    let (status, error, totals) = match outcome {
        Ok(outcome) => (outcome.status, outcome.error.as_ref(), outcome.totals),
        Err(error) => (error.status(), Some(error), Default::default()),
    };
    let run = match (last, outcome) {
        (Some((run, _)), _) => run.clone(),
        (None, Ok(outcome)) => outcome.run.clone(),
        (None, Err(_)) => RunId::mint(),
    };
    let error = error.map(ToString::to_string);
    Event {
        run,
        seq: last.map_or(1, |(_, seq)| seq + 1),
        path: Path::from(""),
        at: Timestamp::now(),
        replayed: false,
        position: None,
        kind: EventKind::RunEnded(RunEnd { status, error, refused: None, state: None, totals }),
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
