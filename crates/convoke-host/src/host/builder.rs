//! The builder of a host.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use convoke_config::Config;
use convoke_core::Store;

use super::Host;
use crate::agentfile::AgentfileKind;
use crate::definition::DefinitionKind;
use crate::graph::GraphKind;
use crate::models::{DownloadObserver, OwnModels};
use crate::pack::PackKind;
use crate::{HostError, store};

/// Makes a [`Host`].
#[must_use = "a builder does nothing until it is built"]
pub struct HostBuilder {
    config: Config,
    store_file: Option<PathBuf>,
    store: Option<Arc<dyn Store>>,
    kinds: Vec<Arc<dyn DefinitionKind>>,
    downloads: DownloadObserver,
}

/// Returns what messages call a file that is no Agentfile, by its name and what is in it: `pack`, `graph`.
#[must_use]
pub fn other_kind(name: &str, bytes: &[u8]) -> Option<&'static str> {
    let kinds = own_kinds();
    let kind = kinds.iter().find(|kind| kind.recognizes(name, bytes))?;
    (kind.name() != AgentfileKind.name()).then(|| kind.title())
}

/// The kinds of files that every host knows.
pub(crate) fn own_kinds() -> Vec<Arc<dyn DefinitionKind>> {
    vec![Arc::new(PackKind), Arc::new(GraphKind), Arc::new(AgentfileKind)]
}

impl HostBuilder {
    pub(super) fn new(config: Config) -> Self {
        Self { config, store_file: None, store: None, kinds: own_kinds(), downloads: Arc::new(|_| {}) }
    }

    /// Keeps runs in this file, instead of where they are kept by default.
    pub fn store_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.store_file = Some(file.into());
        self
    }

    /// Keeps runs in this store. Notes of agents are beside [`store_file`](Self::store_file).
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Also loads files of this kind. Those that are added last are asked first.
    pub fn kind(mut self, kind: impl DefinitionKind + 'static) -> Self {
        self.kinds.insert(0, Arc::new(kind));
        self
    }

    /// Tells this one how fetching models goes.
    pub fn downloads(mut self, observer: DownloadObserver) -> Self {
        self.downloads = observer;
        self
    }

    /// Makes it. Nothing is opened yet.
    ///
    /// # Errors
    /// If there is no place for runs.
    pub fn build(self) -> Result<Host, HostError> {
        let Self { config, store_file, store, kinds, downloads } = self;
        let store_file = match store_file {
            Some(file) => file,
            None => {
                let file = config.store().ok_or(HostError::NoStorePlace)?;
                store::must_be_own(&config.locations().project, &file)?;
                file
            }
        };
        let cell = OnceLock::new();
        if let Some(store) = store {
            let _ = cell.set(store);
        }
        let own_models = OwnModels::default();
        Ok(Host { config, store_file, store: cell, kinds, downloads, own_models })
    }
}
