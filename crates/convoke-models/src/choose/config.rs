//! The configuration of models and services.
//!
//! Files are no business of this module: `convoke-config` reads them and makes this of them. What a file in the working
//! folder says may have come with somebody else's project, so it cannot send keys or conversations to places its user
//! has not agreed to: see [`ModelConfig::trusted_hosts`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::{Environment, Service, address, ollama};
use crate::provider::StructuredOutput;

/// The configuration of models.
#[derive(Debug, Clone, Default)]
pub struct ModelConfig {
    /// The model to use.
    pub model: Option<String>,
    /// The models to try, in order, when that one fails for good.
    pub fallback: Vec<String>,
    /// How to reach services, by the name each has here ([`Service::name`]).
    pub services: BTreeMap<String, ServiceConfig>,
    /// A file with prices that differ from the built-in table, or that it does not have.
    pub prices: Option<PathBuf>,
    /// Hosts, in small letters, that a file in the working folder may send requests to. Only the user can say so. This
    /// machine, and a service's own host, are always trusted.
    pub trusted_hosts: Vec<String>,
    /// The files it was read from, the user's own first.
    pub paths: Vec<PathBuf>,
}

/// The configuration of a service.
#[derive(Clone, Default)]
pub struct ServiceConfig {
    /// Where it is.
    pub base_url: Option<String>,
    /// Further headers for every request. `${NAME}` is the environment variable of that name, so that no secret needs
    /// to be in the file.
    pub headers: BTreeMap<String, String>,
    /// At most this many requests a second, whatever the service allows.
    pub requests_per_second: Option<f64>,
    /// At most this many requests at once.
    pub concurrent_requests: Option<usize>,
    /// How long the first sign of an answer may take.
    pub first_token_seconds: Option<u64>,
    /// How long an answer may pause.
    pub idle_seconds: Option<u64>,
    /// How it is asked for an answer of a given shape; `None`: with a schema, and in words if it refuses that.
    pub structured_output: Option<StructuredOutput>,
    /// How many MiB a reply may have.
    pub max_reply_mib: Option<u64>,
    /// The file in the working folder that says so; `None` if the user or the program does, who are trusted.
    pub folder_file: Option<PathBuf>,
}

impl fmt::Debug for ServiceConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Addresses and headers may carry secrets.
        formatter
            .debug_struct("ServiceConfig")
            .field("base_url", &self.base_url.as_deref().map(address::shown))
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl ModelConfig {
    /// How to reach this service.
    pub(super) fn service(&self, service: &Service) -> ServiceConfig {
        self.services.get(service.name).cloned().unwrap_or_default()
    }

    /// Returns the address of a service.
    pub fn base_url(&self, service: &Service, environment: &Environment) -> Option<String> {
        let own = self.services.get(service.name).and_then(|config| config.base_url.clone());
        let ollama = || (service.name == "ollama").then(|| environment.get("OLLAMA_HOST")).flatten();
        own.or_else(|| ollama().map(|host| ollama::address_of(&host)))
            .or_else(|| service.base_url.map(str::to_owned))
    }

    /// The file to blame for what it says about a service.
    pub(super) fn place(&self, service: &Service) -> Option<&Path> {
        let folder = self.services.get(service.name).and_then(|config| config.folder_file.as_deref());
        folder.or_else(|| self.paths.first().map(PathBuf::as_path))
    }
}
