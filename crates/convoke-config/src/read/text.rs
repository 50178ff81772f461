//! Parses values out of strings: between quotes in a file, in a variable, or on the command line.

use std::path::Path;

use convoke_core::Money;
use convoke_models::choose::REHEARSAL;
use convoke_models::{ModelName, UnknownModel};
use convoke_text::{duration, nearest};
use url::Url;

use super::resolved;
use crate::Value;
use crate::schema::ValueKind;

/// The problem with a text that is not what is needed.
pub(crate) struct ValueProblem {
    /// What is wrong with it, to go on after the key's name.
    pub(crate) message: String,
    /// What was most likely meant.
    pub(crate) meant: Option<String>,
}

impl ValueProblem {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), meant: None }
    }
}

/// The base of relative paths.
#[derive(Clone, Copy)]
pub(crate) struct Base<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) home: Option<&'a Path>,
}

/// A value out of a text that stands alone: several are between commas, paths as the system separates them.
pub(crate) fn from_text(kind: ValueKind, text: &str, base: Base<'_>) -> Result<Value, ValueProblem> {
    let text = text.trim();
    let parts = || text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let expected = || ValueProblem::new(format!("expected {}", kind.expected()));
    match kind {
        ValueKind::Models => {
            Ok(Value::Texts(parts().map(|part| model(part, base)).collect::<Result<_, _>>()?))
        }
        ValueKind::Texts => Ok(Value::Texts(parts().map(str::to_owned).collect())),
        ValueKind::Hosts => Ok(Value::Texts(parts().map(host).collect::<Result<_, _>>()?)),
        ValueKind::Paths => Ok(Value::Paths(
            std::env::split_paths(text)
                .filter(|path| !path.as_os_str().is_empty())
                .map(|path| resolved(&path.to_string_lossy(), base.folder, base.home))
                .collect(),
        )),
        ValueKind::Flag => match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(Value::Flag(true)),
            "false" | "0" | "no" | "off" => Ok(Value::Flag(false)),
            _ => Err(expected()),
        },
        ValueKind::Whole { .. } => whole(kind, text.replace('_', "").parse().map_err(|_| expected())?),
        ValueKind::Number { .. } | ValueKind::Positive | ValueKind::Dollars => {
            number(kind, text.trim_start_matches('$').parse().map_err(|_| expected())?)
        }
        _ => from_string(kind, text, base),
    }
}

/// A value out of one text.
pub(crate) fn from_string(kind: ValueKind, text: &str, base: Base<'_>) -> Result<Value, ValueProblem> {
    let expected = || ValueProblem::new(format!("expected {}", kind.expected()));
    if text.trim().is_empty() {
        return Err(expected());
    }
    match kind {
        ValueKind::Model => Ok(Value::Text(model(text, base)?)),
        ValueKind::Profile | ValueKind::Text => Ok(Value::Text(text.to_owned())),
        ValueKind::Path => Ok(Value::Path(resolved(text, base.folder, base.home))),
        ValueKind::Address => match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {
                Ok(Value::Address(text.to_owned()))
            }
            _ => Err(expected()),
        },
        ValueKind::Time => match duration::parse(text) {
            Ok(time) if !time.is_zero() => Ok(Value::Time(time)),
            Ok(_) => Err(expected()),
            Err(error) => Err(ValueProblem::new(error.to_string())),
        },
        ValueKind::OneOf(words) if words.contains(&text) => Ok(Value::Text(text.to_owned())),
        ValueKind::OneOf(words) => {
            Err(ValueProblem { meant: nearest(text, words.iter().copied()).map(str::to_owned), ..expected() })
        }
        _ => Err(expected()),
    }
}

/// A model's name that says where the model is. A file it names is beside the configuration that says so.
pub(crate) fn model(text: &str, base: Base<'_>) -> Result<String, ValueProblem> {
    let name: ModelName = text.parse().map_err(|error: UnknownModel| ValueProblem::new(error.to_string()))?;
    let beside = |path: &str| resolved(path, base.folder, base.home).display().to_string();
    Ok(match name {
        // Not a file, wherever it is said.
        ModelName::Scripted { path } if path == REHEARSAL => text.to_owned(),
        ModelName::Scripted { path } => ModelName::Scripted { path: beside(&path) }.to_string(),
        ModelName::Local { model } if ["./", "../", "~/"].iter().any(|start| model.starts_with(start)) => {
            ModelName::Local { model: beside(&model) }.to_string()
        }
        _ => text.to_owned(),
    })
}

/// A host without anything else.
pub(crate) fn host(text: &str) -> Result<String, ValueProblem> {
    let text = text.trim();
    let has_port = text.contains(':') && !(text.starts_with('[') && text.ends_with(']'));
    let wrong = text.is_empty() || has_port || text.contains(['/', ' ', '@', '*']);
    if wrong {
        return Err(ValueProblem::new(
            "expected a host alone, such as \"proxy.example\", without a scheme, a port or a path",
        ));
    }
    Ok(text.to_ascii_lowercase())
}

/// A whole number within what the kind allows.
pub(crate) fn whole(kind: ValueKind, number: u64) -> Result<Value, ValueProblem> {
    match kind {
        ValueKind::Whole { least, most } if (least..=most).contains(&number) => Ok(Value::Whole(number)),
        _ => Err(ValueProblem::new(format!("expected {}", kind.expected()))),
    }
}

/// A number within what the kind allows.
pub(crate) fn number(kind: ValueKind, number: f64) -> Result<Value, ValueProblem> {
    let fits = match kind {
        ValueKind::Number { least, most } => (least..=most).contains(&number),
        ValueKind::Positive => number.is_finite() && number > 0.0,
        ValueKind::Dollars => (0.0..=1e9).contains(&number),
        _ => false,
    };
    match kind {
        _ if !fits => Err(ValueProblem::new(format!("expected {}", kind.expected()))),
        // At most a thousand million dollars: nothing is lost, and nothing is negative.
        ValueKind::Dollars => Ok(Value::Money(Money::from_micros((number * 1e6).round() as u64))),
        _ => Ok(Value::Number(number)),
    }
}
