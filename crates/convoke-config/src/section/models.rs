//! What is said about models.

use std::path::{Path, PathBuf};

use convoke_models::ModelName;
use convoke_models::choose::{ModelConfig, ServiceConfig};
use convoke_models::provider::StructuredOutput;

use crate::{Origin, Setting, Value};

/// What is said about models.
pub(crate) fn models(settings: &[Setting], paths: Vec<PathBuf>) -> ModelConfig {
    let mut models = ModelConfig { paths, ..ModelConfig::default() };
    for setting in settings {
        match (setting.key.path, &setting.value) {
            // The environment's model comes after an Agentfile's and after every file: the chooser sees to that.
            ("model", Value::Text(model)) if !matches!(setting.origin, Origin::Variable(_)) => {
                models.model = Some(model.clone());
            }
            ("fallback", Value::Texts(names)) => models.fallback.clone_from(names),
            ("prices", Value::Path(path)) => models.prices = Some(path.clone()),
            ("trusted_hosts", Value::Texts(hosts)) => models.trusted_hosts.clone_from(hosts),
            (path, value) => {
                if let (Some(name), Some(field)) = (setting.own_name(), path.strip_prefix("services.*.")) {
                    let service = models.services.entry(name.to_owned()).or_default();
                    service.folder_file = setting.origin.folder_file().map(Path::to_owned);
                    set(service, field, value);
                }
            }
        }
    }
    models
}

fn set(service: &mut ServiceConfig, field: &str, value: &Value) {
    match (field, value) {
        ("base_url", Value::Address(address)) => service.base_url = Some(address.clone()),
        ("headers", Value::Headers(headers)) => service.headers.clone_from(headers),
        ("requests_per_second", Value::Number(rate)) => service.requests_per_second = Some(*rate),
        ("concurrent_requests", Value::Whole(count)) => {
            service.concurrent_requests = Some(usize::try_from(*count).unwrap_or(usize::MAX));
        }
        ("first_token_seconds", Value::Whole(seconds)) => service.first_token_seconds = Some(*seconds),
        ("idle_seconds", Value::Whole(seconds)) => service.idle_seconds = Some(*seconds),
        ("structured_output", Value::Text(how)) => service.structured_output = structured_output(how),
        ("max_reply_mib", Value::Whole(most)) => service.max_reply_mib = Some(*most),
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
