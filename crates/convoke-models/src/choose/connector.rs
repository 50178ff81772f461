//! Connects to a model by its name.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use convoke_core::{Model, ModelError};
use convoke_text::read_bounded;

use super::name::REHEARSAL;
use super::{
    Credentials, Environment, ModelConfig, ModelName, Service, ServiceConfig, UnknownModel, address, header,
};
use crate::gate::{Ceilings, Gate};
use crate::http::{HttpTransport, Transport};
use crate::price::{PriceError, PriceTable};
use crate::provider::{ProviderModel, ProviderSettings, TimeLimits};
use crate::resilience::{Attempts, Retrying};
use crate::scripted::{ScriptError, ScriptedModel};

/// No table of prices is larger.
const LARGEST_PRICES: u64 = 8 << 20;

/// Makes models: the right protocol, the key, the price, the gate, and retries around it.
#[derive(Debug, Clone)]
pub struct Connector {
    environment: Environment,
    credentials: Credentials,
    config: ModelConfig,
    transport: Arc<dyn Transport>,
}

/// A model that cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Its name says nothing.
    #[error(transparent)]
    Unknown(#[from] UnknownModel),
    /// It would run in this process, which this crate cannot do.
    #[error("`{0}` runs in this process; open it with the crate `convoke-local`")]
    Local(ModelName),
    /// There is no key for it.
    #[error("`{model}` needs a key: set {variables}, or write it into {file}")]
    NoKey {
        /// The model.
        model: ModelName,
        /// The variables it is looked for in.
        variables: String,
        /// The file it may be in.
        file: String,
    },
    /// The prices of the configuration make no sense.
    #[error("{place}: {error}")]
    Prices {
        /// The file.
        place: String,
        /// What is wrong.
        error: Box<PriceError>,
    },
    /// Its script cannot be used.
    #[error(transparent)]
    Script(Box<ScriptError>),
    /// A file in the working folder sends requests to a place its user has not agreed to.
    #[error(
        "{file} sends requests for `{service}` to {host}; if you trust both, add `trusted_hosts = [\"{host}\"]` to your \
         own convoke.toml, or set CONVOKE_TRUSTED_HOSTS={host}"
    )]
    Untrusted {
        /// The file.
        file: PathBuf,
        /// The service.
        service: &'static str,
        /// Where the requests would go.
        host: String,
    },
    /// The configuration is wrong.
    #[error("{place}: {message}")]
    Config {
        /// The file.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// The settings do not make a model.
    #[error("{}", .0.message)]
    Model(#[from] ModelError),
}

impl From<ScriptError> for ConnectError {
    fn from(error: ScriptError) -> Self {
        Self::Script(Box::new(error))
    }
}

impl Connector {
    /// Creates a connector with these keys and this configuration.
    #[must_use]
    pub fn new(environment: Environment, credentials: Credentials, config: ModelConfig) -> Self {
        Self { environment, credentials, config, transport: HttpTransport::shared() }
    }

    /// Sends everything through this transport: a cassette, say.
    #[must_use]
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = transport;
        self
    }

    /// The model with this name.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn connect(&self, name: &ModelName) -> Result<Arc<dyn Model>, ConnectError> {
        let (service, model) = match name {
            ModelName::Remote { service, model } => (service, model),
            ModelName::Scripted { path } if path == REHEARSAL => {
                return Ok(Arc::new(ScriptedModel::rehearsal()));
            }
            ModelName::Scripted { path } => return Ok(Arc::new(ScriptedModel::from_file(path)?)),
            ModelName::Local { .. } => return Err(ConnectError::Local(name.clone())),
        };
        let settings = self.settings(name, service)?;
        let gate = Gate::shared(&settings.base_url, settings.key.as_ref());
        if let Some(ceilings) = self.ceilings(service)? {
            gate.limit(ceilings);
        }
        let provider = ProviderModel::new(model, settings)?;
        Ok(Arc::new(Retrying::new(Arc::new(provider), Attempts::default())))
    }

    /// What the configuration allows beside what the service does.
    fn ceilings(&self, service: &Service) -> Result<Option<Ceilings>, ConnectError> {
        let config = self.config.service(service);
        if config.requests_per_second.is_none() && config.concurrent_requests.is_none() {
            return Ok(None);
        }
        let wrong = |key: &str, what: &str| self.wrong(service, key, what);
        let mut ceilings = Ceilings::none();
        if let Some(rate) = config.requests_per_second {
            if !(rate.is_finite() && rate > 0.0) {
                return Err(wrong("requests_per_second", "expected a number above 0, such as 5 or 0.5"));
            }
            let per = Duration::try_from_secs_f64(1.0 / rate).unwrap_or(Duration::MAX);
            ceilings = ceilings.requests(1, per);
        }
        if let Some(count) = config.concurrent_requests {
            if count == 0 {
                return Err(wrong("concurrent_requests", "expected a whole number above 0"));
            }
            ceilings = ceilings.concurrent(count);
        }
        Ok(Some(ceilings))
    }

    /// How to reach a service.
    fn settings(
        &self,
        name: &ModelName,
        service: &'static Service,
    ) -> Result<ProviderSettings, ConnectError> {
        let config = self.config.service(service);
        let mut settings = ProviderSettings::new(service.provider)
            .service(service.name)
            .transport(Arc::clone(&self.transport));
        if let Some(base_url) = self.config.base_url(service, &self.environment) {
            self.must_be_trusted(service, &config, &base_url)?;
            settings = settings.base_url(base_url);
        }
        let usual = settings.time_limits;
        settings = settings.price(self.prices()?.price(&name.to_string())).time_limits(TimeLimits {
            first_token: config.first_token_seconds.map_or(usual.first_token, Duration::from_secs),
            idle: config.idle_seconds.map_or(usual.idle, Duration::from_secs),
        });
        settings.structured_output = config.structured_output;
        if let Some(most) = config.max_reply_mib {
            settings.max_reply_bytes =
                usize::try_from(most).unwrap_or(usize::MAX).saturating_mul(1024 * 1024);
        }
        settings.headers = header::headers(&config.headers, &self.environment)
            .map_err(|message| self.wrong(service, "headers", &message))?;
        match self.credentials.key(service, &self.environment) {
            Some((key, _)) => settings = settings.key(key),
            // A place of one's own may need none, or have it in a header.
            None if service.needs_key && config.base_url.is_none() => {
                return Err(ConnectError::NoKey {
                    model: name.clone(),
                    variables: service.key_variables.join(" or "),
                    file: Credentials::home(&self.environment)
                        .map_or_else(|| "a credentials file".to_owned(), |path| path.display().to_string()),
                });
            }
            None => {}
        }
        Ok(settings)
    }

    /// A file that came with a project must not take keys and conversations where its user has not agreed to.
    fn must_be_trusted(
        &self,
        service: &Service,
        config: &ServiceConfig,
        base_url: &str,
    ) -> Result<(), ConnectError> {
        let Some(file) = &config.folder_file else { return Ok(()) };
        let host = address::host(base_url).unwrap_or_default();
        // What the file says nothing about is where the user has it. This machine is not the user's alone, and without TLS anybody
        // on the way is the service's own host.
        let is_own = config.base_url.is_none()
            || service.base_url.is_some_and(|own| address::same_origin(own, base_url));
        let takes_secrets = config.headers.values().any(|value| header::has_variables(value));
        if self.config.trusted_hosts.contains(&host) || (is_own && !takes_secrets) {
            return Ok(());
        }
        Err(ConnectError::Untrusted { file: file.clone(), service: service.name, host })
    }

    fn wrong(&self, service: &Service, key: &str, message: &str) -> ConnectError {
        let place = self.config.place(service);
        ConnectError::Config {
            place: place.map_or_else(|| "the configuration".to_owned(), |path| path.display().to_string()),
            message: format!("services.{}.{key}: {message}", service.name),
        }
    }

    /// Returns the prices of models: the built-in table, and the configuration's prices over it.
    ///
    /// # Errors
    /// [`ConnectError::Prices`].
    pub fn prices(&self) -> Result<PriceTable, ConnectError> {
        let Some(path) = &self.config.prices else { return Ok(PriceTable::builtin()) };
        let place = || path.display().to_string();
        let text = read_prices(path).map_err(|error| ConnectError::Config {
            place: place(),
            message: format!("these prices cannot be read: {error}"),
        })?;
        let own = PriceTable::parse(&text)
            .map_err(|error| ConnectError::Prices { place: place(), error: Box::new(error) })?;
        Ok(PriceTable::builtin().overridden_by(own))
    }
}

/// The text of a file of prices. A folder's configuration may name it: opening a pipe would wait until somebody writes into it.
fn read_prices(path: &Path) -> io::Result<String> {
    #[cfg(unix)]
    if std::os::unix::fs::FileTypeExt::is_fifo(&path.metadata()?.file_type()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe, not a file"));
    }
    read_bounded(File::open(path)?, LARGEST_PRICES)
}
