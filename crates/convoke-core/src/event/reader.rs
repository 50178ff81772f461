//! The bounded buffer between a run and the reader of its events.
//!
//! Events wait in a bounded buffer, and the run waits for room in it. A run that was given up cannot wait any more: its
//! last events, which end what was open, lie beside the buffer until the reader has emptied that.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::sync::mpsc;

use super::Event;

/// Events that did not have to wait for room.
type Rest = Arc<Mutex<VecDeque<Event>>>;

/// Where the events of a run are put in.
pub(crate) struct EventSender {
    pub(super) buffer: mpsc::Sender<Event>,
    rest: Rest,
}

/// Where the events of a run come out.
pub(crate) struct EventReceiver {
    buffer: mpsc::Receiver<Event>,
    rest: Rest,
}

/// The two ends of a way on which so many events may wait.
pub(crate) fn event_channel(capacity: usize) -> (EventSender, EventReceiver) {
    let (sender, receiver) = mpsc::channel(capacity);
    let rest = Rest::default();
    (EventSender { buffer: sender, rest: Arc::clone(&rest) }, EventReceiver { buffer: receiver, rest })
}

impl EventSender {
    /// Puts in one of the last events, which come after all that are in the buffer.
    pub(super) fn send_last(&self, event: Event) {
        lock(&self.rest).push_back(event);
    }
}

impl EventReceiver {
    /// The next event of the buffer; `None` when no more can come.
    pub(crate) fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.buffer.poll_recv(context)
    }

    /// The next of the last events, of a run that is over and whose buffer is empty.
    pub(crate) fn next_of_rest(&mut self) -> Option<Event> {
        lock(&self.rest).pop_front()
    }
}

fn lock(rest: &Rest) -> MutexGuard<'_, VecDeque<Event>> {
    rest.lock().unwrap_or_else(PoisonError::into_inner)
}
