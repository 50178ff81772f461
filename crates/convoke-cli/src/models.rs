//! Which model is meant, and how to get hold of it.

use std::sync::Arc;

use convoke_config::{Config, Local};
use convoke_core::{Model, ModelError, ModelErrorKind};
use convoke_models::choose::{Choice, ConnectError, CredentialsError};
use convoke_models::resilience::{Deferred, Fallback};
use convoke_models::{Chooser, Connector, Credentials, ModelName, UnknownModel};

use crate::arguments::Arguments;
use crate::configuration;
use crate::failure::Failure;
use crate::local;
use crate::terminal::{Output, Waiting};
use crate::weights;

/// What this process knows about models.
pub(crate) struct Models {
    pub(crate) config: Config,
    pub(crate) credentials: Credentials,
}

impl Models {
    /// Reads the configuration and the keys there are.
    pub(crate) fn load(arguments: &Arguments) -> Result<Self, Failure> {
        Self::of(configuration::load(arguments)?)
    }

    /// Reads the keys there are.
    pub(crate) fn of(config: Config) -> Result<Self, Failure> {
        Ok(Self { credentials: config.credentials()?, config })
    }

    /// The model to use, if this one is asked for.
    pub(crate) async fn choose(&self, asked: Option<&str>) -> Result<Choice, Failure> {
        let chooser = Chooser::new(self.config.environment().clone(), self.credentials.clone())
            .asked(asked.map(str::to_owned))
            .config(self.config.models().clone())
            .local(local::usual_model()?);
        Ok(chooser.choose().await?)
    }

    /// A model, and whatever is tried when it fails for good.
    pub(crate) fn falling_back(&self, first: Arc<dyn Model>, others: &[ModelName]) -> Arc<dyn Model> {
        if others.is_empty() {
            return first;
        }
        let others = others.iter().map(|name| self.deferred(name.clone()));
        Arc::new(others.fold(Fallback::new(first), Fallback::or))
    }

    /// A model that is opened when it is needed, which may be never: it may have no key, or gigabytes to load.
    pub(crate) fn deferred(&self, name: ModelName) -> Arc<dyn Model> {
        let (connector, settings) = (self.connector(), self.config.local());
        let price = connector.prices().ok().and_then(|prices| prices.price(&name.to_string()));
        let deferred = Deferred::new(name.to_string(), move || {
            let (connector, name) = (connector.clone(), name.clone());
            async move {
                let opened = open(&connector, settings, &name, &mut |_| {}).await;
                opened.map_err(|failure| ModelError::new(ModelErrorKind::Missing, failure.message()))
            }
        });
        Arc::new(match price {
            Some(price) => deferred.price(price),
            None => deferred,
        })
    }

    /// Gets hold of a model.
    pub(crate) async fn open(
        &self,
        name: &ModelName,
        output: &mut Output,
    ) -> Result<Arc<dyn Model>, Failure> {
        // Gigabytes are read before a model in this process can answer.
        let mut waiting = match name {
            ModelName::Local { .. } => Waiting::begin(&format!("loading {name}")),
            _ => Waiting::default(),
        };
        let mut tell = |note: &str| {
            waiting.end();
            output.note(note);
        };
        open(&self.connector(), self.config.local(), name, &mut tell).await
    }

    /// A model that can be asked. One that runs in this process is loaded when it is, which may be never.
    pub(crate) fn ready(&self, name: &ModelName) -> Result<Arc<dyn Model>, Failure> {
        match name {
            ModelName::Local { model } => {
                local::check(model)?;
                Ok(self.deferred(name.clone()))
            }
            _ => Ok(self.connector().connect(name)?),
        }
    }

    /// Whether a model could be had, as far as can be told without asking it.
    pub(crate) fn check(&self, name: &ModelName) -> Result<(), Failure> {
        match name {
            ModelName::Local { model } => local::check(model),
            _ => Ok(self.connector().connect(name).map(drop)?),
        }
    }

    /// How much is to be fetched before a model can be used for the first time, in bytes; `None` if nothing is.
    pub(crate) fn to_fetch(&self, name: &ModelName) -> Option<u64> {
        let ModelName::Local { model } = name else { return None };
        let info = weights::library().ok()?.info(model).ok()?;
        info.entry.filter(|_| info.installed.is_none()).map(|entry| entry.bytes())
    }

    fn connector(&self) -> Connector {
        let environment = self.config.environment().clone();
        Connector::new(environment, self.credentials.clone(), self.config.models().clone())
    }
}

/// Gets hold of a model. One that runs in this process is fetched first if need be, which is told.
async fn open(
    connector: &Connector,
    settings: Local,
    name: &ModelName,
    tell: &mut (dyn FnMut(&str) + Send),
) -> Result<Arc<dyn Model>, Failure> {
    match name {
        ModelName::Local { model } => local::open(model, settings, tell).await,
        _ => Ok(connector.connect(name)?),
    }
}

impl From<CredentialsError> for Failure {
    fn from(error: CredentialsError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<UnknownModel> for Failure {
    fn from(error: UnknownModel) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        Self::failed(error.to_string())
    }
}
