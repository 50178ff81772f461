//! An embedder that is opened when it is first needed.

use std::fmt;
use std::sync::{Arc, OnceLock};

use convoke_core::{Embedder, Error};

type Open = dyn Fn() -> Option<Arc<dyn Embedder>> + Send + Sync;

/// An embedder that compares meanings, if there is one; opened when it is first needed, once. Clones share it.
#[derive(Clone)]
pub struct LazyEmbedder {
    open: Arc<Open>,
    opened: Arc<OnceLock<Option<Arc<dyn Embedder>>>>,
}

impl LazyEmbedder {
    /// Makes one of what this opens, which may block.
    #[must_use]
    pub fn new(open: impl Fn() -> Option<Arc<dyn Embedder>> + Send + Sync + 'static) -> Self {
        Self { open: Arc::new(open), opened: Arc::default() }
    }

    /// The embedder, which is open then; `None` if there is none.
    ///
    /// # Errors
    /// If the program ends meanwhile.
    pub async fn get(&self) -> Result<Option<Arc<dyn Embedder>>, Error> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened.clone());
        }
        let (opened, open) = (Arc::clone(&self.opened), Arc::clone(&self.open));
        let open = tokio::task::spawn_blocking(move || opened.get_or_init(|| open()).clone());
        open.await.map_err(Error::failed)
    }
}

impl Default for LazyEmbedder {
    /// There is none.
    fn default() -> Self {
        Self::new(|| None)
    }
}

impl fmt::Debug for LazyEmbedder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LazyEmbedder").finish_non_exhaustive()
    }
}
