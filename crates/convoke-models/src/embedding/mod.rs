//! Embeddings by providers: texts out, vectors back.
//!
//! **What it is for.** [`ProviderEmbedder`] is an [`Embedder`](convoke_core::Embedder) over the same
//! [`Transport`](crate::Transport), [`ProviderSettings`](crate::ProviderSettings) and [`Gate`](crate::Gate) as
//! [`ProviderModel`](crate::ProviderModel), with the same typed errors. It speaks to OpenAI and what is compatible
//! (`/embeddings`), Gemini (`batchEmbedContents`) and Ollama (`/api/embed`).
//!
//! **What it must never do.** Try again; cut a text; change the order; give a vector that is not of length one.

mod batch;
mod embedder;
mod wire;

pub use embedder::ProviderEmbedder;
