//! The embedding engine: a tokenizer and a network that belong together.

use std::path::Path;

use super::network::Network;
use super::pooling;
use super::settings::EmbedderSettings;
use super::tokenizer::{Token, Tokenizer};
use super::worker::Engine;
use crate::LocalError;

/// A BERT network and its tokenizer.
pub(super) struct Bert {
    tokenizer: Tokenizer,
    network: Network,
    dimensions: usize,
}

impl Bert {
    /// Loads both, and tries them out: on the longest text, and the token that a smaller vocabulary would lack.
    pub(super) fn open(
        model: &Path,
        tokenizer: &Path,
        settings: &EmbedderSettings,
    ) -> Result<Self, LocalError> {
        let tokenizer = Tokenizer::open(tokenizer)?;
        let network = Network::open(model, settings.thread_count())?;
        let text = vec![tokenizer.largest(); settings.max_tokens as usize];
        let tried = vectors(&network, &[text]).map_err(|reason| LocalError::Refused {
            path: model.to_owned(),
            reason: format!(
                "a trial failed ({reason}): the tokenizer may belong to another model, or `max_tokens` is more than \
                 this one reads"
            ),
        })?;
        Ok(Self { tokenizer, network, dimensions: tried.iter().map(Vec::len).sum() })
    }
}

impl Engine for Bert {
    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn tokens(&self, text: &str) -> Vec<Token> {
        self.tokenizer.tokens(text)
    }

    fn vectors(&self, batch: &[Vec<Token>]) -> Result<Vec<Vec<f32>>, String> {
        vectors(&self.network, batch)
    }
}

fn vectors(network: &Network, batch: &[Vec<Token>]) -> Result<Vec<Vec<f32>>, String> {
    let states = network.compute(batch)?;
    let texts = states.numbers.chunks_exact(states.places * states.width);
    let vectors = texts.zip(batch).map(|(text, tokens)| pooling::mean(text, states.width, tokens.len()));
    vectors.map(|vector| vector.ok_or_else(|| "it gave a vector without a direction".to_owned())).collect()
}
