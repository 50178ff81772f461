//! Stops an answer without stopping the conversation.
//!
//! The stop is part of what the model gives, so the journal has it like any other reply and a resumed conversation goes on
//! from there.

use std::sync::Arc;

use convoke_core::{
    CallContext, FinishReason, Model, ModelError, ModelErrorKind, ModelRequest, ReplyDelta, ReplyStream,
};
use futures_util::{StreamExt, stream};
use tokio::sync::watch;

/// Stops the answer to what the person said last, also if it has not begun yet. Clones stop the same.
#[derive(Debug, Clone, Default)]
pub struct ReplyStop(Arc<watch::Sender<bool>>);

impl ReplyStop {
    /// Stops nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the answer with what was said so far.
    pub fn now(&self) {
        self.0.send_replace(true);
    }

    /// The person has spoken: what is answered from now on is not stopped yet.
    pub fn reset(&self) {
        self.0.send_replace(false);
    }

    /// A model whose answers this stops.
    #[must_use]
    pub fn over(&self, model: Arc<dyn Model>) -> Arc<dyn Model> {
        Arc::new(Stoppable { model, stop: self.0.subscribe() })
    }
}

struct Stoppable {
    model: Arc<dyn Model>,
    stop: watch::Receiver<bool>,
}

impl Model for Stoppable {
    convoke_models::delegate_to_model!();

    fn reply<'a>(&'a self, request: ModelRequest, call: CallContext) -> ReplyStream<'a> {
        let pieces = self.model.reply(request, call);
        let answer = Answer { pieces, stop: self.stop.clone(), has_text: false };
        Box::pin(stream::unfold(Some(answer), |answer| async move {
            let mut answer = answer?;
            let piece = answer.next().await?;
            let is_last = matches!(piece, Err(_) | Ok(ReplyDelta::Finished { .. }));
            Some((piece, (!is_last).then_some(answer)))
        }))
    }
}

struct Answer<'a> {
    pieces: ReplyStream<'a>,
    stop: watch::Receiver<bool>,
    has_text: bool,
}

impl Answer<'_> {
    async fn next(&mut self) -> Option<Result<ReplyDelta, ModelError>> {
        tokio::select! {
            biased;
            Ok(_) = self.stop.wait_for(|is_stopped| *is_stopped) => Some(ending(self.has_text)),
            piece = self.pieces.next() => {
                match &piece {
                    Some(Ok(ReplyDelta::Text(text))) => self.has_text |= !text.is_empty(),
                    Some(Ok(ReplyDelta::Restarted { .. })) => self.has_text = false,
                    _ => {}
                }
                piece
            }
        }
    }
}

/// What was said counts as said. Nothing is no answer.
fn ending(has_text: bool) -> Result<ReplyDelta, ModelError> {
    match has_text {
        true => Ok(ReplyDelta::Finished { reason: FinishReason::Stop, request_id: None }),
        false => Err(ModelError::new(ModelErrorKind::Other, "it was stopped before it said anything")),
    }
}

#[cfg(test)]
mod tests {
    use convoke_core::{IdempotencyKey, Path, RunId};

    use super::*;

    /// Says so many words, and then nothing more.
    struct Slow(usize);

    impl Model for Slow {
        fn name(&self) -> &str {
            "slow"
        }

        fn reply<'a>(&'a self, _: ModelRequest, _: CallContext) -> ReplyStream<'a> {
            let words = stream::iter((0..self.0).map(|_| Ok(ReplyDelta::Text("word ".to_owned()))));
            Box::pin(words.chain(stream::pending()))
        }
    }

    async fn stopped_after(words: usize) -> Vec<Result<ReplyDelta, ModelError>> {
        let stop = ReplyStop::new();
        let model = stop.over(Arc::new(Slow(words)));
        // What was stopped earlier is not this answer.
        stop.now();
        stop.reset();
        let key = IdempotencyKey::derive(&RunId::mint(), &Path::from("talk"), 0);
        let mut pieces = model.reply(ModelRequest::new("hi"), CallContext { key });
        let mut all = Vec::new();
        for _ in 0..words {
            all.extend(pieces.next().await);
        }
        stop.now();
        all.extend(pieces.collect::<Vec<_>>().await);
        all
    }

    #[tokio::test]
    async fn a_stopped_answer_ends_with_what_was_said() {
        let word = || Ok(ReplyDelta::Text("word ".to_owned()));
        let end = Ok(ReplyDelta::Finished { reason: FinishReason::Stop, request_id: None });
        assert_eq!(stopped_after(2).await, [word(), word(), end]);
    }

    #[tokio::test]
    async fn an_answer_stopped_before_its_first_word_is_an_error() {
        let pieces = stopped_after(0).await;
        assert!(matches!(&*pieces, [Err(error)] if error.message.contains("stopped")), "{pieces:?}");
    }

    #[tokio::test]
    async fn a_stop_between_the_words_and_the_answer_is_not_lost() {
        let stop = ReplyStop::new();
        let model = stop.over(Arc::new(Slow(1)));
        stop.now();
        let key = IdempotencyKey::derive(&RunId::mint(), &Path::from("talk"), 0);
        let pieces: Vec<_> = model.reply(ModelRequest::new("hi"), CallContext { key }).collect().await;
        assert!(matches!(&*pieces, [Err(_)]), "{pieces:?}");
    }
}
