//! The embedder in this process, which compares the meanings of texts, if this program was built with it and its files are here.
//!
//! Nothing is fetched for it: words alone serve too, and whoever wants more is told how to have it.

use std::sync::Arc;

use convoke_core::Embedder;

#[cfg(feature = "embeddings")]
use convoke_weights::{InstalledModel, ModelKind};

/// Opens it.
#[cfg(feature = "embeddings")]
pub(crate) fn embedder() -> Result<Arc<dyn Embedder>, String> {
    use convoke_local::{EmbedderSettings, LocalEmbedder, LongTexts};

    let installed = installed()?;
    let file = |name: &str| installed.file(name).ok_or_else(|| format!("{} has no {name}", installed.name));
    let mut settings = EmbedderSettings::default();
    // Passages are about as long as what it reads; their beginnings say what they are about.
    settings.long_texts = LongTexts::Cut;
    let opened = LocalEmbedder::open(installed.path(), file("tokenizer.json")?, settings);
    Ok(Arc::new(opened.map_err(|error| error.to_string())?))
}

/// Why meanings are not compared here, if they are not.
#[cfg(feature = "embeddings")]
pub(crate) fn embedder_missing() -> Option<String> {
    installed().err()
}

#[cfg(feature = "embeddings")]
fn installed() -> Result<InstalledModel, String> {
    let library = super::super::library().map_err(|error| error.to_string())?;
    let Some(entry) = library.catalogue().default_of(ModelKind::Embedding) else {
        return Err("no model that compares meanings is known".to_owned());
    };
    let info = library.info(&entry.name).map_err(|error| error.to_string())?;
    info.installed
        .ok_or_else(|| format!("`convoke model pull {}` fetches what compares meanings too", entry.name))
}

/// It was built without.
#[cfg(not(feature = "embeddings"))]
pub(crate) fn embedder() -> Result<Arc<dyn Embedder>, String> {
    Err(MISSING.to_owned())
}

/// It was built without.
#[cfg(not(feature = "embeddings"))]
pub(crate) fn embedder_missing() -> Option<String> {
    Some(MISSING.to_owned())
}

#[cfg(not(feature = "embeddings"))]
const MISSING: &str =
    "this program was built without what compares meanings: build it with `--features embeddings`";
