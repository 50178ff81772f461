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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::event::{LogicalTime, event_channel};
    use crate::store::{RunStatus, Totals};

    fn keeping(wanted: EventSelection) -> Sequencer {
        Sequencer::keeping("r".parse().unwrap(), wanted)
    }

    fn tell(sequencer: &Sequencer, path: &str, kind: EventKind) {
        let path = Path::from(path);
        sequencer.emit(Emission::now(&path, kind), None).now_or_never().expect("nobody has to be waited for");
    }

    fn begun() -> EventKind {
        EventKind::StepStarted { kind: "func".to_owned() }
    }

    fn ended() -> EventKind {
        EventKind::StepEnded(StepEnd::Completed)
    }

    fn call_begun(id: &str) -> EventKind {
        EventKind::ToolCallStarted { id: id.to_owned(), tool: "look".to_owned(), message: None }
    }

    fn call_ended(id: &str) -> EventKind {
        EventKind::ToolCallEnded { id: id.to_owned() }
    }

    fn run_ended(status: RunStatus) -> RunEnd {
        RunEnd { status, error: None, refused: None, state: None, totals: Totals::default() }
    }

    /// What was told, one word for each.
    fn told(events: &[Event]) -> Vec<String> {
        let word = |event: &Event| match &event.kind {
            EventKind::StepStarted { .. } => "begun",
            EventKind::StepEnded(StepEnd::Interrupted { .. }) => "cut short",
            EventKind::StepEnded(_) => "ended",
            EventKind::ToolCallStarted { .. } => "call begun",
            EventKind::ToolCallEnded { .. } => "call ended",
            EventKind::MessageStarted { .. } => "message begun",
            EventKind::MessageEnded { finish: None, .. } => "message cut short",
            EventKind::RunEnded(_) => "run ended",
            other => panic!("{other:?}"),
        };
        events.iter().map(|event| format!("{} {}", event.path.as_str(), word(event))).collect()
    }

    #[test]
    fn what_is_open_below_a_step_that_ends_is_closed_before_it_innermost_first() {
        let sequencer = keeping(EventSelection::All);
        for path in ["main", "main/a", "main/a/b", "main/a b", "main/ab"] {
            tell(&sequencer, path, begun());
        }
        tell(&sequencer, "main/a", EventKind::MessageStarted { id: "m".into(), model: "echo".into() });
        tell(&sequencer, "main/a/b", call_begun("1"));
        sequencer.take_kept();
        tell(&sequencer, "main/a", ended());
        let closed =
            ["main/a/b call ended", "main/a/b cut short", "main/a message cut short", "main/a ended"];
        assert_eq!(told(&sequencer.take_kept()), closed, "and nothing of those beside it");
        tell(&sequencer, "main/a", ended());
        tell(&sequencer, "main/nowhere", ended());
        assert!(sequencer.take_kept().is_empty(), "what never began, or has ended, does not end");
        tell(&sequencer, "", EventKind::RunEnded(run_ended(RunStatus::Cancelled)));
        let rest = ["main/ab cut short", "main/a b cut short", "main cut short", " run ended"];
        let kept = sequencer.take_kept();
        assert_eq!(told(&kept), rest);
        assert!(kept.windows(2).all(|pair| pair[0].seq + 1 == pair[1].seq), "numbered without a gap");
        tell(&sequencer, "late", begun());
        assert!(sequencer.take_kept().is_empty(), "the end of the run is the last event");
    }

    #[test]
    fn a_call_ends_where_the_nearest_one_of_its_name_is_open() {
        let sequencer = keeping(EventSelection::All);
        for path in ["main", "main/left", "main/right"] {
            tell(&sequencer, path, begun());
        }
        tell(&sequencer, "main/left", call_begun("1"));
        tell(&sequencer, "main/right", call_begun("1"));
        tell(&sequencer, "main/left/look", call_ended("1"));
        sequencer.take_kept();
        tell(&sequencer, "main/left", ended());
        tell(&sequencer, "main/right", ended());
        let rest = ["main/left ended", "main/right call ended", "main/right ended"];
        assert_eq!(told(&sequencer.take_kept()), rest);
        tell(&sequencer, "main/right", call_ended("1"));
        assert!(sequencer.take_kept().is_empty());
    }

    #[test]
    fn calls_of_models_that_were_never_begun_do_not_end() {
        let sequencer = keeping(EventSelection::All);
        let end = || EventKind::ModelCallEnded { id: "1".into(), usage: None, end: ModelCallEnd::Dropped };
        tell(&sequencer, "main", end());
        assert!(sequencer.take_kept().is_empty());
        let call = ModelCall {
            id: "1".to_owned(),
            model: "echo".to_owned(),
            visibility: crate::Visibility::Streamed,
            params: crate::ModelParams::default(),
            has_schema: false,
            messages: crate::Transcript::default(),
        };
        tell(&sequencer, "main", EventKind::ModelCallStarted(call));
        tell(&sequencer, "main", end());
        tell(&sequencer, "main", end());
        assert_eq!(sequencer.take_kept().len(), 2, "its beginning and one end");
    }

    #[test]
    fn of_the_events_after_a_position_the_first_are_kept_in_the_order_of_their_positions() {
        let place = |entry| Position::new(LogicalTime::of_entry(entry), Path::from("main"));
        let sequencer = keeping(EventSelection::After { position: Some(place(2)), most: 3 });
        let path = Path::from("main");
        for entry in [9, 4, 2, 7, 1, 3] {
            let emission = Emission { position: Some(place(entry)), ..Emission::now(&path, begun()) };
            sequencer.emit(emission, None).now_or_never().unwrap();
        }
        tell(&sequencer, "main", begun());
        let kept: Vec<_> = sequencer.take_kept().into_iter().filter_map(|event| event.position).collect();
        assert_eq!(kept, [3, 4, 7].map(place));
        assert!(sequencer.take_kept().is_empty(), "they are taken once");
        assert!(sequencer.gives_full_account() && !keeping(EventSelection::All).gives_full_account());
    }

    #[test]
    fn the_end_of_a_run_for_good_closes_what_it_left_open_and_that_of_a_pause_does_not() {
        for (status, expected) in [
            (RunStatus::Cancelled, ["main cut short", " run ended"].as_slice()),
            (RunStatus::Suspended, [" run ended"].as_slice()),
        ] {
            let sequencer = keeping(EventSelection::All);
            tell(&sequencer, "main", begun());
            let position = Position::new(LogicalTime::of_entry(5), Path::from(""));
            let ends = sequencer.ends(run_ended(status), Some(position.clone()));
            assert_eq!(told(&ends), expected);
            assert_eq!(ends.last().unwrap().position, Some(position));
            assert!(ends.iter().zip(2..).all(|(event, number)| event.seq == number));
        }
    }

    #[test]
    fn anybody_of_all_who_may_listen_is_enough() {
        let feed = Arc::<EventFeed>::default();
        let of = |observers, reader| {
            Sequencer::new("r".parse().unwrap(), observers, Arc::clone(&feed), reader).has_listeners()
        };
        let observer: Arc<dyn Observer> = Arc::new(|_: &Event| {});
        assert!(!of(Vec::new(), None));
        assert!(of(vec![observer], None) && of(Vec::new(), Some(event_channel(1).0)));
        assert!(keeping(EventSelection::All).has_listeners());
        let listens = feed.join(&"r".parse().unwrap());
        assert!(of(Vec::new(), None));
        drop(listens);
        assert!(!of(Vec::new(), None));
    }

    #[test]
    fn those_who_listen_live_are_told_what_is_under_way_and_happens_now() {
        let feed = Arc::<EventFeed>::default();
        let sequencer = Sequencer::new("r".parse().unwrap(), Vec::new(), Arc::clone(&feed), None);
        let mut listens = feed.join(&"r".parse().unwrap());
        let path = Path::from("main");
        let message = || EventKind::MessageStarted { id: "m".into(), model: "echo".into() };
        tell(&sequencer, "main", begun());
        let again = Emission { replayed: true, ..Emission::now(&path, message()) };
        sequencer.emit(again, None).now_or_never().unwrap();
        assert!(listens.events.try_recv().is_err(), "the journal knows of both");
        tell(&sequencer, "main", message());
        assert_eq!(told(&[listens.events.try_recv().unwrap()]), ["main message begun"]);
    }
}
