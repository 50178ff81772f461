//! The `profiles` section: what an Agentfile's `REQUIRES "fast"` asks for.

use std::collections::{BTreeMap, BTreeSet};

use convoke_core::{ModelParams, ReasoningEffort};
use convoke_models::ModelName;
use convoke_text::nearest;

use super::names;
use crate::schema::path;
use crate::{Setting, Value};

/// A profile: a model and its parameters under a name of the user's own.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The model; `None` is the one that is used otherwise.
    pub model: Option<ModelName>,
    /// The models to try, in order, when that one fails for good.
    pub fallback: Vec<ModelName>,
    /// How it is asked.
    pub params: ModelParams,
}

/// A profile that nobody has configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no profile `{name}`: {advice}")]
pub struct UnknownProfile {
    /// The profile.
    pub name: String,
    advice: String,
}

impl UnknownProfile {
    pub(crate) fn new<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Self {
        let advice = match (nearest(name, known.clone()), known.clone().next()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, None) => {
                format!("none are configured; add [profiles.{name}] with a `model` to convoke.toml")
            }
            (None, Some(_)) => {
                let known: Vec<_> = known.map(|name| format!("`{name}`")).collect();
                format!("there are {}; add [profiles.{name}] to convoke.toml", known.join(", "))
            }
        };
        Self { name: name.to_owned(), advice }
    }
}

/// All profiles that are configured.
pub(crate) fn profiles(settings: &[Setting], fallback: &[ModelName]) -> BTreeMap<String, Profile> {
    let mut profiles: BTreeMap<String, Profile> = BTreeMap::new();
    for setting in settings.iter().filter(|setting| setting.key.section() == "profiles") {
        let Some(name) = setting.own_name() else { continue };
        let profile = profiles.entry(name.to_owned()).or_insert_with(|| Profile {
            name: name.to_owned(),
            model: None,
            fallback: Vec::new(),
            params: ModelParams::default(),
        });
        let params = &mut profile.params;
        match (setting.key.path, &setting.value) {
            (path::PROFILES_MODEL, Value::Text(model)) => profile.model = model.parse().ok(),
            (path::PROFILES_FALLBACK, Value::Texts(models)) => profile.fallback = names(models),
            (path::PROFILES_MAX_TOKENS, Value::Whole(tokens)) => {
                params.max_tokens = u32::try_from(*tokens).ok()
            }
            (path::PROFILES_TEMPERATURE, Value::Number(number)) => params.temperature = Some(*number),
            (path::PROFILES_TOP_P, Value::Number(number)) => params.top_p = Some(*number),
            (path::PROFILES_SEED, Value::Whole(seed)) => params.seed = Some(*seed),
            (path::PROFILES_REASONING, Value::Text(effort)) => params.reasoning = reasoning(effort),
            _ => {}
        }
    }
    let say_fallback: BTreeSet<&str> = settings
        .iter()
        .filter(|setting| setting.key.path == path::PROFILES_FALLBACK)
        .filter_map(Setting::own_name)
        .collect();
    for profile in profiles.values_mut() {
        if profile.model.is_none() && !say_fallback.contains(profile.name.as_str()) {
            profile.fallback = fallback.to_vec();
        }
    }
    profiles
}

fn reasoning(effort: &str) -> Option<ReasoningEffort> {
    match effort {
        "off" => Some(ReasoningEffort::Off),
        "low" => Some(ReasoningEffort::Low),
        "medium" => Some(ReasoningEffort::Medium),
        "high" => Some(ReasoningEffort::High),
        _ => None,
    }
}
