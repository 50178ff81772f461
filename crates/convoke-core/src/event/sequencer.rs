//! Numbers events, keeps them paired, and hands them on without losing any.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use super::{Event, EventKind, Observer, StepEnd};
use crate::message::Usage;
use crate::{Path, RunId, Timestamp};

/// The one place all events of a run go through.
pub(crate) struct Sequencer {
    run: RunId,
    observers: Vec<Arc<dyn Observer>>,
    reader: Option<mpsc::Sender<Event>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sent: u64,
    open: Vec<Open>,
    over: bool,
}

/// Something that was started and must be ended.
#[derive(Clone, PartialEq)]
struct Open {
    path: Path,
    span: Span,
}

#[derive(Clone, PartialEq)]
enum Span {
    Step,
    Message(String),
    ToolCall(String),
}

impl Sequencer {
    pub(crate) fn new(
        run: RunId,
        observers: Vec<Arc<dyn Observer>>,
        reader: Option<mpsc::Sender<Event>>,
    ) -> Self {
        Self { run, observers, reader, state: Mutex::new(State::default()) }
    }

    /// Whether anybody listens. If not, making events would be a waste.
    pub(crate) fn is_heard(&self) -> bool {
        self.reader.is_some() || !self.observers.is_empty()
    }

    /// Reports an event. Waits while the reader's buffer is full.
    pub(crate) async fn emit(&self, path: &Path, replayed: bool, kind: EventKind) {
        if !self.is_heard() {
            return;
        }
        if matches!(kind, EventKind::StepEnded(_) | EventKind::RunEnded(_)) {
            for left in self.left_open(path, &kind) {
                let closing = left.closing();
                self.send(&left.path, replayed, closing).await;
            }
        }
        self.send(path, replayed, kind).await;
    }

    /// Reports the end of a run whose task was dropped: whoever is left cannot wait.
    pub(crate) fn emit_last_without_waiting(&self, kind: EventKind) {
        for left in self.left_open(&Path::from(""), &kind) {
            self.deliver(&left.path, left.closing(), self.reader.as_ref().and_then(|r| r.try_reserve().ok()));
        }
        let permit = self.reader.as_ref().and_then(|reader| reader.try_reserve().ok());
        self.deliver(&Path::from(""), kind, permit);
    }

    async fn send(&self, path: &Path, replayed: bool, kind: EventKind) {
        // The place in the buffer is taken before the number, so numbers and buffer agree on the order.
        let permit = match &self.reader {
            // A reader that has gone away has no further interest in events.
            Some(reader) => reader.reserve().await.ok(),
            None => None,
        };
        self.deliver_as(path, replayed, kind, permit);
    }

    fn deliver(&self, path: &Path, kind: EventKind, permit: Option<mpsc::Permit<'_, Event>>) {
        self.deliver_as(path, false, kind, permit);
    }

    fn deliver_as(
        &self,
        path: &Path,
        replayed: bool,
        kind: EventKind,
        permit: Option<mpsc::Permit<'_, Event>>,
    ) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.over || !state.admit(path, &kind) {
            return;
        }
        state.sent += 1;
        let event = Event {
            run: self.run.clone(),
            seq: state.sent,
            path: path.clone(),
            at: Timestamp::now(),
            replayed,
            kind,
        };
        for observer in &self.observers {
            // Whoever only listens must not end what it listens to. The panic has been reported by its hook.
            let _ = catch_unwind(AssertUnwindSafe(|| observer.observe(&event)));
        }
        if let Some(permit) = permit {
            permit.send(event);
        }
    }

    /// What is still open at or below a path that is about to be closed, innermost first.
    fn left_open(&self, path: &Path, kind: &EventKind) -> Vec<Open> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let own = match kind {
            EventKind::StepEnded(_) => Some(Open { path: path.clone(), span: Span::Step }),
            _ => None,
        };
        let left =
            state.open.iter().rev().filter(|open| open.path.is_within(path) && Some(*open) != own.as_ref());
        left.cloned().collect()
    }
}

impl State {
    /// Keeps account of what is open. Says no to an end of what was never begun.
    fn admit(&mut self, path: &Path, kind: &EventKind) -> bool {
        let open = |span| Open { path: path.clone(), span };
        match kind {
            EventKind::StepStarted { .. } => self.open.push(open(Span::Step)),
            EventKind::MessageStarted { id, .. } => self.open.push(open(Span::Message(id.clone()))),
            EventKind::ToolCallStarted { id, .. } => self.open.push(open(Span::ToolCall(id.clone()))),
            EventKind::StepEnded(_) => {
                return self.close(|left| left.span == Span::Step && left.path == *path);
            }
            EventKind::MessageEnded { id, .. } => {
                return self.close(|left| matches!(&left.span, Span::Message(open) if open == id));
            }
            EventKind::ToolCallEnded { id } => {
                return self.close(|left| matches!(&left.span, Span::ToolCall(open) if open == id));
            }
            EventKind::RunEnded(_) => self.over = true,
            _ => {}
        }
        true
    }

    fn close(&mut self, is_it: impl Fn(&Open) -> bool) -> bool {
        match self.open.iter().rposition(is_it) {
            Some(index) => {
                self.open.remove(index);
                true
            }
            None => false,
        }
    }
}

impl Open {
    fn closing(&self) -> EventKind {
        match &self.span {
            Span::Step => {
                EventKind::StepEnded(StepEnd::Interrupted { reason: "an outer step ended first".to_owned() })
            }
            Span::Message(id) => {
                EventKind::MessageEnded { id: id.clone(), finish: None, usage: Usage::default() }
            }
            Span::ToolCall(id) => EventKind::ToolCallEnded { id: id.clone() },
        }
    }
}
