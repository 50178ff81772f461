//! Values of settings.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use convoke_core::Money;
use convoke_models::choose::{address, header};
use convoke_text::duration;
use serde_json::json;

/// A value. What may be secret in it (headers, passwords in addresses) is never shown.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
    /// An address.
    Address(String),
    /// A path.
    Path(PathBuf),
    /// Paths.
    Paths(Vec<PathBuf>),
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// A time.
    Time(Duration),
    /// An amount of money.
    Money(Money),
    /// Headers.
    Headers(BTreeMap<String, String>),
}

impl Value {
    /// Returns the value as JSON, without secrets.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => json!(text),
            Self::Texts(texts) => json!(texts),
            Self::Address(address) => json!(address::shown(address)),
            Self::Path(path) => json!(path.display().to_string()),
            Self::Paths(paths) => {
                json!(paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>())
            }
            Self::Flag(flag) => json!(flag),
            Self::Whole(number) => json!(number),
            Self::Number(number) => json!(number),
            Self::Time(time) => json!(duration::exact(*time)),
            Self::Money(money) => json!(money.as_micros() as f64 / 1e6),
            Self::Headers(headers) => {
                let shown = headers.iter().map(|(name, value)| (name.clone(), json!(hidden(value))));
                serde_json::Value::Object(shown.collect())
            }
        }
    }

    /// Whether this one, from a file nobody vouches for, allows no more than `other`.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => one <= other,
            (Self::Number(one), Self::Number(other)) => one <= other,
            (Self::Time(one), Self::Time(other)) => one <= other,
            (Self::Money(one), Self::Money(other)) => one <= other,
            // The one flag of this kind forbids something.
            (Self::Flag(one), Self::Flag(other)) => *one || !other,
            // An empty list lets everybody in.
            (Self::Texts(one), Self::Texts(other)) => {
                other.is_empty() || (!one.is_empty() && one.iter().all(|text| other.contains(text)))
            }
            _ => false,
        }
    }
}

/// What is said of a header's value.
fn hidden(value: &str) -> String {
    match header::variables(value)[..] {
        [] => "set, hidden".to_owned(),
        ref names => format!("set, from {}", names.join(", ")),
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(formatter, "{text}"),
            Self::Texts(texts) if texts.is_empty() => write!(formatter, "none"),
            Self::Texts(texts) => write!(formatter, "{}", texts.join(", ")),
            Self::Address(address) => write!(formatter, "{}", address::shown(address)),
            Self::Path(path) => write!(formatter, "{}", path.display()),
            Self::Paths(paths) if paths.is_empty() => write!(formatter, "none"),
            Self::Paths(paths) => {
                let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
                write!(formatter, "{}", paths.join(", "))
            }
            Self::Flag(flag) => write!(formatter, "{flag}"),
            Self::Whole(number) => write!(formatter, "{number}"),
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Time(time) => write!(formatter, "{}", duration::exact(*time)),
            Self::Money(money) => write!(formatter, "${}", dollars(*money)),
            Self::Headers(headers) => {
                let shown: Vec<_> =
                    headers.iter().map(|(name, value)| format!("{name} ({})", hidden(value))).collect();
                write!(formatter, "{}", shown.join(", "))
            }
        }
    }
}

/// `1.50`, `0.0001`.
fn dollars(money: Money) -> String {
    let micros = money.as_micros();
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    let kept = text.trim_end_matches('0').len().max(text.len() - 4);
    text[..kept].to_owned()
}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}
