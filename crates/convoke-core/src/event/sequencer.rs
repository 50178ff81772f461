//! Numbers events, keeps them paired, and hands them on without losing any.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::{Event, EventKind, EventSender, Observer, StepEnd};
use crate::message::Usage;
use crate::scope::WorkClock;
use crate::{Path, RunId, Timestamp};

/// Where one event goes in the reader's buffer.
pub(crate) type EventPlace<'a> = mpsc::Permit<'a, Event>;

/// The one place all events of a run go through.
pub(crate) struct Sequencer {
    run: RunId,
    observers: Vec<Arc<dyn Observer>>,
    reader: Option<EventSender>,
    /// Whether events are kept for whoever asks for them when the run is over.
    keeps: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sent: u64,
    /// What is open, by place: everything below a path lies together.
    open: BTreeMap<Path, Vec<Span>>,
    /// Where messages and tool calls are open, by their id. Ids are unique in one conversation, and there may be several
    /// at the same time.
    places: HashMap<String, Vec<Path>>,
    over: bool,
    kept: Vec<Event>,
}

#[derive(Clone, PartialEq)]
enum Span {
    Step,
    Message(String),
    ToolCall(String),
}

impl Sequencer {
    pub(crate) fn new(run: RunId, observers: Vec<Arc<dyn Observer>>, reader: Option<EventSender>) -> Self {
        Self { run, observers, reader, keeps: false, state: Mutex::new(State::default()) }
    }

    /// Keeps all events, for [`take_kept`](Self::take_kept).
    pub(crate) fn keeping(run: RunId) -> Self {
        Self { keeps: true, ..Self::new(run, Vec::new(), None) }
    }

    /// The events kept so far.
    pub(crate) fn take_kept(&self) -> Vec<Event> {
        std::mem::take(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).kept)
    }

    /// Whether anybody listens. If not, making events would be a waste.
    pub(crate) fn is_heard(&self) -> bool {
        self.reader.is_some() || self.keeps || !self.observers.is_empty()
    }

    /// Reports an event. Waits while the reader's buffer is full; the clock stands still meanwhile.
    pub(crate) async fn emit(&self, path: &Path, replayed: bool, kind: EventKind, clock: Option<&WorkClock>) {
        if !self.is_heard() {
            return;
        }
        if matches!(kind, EventKind::StepEnded(_) | EventKind::RunEnded(_)) {
            for left in self.left_open(path, &kind) {
                let closing = left.closing();
                let place = self.place(clock).await;
                self.deliver(&left.path, replayed, closing, place);
            }
        }
        let place = self.place(clock).await;
        self.deliver(path, replayed, kind, place);
    }

    /// Reports the end of a run whose task was dropped, or blocks: whoever is left cannot wait.
    pub(crate) fn emit_last_without_waiting(&self, kind: EventKind) {
        let whole = Path::from("");
        for left in self.left_open(&whole, &kind) {
            self.tell(&left.path, false, left.closing(), |event| self.send_last(event));
        }
        self.tell(&whole, false, kind, |event| self.send_last(event));
    }

    fn send_last(&self, event: Event) {
        if let Some(reader) = &self.reader {
            reader.send_last(event);
        }
    }

    /// A place in the reader's buffer. It is taken before the number, so numbers and buffer agree on the order.
    pub(crate) async fn place(&self, clock: Option<&WorkClock>) -> Option<EventPlace<'_>> {
        let reader = &self.reader.as_ref()?.buffer;
        match reader.try_reserve() {
            Ok(place) => Some(place),
            Err(TrySendError::Full(())) => {
                let _pause = clock.map(WorkClock::pause);
                reader.reserve().await.ok()
            }
            // A reader that has gone away has no further interest in events.
            Err(TrySendError::Closed(())) => None,
        }
    }

    /// Reports an event in its place.
    pub(crate) fn deliver(
        &self,
        path: &Path,
        replayed: bool,
        kind: EventKind,
        place: Option<EventPlace<'_>>,
    ) {
        self.tell(path, replayed, kind, |event| {
            if let Some(place) = place {
                place.send(event);
            }
        });
    }

    /// Numbers an event and hands it on, under one lock, unless it comes too late.
    fn tell(&self, path: &Path, replayed: bool, kind: EventKind, send: impl FnOnce(Event)) {
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
        self.tell_observers(|observer| observer.observe(&event));
        if self.keeps {
            state.kept.push(event);
        } else {
            send(event);
        }
    }

    /// Whether anybody wants to know more than the stream tells.
    pub(crate) fn is_observed(&self) -> bool {
        !self.observers.is_empty()
    }

    /// Tells observers what is not in the stream, unless the run is over.
    pub(crate) fn tell_beside(&self, tell: impl Fn(&dyn Observer)) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.over {
            self.tell_observers(tell);
        }
    }

    /// Whoever only listens must not end what it listens to. A panic has been reported by its hook.
    fn tell_observers(&self, tell: impl Fn(&dyn Observer)) {
        for observer in &self.observers {
            let _ = catch_unwind(AssertUnwindSafe(|| tell(&**observer)));
        }
    }

    /// What is still open at or below a path that is about to be closed, innermost first.
    fn left_open(&self, path: &Path, kind: &EventKind) -> Vec<Open> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own = |at: &Path, span: &Span| {
            matches!(kind, EventKind::StepEnded(_)) && at == path && *span == Span::Step
        };
        let within = state.below(path).into_iter().rev().chain(state.at(path));
        let spans = within.flat_map(|(at, spans)| spans.iter().rev().map(move |span| (at, span)));
        let left = spans.filter(|(at, span)| !is_own(at, span));
        left.map(|(at, span)| Open { path: at.clone(), span: span.clone() }).collect()
    }
}

impl State {
    /// What is open at a path.
    fn at(&self, path: &Path) -> Option<(&Path, &Vec<Span>)> {
        self.open.get_key_value(path)
    }

    /// What is open below a path.
    fn below(&self, path: &Path) -> Vec<(&Path, &Vec<Span>)> {
        let after = || self.open.range::<Path, _>((Bound::Excluded(path), Bound::Unbounded));
        // The usual case: a leaf has ended.
        if !after().next().is_some_and(|(next, _)| next.as_str().starts_with(path.as_str())) {
            return Vec::new();
        }
        if path.as_str().is_empty() {
            return after().collect();
        }
        // What follows a path on the way down is a slash, and `0` is the character after that.
        let bound = |end: char| Path::from(format!("{}{end}", path.as_str()).as_str());
        self.open.range(bound('/')..bound('0')).collect()
    }

    /// Keeps account of what is open. Says no to an end of what was never begun.
    fn admit(&mut self, path: &Path, kind: &EventKind) -> bool {
        match kind {
            EventKind::StepStarted { .. } => self.begin(path, Span::Step),
            EventKind::MessageStarted { id, .. } => self.begin(path, Span::Message(id.clone())),
            EventKind::ToolCallStarted { id, .. } => self.begin(path, Span::ToolCall(id.clone())),
            EventKind::StepEnded(_) => return self.end(path, &Span::Step),
            EventKind::MessageEnded { id, .. } => {
                return self.end_by_id(path, id, &Span::Message(id.clone()));
            }
            EventKind::ToolCallEnded { id } => return self.end_by_id(path, id, &Span::ToolCall(id.clone())),
            EventKind::RunEnded(_) => self.over = true,
            _ => {}
        }
        true
    }

    fn begin(&mut self, path: &Path, span: Span) {
        if let Span::Message(id) | Span::ToolCall(id) = &span {
            self.places.entry(id.clone()).or_default().push(path.clone());
        }
        self.open.entry(path.clone()).or_default().push(span);
    }

    /// Ends what is open nearest to a path: a call is told where its conversation is, and ends where it was made.
    fn end_by_id(&mut self, path: &Path, id: &str, span: &Span) -> bool {
        let Some(places) = self.places.get_mut(id) else { return false };
        let nearest = (0..places.len()).max_by_key(|&index| in_common(path, &places[index]));
        // There is at least one place: the last that goes takes the entry with it.
        let Some(index) = nearest else { return false };
        let place = places.remove(index);
        if places.is_empty() {
            self.places.remove(id);
        }
        self.end(&place, span)
    }

    fn end(&mut self, path: &Path, span: &Span) -> bool {
        let Some(spans) = self.open.get_mut(path) else { return false };
        let Some(index) = spans.iter().rposition(|open| open == span) else { return false };
        spans.remove(index);
        if spans.is_empty() {
            self.open.remove(path);
        }
        true
    }
}

/// How many steps two paths have in common.
fn in_common(one: &Path, other: &Path) -> usize {
    let (one, other) = (one.as_str().split('/'), other.as_str().split('/'));
    one.zip(other).take_while(|(one, other)| one == other).count()
}

/// Something that was started and must be ended.
struct Open {
    path: Path,
    span: Span,
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
