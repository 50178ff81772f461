//! A slot of the engine: room for one conversation, and the work on it.

use convoke_core::{FinishReason, ModelError, ModelErrorKind, Money, ReplyDelta, Usage};
use llama_cpp_2::token::LlamaToken;
use llguidance::Matcher;
use tokio::sync::mpsc::error::TrySendError;

use super::job::{Job, Replies};
use super::vocabulary::Vocabulary;
use crate::sampling::Sampler;

/// Room for one conversation.
pub(super) struct Slot {
    /// The engine's number for it.
    pub(super) sequence: i32,
    /// The tokens the engine has computed and still knows.
    pub(super) known: Vec<LlamaToken>,
    /// When it was last given work, counted in jobs.
    pub(super) last_used: u64,
    pub(super) work: Option<ActiveJob>,
}

/// A job being worked on.
pub(super) struct ActiveJob {
    job: Job,
    sampler: Sampler,
    replies: Replies,
    /// The conversation: the prompt, and what has been written so far.
    tokens: Vec<LlamaToken>,
    written: usize,
    reused: usize,
}

/// The progress of a job after a step.
pub(super) enum JobProgress {
    /// There is more to do.
    Continues,
    /// The reply is complete, with these last pieces.
    Answered(Vec<ReplyDelta>),
    /// It failed.
    Failed(ModelError),
    /// Nobody wants the reply any more.
    Abandoned,
}

impl Slot {
    pub(super) fn new(sequence: i32) -> Self {
        Self { sequence, known: Vec::new(), last_used: 0, work: None }
    }

    /// How many tokens of a conversation it knows already.
    pub(super) fn shares_with(&self, tokens: &[LlamaToken]) -> usize {
        self.known.iter().zip(tokens).take_while(|(known, token)| known == token).count()
    }

    /// How many tokens of its prompt are to be read in all, and how many of them are; nothing once it writes.
    pub(super) fn reading(&self) -> Option<(usize, usize)> {
        let work = self.work.as_ref().filter(|work| work.written == 0)?;
        Some((work.tokens.len() - work.reused, self.known.len() - work.reused))
    }

    /// What is still to be computed.
    pub(super) fn pending(&self) -> &[LlamaToken] {
        self.work.as_ref().map_or(&[], |work| &work.tokens[self.known.len()..])
    }
}

impl ActiveJob {
    pub(super) fn new(mut job: Job, replies: Replies, reused: usize, vocabulary: &Vocabulary) -> Self {
        let tokens = std::mem::take(&mut job.prompt);
        let sampler = vocabulary.sampler(&job.sampling, job.grammar.is_some());
        Self { job, sampler, replies, tokens, written: 0, reused }
    }

    /// Whether nobody wants the reply any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.replies.is_closed()
    }

    pub(super) fn written(&self) -> usize {
        self.written
    }

    /// Chooses the next token, and those that must follow it.
    pub(super) fn advance(&mut self, logits: &[f32], vocabulary: &Vocabulary) -> JobProgress {
        match self.choose(logits, vocabulary) {
            Ok(Some(token)) => self.write(token, vocabulary),
            Ok(None) => self.finish(None),
            Err(error) => JobProgress::Failed(error),
        }
    }

    /// The next token; `None` at the end.
    ///
    /// Most of what a model would write fits the grammar. Only if its choice does not is it worth finding out what does:
    /// that takes a look at the whole vocabulary.
    fn choose(&mut self, logits: &[f32], vocabulary: &Vocabulary) -> Result<Option<LlamaToken>, ModelError> {
        let mut chosen = self.sampler.choose(logits, |token| vocabulary.speakable(token));
        if let (Some(grammar), Some(token)) = (&mut self.job.grammar, chosen)
            && grammar.validate_tokens(&[token]).map_err(grammar_failed)? == 0
        {
            let allowed = grammar.compute_mask_or_eos().map_err(grammar_failed)?;
            chosen = self.sampler.choose(logits, |token| allowed.is_allowed(token));
        }
        let Some(chosen) = chosen else {
            return Err(ModelError::new(
                ModelErrorKind::Malformed,
                "the model gave no token it could go on with",
            ));
        };
        let token = LlamaToken(chosen.cast_signed());
        Ok((!vocabulary.ends_reply(token)).then_some(token))
    }

    fn write(&mut self, token: LlamaToken, vocabulary: &Vocabulary) -> JobProgress {
        let mut next = vec![token];
        if let Some(grammar) = &mut self.job.grammar {
            if let Err(error) = grammar.consume_token(token.0.cast_unsigned()) {
                return JobProgress::Failed(grammar_failed(error));
            }
            next.extend(grammar.consume_ff_tokens().into_iter().map(|token| LlamaToken(token.cast_signed())));
            if let Some(error) = grammar.get_error() {
                return JobProgress::Failed(grammar_failed(error));
            }
        }
        for token in next {
            self.sampler.accept(token);
            self.tokens.push(token);
            self.written += 1;
            for delta in self.job.writer.write(&vocabulary.bytes(token)) {
                if !self.send(Ok(delta)) {
                    return JobProgress::Abandoned;
                }
            }
            if self.job.writer.stopped() {
                return self.finish(None);
            }
            if self.written >= self.job.max_tokens {
                let complete = self.job.grammar.as_ref().is_some_and(Matcher::is_stopped);
                return self.finish((!complete).then_some(FinishReason::Length));
            }
        }
        match &self.job.grammar {
            Some(grammar) if grammar.is_stopped() => self.finish(None),
            _ => JobProgress::Continues,
        }
    }

    fn finish(&mut self, reason: Option<FinishReason>) -> JobProgress {
        let writer = std::mem::take(&mut self.job.writer);
        let usual = if writer.calls_tools() { FinishReason::ToolCalls } else { FinishReason::Stop };
        let mut last = writer.finish();
        last.push(ReplyDelta::Usage(self.usage()));
        last.push(ReplyDelta::Finished { reason: reason.unwrap_or(usual), request_id: None });
        JobProgress::Answered(last)
    }

    /// Tells whoever asked how it ended.
    pub(super) fn conclude(self, end: JobProgress) {
        match end {
            JobProgress::Answered(last) => {
                for delta in last {
                    self.send(Ok(delta));
                }
            }
            JobProgress::Failed(error) => {
                self.send(Err(error));
            }
            JobProgress::Continues | JobProgress::Abandoned => {}
        }
    }

    fn usage(&self) -> Usage {
        let input = self.tokens.len() - self.written;
        Usage {
            cached_input_tokens: self.reused as u64,
            cost: Some(Money::ZERO),
            ..Usage::tokens(input as u64, self.written as u64)
        }
    }

    /// `false` if nobody wants it. The channel has room for every piece a reply can have, so the engine never waits for
    /// whoever reads.
    fn send(&self, piece: Result<ReplyDelta, ModelError>) -> bool {
        match self.replies.try_send(piece) {
            Ok(()) => true,
            Err(TrySendError::Closed(_)) => false,
            Err(TrySendError::Full(_)) => {
                tracing::error!("a reply had more pieces than it can have, and was dropped");
                false
            }
        }
    }
}

fn grammar_failed(error: impl std::fmt::Display) -> ModelError {
    let reason = error.to_string();
    let first = reason.lines().next().unwrap_or_default();
    ModelError::new(
        ModelErrorKind::Other,
        format!("the grammar of the reply failed: {first}; simplify the schema"),
    )
}
