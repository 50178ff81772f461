//! Chooses the model to use, and explains the choice.

use std::fmt;
use std::time::Duration;

use futures_util::StreamExt;
use http::{HeaderMap, Method};
use serde::Deserialize;

use super::{Credentials, Environment, KeySource, ModelConfig, ModelName, Service, UnknownModel, address};
use crate::http::{HttpRequest, HttpTransport, Transport};

/// Names the model to use.
const MODEL: &str = "CONVOKE_MODEL";

/// An Ollama on this machine answers at once or not at all.
const OLLAMA_PATIENCE: Duration = Duration::from_millis(500);

/// Much more than a list of models takes.
const LARGEST_LIST: usize = 4 * 1024 * 1024;

/// Looks for the model to use. See the [module](super) for the order.
#[derive(Debug)]
pub struct Chooser {
    asked: Option<String>,
    environment: Environment,
    config: ModelConfig,
    credentials: Credentials,
    ollama: Option<String>,
    local: Option<String>,
}

/// The model to use, and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// The model, if there is one.
    pub model: Option<ModelName>,
    /// Everything that was looked at, in order; the one that decided is the last.
    pub findings: Vec<LookupStep>,
}

/// One step of the search for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupStep {
    /// Where.
    pub place: String,
    /// What was there.
    pub found: LookupResult,
}

/// The result of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupResult {
    /// A model is named there.
    Named(String),
    /// A key is there, so its service is used.
    Key {
        /// The service.
        service: &'static str,
        /// Where the key is.
        place: KeySource,
    },
    /// A server is there and has this model.
    Running(String),
    /// A model can run in this process.
    Local(String),
    /// Nothing of use, and why.
    Nothing(String),
}

impl LookupResult {
    /// Returns whether it decides.
    #[must_use]
    pub const fn decides(&self) -> bool {
        !matches!(self, Self::Nothing(_))
    }
}

impl fmt::Display for LookupStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        match &self.found {
            LookupResult::Named(model) => write!(formatter, "{place}: names {model}"),
            LookupResult::Key { service, place: key } => {
                write!(formatter, "{place}: a key for {service} in {key}")
            }
            LookupResult::Running(model) => write!(formatter, "{place}: running, with {model}"),
            LookupResult::Local(model) => write!(formatter, "{place}: {model}"),
            LookupResult::Nothing(why) => write!(formatter, "{place}: {why}"),
        }
    }
}

impl Chooser {
    /// Looks in this environment and among these keys.
    #[must_use]
    pub fn new(environment: Environment, credentials: Credentials) -> Self {
        Self {
            asked: None,
            ollama: None,
            environment,
            config: ModelConfig::default(),
            credentials,
            local: None,
        }
    }

    /// Sets the model that the user asks for, by a flag.
    #[must_use]
    pub fn asked(mut self, model: Option<String>) -> Self {
        self.asked = model;
        self
    }

    /// The configuration may name a model, and says where services are.
    #[must_use]
    pub fn config(mut self, config: ModelConfig) -> Self {
        self.config = config;
        self
    }

    /// The model that can run in this process, if one can.
    #[must_use]
    pub fn local(mut self, model: Option<String>) -> Self {
        self.local = model;
        self
    }

    /// Sets where an Ollama would be.
    #[must_use]
    pub fn ollama(mut self, base_url: impl Into<String>) -> Self {
        self.ollama = Some(base_url.into());
        self
    }

    /// Looks, in order, until something decides.
    ///
    /// # Errors
    /// A model that is named and makes no sense: what is asked for by name is used or is an error.
    pub async fn choose(&self) -> Result<ModelChoice, UnknownModel> {
        if let Some((place, model)) = self.named() {
            let name: ModelName = model.parse()?;
            let findings = vec![LookupStep { place, found: LookupResult::Named(name.to_string()) }];
            return Ok(ModelChoice { model: Some(name), findings });
        }
        let mut findings = Vec::new();
        findings.push(nothing("--model, files, CONVOKE_MODEL", "no model is named"));
        let (finding, model) = self.by_key();
        findings.push(finding);
        if model.is_some() {
            return Ok(ModelChoice { model, findings });
        }
        let (finding, model) = self.by_ollama().await;
        findings.push(finding);
        if model.is_some() {
            return Ok(ModelChoice { model, findings });
        }
        let place = "local model".to_owned();
        let Some(local) = &self.local else {
            let why = "this program was built without one (cargo feature `local`)";
            findings.push(nothing(&place, why));
            return Ok(ModelChoice { model: None, findings });
        };
        let name = ModelName::Local { model: local.clone() };
        findings.push(LookupStep { place, found: LookupResult::Local(name.to_string()) });
        Ok(ModelChoice { model: Some(name), findings })
    }

    /// The model that somebody names, and where.
    fn named(&self) -> Option<(String, String)> {
        let asked = self.asked.clone().map(|model| ("--model".to_owned(), model));
        let in_environment = || Some((format!("environment variable {MODEL}"), self.environment.get(MODEL)?));
        let configured = || Some(("convoke.toml".to_owned(), self.config.model.clone()?));
        asked.or_else(configured).or_else(in_environment)
    }

    fn by_key(&self) -> (LookupStep, Option<ModelName>) {
        let found = Service::ALL.iter().find_map(|service| {
            let model = service.default_model?;
            let (_, place) = self.credentials.key(service, &self.environment)?;
            // A key for everybody says nothing about whom to ask.
            let is_own = matches!(place, KeySource::Variable(_)) || self.credentials.own(service).is_some();
            is_own.then_some((service, model, place))
        });
        let place = "keys".to_owned();
        let Some((service, model, key)) = found else {
            let variables = Service::ALL.iter().filter(|service| service.default_model.is_some());
            let variables: Vec<_> = variables.flat_map(|service| service.key_variables).copied().collect();
            let file = match self.credentials.path() {
                Some(path) => format!("nor in {}", path.display()),
                None => "and there is no credentials file".to_owned(),
            };
            return (nothing(&place, &format!("none in {}, {file}", variables.join(", "))), None);
        };
        let finding = LookupStep { place, found: LookupResult::Key { service: service.name, place: key } };
        (finding, Some(ModelName::Remote { service, model: model.to_owned() }))
    }

    async fn by_ollama(&self) -> (LookupStep, Option<ModelName>) {
        let Some(service) = Service::named("ollama") else {
            return (nothing("Ollama", "not known here"), None);
        };
        let known = || self.config.base_url(service, &self.environment).unwrap_or_default();
        let base_url = self.ollama.clone().unwrap_or_else(known);
        let place = format!("Ollama at {}", address::shown(&base_url));
        let models = tokio::time::timeout(OLLAMA_PATIENCE, ollama_models(&base_url)).await.ok().flatten();
        let Some(models) = models else { return (nothing(&place, "no Ollama answers"), None) };
        let Some(model) = models.into_iter().next() else {
            return (nothing(&place, "running, but it has no model; `ollama pull` one"), None);
        };
        let name = ModelName::Remote { service, model };
        (LookupStep { place, found: LookupResult::Running(name.to_string()) }, Some(name))
    }
}

/// What an Ollama has, in its own order.
async fn ollama_models(base_url: &str) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct List {
        models: Vec<Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        name: String,
    }
    let request = HttpRequest {
        method: Method::GET,
        url: format!("{base_url}/api/tags"),
        headers: HeaderMap::new(),
        body: bytes::Bytes::new(),
    };
    let mut reply = HttpTransport::shared().send(request).await.ok()?;
    let mut body = Vec::new();
    while let Some(bytes) = reply.body.next().await {
        body.extend_from_slice(&bytes.ok()?);
        if body.len() > LARGEST_LIST {
            return None;
        }
    }
    let list: List = serde_json::from_slice(&body).ok()?;
    // Models that only embed cannot talk.
    let talking = list.models.into_iter().map(|entry| entry.name).filter(|name| !name.contains("embed"));
    Some(talking.collect())
}

fn nothing(place: &str, why: &str) -> LookupStep {
    LookupStep { place: place.to_owned(), found: LookupResult::Nothing(why.to_owned()) }
}
