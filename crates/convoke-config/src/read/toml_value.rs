//! Values out of TOML.

use std::collections::BTreeMap;
use std::ops::Range;

use convoke_text::keyed::called;
use http::{HeaderName, HeaderValue};
use toml::Spanned;
use toml::de::DeValue;

use super::resolved;
use super::text::{Base, Unfit, from_string, host, model, number, whole};
use crate::Value;
use crate::schema::Kind;

/// What is wrong with a part of a value.
pub(super) struct Wrong {
    pub(super) span: Range<usize>,
    pub(super) unfit: Unfit,
    /// What to write instead, in words.
    pub(super) advice: Option<String>,
}

/// The value, or everything that is wrong with it.
pub(super) fn value(kind: Kind, written: &Spanned<DeValue<'_>>, base: Base<'_>) -> Result<Value, Vec<Wrong>> {
    let one = |unfit: Unfit| vec![Wrong { span: written.span(), unfit, advice: None }];
    match (kind, written.get_ref()) {
        (Kind::Models, DeValue::Array(_)) => list(kind, written, &|text| model(text, base)).map(Value::Texts),
        (Kind::Hosts, DeValue::Array(_)) => list(kind, written, &host).map(Value::Texts),
        (Kind::Texts, DeValue::Array(_)) => list(kind, written, &filled).map(Value::Texts),
        (Kind::Paths, DeValue::Array(_)) => {
            let paths = list(kind, written, &filled)?;
            Ok(Value::Paths(paths.iter().map(|path| resolved(path, base.folder, base.home)).collect()))
        }
        (Kind::Headers, DeValue::Table(_)) => headers(written),
        (Kind::Variables, DeValue::Table(_)) => variables(written),
        (Kind::Flag, DeValue::Boolean(flag)) => Ok(Value::Flag(*flag)),
        (Kind::Whole { .. }, DeValue::Integer(integer)) => {
            let number = u64::from_str_radix(integer.as_str(), integer.radix());
            number.map_err(|_| one(expected(kind))).and_then(|number| whole(kind, number).map_err(one))
        }
        (Kind::Number { .. } | Kind::Positive | Kind::Dollars, DeValue::Integer(integer)) => {
            let whole = i64::from_str_radix(integer.as_str(), integer.radix());
            whole.map_err(|_| one(expected(kind))).and_then(|whole| number(kind, whole as f64).map_err(one))
        }
        (Kind::Number { .. } | Kind::Positive | Kind::Dollars, DeValue::Float(float)) => {
            let float = float.as_str().parse::<f64>();
            float.map_err(|_| one(expected(kind))).and_then(|float| number(kind, float).map_err(one))
        }
        (
            Kind::Model
            | Kind::Profile
            | Kind::Text
            | Kind::Path
            | Kind::Address
            | Kind::Time
            | Kind::OneOf(_),
            DeValue::String(text),
        ) => from_string(kind, text, base).map_err(one),
        (_, other) => Err(vec![Wrong {
            span: written.span(),
            unfit: Unfit::new(format!("expected {}, found {}", kind.expected(), called(other))),
            advice: advice(kind, other),
        }]),
    }
}

fn expected(kind: Kind) -> Unfit {
    Unfit::new(format!("expected {}", kind.expected()))
}

fn filled(text: &str) -> Result<String, Unfit> {
    if text.trim().is_empty() {
        Err(Unfit::new("an empty text means nothing here"))
    } else {
        Ok(text.to_owned())
    }
}

/// Texts of a list, each checked.
fn list(
    kind: Kind,
    written: &Spanned<DeValue<'_>>,
    check: &dyn Fn(&str) -> Result<String, Unfit>,
) -> Result<Vec<String>, Vec<Wrong>> {
    let DeValue::Array(items) = written.get_ref() else {
        return Err(vec![Wrong { span: written.span(), unfit: expected(kind), advice: None }]);
    };
    let mut texts = Vec::new();
    let mut wrong = Vec::new();
    for item in items.iter() {
        let checked = match item.get_ref() {
            DeValue::String(text) => check(text),
            other => Err(Unfit::new(format!("expected {}, found {}", kind.expected(), called(other)))),
        };
        match checked {
            Ok(text) => texts.push(text),
            Err(unfit) => wrong.push(Wrong { span: item.span(), unfit, advice: None }),
        }
    }
    if wrong.is_empty() { Ok(texts) } else { Err(wrong) }
}

/// Headers by name.
fn headers(written: &Spanned<DeValue<'_>>) -> Result<Value, Vec<Wrong>> {
    let mut headers = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, value) in written.get_ref().as_table().into_iter().flatten() {
        let mut blame = |span: Range<usize>, message: &str| {
            wrong.push(Wrong { span, unfit: Unfit::new(message), advice: None });
        };
        if name.get_ref().parse::<HeaderName>().is_err() {
            blame(name.span(), "this is no name for a header");
        }
        match value.get_ref().as_str() {
            None => blame(value.span(), "a header's value is a text between quotes"),
            Some(text) if HeaderValue::from_str(text).is_err() => {
                blame(value.span(), "this has characters no header can carry");
            }
            Some(text) => {
                headers.insert(name.get_ref().to_ascii_lowercase(), text.to_owned());
            }
        }
    }
    if wrong.is_empty() { Ok(Value::Headers(headers)) } else { Err(wrong) }
}

/// Variables by name.
fn variables(written: &Spanned<DeValue<'_>>) -> Result<Value, Vec<Wrong>> {
    let mut variables = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, value) in written.get_ref().as_table().into_iter().flatten() {
        let mut blame = |span: Range<usize>, message: &str| {
            wrong.push(Wrong { span, unfit: Unfit::new(message), advice: None });
        };
        if name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
            blame(name.span(), "this is no name for a variable");
        }
        match value.get_ref().as_str() {
            None => blame(value.span(), "a variable's value is a text between quotes"),
            Some(text) if text.contains('\0') => {
                blame(value.span(), "this has characters no variable can carry")
            }
            Some(text) => {
                variables.insert(name.get_ref().to_string(), text.to_owned());
            }
        }
    }
    if wrong.is_empty() { Ok(Value::Headers(variables)) } else { Err(wrong) }
}

/// What to write, where it is only a matter of notation.
fn advice(kind: Kind, found: &DeValue<'_>) -> Option<String> {
    match (kind, found) {
        (
            Kind::Whole { .. } | Kind::Number { .. } | Kind::Positive | Kind::Dollars | Kind::Flag,
            DeValue::String(_),
        ) => Some("write it without quotes".to_owned()),
        (Kind::Time, DeValue::Integer(number)) => {
            Some(format!("a time has a unit: write \"{number}s\" for seconds"))
        }
        (Kind::Models | Kind::Texts | Kind::Hosts | Kind::Paths, DeValue::String(_)) => {
            Some("a list stands between [ and ], also if there is only one".to_owned())
        }
        (Kind::Whole { .. }, DeValue::Float(_)) => Some("write it without a fraction".to_owned()),
        _ => None,
    }
}
