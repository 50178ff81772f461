//! The embedder's worker thread and its jobs.
//!
//! It does one thing after the other, each short enough for whoever comes next to wait for.

use convoke_core::{ModelError, ModelErrorKind};
use tokio::sync::{mpsc, oneshot};

use super::settings::LongTexts;
use super::tokenizer::Token;

/// The embedding engine. It never leaves the thread it was made in.
pub(super) trait Engine {
    /// How many numbers a vector has.
    fn dimensions(&self) -> usize;

    /// The tokens of a text, with one before and one after that frame it.
    fn tokens(&self, text: &str) -> Vec<Token>;

    /// The vectors of some texts, in their order and of length one.
    fn vectors(&self, batch: &[Vec<Token>]) -> Result<Vec<Vec<f32>>, String>;
}

/// A job for the worker thread. Whoever no longer waits for the answer gets no work done.
pub(super) enum EmbedderJob {
    /// Turn texts into tokens.
    Read {
        texts: Vec<String>,
        place: TextPosition,
        answer: oneshot::Sender<Result<TokenizedTexts, ModelError>>,
    },
    /// Turn tokens into vectors.
    Compute { batch: Vec<Vec<Token>>, answer: oneshot::Sender<Result<Vec<Vec<f32>>, ModelError>> },
}

/// The position of texts in a request, to name one that is wrong.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextPosition {
    /// How many are before them.
    pub(super) before: usize,
    /// How many there are.
    pub(super) of: usize,
}

/// Texts as tokens.
pub(super) struct TokenizedTexts {
    pub(super) texts: Vec<Vec<Token>>,
    /// How many were cut.
    pub(super) cut: usize,
}

/// The limit on a text's length, and the policy for longer ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenLimit {
    pub(super) tokens: usize,
    pub(super) long_texts: LongTexts,
}

/// Works until nobody can ask any more.
pub(super) fn run(engine: &impl Engine, limit: TokenLimit, mut queue: mpsc::Receiver<EmbedderJob>) {
    while let Some(work) = queue.blocking_recv() {
        // An answer that cannot be given is one that nobody waits for any more.
        match work {
            EmbedderJob::Read { texts, place, answer } if !answer.is_closed() => {
                drop(answer.send(read(engine, limit, &texts, place)));
            }
            EmbedderJob::Compute { batch, answer } if !answer.is_closed() => {
                let failed =
                    |reason| ModelError::new(ModelErrorKind::Other, format!("the network failed: {reason}"));
                drop(answer.send(engine.vectors(&batch).map_err(failed)));
            }
            EmbedderJob::Read { .. } | EmbedderJob::Compute { .. } => {}
        }
    }
}

fn read(
    engine: &impl Engine,
    limit: TokenLimit,
    texts: &[String],
    place: TextPosition,
) -> Result<TokenizedTexts, ModelError> {
    let mut read = TokenizedTexts { texts: Vec::with_capacity(texts.len()), cut: 0 };
    for (number, text) in (place.before + 1..).zip(texts) {
        let mut tokens = engine.tokens(text);
        let wrong =
            |kind, problem: String| ModelError::new(kind, format!("text {number} of {} {problem}", place.of));
        if tokens.len() <= 2 {
            let problem = "has nothing that can be read; leave it out".to_owned();
            return Err(wrong(ModelErrorKind::InvalidRequest, problem));
        }
        if tokens.len() > limit.tokens {
            if limit.long_texts == LongTexts::Refuse {
                let problem = format!(
                    "has {} tokens, and the model reads {}; split it, or set `long_texts` to `cut`",
                    tokens.len(),
                    limit.tokens
                );
                return Err(wrong(ModelErrorKind::ContextTooLong, problem));
            }
            // The last token stays: it ends the text.
            tokens.drain(limit.tokens - 1..tokens.len() - 1);
            read.cut += 1;
        }
        read.texts.push(tokens);
    }
    Ok(read)
}
