//! Drives a workflow from its beginning, or from where it was, to its end.

use std::sync::Arc;

use serde_json::Value;

use super::cancel_listener::CancelListener;
use super::generation::{FinishedGeneration, GenerationStart};
use super::prepare::{PreparedRun, ReadyRun, prepare};
use super::redo::stored_outcome;
use super::start::Start;
use super::time_limit::RunClock;
use super::{Outcome, Polls, Run, Services, State};
use crate::budget::Budget;
use crate::event::{Emission, EventKind, EventSender, LogicalTime, Position, RunEnd};
use crate::intercept::InterceptorStack;
use crate::journal::RunJournal;
use crate::scope::Node;
use crate::store::{Batch, Launch, RunChange, RunStatus, StoreError};
use crate::{Entry, Error, Path, RunId, Scope, json};

/// What is only done in some runs, or at their ends, is on the heap: every run would have to have room for all of it.
pub(super) async fn drive<S: State>(
    start: Box<Start<S>>,
    reader: Option<EventSender>,
    polls: Arc<Polls>,
) -> Result<Outcome<S>, Error> {
    let Start { runtime, workflow, id, beginning, options, settings } = *start;
    let services = runtime.services;
    let fallback_id = id.clone();
    let prepared = match services.around.as_deref().map_or(Ok(()), InterceptorStack::check) {
        Ok(()) => prepare(services.store.as_ref(), &workflow, id, beginning, &options).await,
        Err(unfit) => Err(unfit),
    };
    let ready = match prepared {
        Ok(PreparedRun::Ready(ready)) => ready,
        Ok(PreparedRun::Completed(outcome)) => {
            let end = RunEnd {
                status: outcome.status,
                error: None,
                refused: None,
                state: Some(json::to_value(&outcome.state)?),
                totals: outcome.totals,
            };
            Box::pin(report_completed(&services, reader, workflow.name(), outcome.run.clone(), end)).await;
            return Ok(outcome);
        }
        Err(error) => {
            Box::pin(report_refused(&services, reader, fallback_id, workflow.name(), &error)).await;
            return Err(error);
        }
    };
    let time = RunClock::of(&ready);
    let mut earlier = EarlierEnd::of(&ready);
    let (id, mut generation, mut resumed) = (ready.id, ready.generation, ready.resumed);
    let events = Arc::new(services.sequencer(id.clone(), reader));
    let settings = Arc::new(settings);
    let mut guard = AbandonOnDrop::default();
    let mut beginning = EventKind::RunStarted { workflow: workflow.name().to_owned(), resumed };
    loop {
        let GenerationStart { number, mut state, seed, journal, grants, names, carried } = generation;
        let (services, events) = (Arc::clone(&services), Arc::clone(&events));
        let run = Run::new(id.clone(), seed, services, journal, events, Arc::clone(&polls));
        let run = Arc::new(run.continued(number, &carried).granted(grants).knowing(names));
        run.polls.belong_to(&run);
        guard.guard(&run);
        let budget = ready.launch.limits.clone().map(|limits| Budget::of_run(limits, carried.used.clone()));
        let cancel = Arc::clone(options.canceller.inner());
        let (settings, deadline) = (Arc::clone(&settings), time.deadline.clone());
        let scope = Scope::new(Node::root(Arc::clone(&run), settings, budget.clone(), cancel, deadline));

        scope.learn(&carried.learnt);
        if let Some(journal) = &run.journal {
            scope.node.reach(LogicalTime::of_entry(journal.before_first()));
        }
        if scope.has_listeners() {
            scope.emit_at(&Path::from(""), beginning, false).await;
        }
        let listener = CancelListener::of(&run, &options.canceller);
        if let Some(listener) = listener.as_ref().filter(|_| resumed) {
            // It may have been told while nobody worked on it.
            listener.check().await;
        }
        let work = scope.run(&**workflow.root(), &mut state);
        let result = match listener {
            None => work.await,
            Some(listener) => tokio::select! {
                biased;
                result = work => result,
                never = listener.listen() => match never {},
            },
        };
        let mut error = result.err();
        if let Some(Error::Continues(input)) = error.as_ref().map(Error::root) {
            let (budget, learnt) = (budget.as_deref(), scope.learnt());
            let ended = FinishedGeneration { run: &run, carried, budget, time: &time, learnt };
            match Box::pin(ended.continue_with(&workflow, input)).await {
                Ok(next) => {
                    beginning = EventKind::RunContinued { generation: next.number };
                    (generation, resumed, earlier) = (next, true, EarlierEnd::default());
                    // One that does nothing but continue must not keep others from their turn.
                    tokio::task::yield_now().await;
                    continue;
                }
                Err(refused) => error = Some(refused),
            }
        }
        let is_left = options.canceller.is_left();
        if error.as_ref().is_some_and(|error| error.status() != RunStatus::Suspended) && run.is_untold() {
            state = Box::pin(earlier.state_of(&run)).await.unwrap_or(state);
        }
        let outcome = Box::pin(conclude(&scope, state, error, &time, ready.before, is_left)).await;
        guard.finished();
        return Ok(outcome);
    }
}

/// What a run had come to when it last ended.
#[derive(Default)]
struct EarlierEnd {
    state: Option<Value>,
    /// How many entries its journal had.
    entries: u64,
}

impl EarlierEnd {
    fn of<S>(ready: &ReadyRun<S>) -> Self {
        let entries = ready.generation.journal.as_ref().map_or(0, RunJournal::last_number);
        Self { state: ready.came_to.clone(), entries }
    }

    /// Counts what a run has used that has come to an end before it was where it had been. Gives the state it had then, if nothing has
    /// happened since but that its time was up.
    async fn state_of<S: State>(self, run: &Run) -> Option<S> {
        let entries = run.count_untold().await?;
        let mut new = entries.iter().filter(|entry| entry.seq > self.entries);
        let state = self.state.filter(|_| new.all(Entry::is_step_timeout))?;
        serde_json::from_value(state).ok()
    }
}

/// Writes down and reports how the run ended.
async fn conclude<S: State>(
    scope: &Scope,
    state: S,
    error: Option<Error>,
    time: &RunClock,
    before: Option<Launch>,
    is_left: bool,
) -> Outcome<S> {
    let run = &scope.node.run;
    let mut error = error;
    let mut status = error.as_ref().map_or(RunStatus::Completed, Error::status);
    // What a run that waits has come to is not kept, and may be long.
    let is_wanted = status != RunStatus::Suspended || run.events.has_listeners();
    let json = match is_wanted.then(|| json::to_value(&state)).transpose() {
        Ok(json) => json,
        Err(unwritable) => {
            status = error.get_or_insert(unwritable).status();
            None
        }
    };
    if let Some(journal) = &run.journal {
        let state = json.clone().filter(|_| status != RunStatus::Suspended);
        let mut stored = stored_outcome(error.as_ref(), state, &run.lacking);
        stored.for_good = status == RunStatus::Cancelled && run.ended_for_good.get().is_some();
        let mut waits = run.waiting.waits(&journal.mailbox);
        waits.until = waits.until.into_iter().chain(time.end).min();
        // Plain data; and if it could not be written the run would still have its journal.
        let outcome = serde_json::to_vec(&stored).ok().map(Into::into);
        let is_lost =
            matches!(error.as_ref().map(Error::root), Some(Error::Store(StoreError::Fenced { .. })));
        // One that is left is as one whose process has ended: its record says that it is under way.
        let is_left = is_left && status == RunStatus::Cancelled;
        if !is_lost && !is_left {
            // Whatever goes on from another end may still be answered.
            let is_last = stored.for_good || matches!(status, RunStatus::Completed | RunStatus::Halted);
            let closed = match is_last {
                true => {
                    let kept = journal.store().questions(Some(&run.id)).await.unwrap_or_default();
                    let kept = kept.into_iter().map(|pending| pending.id);
                    kept.chain(scope.left_unanswered(journal)).collect()
                }
                false => Vec::new(),
            };
            let change = RunChange { status, outcome, totals: run.totals(), worked: time.worked(), waits };
            // What the journal does not fit is not kept: whoever goes on next does so as it was.
            let is_unfit = matches!(error.as_ref().map(Error::root), Some(Error::Diverged(_)));
            let launch = before.filter(|_| is_unfit);
            let changes = Batch { closed, change: Some(change), launch, ..Batch::default() };
            journal.change(std::iter::empty(), changes);
        }
        // What is not written is not so: nobody can answer a run or go on with it that the store does not have.
        if let Err(failure) = journal.settle().await {
            error = Some(Error::Store(unwritten_end(failure, error.as_ref())));
            status = RunStatus::Failed;
        }
        if let Some(lease) = journal.lease() {
            journal.store().release(lease);
        }
    }
    let totals = run.totals();
    let error_text = error.as_ref().map(ToString::to_string);
    let end = RunEnd { status, error: error_text, refused: None, state: json, totals };
    // Any other end may not be the last one.
    let journal = run.journal.as_ref().filter(|_| status == RunStatus::Completed);
    let position = journal.map(|journal| end_of_run(journal.last_number()));
    let kind = EventKind::RunEnded(end);
    run.events.emit(Emission { path: &Path::from(""), position, replayed: false, kind }, None).await;
    Outcome { run: run.id.clone(), status, state, error, totals }
}

/// The failure of the store that kept the end of a run from being written, which is told too.
fn unwritten_end(failure: StoreError, end: Option<&Error>) -> StoreError {
    match (failure, end) {
        (StoreError::Failed(why), Some(end)) if !matches!(end.root(), Error::Store(_)) => {
            StoreError::Failed(format!("{why}. What the run came to was not written: {end}"))
        }
        (failure, _) => failure,
    }
}

/// A run that could not begin has one event: its end.
pub(super) async fn report_refused(
    services: &Services,
    reader: Option<EventSender>,
    id: Option<RunId>,
    workflow: &str,
    error: &Error,
) {
    let id = id.unwrap_or_else(RunId::mint);
    let events = services.sequencer(id, reader);
    let end = RunEnd {
        status: RunStatus::Failed,
        error: Some(error.to_string()),
        refused: Some(workflow.to_owned()),
        state: None,
        totals: Default::default(),
    };
    events.emit(Emission::now(&Path::from(""), EventKind::RunEnded(end)), None).await;
}

/// Where the end of a run stands whose journal has so many entries.
pub(super) fn end_of_run(entries: u64) -> Position {
    Position::new(LogicalTime::last_of_entry(entries), Path::from(""))
}

/// A run that was completed before only tells its end again.
async fn report_completed(
    services: &Services,
    reader: Option<EventSender>,
    workflow: &str,
    id: RunId,
    end: RunEnd,
) {
    let events = services.sequencer(id, reader);
    let (path, started) =
        (Path::from(""), EventKind::RunStarted { workflow: workflow.to_owned(), resumed: true });
    for kind in [started, EventKind::RunEnded(end)] {
        events.emit(Emission { replayed: true, ..Emission::now(&path, kind) }, None).await;
    }
}

/// A run whose task is dropped in the middle still has a last event, and can be resumed at once.
#[derive(Default)]
struct AbandonOnDrop(Option<Arc<Run>>);

impl AbandonOnDrop {
    /// The run, from now on in this generation.
    fn guard(&mut self, run: &Arc<Run>) {
        self.0 = Some(Arc::clone(run));
    }

    fn finished(mut self) {
        self.0 = None;
    }
}

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            run.abandon(&Error::Cancelled("the run was dropped; resume it to go on".into()));
        }
    }
}
