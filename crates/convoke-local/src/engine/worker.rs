//! The engine's thread: works on several requests at once, a step at a time.
//!
//! A step computes the next token of every reply under way, and a piece of every prompt still to be read, together: no
//! request waits for another to be done, and a small model gains some speed. Between steps new requests are let in, and
//! those that nobody waits for are dropped.

use convoke_core::{ModelError, ModelErrorKind};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

use super::job::QueuedJob;
use super::load::{self, EngineCapacity, LoadedModel, STEP_TOKENS};
use super::slot::{ActiveJob, JobProgress, Slot};
use super::status::StatusBoard;
use crate::LocalSettings;

/// Taking over what another conversation begins with costs a copy of its room: worth it from this many tokens on.
const WORTH_COPYING: usize = 64;

/// The state of the engine's thread.
pub(super) struct Worker<'a> {
    loaded: &'a LoadedModel,
    settings: &'a LocalSettings,
    jobs: mpsc::Receiver<QueuedJob>,
    board: StatusBoard,
    context: LlamaContext<'a>,
    room: EngineCapacity,
    slots: Vec<Slot>,
    /// A request that needs more room than there is, and waits until all others are done.
    too_long: Option<QueuedJob>,
    jobs_begun: u64,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        loaded: &'a LoadedModel,
        settings: &'a LocalSettings,
        jobs: mpsc::Receiver<QueuedJob>,
        board: StatusBoard,
        context: LlamaContext<'a>,
        room: EngineCapacity,
    ) -> Self {
        let mut worker = Self {
            loaded,
            settings,
            jobs,
            board,
            context,
            room,
            slots: Vec::new(),
            too_long: None,
            jobs_begun: 0,
        };
        worker.furnish(room);
        worker
    }

    /// Works until nobody can ask any more.
    pub(super) fn run(&mut self) {
        let mut batch = LlamaBatch::new(STEP_TOKENS as usize, 1);
        loop {
            self.drop_abandoned();
            if !self.admit() {
                return;
            }
            let ready = self.fill(&mut batch);
            self.tell_reading();
            if batch.n_tokens() == 0 {
                continue;
            }
            match self.context.decode(&mut batch) {
                Ok(()) => self.advance(&ready),
                Err(error) => self.fail_all(&error.to_string()),
            }
        }
    }

    /// Slots for a room, which know nothing yet.
    fn furnish(&mut self, room: EngineCapacity) {
        self.room = room;
        self.slots = (0..room.conversations).map(|number| Slot::new(number.cast_signed())).collect();
        self.board.change(|status| status.room_tokens = room.tokens);
    }

    fn drop_abandoned(&mut self) {
        for index in 0..self.slots.len() {
            if self.slots[index].work.as_ref().is_some_and(ActiveJob::is_abandoned) {
                self.end(index, JobProgress::Abandoned);
            }
        }
    }

    /// Gives free slots work, and waits for some if there is none at all. `false` if there never will be.
    fn admit(&mut self) -> bool {
        while self.slots.iter().any(|slot| slot.work.is_none()) {
            let idle = self.slots.iter().all(|slot| slot.work.is_none());
            let next = match self.too_long.take() {
                Some(submitted) => Ok(submitted),
                None if idle => self.jobs.blocking_recv().ok_or(TryRecvError::Disconnected),
                None => self.jobs.try_recv(),
            };
            match next {
                Ok(submitted)
                    if submitted.replies.is_closed() || submitted.job.tokens() <= self.room.tokens =>
                {
                    self.begin(submitted);
                }
                Ok(submitted) if idle => self.grow_for(submitted),
                Ok(submitted) => {
                    // Whoever comes later waits too: a long conversation is not to wait for ever.
                    self.too_long = Some(submitted);
                    return true;
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return !idle,
            }
        }
        true
    }

    /// Makes room for a longer conversation; what the engine knew of earlier ones is forgotten with the old room.
    fn grow_for(&mut self, mut submitted: QueuedJob) {
        let LoadedModel { model, context_tokens, .. } = self.loaded;
        let wanted = EngineCapacity::of(submitted.job.tokens(), *context_tokens, self.settings.parallel);
        match load::context(model, wanted, self.settings) {
            Ok((context, room)) => {
                self.context = context;
                self.furnish(room);
                self.begin(submitted);
            }
            // An answer may be shorter than it is allowed to be.
            Err(_) if submitted.job.shorten_to(self.room.tokens) => self.begin(submitted),
            Err(error) => {
                let message = format!("there is no room for a conversation of this length: {error}");
                drop(submitted.waiting);
                self.board.change(|status| status.failed += 1);
                let error = ModelError::new(ModelErrorKind::ContextTooLong, message);
                // The channel is empty; if nobody reads it, nobody needs to know.
                let _ = submitted.replies.try_send(Err(error));
            }
        }
    }

    fn begin(&mut self, submitted: QueuedJob) {
        let QueuedJob { job, replies, waiting } = submitted;
        drop(waiting);
        if replies.is_closed() {
            self.board.change(|status| status.abandoned += 1);
            return;
        }
        let Some(index) = self.best_slot(&job.prompt, job.reuse) else { return };
        self.jobs_begun += 1;
        self.slots[index].last_used = self.jobs_begun;
        let reused = if job.reuse { self.recall(index, &job.prompt) } else { self.forget_after(index, 0) };
        let read = job.prompt.len() - reused;
        self.slots[index].work = Some(ActiveJob::new(job, replies, reused, &self.loaded.vocabulary));
        self.board.change(|status| {
            status.running += 1;
            status.read_tokens += read as u64;
            status.reused_tokens += reused as u64;
        });
    }

    /// Has a slot know as much as possible of how a prompt begins, from its own conversation or another's, and gives how many
    /// tokens that is.
    fn recall(&mut self, index: usize, prompt: &[LlamaToken]) -> usize {
        // The last token of the prompt is computed in any case: its outcome is the first token of the reply.
        let shares = |slot: &Slot| slot.shares_with(prompt).min(prompt.len() - 1);
        let own = shares(&self.slots[index]);
        let other = (0..self.slots.len())
            .filter(|other| *other != index)
            .max_by_key(|other| shares(&self.slots[*other]));
        if let Some(other) = other
            && shares(&self.slots[other]) >= own + WORTH_COPYING
        {
            self.forget_after(index, 0);
            let (from, to) = (self.slots[other].sequence, self.slots[index].sequence);
            if self.context.kv_cache_seq_cp(from, to, None, None).is_ok() {
                self.slots[index].known = self.slots[other].known.clone();
            }
        }
        let shared = shares(&self.slots[index]);
        self.forget_after(index, shared)
    }

    /// The free slot that knows most of this conversation, if it knows little else; or the one that was not used for
    /// longest.
    fn best_slot(&self, prompt: &[LlamaToken], reuse: bool) -> Option<usize> {
        let free = || (0..self.slots.len()).filter(|index| self.slots[*index].work.is_none());
        let shared = |index: &usize| if reuse { self.slots[*index].shares_with(prompt) } else { 0 };
        let familiar = free().filter(|index| shared(index) * 2 > self.slots[*index].known.len());
        familiar.max_by_key(shared).or_else(|| free().min_by_key(|index| self.slots[*index].last_used))
    }

    /// Fills a batch: every slot with work gets an equal share of the step, and what it does not need goes to the others.
    /// Gives the slots whose pending tokens are all in it, with the place of their last.
    fn fill(&mut self, batch: &mut LlamaBatch<'_>) -> Vec<(usize, i32)> {
        batch.clear();
        let mut waiting: Vec<_> =
            (0..self.slots.len()).filter(|index| !self.slots[*index].pending().is_empty()).collect();
        waiting.sort_by_key(|index| self.slots[*index].pending().len());
        let mut ready = Vec::new();
        let mut room = STEP_TOKENS as usize;
        for (done, &index) in waiting.iter().enumerate() {
            let slot = &mut self.slots[index];
            let pending = slot.pending().len();
            let count = pending.min(room / (waiting.len() - done));
            let taken = slot.pending()[..count].to_vec();
            for (offset, token) in taken.iter().enumerate() {
                let position = i32::try_from(slot.known.len() + offset).unwrap_or(i32::MAX);
                let is_last = offset + 1 == pending;
                // There is room: no more tokens are added than the batch was made for.
                if batch.add(*token, position, &[slot.sequence], is_last).is_ok() && is_last {
                    ready.push((index, batch.n_tokens() - 1));
                }
            }
            slot.known.extend(taken);
            room -= count;
        }
        ready
    }

    fn advance(&mut self, ready: &[(usize, i32)]) {
        for &(index, place) in ready {
            let Some(work) = self.slots[index].work.as_mut() else { continue };
            let before = work.written();
            let progress = work.advance(self.context.get_logits_ith(place), &self.loaded.vocabulary);
            let written = work.written() - before;
            self.board.change(|status| status.written_tokens += written as u64);
            self.end(index, progress);
        }
    }

    /// A failed step leaves nobody certain of what the engine knows: all of it is forgotten.
    fn fail_all(&mut self, reason: &str) {
        for index in 0..self.slots.len() {
            let message = format!("the engine failed: {reason}");
            self.end(index, JobProgress::Failed(ModelError::new(ModelErrorKind::Other, message)));
            self.forget_after(index, 0);
        }
    }

    /// Frees the slot, and then tells whoever asked: who has a reply finds its place free.
    fn end(&mut self, index: usize, progress: JobProgress) {
        if matches!(progress, JobProgress::Continues) {
            return;
        }
        let Some(work) = self.slots[index].work.take() else { return };
        self.board.change(|status| {
            status.running -= 1;
            match progress {
                JobProgress::Answered(_) => status.answered += 1,
                JobProgress::Failed(_) => status.failed += 1,
                JobProgress::Abandoned | JobProgress::Continues => status.abandoned += 1,
            }
        });
        work.conclude(progress);
    }

    /// Says how much of the prompts under way is read.
    fn tell_reading(&self) {
        let (all, read) = self
            .slots
            .iter()
            .filter_map(Slot::reading)
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        self.board.change(|status| (status.prompt_tokens, status.prompt_read) = (all as u64, read as u64));
    }

    /// Has a slot forget all but its first tokens, and gives how many it still knows: some models cannot forget a part.
    fn forget_after(&mut self, index: usize, keep: usize) -> usize {
        let slot = &mut self.slots[index];
        let sequence = slot.sequence.cast_unsigned();
        let mut forget = |from: usize| {
            let from = u32::try_from(from).ok();
            self.context.clear_kv_cache_seq(Some(sequence), from, None).unwrap_or(false)
        };
        let kept = if keep == slot.known.len() || (keep > 0 && forget(keep)) {
            keep
        } else {
            forget(0);
            0
        };
        slot.known.truncate(kept);
        kept
    }
}
