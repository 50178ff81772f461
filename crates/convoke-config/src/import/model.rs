//! Translates models and their addresses: `[llm]` and the profiles.

use convoke_models::ModelName;
use toml::{Table, Value};

use super::Draft;

/// How much to think, by the same words.
const REASONING: &[&str] = &["off", "low", "medium", "high"];

/// The name that a section's provider and model make, if they make one.
pub(super) fn named(section: &Table, fallback_provider: Option<&str>) -> Option<Result<String, String>> {
    let text = |key: &str| section.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let model = text("model")?;
    let provider = text("provider").or(fallback_provider);
    let name = match provider {
        Some(provider) => format!("{provider}/{model}"),
        None => model.to_owned(),
    };
    Some(name.parse::<ModelName>().map(|name| name.to_string()).map_err(|error| error.to_string()))
}

/// Sets a model in a section of ours; says why not otherwise.
pub(super) fn write(name: &str, section: &Table, provider: Option<&str>, ours: &[&str], draft: &mut Draft) {
    match named(section, provider) {
        Some(Ok(model)) => {
            address(name, section, &model, draft);
            draft.set(ours, "model", model);
        }
        Some(Err(why)) => draft.note(&format!("{name}.model"), &format!("is left out: {why}")),
        None if section.contains_key("provider") => draft.note(
            &format!("{name}.provider"),
            "is left out: the service stands before the model's name here, and no model is named",
        ),
        None => {}
    }
}

/// An address belongs to a service here, and not to a model.
fn address(name: &str, section: &Table, model: &str, draft: &mut Draft) {
    let Some(url) = section.get("base_url").and_then(Value::as_str).filter(|url| !url.is_empty()) else {
        return;
    };
    let service = model.split('/').next().unwrap_or_default();
    let ours = ["services", service];
    match draft.get(&ours, "base_url").and_then(Value::as_str) {
        Some(other) if other != url => draft.note(
            &format!("{name}.base_url"),
            &format!("is left out: the service `{service}` has one address here, and it is {other}"),
        ),
        _ => draft.set(&ours, "base_url", url),
    }
}

/// `thinking` of a profile.
pub(super) fn reasoning(name: &str, value: &Value, ours: &[&str], draft: &mut Draft) {
    match value.as_str() {
        Some(word) if REASONING.contains(&word) => draft.set(ours, "reasoning", word),
        // The model decides by itself, which is how it is without the key.
        Some("auto" | "") => {}
        _ => draft.note(name, "is not known: `reasoning` is off, low, medium or high"),
    }
}
