//! Subscriptions: the events of a run from a position on, past ones from its journal, then live ones.
//!
//! What has happened is told by running the workflow again with the journal answering, as far as it goes. So everybody who reads is told
//! the same, in the same order, whichever process does the work, and a reader costs the run nothing. What is under way, and not in the
//! journal yet, is passed on beside that from runs of this process.

use std::collections::{HashSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{BoxStream, unfold};
use futures_util::{Stream, StreamExt};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::Instant;

use super::carryover::Carryover;
use super::outcome::StoredOutcome;
use super::{Registry, Runtime, replay};
use crate::event::{Event, EventKind, FeedReader, ModelCall, Position, RunEnd};
use crate::store::{RunRecord, RunStatus, StoreError, read_more};
use crate::{EffectKind, Entry, Error, Path, RunId};

/// So many events are worked out at once.
const AT_ONCE: usize = 10_000;

/// A long journal takes its time to be told again. Of the time that passes, at most one part in so many is spent on that.
const SHARE: u32 = 8;

/// What takes no longer than this is not reckoned with.
const UNNOTICED: Duration = Duration::from_millis(1);

/// The events of a run after a position: those that have happened, and then those that happen, whoever works on the run.
///
/// Dropping it ends nothing but the reading, and whoever comes back with the position of the last event it had misses nothing and is told
/// nothing twice. Nothing waits for a reader that is slow.
///
/// Events of what is still under way, such as the words of a reply as they come, have no position: their end supersedes them. They
/// are told of runs that are at work in this process only, and may be left out.
///
/// A suspended run is told to have ended, and is waited for all the same. After any other end there is no more. Only the end of a run that
/// has completed has a position: any other run may go on, and whoever comes back is told how it stands.
///
/// What is told is what the workflow does now: plain code between effects runs again, waits in it are waited again, and if it was changed, what
/// it tells is told as changed. A run that has [continued](crate::Scope::continue_with) is told from the generation before the
/// current one on; a reader that is further behind is told so by the number in `run_continued`.
pub struct Subscription(BoxStream<'static, Result<Event, Error>>);

impl Runtime {
    /// Reads what a run does, after a position or from its beginning. Any number may read the same run.
    ///
    /// ```
    /// use convoke_core::{Position, Registry, RunId, Runtime};
    ///
    /// async fn tell(runtime: &Runtime, registry: &Registry, run: RunId, mut last: Option<Position>) -> Result<(), convoke_core::Error> {
    ///     let mut events = runtime.subscribe(registry, run, last.clone());
    ///     while let Some(event) = events.next().await.transpose()? {
    ///         last = event.position.clone().or(last);
    ///         println!("{}: {:?}", event.path, event.kind);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    pub fn subscribe(&self, registry: &Registry, run: RunId, after: Option<Position>) -> Subscription {
        let feed = self.services.feed.join(&run);
        let reading = Reader {
            runtime: self.clone(),
            registry: registry.clone(),
            run,
            after,
            first: 0,
            entries: Vec::new(),
            feed,
            follow: None,
            ready: VecDeque::new(),
            begun: Vec::new(),
            shown: HashSet::new(),
            next: Next::CatchUp,
            not_before: Instant::now(),
            ended: None,
        };
        let events = unfold(reading, |mut reading| async move {
            let event = reading.next().await.transpose()?;
            if event.is_err() {
                reading.next = Next::Nothing;
            }
            Some((event, reading))
        });
        Subscription(events.boxed())
    }
}

impl Subscription {
    /// The next event; waits for it. `None` after the last.
    ///
    /// # Errors
    /// If there is no such run, its workflow is not known here, or the store fails. Then there is no more.
    pub async fn next(&mut self) -> Option<Result<Event, Error>> {
        self.0.next().await
    }
}

impl Stream for Subscription {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context)
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Subscription").finish_non_exhaustive()
    }
}

/// The state of a subscription.
struct Reader {
    runtime: Runtime,
    registry: Registry,
    run: RunId,
    /// The position of the last event that was worked out.
    after: Option<Position>,
    /// The number of the first entry that was read.
    first: u64,
    entries: Vec<Entry>,
    feed: FeedReader,
    follow: Option<BoxStream<'static, ()>>,
    ready: VecDeque<Event>,
    /// Events of what has begun, passed on once everything before it was.
    begun: Vec<Event>,
    /// What is under way and was told.
    shown: HashSet<SpanKey>,
    next: Next,
    not_before: Instant,
    /// How the run stood, and with how many entries, when that was told last.
    ended: Option<(RunStatus, usize)>,
}

/// What there is to do once everything is told that is known.
enum Next {
    CatchUp,
    Wait,
    Nothing,
}

/// A call, message or execution under way, by its path, kind and id.
type SpanKey = (Path, SpanKind, String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum SpanKind {
    Call,
    Message,
    ToolCall,
    Execution,
}

impl Reader {
    async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            match self.next {
                Next::Nothing => return Ok(None),
                Next::CatchUp => self.catch_up().await?,
                Next::Wait => self.wait().await?,
            }
        }
    }

    async fn wait(&mut self) -> Result<(), Error> {
        let follow = match &mut self.follow {
            Some(follow) => follow,
            None => {
                // From now on nothing is missed; what has happened before is looked at once more.
                let follow = self.runtime.store()?.follow(&self.run);
                self.next = Next::CatchUp;
                self.follow.insert(follow)
            }
        };
        if matches!(self.next, Next::CatchUp) {
            return Ok(());
        }
        tokio::select! {
            received = self.feed.events.recv() => match received {
                Ok(event) => self.take_live(event),
                // Too slow for what is under way: its end is told all the same.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => std::future::pending().await,
            },
            _ = follow.next() => self.next = Next::CatchUp,
        }
        Ok(())
    }

    /// Takes in everything that was told until now: what of it the entries say to be over is not passed on any more.
    fn drain_live(&mut self) {
        loop {
            match self.feed.events.try_recv() {
                Ok(event) => self.take_live(event),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    /// Takes in what is under way.
    fn take_live(&mut self, event: Event) {
        let Some(SpanEvent { part, within, begins }) = SpanEvent::of(&event) else { return };
        let has_begun = |part: &SpanKey| self.begun.iter().any(|begun| SpanEvent::is_of(begun, part));
        let is_shown = self.shown.contains(&part);
        let follows_shown = within.as_ref().is_some_and(|within| self.shown.contains(within));
        if is_shown && !begins || !is_shown && begins && follows_shown {
            self.shown.insert(part);
            self.ready.push_back(Event { position: None, ..event });
        } else if !is_shown && (has_begun(&part) || within.as_ref().is_some_and(has_begun)) {
            self.begun.push(event);
        } else if !is_shown && begins && part.1 != SpanKind::ToolCall {
            // What comes before it may be in the journal, and not have been told.
            self.begun.push(event);
            self.next = Next::CatchUp;
        }
    }

    /// Works out what has happened since.
    async fn catch_up(&mut self) -> Result<(), Error> {
        tokio::time::sleep_until(self.not_before).await;
        let began = Instant::now();
        let (record, before) = self.read().await?;
        self.drain_live();
        let events = match before {
            // Whoever has not come to the end of the generation before reads on there.
            Some(before) => self.account(&before, None).await?,
            None => Vec::new(),
        };
        let is_there = events.is_empty();
        self.take(events);
        self.next = Next::CatchUp;
        if is_there {
            // One that waits is said to wait once.
            let stands = (record.status, self.entries.len());
            let is_news = self.ended.replace(stands) != Some(stands);
            let end = (record.status != RunStatus::Running && is_news).then(|| end_of(&record));
            let events = self.account(&record, end).await?;
            if events.len() < AT_ONCE {
                self.next = if record.status.is_final() { Next::Nothing } else { Next::Wait };
                // Whoever has caught up need not be quicker than it is worth.
                let took = began.elapsed();
                let rest = if took < UNNOTICED { Duration::ZERO } else { took * SHARE };
                self.not_before = Instant::now() + rest;
            }
            self.take(events);
            self.pass_on();
        }
        Ok(())
    }

    /// Reads the record, the entries that it is true of, and how the generation before began, if there is something to tell of that.
    async fn read(&mut self) -> Result<(RunRecord, Option<RunRecord>), Error> {
        let (store, run) = (Arc::clone(self.runtime.store()?), self.run.clone());
        let find = || async {
            let found = store.run(&run).await?;
            found.ok_or_else(|| StoreError::NotFound { run: run.clone() })
        };
        let mut record = find().await?;
        loop {
            let before = match Carryover::of(&record)?.before {
                Some(before) if self.is_before(record.generation.begins_at) => Some(before.record(&record)?),
                _ => None,
            };
            self.keep_entries_from(before.as_ref().unwrap_or(&record).generation.begins_at);
            read_more(&*store, &run, self.first, &mut self.entries).await?;
            let again = find().await?;
            // Somebody may have gone on with it while its entries were read.
            if (again.status, again.updated) == (record.status, record.updated) {
                return Ok((record, before));
            }
            record = again;
        }
    }

    /// Whether there may be something to tell of what was before this entry.
    fn is_before(&self, entry: u64) -> bool {
        self.after.as_ref().is_none_or(|after| after.entry() + 1 < entry)
    }

    /// Reads from this entry on, and forgets what was before it.
    fn keep_entries_from(&mut self, first: u64) {
        if self.first > first || self.first + (self.entries.len() as u64) < first {
            self.entries.clear();
        } else {
            self.entries.retain(|entry| entry.seq >= first);
        }
        self.first = first;
    }

    /// What follows in a generation. The run may have continued since its record was read.
    async fn account(&mut self, record: &RunRecord, end: Option<RunEnd>) -> Result<Vec<Event>, Error> {
        let own = self.entries.iter().skip_while(|entry| entry.seq < record.generation.begins_at);
        let own = own.take_while(|entry| entry.effect != EffectKind::Continue);
        let entries: Vec<Entry> = own.cloned().collect();
        let part = replay::ReplayRange { after: self.after.clone(), most: AT_ONCE, end };
        let told = self.registry.for_run(record)?.account(&self.runtime, record, &entries, part).await?;
        match told.error.as_ref().map(Error::root) {
            Some(error @ Error::Diverged(_)) => Err(error.clone()),
            _ => Ok(told.events),
        }
    }

    /// Takes events that were worked out, but for what was told as it came.
    fn take(&mut self, events: Vec<Event>) {
        for event in events {
            self.after = event.position.clone().or(self.after.take());
            let was_shown = SpanEvent::of(&event).is_some_and(|received| self.shown.contains(&received.part));
            if let Some((path, what, id)) = ended_by(&event) {
                let is_over = |part: &SpanKey| {
                    let is_own = part.1 == what && part.2 == id;
                    part.0 == path && (is_own || what == SpanKind::Message && part.1 == SpanKind::ToolCall)
                };
                self.shown.retain(|part| !is_over(part));
                self.begun
                    .retain(|begun| SpanEvent::of(begun).is_none_or(|received| !is_over(&received.part)));
            }
            if !was_shown {
                self.ready.push_back(event);
            }
        }
    }

    /// Passes on what has begun, and is not over.
    fn pass_on(&mut self) {
        for event in std::mem::take(&mut self.begun) {
            self.shown.extend(SpanEvent::of(&event).map(|received| received.part));
            self.ready.push_back(Event { position: None, ..event });
        }
    }
}

/// How a run has ended, as its record says.
fn end_of(record: &RunRecord) -> RunEnd {
    let outcome = record.outcome.as_deref().and_then(|json| serde_json::from_slice(json).ok());
    let StoredOutcome { state, error, .. } = outcome.unwrap_or_default();
    RunEnd { status: record.status, error, refused: None, state, totals: record.totals }
}

/// What a live event says about a span.
struct SpanEvent {
    part: SpanKey,
    /// What it is a part of.
    within: Option<SpanKey>,
    /// Whether it begins here.
    begins: bool,
}

impl SpanEvent {
    fn of(event: &Event) -> Option<Self> {
        let part = |what, id: &String| (event.path.clone(), what, id.clone());
        let (part, within, begins) = match &event.kind {
            EventKind::ModelCallStarted(ModelCall { id, .. }) => (part(SpanKind::Call, id), None, true),
            EventKind::MessageStarted { id, .. } => {
                (part(SpanKind::Message, id), Some(part(SpanKind::Call, id)), true)
            }
            EventKind::MessageDelta { id, .. }
            | EventKind::ReasoningDelta { id, .. }
            | EventKind::MessageRestarted { id, .. } => (part(SpanKind::Message, id), None, false),
            EventKind::ToolCallStarted { id, message: Some(message), .. } => {
                (part(SpanKind::ToolCall, id), Some(part(SpanKind::Message, message)), true)
            }
            EventKind::ToolCallArguments { id, .. } => (part(SpanKind::ToolCall, id), None, false),
            EventKind::ToolCallExecuting { id } => (part(SpanKind::Execution, id), None, true),
            _ => return None,
        };
        Some(Self { part, within, begins })
    }

    fn is_of(event: &Event, part: &SpanKey) -> bool {
        Self::of(event).is_some_and(|received| received.part == *part)
    }
}

/// What an event says to be over.
fn ended_by(event: &Event) -> Option<SpanKey> {
    let part = |what, id: &String| Some((event.path.clone(), what, id.clone()));
    match &event.kind {
        EventKind::ModelCallEnded { id, .. } => part(SpanKind::Call, id),
        EventKind::MessageEnded { id, .. } => part(SpanKind::Message, id),
        EventKind::ToolCallEnded { id } => part(SpanKind::Execution, id),
        _ => None,
    }
}
