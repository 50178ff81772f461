//! The journal of a run under way: answers from the past, and appends what is new.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;

use super::waits::Waits;
use super::{Blob, EffectKind, Entry, JournalIndex, Mailbox, Phase, replies};
use crate::ask::{PendingQuestion, QuestionId};
use crate::intercept::Labels;
use crate::model::StoredRequest;
use crate::store::{Batch, Lease, Store, StoreError, Ticket};
use crate::{Digest, Message, Path, Timestamp};

/// An entry that has no number and no time yet.
pub(crate) struct Draft<'a> {
    pub(crate) path: &'a Path,
    pub(crate) ordinal: u32,
    pub(crate) effect: EffectKind,
    pub(crate) phase: Phase,
    pub(crate) digest: Digest,
    pub(crate) request: Option<Bytes>,
    pub(crate) outcome: Option<Bytes>,
    pub(crate) labels: Labels,
}

/// Gives the content the run does not have yet, told which it has.
pub(crate) type NewContent = dyn Fn(&StoredContent) -> Vec<Blob> + Sync;

/// What the store has of a run's content.
#[derive(Default)]
pub(crate) struct StoredContent {
    /// Content by its digest.
    pub(crate) stored: HashSet<Digest>,
    /// Messages that are the reply of a call in the journal.
    pub(crate) replies: HashSet<Digest>,
    /// The ends of the conversations that were stored last: what comes before one is stored too.
    pub(crate) ends: VecDeque<Digest>,
}

/// How many ends of conversations are kept in mind. What is not is given to the store again, which has it already.
const ENDS: usize = 64;

impl StoredContent {
    /// What a generation knows of what was stored before it, and in it.
    pub(crate) fn known_by(ends: Vec<Digest>, entries: &[Entry]) -> Self {
        let mut kept = Self::default();
        ends.into_iter().for_each(|end| kept.end(end));
        let calls = entries.iter().filter(|entry| entry.effect == EffectKind::Model);
        let requests = calls.filter_map(|call| serde_json::from_slice(call.request.as_deref()?).ok());
        for StoredRequest { messages, options, .. } in requests {
            kept.stored.extend(options);
            kept.end(messages);
        }
        kept
    }

    fn end(&mut self, conversation: Digest) {
        self.stored.insert(conversation);
        self.ends.push_back(conversation);
        if self.ends.len() > ENDS {
            self.ends.pop_front();
        }
    }
}

/// What goes with an entry in the same batch.
#[derive(Default)]
pub(crate) struct Attachments<'a> {
    /// Content the entry refers to. Asked only for what the run does not have yet.
    pub(crate) content: Option<&'a NewContent>,
    pub(crate) opened: Option<PendingQuestion>,
    pub(crate) closed: Option<QuestionId>,
    /// What is known of where the outcome came from.
    pub(crate) labels: Labels,
}

pub(crate) struct RunJournal {
    store: Arc<dyn Store>,
    pub(crate) index: JournalIndex,
    pub(crate) mailbox: Mailbox,
    /// `None` while a run is only replayed: nothing may be written then.
    lease: Option<Lease>,
    state: Mutex<State>,
}

struct State {
    next_seq: u64,
    kept: StoredContent,
    last: Option<Ticket>,
    waits: Waits,
    /// The run has continued: this part of its journal takes nothing more.
    is_over: bool,
}

impl RunJournal {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        lease: Option<Lease>,
        index: JournalIndex,
        mailbox: Mailbox,
        kept: StoredContent,
    ) -> Self {
        let next_seq = lease.as_ref().map_or(1, |lease| lease.next_seq);
        let state = State { next_seq, kept, last: None, waits: Waits::default(), is_over: false };
        Self { store, index, mailbox, lease, state: Mutex::new(state) }
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(crate) fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// Whether new effects may be performed.
    pub(crate) fn is_live(&self) -> bool {
        self.lease.is_some()
    }

    /// Takes an entry down. It is on its way to the store when this returns, and durable after
    /// [`settle`](Self::settle). Gives its number.
    pub(crate) fn append(&self, draft: Draft<'_>, attached: Attachments<'_>) -> Option<u64> {
        let mut number = None;
        self.write(|state| {
            let blobs = attached.content.map_or_else(Vec::new, |content| content(&state.kept));
            state.kept.stored.extend(blobs.iter().map(|blob| blob.digest));
            // The newest message of a conversation comes first.
            blobs.first().into_iter().for_each(|newest| state.kept.end(newest.digest));
            let entry = state.number(draft);
            number = Some(entry.seq);
            Batch {
                entries: vec![entry],
                blobs,
                opened: attached.opened.into_iter().collect(),
                closed: attached.closed.into_iter().collect(),
                ..Batch::default()
            }
        });
        number
    }

    /// The number of the entry before the first of this generation.
    pub(crate) fn before_first(&self) -> u64 {
        self.index.first_number().map_or_else(|| self.last_number(), |first| first - 1)
    }

    /// The number of the last entry that was taken down.
    pub(crate) fn last_number(&self) -> u64 {
        self.lock().next_seq - 1
    }

    /// How long was waited for people and for mail at or below a path, in waits that were over by then.
    pub(crate) fn time_waited(&self, path: &Path, until: Timestamp) -> Duration {
        self.lock().waits.time(&self.index, path, until)
    }

    /// Takes note of a reply whose entry was appended: a conversation that goes on with it need not store it again.
    pub(crate) fn note_reply(&self, message: &Message) {
        if self.is_live()
            && let Some(digest) = replies::worth_keeping(message)
        {
            self.lock().kept.replies.insert(digest);
        }
    }

    /// Takes entries down together with changes of the run's record, after everything appended so far: all of it, or
    /// nothing.
    pub(crate) fn change<'a>(&self, drafts: impl Iterator<Item = Draft<'a>>, changes: Batch) {
        self.write(|state| Batch { entries: drafts.map(|draft| state.number(draft)).collect(), ..changes });
    }

    /// Takes down that the run continues, together with changes of its record, which are told where the next generation begins.
    /// Gives the journal of that; this one takes nothing more.
    pub(crate) fn next_generation(&self, end: Draft<'_>, changes: impl FnOnce(u64) -> Batch) -> Self {
        self.write(|state| {
            let entries = vec![state.number(end)];
            Batch { entries, ..changes(state.next_seq) }
        });
        let mut state = self.lock();
        let next = State {
            next_seq: state.next_seq,
            kept: std::mem::take(&mut state.kept),
            last: state.last.take(),
            waits: Waits::default(),
            is_over: false,
        };
        state.is_over = true;
        Self {
            store: Arc::clone(&self.store),
            index: JournalIndex::default(),
            mailbox: Mailbox::of(self.mailbox.taken(), std::iter::empty()),
            lease: self.lease.clone(),
            state: Mutex::new(next),
        }
    }

    /// The ends of the conversations that were stored last.
    pub(crate) fn ends_of_conversations(&self) -> Vec<Digest> {
        self.lock().kept.ends.iter().copied().collect()
    }

    /// Lets a question wait. One that waits already goes on waiting.
    pub(crate) fn open_question(&self, question: &PendingQuestion) {
        self.write(|_| Batch { opened: vec![question.clone()], ..Batch::default() });
    }

    /// Closes questions nobody waits for any more.
    pub(crate) fn close_questions(&self, questions: impl Iterator<Item = QuestionId>) {
        let closed: Vec<_> = questions.collect();
        if !closed.is_empty() {
            self.write(|_| Batch { closed, ..Batch::default() });
        }
    }

    /// Waits until everything taken down so far is durable. Called before anything new touches the world, so that no
    /// effect is ever performed on the strength of an outcome that a crash could lose.
    pub(crate) async fn settle(&self) -> Result<(), StoreError> {
        match self.last()? {
            Some(ticket) => ticket.await,
            None => Ok(()),
        }
    }

    /// Waits as [`settle`](Self::settle) does, and makes sure that nobody has taken the run over: a run that is not ours any more
    /// must not spend or change anything.
    pub(crate) async fn settle_and_confirm(&self) -> Result<(), StoreError> {
        if let Some(mut last) = self.last()? {
            match (&mut last).now_or_never() {
                // What is written now is written by whoever has the run.
                None => return last.await,
                // What was written before says nothing of now.
                Some(written) => written?,
            }
        }
        match &self.lease {
            Some(lease) => self.store.confirm(lease).await,
            None => Ok(()),
        }
    }

    /// The last batch.
    fn last(&self) -> Result<Option<Ticket>, StoreError> {
        let state = self.lock();
        match state.is_over {
            // Whoever still has a scope of what has ended must not act on it.
            true => Err(StoreError::Failed(
                "this part of the run is over: the run has continued with its next generation".to_owned(),
            )),
            false => Ok(state.last.clone()),
        }
    }

    /// Numbers are given and batches handed over under one lock, so that the store sees them in order.
    fn write(&self, make: impl FnOnce(&mut State) -> Batch) {
        let Some(lease) = &self.lease else { return };
        let mut state = self.lock();
        if !state.is_over {
            let batch = make(&mut state);
            state.last = Some(self.store.append(lease, batch));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn number(&mut self, draft: Draft<'_>) -> Entry {
        let seq = self.next_seq;
        self.next_seq += 1;
        let entry = Entry {
            seq,
            path: draft.path.clone(),
            ordinal: draft.ordinal,
            effect: draft.effect,
            phase: draft.phase,
            digest: draft.digest,
            at: Timestamp::now(),
            request: draft.request,
            outcome: draft.outcome,
            labels: draft.labels,
        };
        self.waits.note(&entry);
        entry
    }
}
