//! Pulls models into the library.

mod address;
mod blocking;
mod client;
mod entry;
mod fetch;
mod file;
mod job;
mod packages;
mod partial;
mod progress;
mod redirect;
mod source;
mod unpack;
mod writer;

use std::time::Duration;

use crate::{InstalledModel, Library, WeightsError};

pub(crate) use client::Client;
use job::PullJob;
pub use progress::{Progress, Stage};
pub use source::PullSource;
use source::SourceKind;

/// Options of a pull.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PullOptions {
    /// The name the model gets here; its own if there is none.
    pub name: Option<String>,
    /// How often to try again after a broken connection if nothing new came in between.
    pub retries: u32,
    /// How long to wait before trying again, if the server does not say; twice as long each further time.
    pub pause: Duration,
    /// How long a server may be silent.
    pub patience: Duration,
}

impl Default for PullOptions {
    fn default() -> Self {
        Self { name: None, retries: 4, pause: Duration::from_secs(1), patience: Duration::from_mins(1) }
    }
}

impl PullOptions {
    /// Sets the name the model gets here.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets how often to try again.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Sets how long to wait before trying again.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Sets how long a server may be silent.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

impl Library {
    /// Resolves what a user names: a name of the catalogue, an address, or a file.
    ///
    /// # Errors
    /// [`WeightsError::Unknown`] if it is none of these, [`WeightsError::BadAddress`] if it is an address that cannot be
    /// pulled from.
    pub fn pull_source(&self, text: &str) -> Result<PullSource, WeightsError> {
        if let Some(entry) = self.catalogue.get(text) {
            return Ok(PullSource(SourceKind::Entry(Box::new(entry.clone()))));
        }
        if text.contains("://") {
            return PullSource::address(text);
        }
        let path = std::path::Path::new(text);
        if path.is_file()
            || text.contains(std::path::is_separator)
            || text.to_ascii_lowercase().ends_with(".gguf")
        {
            return Ok(PullSource::file(path));
        }
        Err(self.unknown(text))
    }

    /// Gets a model, unless it is here already. Dropping the future stops the work; what came so far stays, and the next
    /// pull goes on from there. The future needs a Tokio runtime with time and networking.
    ///
    /// # Errors
    /// [`WeightsError`]; nothing but whole and checked files ever counts as here.
    pub async fn pull(
        &self,
        wanted: &PullSource,
        options: PullOptions,
        mut progress: impl FnMut(Progress) + Send,
    ) -> Result<InstalledModel, WeightsError> {
        let name = wanted.name(options.name.as_deref())?;
        let mut job = PullJob::begin(self, name, &options, &mut progress).await?;
        match &wanted.0 {
            SourceKind::Entry(entry) => job.entry(entry).await,
            SourceKind::File(path) => job.file(path).await,
            SourceKind::Address { url, sha256 } => job.address(url, *sha256).await,
        }
    }
}
