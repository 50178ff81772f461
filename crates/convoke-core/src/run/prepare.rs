//! Finds or makes a run, and reads what there is of it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::Value;

use super::cancel::must_not_be_cancelled;
use super::carryover::Carryover;
use super::compatibility::{called_before, must_fit};
use super::generation::GenerationStart;
use super::outcome::StoredOutcome;
use super::redo::{self, forget_failures};
use super::start::{RunOptions, StartFrom, WhenBusy};
use super::{Grants, Names, Outcome, State, Workflow};
use crate::journal::{JournalIndex, Mailbox, RunJournal, StoredContent};
use crate::store::{
    Batch, Launch, Lease, NewRun, OnBusy, RunChange, RunRecord, RunStatus, Store, StoreError, WaitConditions,
    read_entries_from,
};
use crate::{Digest, Entry, Error, RunId, Timestamp, json};

/// How long to wait at most before looking again whether another has finished with a run: one that was killed says nothing.
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// A run that can go.
pub(super) struct ReadyRun<S> {
    pub(super) id: RunId,
    /// The generation it is in.
    pub(super) generation: GenerationStart<S>,
    pub(super) resumed: bool,
    /// What it goes on with.
    pub(super) launch: Launch,
    /// What it went on with before, if that is something else.
    pub(super) before: Option<Launch>,
    /// When it was made.
    pub(super) created: Timestamp,
    /// How long it was at work before.
    pub(super) worked: Duration,
    /// What it had come to when it last ended.
    pub(super) came_to: Option<Value>,
}

impl<S> ReadyRun<S> {
    /// A run that begins.
    fn fresh(id: RunId, state: S, journal: Option<RunJournal>, options: &RunOptions) -> Box<Self> {
        let generation = GenerationStart {
            number: 0,
            state,
            seed: None,
            journal,
            grants: Grants::default(),
            names: Names::default(),
            carried: Carryover::default(),
        };
        Box::new(Self {
            id,
            generation,
            resumed: false,
            launch: options.launch.clone(),
            before: None,
            created: Timestamp::now(),
            worked: Duration::ZERO,
            came_to: None,
        })
    }
}

pub(super) enum PreparedRun<S> {
    Ready(Box<ReadyRun<S>>),
    /// It was completed before.
    Completed(Outcome<S>),
}

pub(super) async fn prepare<S: State>(
    store: Option<&Arc<dyn Store>>,
    workflow: &Workflow<S>,
    id: Option<RunId>,
    beginning: StartFrom<S>,
    options: &RunOptions,
) -> Result<PreparedRun<S>, Error> {
    match store {
        None => unstored(id, beginning, options).map(PreparedRun::Ready),
        // On the heap: to find a run and to read what there is of it takes much room, which runs without a store do not need.
        Some(store) => Box::pin(stored(store, workflow, id, beginning, options)).await,
    }
}

async fn stored<S: State>(
    store: &Arc<dyn Store>,
    workflow: &Workflow<S>,
    id: Option<RunId>,
    beginning: StartFrom<S>,
    options: &RunOptions,
) -> Result<PreparedRun<S>, Error> {
    match (beginning, id) {
        (StartFrom::Fresh(state), None) => {
            create(store, workflow, RunId::mint(), state, options).await.map(PreparedRun::Ready)
        }
        (StartFrom::Fresh(state), Some(id)) => {
            let input = json::to_value(&state)?;
            match create(store, workflow, id.clone(), state, options).await {
                Err(Error::Store(StoreError::Exists { .. })) => {
                    resume(store, workflow, id, Some(&input), options).await
                }
                created => created.map(PreparedRun::Ready),
            }
        }
        (StartFrom::Stored, Some(id)) => resume(store, workflow, id, None, options).await,
        (StartFrom::Stored, None) => Err(Error::Refused("to resume a run, say which".into())),
    }
}

fn unstored<S>(
    id: Option<RunId>,
    beginning: StartFrom<S>,
    options: &RunOptions,
) -> Result<Box<ReadyRun<S>>, Error> {
    let StartFrom::Fresh(state) = beginning else {
        return Err(Error::Refused(
            "resuming needs a store: give the runtime one with `Runtime::builder().store(…)`".into(),
        ));
    };
    let id = id.unwrap_or_else(RunId::mint);
    Ok(ReadyRun::fresh(id, state, None, options))
}

async fn create<S: State>(
    store: &Arc<dyn Store>,
    workflow: &Workflow<S>,
    id: RunId,
    state: S,
    options: &RunOptions,
) -> Result<Box<ReadyRun<S>>, Error> {
    let run = workflow.new_run(id.clone(), json::to_value(&state)?.to_string());
    let lease = store.create(NewRun { launch: options.launch.clone(), ..run }).await?;
    let (index, mailbox) = (JournalIndex::default(), Mailbox::default());
    let journal = RunJournal::new(Arc::clone(store), Some(lease), index, mailbox, StoredContent::default());
    Ok(ReadyRun::fresh(id, state, Some(journal), options))
}

async fn resume<S: State>(
    store: &Arc<dyn Store>,
    workflow: &Workflow<S>,
    id: RunId,
    input: Option<&Value>,
    options: &RunOptions,
) -> Result<PreparedRun<S>, Error> {
    let when_busy = options.when_busy;
    let mut watch = (when_busy == WhenBusy::Wait).then(|| store.watch(Some(&id)));
    let lease = loop {
        let record = find(store, &id).await?;
        must_begin_alike(&record, workflow, input)?;
        if record.status == RunStatus::Completed {
            return completed(workflow, record).map(PreparedRun::Completed);
        }
        let on_busy = if when_busy == WhenBusy::TakeOver { OnBusy::TakeOver } else { OnBusy::Refuse };
        match store.claim(&id, on_busy).await {
            Ok(lease) => break lease,
            Err(busy @ StoreError::Busy { .. }) => match &mut watch {
                Some(watch) => drop(tokio::time::timeout(LONGEST_LOOK, watch.next()).await),
                None => return Err(busy.into()),
            },
            Err(error) => return Err(error.into()),
        }
    };
    if let WhenBusy::RefuseSince { epoch } = when_busy
        && lease.epoch > epoch + 1
    {
        store.release(&lease);
        return Err(
            StoreError::Busy { run: id, holder: "another process, which has let go of it".into() }.into()
        );
    }
    let claimed = ClaimedLease { store: Arc::clone(store), lease: Some(lease) };
    // Read anew: between the look and the claim another may have gone on with the run, or finished it.
    let record = find(store, &id).await?;
    if record.status == RunStatus::Completed {
        return completed(workflow, record).map(PreparedRun::Completed);
    }
    let ready = continue_run(store, workflow, id, record, &claimed, options).await?;
    claimed.keep();
    Ok(PreparedRun::Ready(ready))
}

async fn find(store: &Arc<dyn Store>, id: &RunId) -> Result<RunRecord, Error> {
    Ok(store.run(id).await?.ok_or_else(|| StoreError::NotFound { run: id.clone() })?)
}

async fn continue_run<S: State>(
    store: &Arc<dyn Store>,
    workflow: &Workflow<S>,
    id: RunId,
    record: RunRecord,
    claimed: &ClaimedLease,
    options: &RunOptions,
) -> Result<Box<ReadyRun<S>>, Error> {
    must_not_be_cancelled(&record)?;
    let state = workflow.restore(&record)?;
    let carried = Carryover::of(&record)?;
    let entries = read_entries_from(&**store, &id, record.generation.begins_at).await?;
    // One that was made, and on which nobody has worked yet, begins now.
    let number = record.generation.number;
    let resumed = record.status != RunStatus::Running || number > 0 || !entries.is_empty();
    let kept = match number {
        0 => StoredContent {
            stored: store.blob_digests(&id).await?.into_iter().collect(),
            ..StoredContent::default()
        },
        _ => StoredContent::known_by(carried.conversations.clone(), &entries),
    };
    let grants = Grants::of(carried.approved.clone(), &record, &entries);
    let worked = worked(&record, entries.last());
    let launch = record.launch.clone().changed_by(options.launch.clone());
    let before = (launch != record.launch).then(|| record.launch.clone());
    let mailbox = Mailbox::of(carried.mail.clone(), entries.iter());
    let came_to = StoredOutcome::of(&record).and_then(|outcome| outcome.state);
    let (index, retried) = forget_failures(&record, entries);
    let names = workflow.names_since(record.version);
    let outline = reshaped(workflow, &record, &index, &names)?;
    let journal = RunJournal::new(Arc::clone(store), claimed.lease.clone(), index, mailbox, kept);
    let (status, totals, waits) = (RunStatus::Running, record.totals, WaitConditions::default());
    let goes_on = RunChange { status, outcome: None, totals, worked, waits };
    let changes = Batch {
        change: Some(goes_on),
        outline,
        version: (workflow.version_number() != record.latest).then(|| workflow.version_number()),
        launch: before.is_some().then(|| launch.clone()),
        ..Batch::default()
    };
    // Together: a run that is said to have failed has its failures, and they are forgotten once only.
    journal.change(retried.iter().map(redo::draft), changes);
    let (seed, created) = (Some(record.seed), record.created);
    let journal = Some(journal);
    let generation = GenerationStart { number, state, seed, journal, grants, names, carried };
    Ok(Box::new(ReadyRun { id, generation, resumed, launch, before, created, worked, came_to }))
}

/// How long a run has been at work. Of one that was killed nobody has said so: it was as long as it wrote.
fn worked(record: &RunRecord, last: Option<&Entry>) -> Duration {
    let unsaid =
        last.filter(|_| record.status == RunStatus::Running).map(|last| last.at.since(record.updated));
    record.worked + unsaid.unwrap_or_default()
}

/// The workflow's outline with the names that the run knows, if it is another than the run's. What has happened must have its
/// place in it, or be said to be gone.
fn reshaped<S: State>(
    workflow: &Workflow<S>,
    record: &RunRecord,
    index: &JournalIndex,
    names: &Names,
) -> Result<Option<Bytes>, Error> {
    let outline = match names.is_empty() {
        true => workflow.stored_outline(),
        false => serde_json::to_vec(&called_before(workflow.outline(), names))?.into(),
    };
    if record.outline.as_ref() == Some(&outline) {
        return Ok(None);
    }
    must_fit(record, workflow.name(), &outline, index, names)?;
    Ok(Some(outline))
}

/// A name stands for one piece of work: taking up another under the same name would mix them.
fn must_begin_alike<S: State>(
    record: &RunRecord,
    workflow: &Workflow<S>,
    input: Option<&Value>,
) -> Result<(), Error> {
    let Some(input) = input else { return Ok(()) };
    if record.workflow != workflow.name() || record.version != workflow.version_number() {
        // Another workflow is refused, and another version migrated, where the state is restored.
        return Ok(());
    }
    let is_alike = match Carryover::of(record)?.began_with {
        Some(began_with) => began_with == Digest::of_json(input),
        None => serde_json::from_slice::<Value>(&record.input)? == *input,
    };
    if is_alike {
        return Ok(());
    }
    Err(Error::Refused(
        format!(
            "run `{}` exists and began with another state: choose another id, or resume it without giving a state",
            record.id
        )
        .into(),
    ))
}

fn completed<S: State>(workflow: &Workflow<S>, record: RunRecord) -> Result<Outcome<S>, Error> {
    // Refuses the wrong workflow or version before its outcome is read as something it is not.
    workflow.restore(&record)?;
    let outcome: StoredOutcome = serde_json::from_slice(record.outcome.as_deref().unwrap_or(b"{}"))?;
    let state = serde_json::from_value(outcome.state.unwrap_or(Value::Null)).map_err(|error| {
        Error::Refused(format!("the final state of run `{}` cannot be read: {error}", record.id).into())
    })?;
    Ok(Outcome { run: record.id, status: record.status, state, error: None, totals: record.totals })
}

/// What a run's random numbers follow from. They need to differ from run to run, not to be secret.
pub(super) fn seed_of(id: &RunId) -> u64 {
    let digest = crate::Digest::of_parts(&[id.as_str().as_bytes()]);
    digest.as_bytes()[..8].iter().fold(0, |seed, byte| (seed << 8) | u64::from(*byte))
}

/// A lease that is given back unless the run gets under way.
struct ClaimedLease {
    store: Arc<dyn Store>,
    lease: Option<Lease>,
}

impl ClaimedLease {
    fn keep(mut self) {
        self.lease = None;
    }
}

impl Drop for ClaimedLease {
    fn drop(&mut self) {
        if let Some(lease) = &self.lease {
            self.store.release(lease);
        }
    }
}
