//! The models of a scenario: where its replies come from.

use std::path::Path;
use std::sync::Arc;

use convoke_core::{Model, ModelError};
use convoke_eval::scenario::ModelSource;
use convoke_http::HttpTransport;
use convoke_models::cassette::OnUnrecorded;
use convoke_models::choose::{REHEARSAL, SCRIPTED};
use convoke_models::{ApiKey, Cassette, ModelName, ProviderModel, ProviderSettings, ScriptedModel};

use crate::HostError;
use crate::models::Models;

/// A model that a scenario brings, and the name that stands for it in a run's record.
pub(super) struct Brought {
    pub(super) name: String,
    pub(super) model: Arc<dyn Model>,
}

/// A model as a scenario names it: files are beside the scenario.
pub(super) fn beside(source: ModelSource, scenario: &Path) -> ModelSource {
    let ModelSource::Named(name) = &source else { return source };
    match name.parse() {
        Ok(ModelName::Scripted { path }) if path != REHEARSAL => {
            let file = scenario.with_file_name(path);
            let file = std::path::absolute(&file).unwrap_or(file);
            ModelSource::Named(format!("{SCRIPTED}/{}", file.display()))
        }
        _ => source,
    }
}

/// The text of the file that replies come from, if they come from one and it is there.
pub(super) fn text_of(source: &ModelSource) -> Option<String> {
    match source {
        ModelSource::Named(name) => match name.parse() {
            Ok(ModelName::Scripted { path }) => std::fs::read_to_string(path).ok(),
            _ => None,
        },
        // What a cassette records on the way does not make another run of it.
        _ => None,
    }
}

/// The model that a scenario brings itself; nothing if it is one that is looked for by its name. Of a list of replies, so many have
/// been `given` already.
pub(super) fn brought(
    source: &ModelSource,
    models: &Models,
    scenario: &Path,
    given: usize,
) -> Result<Option<Brought>, HostError> {
    let failed = |reason: String| HostError::Scenario { scenario: scenario.display().to_string(), reason };
    let whole = std::path::absolute(scenario).unwrap_or_else(|_| scenario.to_owned());
    let (model, file) = match source {
        ModelSource::Cassette { model, file } => (model, whole.with_file_name(file)),
        source => {
            let name = format!("{SCRIPTED}/{}", whole.display());
            let Some(script) = source.script(&name, given) else { return Ok(None) };
            let scripted = ScriptedModel::from_json_str(&script);
            let model: Arc<dyn Model> = Arc::new(scripted.map_err(|error| failed(error.to_string()))?);
            return Ok(Some(Brought { name, model }));
        }
    };
    let name: ModelName = model.parse()?;
    let ModelName::Remote { service, model } = &name else {
        return Err(failed(format!("{name} is not a model of a service, so nothing of it can be recorded")));
    };
    let transport = HttpTransport::shared();
    let cassette =
        Cassette::auto(&file, transport).map_err(|error| failed(format!("{}: {error}", file.display())))?;
    let connector = models.connector().transport(Arc::new(cassette.clone()));
    let recorded: Arc<dyn Model> = match (connector.connect(&name), OnUnrecorded::from_environment()) {
        (Ok(model), _) => model,
        (Err(error), OnUnrecorded::Record) => return Err(error.into()),
        // What is only played back needs no key.
        (Err(_), _) => {
            let settings = ProviderSettings::new(service.provider)
                .service(service.name)
                .key(ApiKey::new("played-back"))
                .price(connector.prices()?.price(&name.to_string()))
                .transport(Arc::new(cassette));
            let model = ProviderModel::new(model, settings);
            Arc::new(model.map_err(|error: ModelError| failed(error.message))?)
        }
    };
    Ok(Some(Brought { name: name.to_string(), model: recorded }))
}
