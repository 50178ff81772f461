//! Meanings of texts, as vectors: made if there is something that makes them, and compared.

use convoke_core::EmbeddingPurpose;
use convoke_sqlite::PackedVector;
use rusqlite::Rows;

use super::Memory;
use crate::database::StorageError;

/// Vectors that have less than this in common have nothing to do with each other.
const LEAST_SIMILAR: f32 = 0.2;
/// So many of either way, words and meaning, are put together.
pub(super) const CANDIDATES: usize = 30;

/// What a text means.
#[derive(Debug, Clone)]
pub(super) struct Meaning {
    /// Who says so: only vectors of the same embedder are compared.
    pub(super) embedder: String,
    pub(super) vector: PackedVector,
}

impl Memory {
    /// What these texts mean; nothing if there is no embedder, or it cannot say. Words find them all the same.
    pub(super) async fn meanings(
        &self,
        texts: Vec<String>,
        purpose: EmbeddingPurpose,
    ) -> Vec<Option<Meaning>> {
        let count = texts.len();
        let Ok(Some(embedder)) = self.embedder.get().await else { return vec![None; count] };
        match embedder.embed(texts, purpose).await {
            Ok(embedded) if embedded.vectors.len() == count => {
                let packed = embedded.vectors.iter().map(|vector| PackedVector::of(vector));
                packed.map(|vector| Some(Meaning { embedder: embedder.name().to_owned(), vector })).collect()
            }
            _ => vec![None; count],
        }
    }

    /// What somebody looks for.
    pub(super) async fn meaning_of_query(&self, query: &str) -> Option<Meaning> {
        self.meanings(vec![query.to_owned()], EmbeddingPurpose::Query).await.pop().flatten()
    }
}

impl Meaning {
    /// The nearest of rows with an id and a vector each, best first.
    pub(super) fn nearest(&self, mut rows: Rows<'_>) -> Result<Vec<i64>, StorageError> {
        let mut near: Vec<(f32, i64)> = Vec::new();
        while let Some(row) = rows.next()? {
            let packed = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            match self.vector.similarity(packed) {
                Some(similarity) if similarity >= LEAST_SIMILAR => near.push((similarity, row.get(0)?)),
                _ => {}
            }
        }
        near.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        near.truncate(CANDIDATES);
        Ok(near.into_iter().map(|(_, id)| id).collect())
    }
}
