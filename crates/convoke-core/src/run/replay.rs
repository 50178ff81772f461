//! Running a stored run again without touching the world.

use std::sync::Arc;

use super::{Run, Runtime, State, Workflow};
use crate::event::{Event, Sequencer};
use crate::journal::{JournalIndex, Kept, Mailbox, RunJournal};
use crate::scope::{Cancel, Node};
use crate::store::{StoreError, Totals, read_entries_from};
use crate::{Error, RunId, Scope};

/// What a replay came to.
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
        let mut state = workflow.restore(&record)?;
        let generation = &record.generation;
        let index = JournalIndex::new(read_entries_from(&**store, run, generation.begins_at).await?);
        let journal = RunJournal::new(Arc::clone(store), None, index, Mailbox::default(), Kept::default());
        let events = Arc::new(Sequencer::keeping(run.clone()));
        let services = Arc::clone(&self.services);
        let settings = Arc::clone(&services.settings);
        let replayed = Run::new(run.clone(), record.seed, services, Some(journal), events, Arc::default());
        let replayed = replayed.continued(generation.number, Totals::default());
        let replayed = Arc::new(replayed.knowing(workflow.names_since(record.version)));
        let node = Node::root(Arc::clone(&replayed), settings, None, Arc::new(Cancel::default()), None);
        let scope = Scope::new(node);
        let error = scope.run(&**workflow.root(), &mut state).await.err();
        let unused = replayed.journal.as_ref().map_or(0, |journal| journal.index.unused());
        let events = replayed.events.take_kept();
        Ok(Replay { state, error, events, unused })
    }
}
