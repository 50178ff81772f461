//! Embeddings in the process: texts as vectors, without a provider or a network.
//!
//! **What it is for.** [`LocalEmbedder`] is an [`Embedder`](convoke_core::Embedder) over an ONNX file and the
//! `tokenizer.json` that belongs to it, computed with [rten](https://docs.rs/rten), which is Rust all the way down: the
//! feature `embeddings` needs no C++ compiler, and nothing of the feature `llama`. It is made for all-MiniLM-L6-v2 (23 MB
//! in int8, vectors of 384 numbers, English), and takes its relatives: BERT networks with a WordPiece vocabulary that
//! were trained with mean pooling.
//!
//! ```no_run
//! use convoke_core::{Embedder, EmbeddingPurpose, Embeddings};
//! use convoke_local::{EmbedderSettings, LocalEmbedder};
//!
//! # async fn compare() -> Result<(), Box<dyn std::error::Error>> {
//! let embedder = LocalEmbedder::open(
//!     "all-minilm-l6-v2/model.onnx",
//!     "all-minilm-l6-v2/tokenizer.json",
//!     EmbedderSettings::default(),
//! )?;
//! let texts = vec!["A cat sleeps on the sofa.".to_owned(), "A kitten naps on the couch.".to_owned()];
//! let found = embedder.embed(texts, EmbeddingPurpose::Document).await?;
//! assert!(Embeddings::similarity(&found.vectors[0], &found.vectors[1]) > 0.4);
//! # Ok(())
//! # }
//! ```
//!
//! **How it works.** One thread has the tokenizer and the network, and takes work from a bounded queue. A request first
//! has all its texts read as tokens, so that what is wrong with any of them is known before anything is computed. Its
//! texts then go through the network in batches of about equal length, one batch in the queue at a time: requests take
//! turns, and one that is dropped stops after the batch under way. A text's vector is the mean of what the network says
//! of its tokens, padding left out, brought to length one.
//!
//! **What it asks for.** A model has a longest text, 256 tokens for all-MiniLM-L6-v2. A longer one is an error of kind
//! [`ContextTooLong`](convoke_core::ModelErrorKind::ContextTooLong), unless [`LongTexts::Cut`] is set; then its beginning
//! stands for it, and a warning is logged. Empty texts are errors, as with providers. It costs nothing, and its usage
//! counts the tokens computed, those that frame a text included.
//!
//! **What it must never do.** Fetch a file; cut a text unasked; change the order; give a vector that is not of length one;
//! take the words of a text for control tokens, whatever they spell.
//!
//! | file | what it is for |
//! |---|---|
//! | `embedder`, `settings` | what is seen from outside |
//! | `worker` | the thread, and what it is asked |
//! | `bert` | the engine: the three below, together |
//! | `tokenizer`, `network`, `pooling` | texts to tokens, tokens to states, states to vectors |
//! | `file` | a look at a file before the network is made of it |

mod bert;
mod embedder;
mod file;
mod network;
mod pooling;
mod settings;
#[cfg(test)]
mod tests;
mod tokenizer;
mod worker;

pub use embedder::LocalEmbedder;
pub use settings::{EmbedderSettings, LongTexts};
