//! A run's journal while the run is under way: answers from the past, and takes down what is new.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::{Blob, EffectKind, Entry, JournalIndex, Mailbox, Phase, replies};
use crate::ask::{PendingQuestion, QuestionId};
use crate::intercept::Labels;
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
pub(crate) type NewContent = dyn Fn(&Kept) -> Vec<Blob> + Sync;

/// What the store has of a run's content.
#[derive(Default)]
pub(crate) struct Kept {
    /// Content by its digest.
    pub(crate) stored: HashSet<Digest>,
    /// Messages that are the reply of a call in the journal.
    pub(crate) replies: HashSet<Digest>,
}

/// What goes with an entry in the same batch.
#[derive(Default)]
pub(crate) struct Attached<'a> {
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
    kept: Kept,
    last: Option<Ticket>,
}

impl RunJournal {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        lease: Option<Lease>,
        index: JournalIndex,
        mailbox: Mailbox,
        stored: HashSet<Digest>,
    ) -> Self {
        let next_seq = lease.as_ref().map_or(1, |lease| lease.next_seq);
        let kept = Kept { stored, ..Kept::default() };
        Self { store, index, mailbox, lease, state: Mutex::new(State { next_seq, kept, last: None }) }
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
    /// [`settle`](Self::settle).
    pub(crate) fn append(&self, draft: Draft<'_>, attached: Attached<'_>) {
        let Some(lease) = &self.lease else { return };
        // Numbers are given and batches handed over under one lock, so that the store sees them in order.
        let mut state = self.lock();
        let blobs = attached.content.map_or_else(Vec::new, |content| content(&state.kept));
        state.kept.stored.extend(blobs.iter().map(|blob| blob.digest));
        let batch = Batch {
            entries: vec![state.number(draft)],
            blobs,
            opened: attached.opened.into_iter().collect(),
            closed: attached.closed.into_iter().collect(),
            ..Batch::default()
        };
        state.last = Some(self.store.append(lease, batch));
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
        let Some(lease) = &self.lease else { return };
        let mut state = self.lock();
        let entries: Vec<Entry> = drafts.map(|draft| state.number(draft)).collect();
        state.last = Some(self.store.append(lease, Batch { entries, ..changes }));
    }

    /// Lets a question wait. One that waits already goes on waiting.
    pub(crate) fn open_question(&self, question: &PendingQuestion) {
        if let Some(lease) = &self.lease {
            let opened = vec![question.clone()];
            self.lock().last = Some(self.store.append(lease, Batch { opened, ..Batch::default() }));
        }
    }

    /// Closes questions nobody waits for any more.
    pub(crate) fn close_questions(&self, questions: impl Iterator<Item = QuestionId>) {
        let closed: Vec<_> = questions.collect();
        if let Some(lease) = &self.lease
            && !closed.is_empty()
        {
            let mut state = self.lock();
            state.last = Some(self.store.append(lease, Batch { closed, ..Batch::default() }));
        }
    }

    /// Waits until everything taken down so far is durable. Called before anything new touches the world, so that no
    /// effect is ever performed on the strength of an outcome that a crash could lose.
    pub(crate) async fn settle(&self) -> Result<(), StoreError> {
        let last = self.lock().last.clone();
        match last {
            Some(ticket) => ticket.await,
            None => Ok(()),
        }
    }

    /// Waits as [`settle`](Self::settle) does, and makes sure that nobody has taken the run over: a run that is not ours any more
    /// must not spend or change anything.
    pub(crate) async fn settle_and_confirm(&self) -> Result<(), StoreError> {
        let last = self.lock().last.clone();
        match last.filter(|ticket| !ticket.is_known_done()) {
            // What is written now is written by whoever has the run.
            Some(ticket) => ticket.await,
            None => match &self.lease {
                Some(lease) => self.store.confirm(lease).await,
                None => Ok(()),
            },
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
        Entry {
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
        }
    }
}
