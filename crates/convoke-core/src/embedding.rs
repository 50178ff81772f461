//! Embeddings: texts as points, so that what means much the same lies close together.
//!
//! Only the trait and what goes through it. An embedding is a function of its text and its model; steps that need one
//! durably make it a [custom effect](crate::CustomEffect).

use crate::message::Usage;
use crate::model::ModelError;
use crate::step::BoxFuture;

/// A model that turns texts into vectors.
pub trait Embedder: Send + Sync {
    /// The model's name. Vectors of different names must not be compared.
    fn name(&self) -> &str;

    /// How many numbers a vector has.
    fn dimensions(&self) -> usize;

    /// The vectors of these texts, in their order and of length one.
    ///
    /// Any number of texts may be given; whoever implements this splits them as its provider demands.
    fn embed<'a>(
        &'a self,
        texts: Vec<String>,
        purpose: EmbeddingPurpose,
    ) -> BoxFuture<'a, Result<Embeddings, ModelError>>;
}

/// The purpose of an embedding; some models treat questions and what is searched differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmbeddingPurpose {
    /// To be found.
    #[default]
    Document,
    /// To find.
    Query,
}

/// Vectors, and what they took.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Embeddings {
    /// One per text.
    pub vectors: Vec<Vec<f32>>,
    /// What was used.
    pub usage: Usage,
}

impl Embeddings {
    /// Returns the cosine similarity of two vectors of length one: 1 for the same direction, 0 for nothing in common.
    #[must_use]
    pub fn similarity(one: &[f32], other: &[f32]) -> f32 {
        one.iter().zip(other).map(|(one, other)| one * other).sum()
    }
}
