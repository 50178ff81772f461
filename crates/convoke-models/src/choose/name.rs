//! Model names: `service/model`, or a model whose service follows from its name.

use std::fmt;
use std::str::FromStr;

use convoke_text::nearest;

use super::Service;

/// The prefix of models that run in this process.
pub const LOCAL: &str = "local";

/// The prefix of scripted models, before their file.
pub const SCRIPTED: &str = "scripted";

/// The name in place of a file for a model that answers anything: `scripted/rehearsal`.
pub const REHEARSAL: &str = "rehearsal";

/// The name of a model, and where it runs.
///
/// ```
/// use convoke_models::ModelName;
///
/// let name: ModelName = "claude-sonnet-4-5".parse()?;
/// assert_eq!(name.to_string(), "anthropic/claude-sonnet-4-5");
///
/// let error = "antropic/claude-sonnet-4-5".parse::<ModelName>().unwrap_err();
/// assert!(error.to_string().contains("did you mean `anthropic/claude-sonnet-4-5`?"), "{error}");
/// # Ok::<(), convoke_models::UnknownModel>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelName {
    /// A service's.
    Remote {
        /// The service.
        service: &'static Service,
        /// The model as the service knows it.
        model: String,
    },
    /// One that runs in this process.
    Local {
        /// Its name in the library of model files, or a path.
        model: String,
    },
    /// One that answers from a file.
    Scripted {
        /// The file, or [`REHEARSAL`].
        path: String,
    },
}

impl ModelName {
    /// Returns the same model by a name that means it from every folder: a file has its whole path in it.
    #[must_use]
    pub fn absolute(self) -> Self {
        let whole = |path: String| match std::path::absolute(&path) {
            Ok(whole) if !path.starts_with("~/") => whole.display().to_string(),
            _ => path,
        };
        match self {
            Self::Scripted { path } if path != REHEARSAL => Self::Scripted { path: whole(path) },
            Self::Local { model } if is_file(&model) => Self::Local { model: whole(model) },
            other => other,
        }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remote { service, model } => write!(formatter, "{}/{model}", service.name),
            Self::Local { model } => write!(formatter, "{LOCAL}/{model}"),
            Self::Scripted { path } => write!(formatter, "{SCRIPTED}/{path}"),
        }
    }
}

/// A name that tells nobody where the model is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` does not say where the model is: {advice}")]
pub struct UnknownModel {
    name: String,
    advice: String,
}

impl FromStr for ModelName {
    type Err = UnknownModel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.trim();
        let unknown = |advice: String| UnknownModel { name: name.to_owned(), advice };
        if name.is_empty() {
            return Err(unknown("it is empty".to_owned()));
        }
        // As it is written when it is shown: `local/` and a path.
        let file = name.strip_prefix("local/").filter(|rest| begins_like_a_path(rest)).unwrap_or(name);
        if is_file(file) {
            return Ok(Self::Local { model: file.to_owned() });
        }
        let Some((place, model)) = name.split_once('/') else {
            let service = Service::of_model(name).ok_or_else(|| {
                unknown(format!("write `service/{name}`, where the service is one of {}", places()))
            })?;
            return Ok(Self::Remote { service, model: name.to_owned() });
        };
        if model.is_empty() {
            return Err(unknown(format!("what is the model called? Write `{place}/model`")));
        }
        if place.eq_ignore_ascii_case(LOCAL) {
            return Ok(Self::Local { model: model.to_owned() });
        }
        if place.eq_ignore_ascii_case(SCRIPTED) {
            return Ok(Self::Scripted { path: model.to_owned() });
        }
        if let Some(service) = Service::named(place) {
            return Ok(Self::Remote { service, model: model.to_owned() });
        }
        let known: Vec<_> =
            Service::ALL.iter().map(|service| service.name).chain([LOCAL, SCRIPTED]).collect();
        Err(unknown(match nearest(place, known) {
            Some(near) => format!("did you mean `{near}/{model}`?"),
            None => format!("there is no service `{place}`; there are {}", places()),
        }))
    }
}

/// A path to a file, rather than a name.
fn is_file(name: &str) -> bool {
    name.ends_with(".gguf") || begins_like_a_path(name)
}

fn begins_like_a_path(name: &str) -> bool {
    ["/", "./", "../", "~/"].iter().any(|start| name.starts_with(start))
}

fn places() -> String {
    let mut names: Vec<_> = Service::ALL.iter().map(|service| service.name).collect();
    names.extend([LOCAL, SCRIPTED]);
    names.join(", ")
}
