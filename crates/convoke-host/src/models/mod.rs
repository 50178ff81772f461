//! Chooses and opens models: those of providers, and those that run in this process.

pub(crate) mod local;
mod profiled;

use std::collections::BTreeMap;
use std::sync::Arc;

use convoke_config::{Config, Local};
use convoke_core::{
    CallContext, FORBID_LIVE_MODELS, IdempotencyKey, Model, ModelError, ModelErrorKind, ModelParams,
    ModelRequest, Path, ReplyBuilder, RunId,
};
use convoke_models::choose::ModelChoice;
use convoke_models::resilience::{Deferred, Fallback};
use convoke_models::{Chooser, Connector, Credentials, ModelName};
use convoke_weights::{Library, Progress, default_folder};
use futures_util::StreamExt;

use crate::HostError;

pub use local::reading;
pub(crate) use profiled::ProfiledModel;

/// Enough for a model that thinks first.
const TRIAL_TOKENS: u32 = 512;

/// So many characters of its answer are given.
const TRIAL_SHOWN: usize = 60;

/// Progress of the files of a model while they are fetched.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Download<'a> {
    /// How far it is.
    Progress(&'a Progress),
    /// It is over, one way or the other.
    Ended,
}

/// Is told how fetching the files of a model goes.
pub type DownloadObserver = Arc<dyn Fn(Download<'_>) + Send + Sync>;

/// The models that this process can choose from and open.
#[derive(Clone)]
pub struct Models {
    /// What is configured.
    pub config: Config,
    /// The keys there are.
    pub credentials: Credentials,
    downloads: DownloadObserver,
    /// Those that this program brings itself, by the names under which others would be looked for.
    own: OwnModels,
}

/// Models that a program brings itself, by their whole names.
pub(crate) type OwnModels = Arc<BTreeMap<String, Arc<dyn Model>>>;

/// The library of model files on this machine.
///
/// # Errors
/// If this user has no place for them.
pub fn library() -> Result<Library, HostError> {
    Ok(Library::open(default_folder()?)?)
}

impl Models {
    /// Reads the keys there are.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn of(config: Config) -> Result<Self, HostError> {
        let (downloads, own) = (Arc::new(|_: Download<'_>| {}), OwnModels::default());
        Ok(Self { credentials: config.credentials()?, config, downloads, own })
    }

    /// Tells this one how fetching models goes.
    #[must_use]
    pub fn watched(mut self, downloads: DownloadObserver) -> Self {
        self.downloads = downloads;
        self
    }

    /// Takes these models for those of their names.
    pub(crate) fn bringing(mut self, own: OwnModels) -> Self {
        self.own = own;
        self
    }

    fn own(&self, name: &ModelName) -> Option<Arc<dyn Model>> {
        self.own.get(&name.to_string()).map(Arc::clone)
    }

    /// The model to use, if this one is asked for.
    ///
    /// # Errors
    /// If the name is no model's.
    pub async fn choose(&self, asked: Option<&str>) -> Result<ModelChoice, HostError> {
        let chooser = Chooser::new(self.config.environment().clone(), self.credentials.clone())
            .asked(asked.map(str::to_owned))
            .config(self.config.models().clone())
            .local(local::usual_model()?);
        Ok(chooser.choose().await?)
    }

    /// A model, and whatever is tried when it fails for good.
    #[must_use]
    pub fn falling_back(&self, first: Arc<dyn Model>, others: &[ModelName]) -> Arc<dyn Model> {
        if others.is_empty() {
            return first;
        }
        let others = others.iter().map(|name| self.deferred(name.clone()));
        Arc::new(others.fold(Fallback::new(first), Fallback::or))
    }

    /// A model that is opened when it is needed, which may be never: it may have no key, or gigabytes to load.
    #[must_use]
    pub fn deferred(&self, name: ModelName) -> Arc<dyn Model> {
        if let Some(own) = self.own(&name) {
            return own;
        }
        let (connector, settings) = (self.connector(), self.config.local());
        let downloads = Arc::clone(&self.downloads);
        let price = connector.prices().ok().and_then(|prices| prices.price(&name.to_string()));
        let deferred = Deferred::new(name.to_string(), move || {
            let (connector, downloads, name) = (connector.clone(), Arc::clone(&downloads), name.clone());
            async move {
                let opened = open(&connector, settings, &downloads, &name, &mut |_| {}).await;
                opened.map_err(|failure| ModelError::new(ModelErrorKind::Missing, failure.to_string()))
            }
        });
        Arc::new(match price {
            Some(price) => deferred.price(price),
            None => deferred,
        })
    }

    /// Gets hold of a model. One that runs in this process is fetched first if need be, which is told.
    ///
    /// # Errors
    /// If it cannot be had.
    pub async fn open(
        &self,
        name: &ModelName,
        tell: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Arc<dyn Model>, HostError> {
        self.check_prices()?;
        if let Some(own) = self.own(name) {
            return Ok(own);
        }
        open(&self.connector(), self.config.local(), &self.downloads, name, tell).await
    }

    /// Checks that the file of prices makes sense, whichever models are asked: what others cost would not be counted.
    ///
    /// # Errors
    /// If it cannot be read, or something in it is wrong.
    pub fn check_prices(&self) -> Result<(), HostError> {
        self.connector().prices()?;
        Ok(())
    }

    /// Asks a model for one word, to see that it answers, and gives the beginning of what it said.
    ///
    /// # Errors
    /// If it does not.
    pub async fn try_out(model: &dyn Model) -> Result<String, ModelError> {
        let mut params = ModelParams::default();
        params.max_tokens = Some(TRIAL_TOKENS);
        let request = ModelRequest { params, ..ModelRequest::new("Answer with one word: hello.") };
        let key = IdempotencyKey::derive(&RunId::mint(), &Path::from("doctor"), 0);
        let mut builder = ReplyBuilder::new(model.name(), "doctor");
        let mut pieces = model.reply(request, CallContext { key });
        while let Some(piece) = pieces.next().await {
            builder.add(&piece?);
        }
        Ok(builder.finish()?.text().trim().chars().take(TRIAL_SHOWN).collect())
    }

    /// A model that can be asked. One that runs in this process is loaded when it is, which may be never.
    ///
    /// # Errors
    /// If it cannot be had.
    pub fn ready(&self, name: &ModelName) -> Result<Arc<dyn Model>, HostError> {
        if let Some(own) = self.own(name) {
            return Ok(own);
        }
        match name {
            ModelName::Local { model } => {
                local::check(model)?;
                Ok(self.deferred(name.clone()))
            }
            _ => Ok(self.connector().connect(name)?),
        }
    }

    /// Checks that a model could be had, as far as can be told without asking it.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, name: &ModelName) -> Result<(), HostError> {
        match name {
            name if self.own(name).is_some() => Ok(()),
            ModelName::Local { .. } if forbids_live_models() => Err(forbidden(name)),
            ModelName::Local { model } => local::check(model),
            _ => Ok(self.connector().connect(name).map(drop)?),
        }
    }

    /// Returns how much is to be fetched before a model can be used for the first time, in bytes; `None` if nothing is.
    #[must_use]
    pub fn to_fetch(&self, name: &ModelName) -> Option<u64> {
        let ModelName::Local { model } = name else { return None };
        let info = library().ok()?.info(model).ok()?;
        info.entry.filter(|_| info.installed.is_none()).map(|entry| entry.bytes())
    }

    pub(crate) fn connector(&self) -> Connector {
        let environment = self.config.environment().clone();
        Connector::new(environment, self.credentials.clone(), self.config.models().clone())
    }
}

/// Whether real models are forbidden in this process.
fn forbids_live_models() -> bool {
    std::env::var(FORBID_LIVE_MODELS).is_ok_and(|value| !value.is_empty() && value != "0")
}

fn forbidden(name: &ModelName) -> HostError {
    HostError::ForbiddenModel { model: name.to_string() }
}

async fn open(
    connector: &Connector,
    settings: Local,
    downloads: &DownloadObserver,
    name: &ModelName,
    tell: &mut (dyn FnMut(&str) + Send),
) -> Result<Arc<dyn Model>, HostError> {
    match name {
        ModelName::Local { .. } if forbids_live_models() => Err(forbidden(name)),
        ModelName::Local { model } => local::open(model, settings, downloads, tell).await,
        _ => Ok(connector.connect(name)?),
    }
}
