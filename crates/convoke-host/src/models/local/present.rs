//! Finds, fetches and opens local models.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convoke_config::Local;
use convoke_core::Model;
use convoke_local::{LocalModel, LocalSettings, LocalStatus};
use convoke_text::human;
use convoke_weights::{Library, ModelKind, PullOptions};
use tokio::sync::watch;

use crate::HostError;
use crate::models::{Download, DownloadObserver, library};

/// Opens a model by its name or file; fetches it first if need be.
pub(crate) async fn open(
    model: &str,
    configured: Local,
    downloads: &DownloadObserver,
    tell: &mut (dyn FnMut(&str) + Send),
) -> Result<Arc<dyn Model>, HostError> {
    let library = library()?;
    let path = file_of(&library, model, downloads, tell).await?;
    let mut settings = LocalSettings::default();
    if as_path(model).is_none() {
        settings = recommended(settings.name(model), &library, model);
    }
    settings.context_tokens = configured.context_tokens;
    settings.threads = configured.threads;
    settings.parallel = configured.parallel.unwrap_or(settings.parallel);
    let opened = LocalModel::open(path, settings).await;
    let opened = opened.map_err(|error| HostError::LocalModel(error.to_string()))?;
    opened_models().push(opened.status_changes());
    Ok(Arc::new(opened))
}

/// What the models are doing that this process has opened.
fn opened_models() -> MutexGuard<'static, Vec<watch::Receiver<LocalStatus>>> {
    static OPENED: Mutex<Vec<watch::Receiver<LocalStatus>>> = Mutex::new(Vec::new());
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns how many tokens of how many have been read of the prompts that are being read now.
#[must_use]
pub fn reading() -> Option<(u64, u64)> {
    let sum = opened_models().iter().fold((0, 0), |sum, status| {
        let status = status.borrow();
        (sum.0 + status.prompt_read, sum.1 + status.prompt_tokens)
    });
    (sum.1 > 0).then_some(sum)
}

/// What the catalogue recommends for a model.
fn recommended(mut settings: LocalSettings, library: &Library, model: &str) -> LocalSettings {
    let Some(sampling) = library.catalogue().get(model).and_then(|entry| entry.sampling) else {
        return settings;
    };
    settings.temperature = sampling.temperature;
    settings.top_p = sampling.top_p;
    settings.top_k = sampling.top_k;
    settings.min_p = sampling.min_p;
    settings.repeat_penalty = sampling.repeat_penalty;
    settings
}

/// Whether a model is here, or could be fetched.
pub(crate) fn check(model: &str) -> Result<(), HostError> {
    if let Some(path) = as_path(model) {
        return if path.exists() { Ok(()) } else { Err(HostError::NoModelFile { model: model.to_owned() }) };
    }
    Ok(library()?.info(model).map(drop)?)
}

/// The chat model to use if nobody says which: the default one, unless only another one is here.
pub(crate) fn usual_model() -> Result<Option<String>, HostError> {
    let library = library()?;
    let usual = library.catalogue().default_of(ModelKind::Chat).map(|entry| entry.name.clone());
    let here: Vec<_> = library.list()?.into_iter().filter(|model| model.kind == ModelKind::Chat).collect();
    let is_here = |name: &String| here.iter().any(|model| model.name == *name);
    match usual {
        Some(usual) if here.is_empty() || is_here(&usual) => Ok(Some(usual)),
        usual => Ok(here.into_iter().next().map(|model| model.name).or(usual)),
    }
}

/// The file of a model, fetched if it is in the catalogue and not here yet.
async fn file_of(
    library: &Library,
    model: &str,
    downloads: &DownloadObserver,
    tell: &mut (dyn FnMut(&str) + Send),
) -> Result<PathBuf, HostError> {
    if let Some(path) = as_path(model) {
        return Ok(path);
    }
    let info = library.info(model)?;
    match (info.installed, info.entry) {
        (Some(installed), _) => Ok(installed.path()),
        (None, Some(entry)) => {
            let (size, licence) = (human::bytes(entry.bytes()), &entry.licence);
            tell(&format!("fetching {} once: {size}, licence {licence}", entry.name));
            let wanted = library.pull_source(&entry.name)?;
            let pulled = library
                .pull(&wanted, PullOptions::default(), |progress| downloads(Download::Progress(&progress)))
                .await;
            downloads(Download::Ended);
            Ok(pulled?.path())
        }
        (None, None) => Err(HostError::NoSuchModel { model: model.to_owned() }),
    }
}

fn as_path(model: &str) -> Option<PathBuf> {
    let home = model.strip_prefix("~/").and_then(|rest| Some(std::env::home_dir()?.join(rest)));
    let is_path = model.ends_with(".gguf") || model.contains('/');
    home.or_else(|| is_path.then(|| PathBuf::from(model)))
}
