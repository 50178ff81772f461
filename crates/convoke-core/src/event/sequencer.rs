//! The event sequencer: numbers events, keeps them paired, and hands them on without losing any.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::{
    Event, EventFeed, EventKind, EventSender, ModelCall, ModelCallEnd, Observer, Position, RunEnd, StepEnd,
};
use crate::message::Usage;
use crate::scope::WorkClock;
use crate::{Path, RunId, Timestamp};

/// Where one event goes in the reader's buffer.
pub(crate) type EventPermit<'a> = mpsc::Permit<'a, Event>;

/// The one place all events of a run go through.
pub(crate) struct Sequencer {
    run: RunId,
    observers: Vec<Arc<dyn Observer>>,
    reader: Option<EventSender>,
    feed: Arc<EventFeed>,
    /// Which events are kept for whoever asks for them when the run is over.
    keeps: Option<EventSelection>,
    state: Mutex<State>,
}

/// Which events of a run that is told again somebody wants.
pub(crate) enum EventSelection {
    /// All of them, as they come.
    All,
    /// Those after a position, in the order of their positions.
    After {
        /// The position; `None` for the beginning.
        position: Option<Position>,
        /// So many of them, the first.
        most: usize,
    },
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
    in_order: BTreeMap<Position, Event>,
}

#[derive(Clone, PartialEq)]
enum Span {
    Step,
    ModelCall(String),
    Message(String),
    ToolCall(String),
}

impl Sequencer {
    pub(crate) fn new(
        run: RunId,
        observers: Vec<Arc<dyn Observer>>,
        feed: Arc<EventFeed>,
        reader: Option<EventSender>,
    ) -> Self {
        Self { run, observers, reader, feed, keeps: None, state: Mutex::new(State::default()) }
    }

    /// Keeps events, for [`take_kept`](Self::take_kept), and tells nobody.
    pub(crate) fn keeping(run: RunId, wanted: EventSelection) -> Self {
        Self { keeps: Some(wanted), ..Self::new(run, Vec::new(), Arc::default(), None) }
    }

    /// The events kept so far.
    pub(crate) fn take_kept(&self) -> Vec<Event> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let in_order = std::mem::take(&mut state.in_order).into_values();
        std::mem::take(&mut state.kept).into_iter().chain(in_order).collect()
    }

    /// The end of a run that was told as far as it has come, and of everything that was cut short by it.
    pub(crate) fn ends(&self, end: RunEnd, position: Option<Position>) -> Vec<Event> {
        let (whole, is_final, end) = (Path::from(""), end.status.is_final(), EventKind::RunEnded(end));
        let left = if is_final { self.left_open(&whole, &end) } else { Vec::new() };
        let closing = left.iter().map(|left| Emission::now(&left.path, left.closing()));
        let last = Emission { position, ..Emission::now(&whole, end) };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        closing.chain(std::iter::once(last)).map(|emission| state.number(&self.run, emission)).collect()
    }

    /// Whether what is told is the account of a run, complete with what happened within calls that are over.
    pub(crate) fn gives_full_account(&self) -> bool {
        matches!(self.keeps, Some(EventSelection::After { .. }))
    }

    /// Whether anybody listens. If not, making events would be a waste.
    pub(crate) fn has_listeners(&self) -> bool {
        self.reader.is_some() || self.keeps.is_some() || !self.observers.is_empty() || self.feed.has_readers()
    }

    /// Reports an event. Waits while the reader's buffer is full; the clock stands still meanwhile.
    pub(crate) async fn emit(&self, emission: Emission<'_>, clock: Option<&WorkClock>) {
        if !self.has_listeners() {
            return;
        }
        if matches!(emission.kind, EventKind::StepEnded(_) | EventKind::RunEnded(_)) {
            for left in self.left_open(emission.path, &emission.kind) {
                let place = self.place(clock).await;
                let (position, kind) = (None, left.closing());
                self.deliver(
                    Emission { path: &left.path, position, replayed: emission.replayed, kind },
                    place,
                );
            }
        }
        let place = self.place(clock).await;
        self.deliver(emission, place);
    }

    /// Reports the end of a run whose task was dropped, or blocks: whoever is left cannot wait.
    pub(crate) fn emit_last_without_waiting(&self, kind: EventKind) {
        let whole = Path::from("");
        for left in self.left_open(&whole, &kind) {
            self.sequence(Emission::now(&left.path, left.closing()), |event| self.send_last(event));
        }
        self.sequence(Emission::now(&whole, kind), |event| self.send_last(event));
    }

    fn send_last(&self, event: Event) {
        if let Some(reader) = &self.reader {
            reader.send_last(event);
        }
    }

    /// A place in the reader's buffer. It is taken before the number, so numbers and buffer agree on the order.
    pub(crate) async fn place(&self, clock: Option<&WorkClock>) -> Option<EventPermit<'_>> {
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
    pub(crate) fn deliver(&self, emission: Emission<'_>, place: Option<EventPermit<'_>>) {
        self.sequence(emission, |event| {
            if let Some(place) = place {
                place.send(event);
            }
        });
    }

    /// Numbers an event and hands it on, under one lock, unless it comes too late.
    fn sequence(&self, emission: Emission<'_>, send: impl FnOnce(Event)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.over || !state.admit(emission.path, &emission.kind) {
            return;
        }
        let event = state.number(&self.run, emission);
        for observer in &self.observers {
            // Whoever only listens must not end what it listens to. A panic has been reported by its hook.
            let _ = catch_unwind(AssertUnwindSafe(|| observer.observe(&event)));
        }
        if self.feed.has_readers() && event.kind.is_under_way() && !event.replayed {
            self.feed.send(&event);
        }
        match &self.keeps {
            None => send(event),
            Some(EventSelection::All) => state.kept.push(event),
            Some(EventSelection::After { position, most }) => {
                state.put_in_order(event, position.as_ref(), *most)
            }
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
    /// Gives an event its number.
    fn number(&mut self, run: &RunId, emission: Emission<'_>) -> Event {
        self.sent += 1;
        let Emission { path, position, replayed, kind } = emission;
        let (run, path) = (run.clone(), path.clone());
        Event { run, seq: self.sent, path, at: Timestamp::now(), replayed, position, kind }
    }

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

    /// Keeps the first so many of the events after a position.
    fn put_in_order(&mut self, event: Event, after: Option<&Position>, most: usize) {
        if let Some(position) = event.position.clone().filter(|position| Some(position) > after) {
            self.in_order.insert(position, event);
            if self.in_order.len() > most {
                self.in_order.pop_last();
            }
        }
    }

    /// Keeps account of what is open. Says no to an end of what was never begun.
    fn admit(&mut self, path: &Path, kind: &EventKind) -> bool {
        match kind {
            EventKind::StepStarted { .. } => self.begin(path, Span::Step),
            EventKind::ModelCallStarted(ModelCall { id, .. }) => {
                self.begin(path, Span::ModelCall(id.clone()));
            }
            EventKind::MessageStarted { id, .. } => self.begin(path, Span::Message(id.clone())),
            EventKind::ToolCallStarted { id, .. } => self.begin(path, Span::ToolCall(id.clone())),
            EventKind::StepEnded(_) => return self.end(path, &Span::Step),
            EventKind::ModelCallEnded { id, .. } => return self.end(path, &Span::ModelCall(id.clone())),
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

/// An event about to be numbered and delivered.
pub(crate) struct Emission<'a> {
    pub(crate) path: &'a Path,
    pub(crate) position: Option<Position>,
    pub(crate) replayed: bool,
    pub(crate) kind: EventKind,
}

impl<'a> Emission<'a> {
    /// Something that happens now, and has no place in the account of the run.
    pub(crate) fn now(path: &'a Path, kind: EventKind) -> Self {
        Self { path, position: None, replayed: false, kind }
    }
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
            Span::ModelCall(id) => {
                EventKind::ModelCallEnded { id: id.clone(), usage: None, end: ModelCallEnd::Dropped }
            }
            Span::Message(id) => EventKind::MessageEnded {
                id: id.clone(),
                finish: None,
                usage: Usage::default(),
                text: String::new(),
            },
            Span::ToolCall(id) => EventKind::ToolCallEnded { id: id.clone() },
        }
    }
}
