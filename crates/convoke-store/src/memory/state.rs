//! The state of the in-memory store.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use bytes::Bytes;
use convoke_core::ask::PendingQuestion;
use convoke_core::store::{
    Batch, CANCEL_CHANNEL, DueRun, Generation, Launch, Lease, Mail, NewMail, NewRun, OnBusy, PostReceipt,
    Retention, RunQuery, RunRecord, Totals, WaitConditions, reply_channel,
};
use convoke_core::{Answer, Digest, Entry, QuestionId, RunId, RunStatus, StoreError, Timestamp};

use crate::batch;
use crate::lease_owner::LeaseOwner;

/// All runs, in the order they were made.
#[derive(Default)]
pub(super) struct State {
    keys: HashMap<RunId, u64>,
    runs: BTreeMap<u64, Run>,
    last_key: u64,
    last_mail: u64,
}

struct Run {
    record: RunRecord,
    entries: Vec<Entry>,
    blobs: BTreeMap<Digest, Bytes>,
    open: HashMap<QuestionId, PendingQuestion>,
    mail: Vec<StoredMail>,
    /// Why the lease in force cannot write any more.
    failed: Option<StoreError>,
}

/// Mail, and what it was known by.
struct StoredMail {
    mail: Mail,
    key: Option<String>,
    /// An answer whose question was settled.
    is_taken: bool,
}

impl State {
    pub(super) fn count(&self) -> usize {
        self.runs.len()
    }

    pub(super) fn create(&mut self, new: NewRun) -> Result<Lease, StoreError> {
        if self.keys.contains_key(&new.id) {
            return Err(StoreError::Exists { run: new.id });
        }
        let next_seq = batch::check(&new.id, 1, &new.past)?;
        let id = new.id.clone();
        let mut run = Run::new(new.id, new.workflow, new.version, new.input, new.seed);
        run.record.forked_from = new.forked_from;
        run.record.outline = new.outline;
        run.record.launch = new.launch;
        run.write(new.past);
        self.last_key += 1;
        self.keys.insert(id.clone(), self.last_key);
        self.runs.insert(self.last_key, run);
        Ok(Lease { run: id, epoch: 1, next_seq })
    }

    pub(super) fn claim(&mut self, id: &RunId, busy: OnBusy) -> Result<Lease, StoreError> {
        let run = self.find_mut(id)?;
        if busy != OnBusy::TakeOver {
            run.refuse_if_held()?;
        }
        run.record.epoch += 1;
        run.record.holder = Some(LeaseOwner::describe_this_process());
        run.failed = None;
        Ok(Lease { run: id.clone(), epoch: run.record.epoch, next_seq: run.next_seq() })
    }

    pub(super) fn append(&mut self, lease: &Lease, batch: Batch) -> Result<(), StoreError> {
        let run = self.find_mut(&lease.run)?;
        let current = run.record.epoch;
        if current != lease.epoch {
            return Err(StoreError::Fenced { run: lease.run.clone(), ours: lease.epoch, current });
        }
        if run.record.holder.is_none() {
            return Err(batch::given_back(&lease.run));
        }
        if let Some(error) = &run.failed {
            return Err(error.clone());
        }
        match batch::check(&lease.run, run.next_seq(), &batch) {
            Ok(_) => run.write(batch),
            Err(error) => return Err(run.failed.insert(error).clone()),
        }
        Ok(())
    }

    pub(super) fn release(&mut self, lease: &Lease) {
        if let Ok(run) = self.find_mut(&lease.run)
            && run.record.epoch == lease.epoch
        {
            run.record.holder = None;
        }
    }

    pub(super) fn run(&self, id: &RunId) -> Option<RunRecord> {
        self.find(id).map(|run| run.record.clone())
    }

    pub(super) fn entries(&self, id: &RunId, from: u64, limit: usize) -> Vec<Entry> {
        let entries = self.find(id).map_or(&[][..], |run| &run.entries);
        let skipped = usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX);
        entries.iter().skip(skipped).take(limit).cloned().collect()
    }

    pub(super) fn blob_digests(&self, id: &RunId) -> Vec<Digest> {
        self.find(id).map_or_else(Vec::new, |run| run.blobs.keys().copied().collect())
    }

    pub(super) fn blobs(&self, id: &RunId, digests: &[Digest]) -> HashMap<Digest, Bytes> {
        let Some(run) = self.find(id) else { return HashMap::new() };
        let found =
            digests.iter().filter_map(|digest| run.blobs.get(digest).map(|content| (digest, content)));
        found.map(|(digest, content)| (*digest, content.clone())).collect()
    }

    pub(super) fn runs(&self, query: &RunQuery) -> Vec<RunRecord> {
        let fits = |record: &&RunRecord| {
            query.workflow.as_ref().is_none_or(|workflow| record.workflow == *workflow)
                && query.status.is_none_or(|status| record.status == status)
                && (query.parent.is_none() || query.parent == record.launch.parent)
                && (query.thread.is_none() || query.thread == record.launch.thread)
                && query.labels.iter().all(|(name, value)| record.launch.labels.get(name) == Some(value))
                && query
                    .id_prefix
                    .as_ref()
                    .is_none_or(|prefix| record.id.as_str().starts_with(prefix.as_str()))
        };
        let newest_first = self.runs.values().rev().map(|run| &run.record);
        newest_first.filter(fits).take(query.limit.unwrap_or(usize::MAX)).cloned().collect()
    }

    pub(super) fn questions(&self, id: Option<&RunId>) -> Vec<PendingQuestion> {
        let runs = self.runs.iter().filter(|(_, run)| id.is_none_or(|id| run.record.id == *id));
        let mut open: Vec<_> =
            runs.flat_map(|(key, run)| run.open.values().map(move |question| (*key, question))).collect();
        open.sort_by_key(|(key, question)| (question.asked, *key, question.id.as_str()));
        open.into_iter().map(|(_, question)| question.clone()).collect()
    }

    pub(super) fn post(&mut self, id: &RunId, mail: NewMail) -> Result<PostReceipt, StoreError> {
        let number = self.last_mail + 1;
        let run = self.find_mut(id)?;
        let posted = run.post(number, mail)?;
        if posted.is_new {
            self.last_mail = number;
        }
        Ok(posted)
    }

    pub(super) fn mail(&self, id: &RunId, channel: &str, after: u64, limit: usize) -> Vec<Mail> {
        let Some(run) = self.find(id) else { return Vec::new() };
        run.on(channel).filter(|mail| mail.number > after).take(limit).cloned().collect()
    }

    pub(super) fn mail_by_key(&self, id: &RunId, key: &str) -> Vec<Mail> {
        let Some(run) = self.find(id) else { return Vec::new() };
        let same = run.mail.iter().filter(|kept| kept.key.as_deref() == Some(key));
        same.map(|kept| kept.mail.clone()).collect()
    }

    pub(super) fn due(&self, by: Timestamp, limit: usize) -> Vec<DueRun> {
        let free = self.runs.values().map(|run| &run.record).filter(|record| record.holder.is_none());
        let mut due: Vec<DueRun> = free
            .filter_map(|record| {
                let is_untouched_fork = record.forked_from.is_some() && record.epoch == 1;
                let is_left = record.status == RunStatus::Running && !is_untouched_fork;
                let left = is_left.then_some(record.updated);
                Some(DueRun { run: record.id.clone(), at: record.wake.or(left)? })
            })
            .filter(|due| due.at <= by)
            .collect();
        due.sort_by_key(|due| due.at);
        due.truncate(limit);
        due
    }

    pub(super) fn delete(&mut self, id: &RunId) -> Result<bool, StoreError> {
        let Some(run) = self.find(id) else { return Ok(false) };
        run.refuse_if_held()?;
        self.remove(id);
        Ok(true)
    }

    pub(super) fn purge(&mut self, retention: &Retention) -> u64 {
        let newest_first = self.runs.values().rev().map(|run| &run.record);
        let outdated = retention.outdated(newest_first, Timestamp::now());
        outdated.iter().for_each(|id| self.remove(id));
        outdated.len() as u64
    }

    fn find(&self, id: &RunId) -> Option<&Run> {
        self.runs.get(self.keys.get(id)?)
    }

    fn find_mut(&mut self, id: &RunId) -> Result<&mut Run, StoreError> {
        let key = self.keys.get(id);
        key.and_then(|key| self.runs.get_mut(key)).ok_or_else(|| StoreError::NotFound { run: id.clone() })
    }

    fn remove(&mut self, id: &RunId) {
        if let Some(key) = self.keys.remove(id) {
            self.runs.remove(&key);
        }
    }
}

impl Run {
    fn new(id: RunId, workflow: String, version: u32, input: Bytes, seed: u64) -> Self {
        let now = Timestamp::now();
        let record = RunRecord {
            id,
            workflow,
            version,
            latest: version,
            status: RunStatus::Running,
            created: now,
            updated: now,
            input,
            generation: Generation::default(),
            outline: None,
            launch: Launch::default(),
            outcome: None,
            seed,
            epoch: 1,
            holder: Some(LeaseOwner::describe_this_process()),
            forked_from: None,
            totals: Totals::default(),
            worked: Duration::ZERO,
            wake: None,
            channels: Vec::new(),
        };
        Self {
            record,
            entries: Vec::new(),
            blobs: BTreeMap::new(),
            open: HashMap::new(),
            mail: Vec::new(),
            failed: None,
        }
    }

    fn next_seq(&self) -> u64 {
        self.entries.len() as u64 + 1
    }

    fn refuse_if_held(&self) -> Result<(), StoreError> {
        match &self.record.holder {
            Some(holder) => Err(StoreError::Busy { run: self.record.id.clone(), holder: holder.clone() }),
            None => Ok(()),
        }
    }

    /// Takes a batch that was checked.
    fn write(&mut self, batch: Batch) {
        self.entries.extend(batch.entries);
        for blob in batch.blobs {
            self.blobs.entry(blob.digest).or_insert(blob.content);
        }
        for question in batch.opened {
            if !self.open.contains_key(&question.id) {
                let channel = reply_channel(&question.id);
                // Those it had when it was settled before are void.
                self.mail.retain(|kept| !(kept.is_taken && kept.mail.channel == channel));
                self.open.insert(question.id.clone(), question);
            }
        }
        for question in &batch.closed {
            self.open.remove(question);
            let channel = reply_channel(question);
            let answers = self.mail.iter_mut().filter(|kept| kept.mail.channel == channel);
            answers.for_each(|kept| kept.is_taken = true);
        }
        if batch.outline.is_some() {
            self.record.outline = batch.outline;
        }
        if let Some(version) = batch.version {
            self.record.latest = version;
        }
        if let Some(launch) = batch.launch {
            self.record.launch = launch;
        }
        if let Some(next) = batch.next {
            self.record.generation = next.generation;
            (self.record.version, self.record.latest) = (next.version, next.version);
            self.record.seed = next.seed;
            self.record.input = next.input;
        }
        if let Some(change) = batch.change {
            self.record.status = change.status;
            self.record.outcome = change.outcome;
            self.record.totals = change.totals;
            self.record.worked = change.worked;
            self.record.updated = Timestamp::now();
            self.wait(change.waits);
        }
    }

    fn on(&self, channel: &str) -> impl Iterator<Item = &Mail> {
        self.mail.iter().map(|kept| &kept.mail).filter(move |mail| mail.channel == channel)
    }

    fn answers(&self, question: &QuestionId) -> Vec<Answer> {
        self.on(&reply_channel(question)).filter_map(|mail| mail.read().ok()).collect()
    }

    fn post(&mut self, number: u64, new: NewMail) -> Result<PostReceipt, StoreError> {
        let same =
            |kept: &&StoredMail| new.key.is_some() && kept.key == new.key && kept.mail.channel == new.channel;
        if let Some(earlier) = self.mail.iter().find(same) {
            return Ok(PostReceipt { number: earlier.mail.number, is_new: false });
        }
        let status = self.record.status;
        if status == RunStatus::Completed {
            return Err(StoreError::Over { run: self.record.id.clone(), status });
        }
        let open = new.question().and_then(|question| self.open.get(&question)).cloned();
        if let Some(open) = &open {
            batch::must_take_reply(open, &self.answers(&open.id), &new)?;
        }
        let is_cancel = new.is_cancel();
        let NewMail { channel, key, sender, payload, at, .. } = new;
        let is_awaited = self.record.channels.contains(&channel);
        self.mail.push(StoredMail {
            mail: Mail { number, channel, sender, at, payload },
            key,
            is_taken: false,
        });
        let can_go_on = match &open {
            Some(open) => open.verdict(&self.answers(&open.id)).is_some(),
            None => is_cancel || is_awaited,
        };
        if can_go_on && status == RunStatus::Suspended {
            self.wake();
        }
        Ok(PostReceipt { number, is_new: true })
    }

    /// Takes down what it waits for, if it is suspended now. What has come meanwhile lets it go on at once.
    fn wait(&mut self, waits: WaitConditions) {
        (self.record.wake, self.record.channels) = (None, Vec::new());
        if self.record.status != RunStatus::Suspended {
            return;
        }
        self.record.wake = waits.until;
        let has_come = |waits: &WaitConditions| {
            waits
                .channels
                .iter()
                .any(|awaited| self.on(&awaited.name).any(|mail| mail.number > awaited.after))
        };
        let now = Timestamp::now();
        let is_settled = |open: &PendingQuestion| open.settled(&self.answers(&open.id), now).is_some();
        let is_cancelled = self.on(CANCEL_CHANNEL).next().is_some();
        if has_come(&waits) || self.open.values().any(is_settled) || is_cancelled {
            self.wake();
        }
        let mut channels: Vec<String> = waits.channels.into_iter().map(|awaited| awaited.name).collect();
        channels.sort_unstable();
        channels.dedup();
        self.record.channels = channels;
    }

    fn wake(&mut self) {
        let now = Timestamp::now();
        self.record.wake = Some(self.record.wake.map_or(now, |wake| wake.min(now)));
    }
}
