//! The sections about models and services.

use std::path::{Path, PathBuf};

use convoke_models::ModelName;
use convoke_models::choose::{ModelConfig, ServiceConfig};
use convoke_models::provider::StructuredOutput;

use crate::schema::path;
use crate::{Origin, Setting, Value};

/// What is said about models.
pub(crate) fn models(settings: &[Setting], paths: Vec<PathBuf>) -> ModelConfig {
    let mut models = ModelConfig { paths, ..ModelConfig::default() };
    for setting in settings {
        match (setting.key.path, &setting.value) {
            // The environment's model comes after an Agentfile's and after every file: the chooser sees to that.
            (path::MODEL, Value::Text(model)) if !matches!(setting.origin, Origin::Variable(_)) => {
                models.model = Some(model.clone());
            }
            (path::FALLBACK, Value::Texts(names)) => models.fallback.clone_from(names),
            (path::PRICES, Value::Path(path)) => models.prices = Some(path.clone()),
            (path::TRUSTED_HOSTS, Value::Texts(hosts)) => models.trusted_hosts.clone_from(hosts),
            (path, value) if path.starts_with("services.*.") => {
                if let Some(name) = setting.own_name() {
                    let service = models.services.entry(name.to_owned()).or_default();
                    service.folder_file = setting.origin.folder_file().map(Path::to_owned);
                    set(service, path, value);
                }
            }
            _ => {}
        }
    }
    models
}

fn set(service: &mut ServiceConfig, key: &str, value: &Value) {
    match (key, value) {
        (path::SERVICES_BASE_URL, Value::Address(address)) => service.base_url = Some(address.clone()),
        (path::SERVICES_HEADERS, Value::Headers(headers)) => service.headers.clone_from(headers),
        (path::SERVICES_REQUESTS_PER_SECOND, Value::Number(rate)) => {
            service.requests_per_second = Some(*rate)
        }
        (path::SERVICES_CONCURRENT_REQUESTS, Value::Whole(count)) => {
            service.concurrent_requests = Some(usize::try_from(*count).unwrap_or(usize::MAX));
        }
        (path::SERVICES_FIRST_TOKEN_SECONDS, Value::Whole(seconds)) => {
            service.first_token_seconds = Some(*seconds)
        }
        (path::SERVICES_IDLE_SECONDS, Value::Whole(seconds)) => service.idle_seconds = Some(*seconds),
        (path::SERVICES_STRUCTURED_OUTPUT, Value::Text(how)) => {
            service.structured_output = structured_output(how)
        }
        (path::SERVICES_MAX_REPLY_MIB, Value::Whole(most)) => service.max_reply_mib = Some(*most),
        _ => {}
    }
}

/// One of the words that were checked when they were read.
fn structured_output(how: &str) -> Option<StructuredOutput> {
    Some(match how {
        "json_schema" => StructuredOutput::JsonSchema,
        "json_object" => StructuredOutput::JsonObject,
        "words" => StructuredOutput::Words,
        _ => return None,
    })
}

/// Names that were checked when they were read.
pub(crate) fn names(models: &[String]) -> Vec<ModelName> {
    models.iter().filter_map(|model| model.parse().ok()).collect()
}
