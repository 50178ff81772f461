//! Replaying a stored run without touching the world.

use std::sync::Arc;

use super::carryover::Carryover;
use super::drive::end_of_run;
use super::{Run, Runtime, State, Workflow};
use crate::budget::Budget;
use crate::event::{Event, EventKind, EventSelection, LogicalTime, Position, RunEnd, Sequencer};
use crate::journal::{JournalIndex, Mailbox, RunJournal, StoredContent};
use crate::scope::{Cancel, Node};
use crate::store::{RunRecord, RunStatus, StoreError, read_entries_from};
use crate::{Entry, Error, Path, RunId, Scope};

/// The result of a replay.
#[derive(Debug)]
pub struct Replay<S> {
    /// The state at its end.
    pub state: S,
    /// What the run stopped with; [`Error::NotRecorded`] if the journal ends in the middle.
    pub error: Option<Error>,
    /// The events, told again.
    pub events: Vec<Event>,
    /// Finished effects in the journal that the code did not ask for. More than none means the code has changed.
    pub unused: usize,
}

/// Which part of the account of a generation of a run is wanted.
pub(super) struct ReplayRange {
    /// What follows this position; `None` for the beginning.
    pub(super) after: Option<Position>,
    /// So many events of it, the first.
    pub(super) most: usize,
    /// How the run has ended, if it has.
    pub(super) end: Option<RunEnd>,
}

impl Runtime {
    /// Runs a stored run again with the journal answering every effect. Nothing is called, nothing is written, and no
    /// lease is needed: a run under way can be replayed as far as it has come. One that has
    /// [continued](Scope::continue_with) is replayed from where it continued last.
    ///
    /// # Errors
    /// If there is no such run, or it belongs to another workflow.
    pub async fn replay<S: State>(&self, workflow: &Workflow<S>, run: &RunId) -> Result<Replay<S>, Error> {
        let store = self.store()?;
        let record = store.run(run).await?.ok_or_else(|| StoreError::NotFound { run: run.clone() })?;
        let state = workflow.restore(&record)?;
        let entries = read_entries_from(&**store, run, record.generation.begins_at).await?;
        let scope = self.replaying(workflow, &record, entries, EventSelection::All)?;
        Ok(played(workflow, state, &scope).await)
    }

    /// A part of the account of a generation, as far as its entries go: events in the order of their positions.
    pub(super) async fn account<S: State>(
        &self,
        workflow: &Workflow<S>,
        record: &RunRecord,
        entries: &[Entry],
        part: ReplayRange,
    ) -> Result<Replay<S>, Error> {
        let ReplayRange { after, most, end } = part;
        let (state, before) = (workflow.restore(record)?, record.generation.begins_at - 1);
        let wanted = EventSelection::After { position: after.clone(), most };
        let scope = self.replaying(workflow, record, entries.to_vec(), wanted)?;
        scope.node.reach(LogicalTime::of_entry(before));
        let beginning = match record.generation.number {
            0 => EventKind::RunStarted { workflow: workflow.name().to_owned(), resumed: false },
            generation => EventKind::RunContinued { generation },
        };
        scope.emit_at(&Path::from(""), beginning, true).await;
        let mut replay = played(workflow, state, &scope).await;
        let last = end_of_run(entries.last().map_or(before, |entry| entry.seq));
        if let Some(end) = end.filter(|_| replay.events.len() < most && after.as_ref() < Some(&last)) {
            // Any other end may not be the last one.
            let position = (end.status == RunStatus::Completed).then_some(last);
            replay.events.extend(scope.node.run.events.ends(end, position));
        }
        for event in &mut replay.events {
            event.at = match &event.position {
                // It happened when what it follows from was written down.
                Some(position) if !matches!(event.kind, EventKind::RunEnded(_)) => {
                    let index = position.entry().saturating_sub(before + 1);
                    let entry = usize::try_from(index).ok().and_then(|index| entries.get(index));
                    entry.map_or(record.created, |entry| entry.at)
                }
                _ => record.updated,
            };
        }
        Ok(replay)
    }

    /// The scope of a run that is only told again.
    fn replaying<S: State>(
        &self,
        workflow: &Workflow<S>,
        record: &RunRecord,
        entries: Vec<Entry>,
        wanted: EventSelection,
    ) -> Result<Scope, Error> {
        let (store, run) = (Arc::clone(self.store()?), record.id.clone());
        let index = JournalIndex::new(entries);
        let journal = RunJournal::new(store, None, index, Mailbox::default(), StoredContent::default());
        let services = Arc::clone(&self.services);
        let settings = Arc::clone(&services.settings);
        let events = Arc::new(Sequencer::keeping(run.clone(), wanted));
        let replayed = Run::new(run, Some(record.seed), services, Some(journal), events, Arc::default());
        let replayed = replayed.continued(record.generation.number, &Carryover::default());
        let replayed = Arc::new(replayed.knowing(workflow.names_since(record.version)));
        let carried = Carryover::of(record)?;
        let budget = record.launch.limits.clone().map(|limits| Budget::of_run(limits, carried.used));
        let scope = Scope::new(Node::root(replayed, settings, budget, Arc::new(Cancel::default()), None));
        scope.learn(&carried.learnt);
        Ok(scope)
    }
}

async fn played<S: State>(workflow: &Workflow<S>, mut state: S, scope: &Scope) -> Replay<S> {
    let error = scope.run(&**workflow.root(), &mut state).await.err();
    let run = &scope.node.run;
    let unused = run.journal.as_ref().map_or(0, |journal| journal.index.unused());
    Replay { state, error, events: run.events.take_kept(), unused }
}
