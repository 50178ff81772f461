//! What `convoke.toml` says about models.
//!
//! There may be two: the user's own, in the configuration folder, and one in the folder where the work is. The latter
//! may have come with somebody else's project, so it cannot send keys or conversations to places its user has not
//! agreed to: see [`ModelConfig::trusted_hosts`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Environment, Service, address};
use crate::closest::closest;

/// The file's name.
const CONFIG: &str = "convoke.toml";

/// Names hosts the user agrees to, with commas between them.
const TRUSTED_HOSTS: &str = "CONVOKE_TRUSTED_HOSTS";

/// What `convoke.toml` says about models.
///
/// ```toml
/// model = "compatible/my-model"
/// fallback = ["local/smollm2"]
/// prices = "prices.toml"
///
/// [services.compatible]
/// base_url = "http://127.0.0.1:8080/v1"
/// headers = { "x-team" = "looms" }
/// ```
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// The model to use.
    pub model: Option<String>,
    /// The models to try, in order, when that one fails for good.
    pub fallback: Vec<String>,
    /// How to reach services, by name.
    pub services: BTreeMap<String, ServiceConfig>,
    /// A file with prices that differ from the built-in table, or that it does not have; from this file's folder.
    pub prices: Option<PathBuf>,
    /// Hosts that a file in the working folder may send requests to. Only the user's own file, or
    /// `CONVOKE_TRUSTED_HOSTS`, can say so. This machine, and a service's own host, are always trusted.
    pub trusted_hosts: Vec<String>,
    /// The files it was read from, the user's own first.
    #[serde(skip)]
    pub paths: Vec<PathBuf>,
}

/// How to reach a service.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
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
    /// The file in the working folder that says so; `None` if the user or the program does.
    #[serde(skip)]
    pub(super) folder_file: Option<PathBuf>,
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

/// A `convoke.toml` that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{path} cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not what it should be. The file's own text is not shown: there may be secrets in it.
    #[error("{path}, line {line}: {message}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// Something in it makes no sense.
    #[error("{path}: {message}")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
}

impl ModelConfig {
    /// Reads the user's own file and the one in this folder, if they are there. What the latter says goes first.
    ///
    /// # Errors
    /// A file that cannot be read or makes no sense.
    pub fn load(environment: &Environment) -> Result<Self, ConfigError> {
        let own = environment.configuration_folder().map(|folder| folder.join(CONFIG));
        let own = own.filter(|path| path.exists()).map(|path| Self::read(&path)).transpose()?;
        let here = Path::new(CONFIG);
        let here = if here.exists() { Some(Self::read(here)?.of_folder()?) } else { None };
        let mut config = here.unwrap_or_default().over(own.unwrap_or_default());
        let further = environment.get(TRUSTED_HOSTS).unwrap_or_default();
        config.trusted_hosts.extend(further.split(',').map(|host| host.trim().to_ascii_lowercase()));
        Ok(config)
    }

    /// Reads one file, and trusts it.
    ///
    /// # Errors
    /// A file that cannot be read or makes no sense.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
        let mut config: Self = toml::from_str(&text).map_err(|error| ConfigError::Malformed {
            path: path.to_owned(),
            line: super::line_of(&text, error.span().map_or(0, |span| span.start)),
            message: error.message().trim().to_owned(),
        })?;
        config.services = by_service(config.services, path)?;
        config.prices = config.prices.map(|file| path.parent().unwrap_or(Path::new("")).join(file));
        Ok(Self { paths: vec![path.to_owned()], ..config })
    }

    /// How to reach this service.
    pub(super) fn service(&self, service: &Service) -> ServiceConfig {
        self.services.get(service.name).cloned().unwrap_or_default()
    }

    /// Where a service is.
    pub(super) fn base_url(&self, service: &Service, environment: &Environment) -> Option<String> {
        let own = self.services.get(service.name).and_then(|config| config.base_url.clone());
        let ollama = || (service.name == "ollama").then(|| environment.get("OLLAMA_HOST")).flatten();
        own.or_else(|| ollama().map(|host| address::of_ollama(&host)))
            .or_else(|| service.base_url.map(str::to_owned))
    }

    /// What comes from the working folder is remembered as such.
    fn of_folder(mut self) -> Result<Self, ConfigError> {
        let path = self.paths.first().cloned().unwrap_or_default();
        if !self.trusted_hosts.is_empty() {
            let message =
                "trusted_hosts counts only in your own file; this one may have come with the project";
            return Err(ConfigError::Wrong { path, message: message.to_owned() });
        }
        for config in self.services.values_mut() {
            config.folder_file = Some(path.clone());
        }
        Ok(self)
    }

    /// Both; what this one says goes first.
    fn over(self, other: Self) -> Self {
        let mut services = other.services;
        services.extend(self.services);
        let mut trusted_hosts = other.trusted_hosts;
        trusted_hosts.iter_mut().for_each(|host| host.make_ascii_lowercase());
        Self {
            model: self.model.or(other.model),
            fallback: if self.fallback.is_empty() { other.fallback } else { self.fallback },
            services,
            prices: self.prices.or(other.prices),
            trusted_hosts,
            paths: other.paths.into_iter().chain(self.paths).collect(),
        }
    }
}

/// Sections by their service's own name, whatever they call it.
fn by_service(
    sections: BTreeMap<String, ServiceConfig>,
    path: &Path,
) -> Result<BTreeMap<String, ServiceConfig>, ConfigError> {
    let named = sections.into_iter().map(|(name, config)| {
        let service = Service::named(&name).ok_or_else(|| {
            let known: Vec<_> = Service::ALL.iter().map(|service| service.name).collect();
            let advice = match closest(&name, &known) {
                Some(near) => format!("did you mean `services.{near}`?"),
                None => format!("there are {}", known.join(", ")),
            };
            let message = format!("there is no service `{name}`: {advice}");
            ConfigError::Wrong { path: path.to_owned(), message }
        })?;
        Ok((service.name.to_owned(), config))
    });
    named.collect()
}
