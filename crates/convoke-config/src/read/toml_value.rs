//! Parses values out of TOML.

use std::collections::BTreeMap;
use std::ops::Range;

use convoke_text::keyed::called;
use http::{HeaderName, HeaderValue};
use toml::Spanned;
use toml::de::DeValue;

use super::resolved;
use super::text::{Base, ValueProblem, from_string, host, model, number, whole};
use crate::Value;
use crate::schema::ValueKind;

/// A problem with a part of a value, with its span.
pub(super) struct SpannedProblem {
    pub(super) span: Range<usize>,
    pub(super) problem: ValueProblem,
    /// What to write instead, in words.
    pub(super) advice: Option<String>,
}

/// The value, or everything that is wrong with it.
pub(super) fn value(
    kind: ValueKind,
    written: &Spanned<DeValue<'_>>,
    base: Base<'_>,
) -> Result<Value, Vec<SpannedProblem>> {
    let one = |problem: ValueProblem| vec![SpannedProblem { span: written.span(), problem, advice: None }];
    match (kind, written.get_ref()) {
        (ValueKind::Models, DeValue::Array(_)) => {
            list(kind, written, &|text| model(text, base)).map(Value::Texts)
        }
        (ValueKind::Hosts, DeValue::Array(_)) => list(kind, written, &host).map(Value::Texts),
        (ValueKind::Texts, DeValue::Array(_)) => list(kind, written, &filled).map(Value::Texts),
        (ValueKind::Paths, DeValue::Array(_)) => {
            let paths = list(kind, written, &filled)?;
            Ok(Value::Paths(paths.iter().map(|path| resolved(path, base.folder, base.home)).collect()))
        }
        (ValueKind::Headers, DeValue::Table(_)) => headers(written),
        (ValueKind::Variables, DeValue::Table(_)) => variables(written),
        (ValueKind::Flag, DeValue::Boolean(flag)) => Ok(Value::Flag(*flag)),
        (ValueKind::Whole { .. }, DeValue::Integer(integer)) => {
            let number = u64::from_str_radix(integer.as_str(), integer.radix());
            number.map_err(|_| one(expected(kind))).and_then(|number| whole(kind, number).map_err(one))
        }
        (ValueKind::Number { .. } | ValueKind::Positive | ValueKind::Dollars, DeValue::Integer(integer)) => {
            let whole = i64::from_str_radix(integer.as_str(), integer.radix());
            whole.map_err(|_| one(expected(kind))).and_then(|whole| number(kind, whole as f64).map_err(one))
        }
        (ValueKind::Number { .. } | ValueKind::Positive | ValueKind::Dollars, DeValue::Float(float)) => {
            let float = float.as_str().parse::<f64>();
            float.map_err(|_| one(expected(kind))).and_then(|float| number(kind, float).map_err(one))
        }
        (
            ValueKind::Model
            | ValueKind::Profile
            | ValueKind::Text
            | ValueKind::Path
            | ValueKind::Address
            | ValueKind::Time
            | ValueKind::OneOf(_),
            DeValue::String(text),
        ) => from_string(kind, text, base).map_err(one),
        (_, other) => Err(vec![SpannedProblem {
            span: written.span(),
            problem: ValueProblem::new(format!("expected {}, found {}", kind.expected(), called(other))),
            advice: advice(kind, other),
        }]),
    }
}

fn expected(kind: ValueKind) -> ValueProblem {
    ValueProblem::new(format!("expected {}", kind.expected()))
}

fn filled(text: &str) -> Result<String, ValueProblem> {
    if text.trim().is_empty() {
        Err(ValueProblem::new("an empty text means nothing here"))
    } else {
        Ok(text.to_owned())
    }
}

/// Texts of a list, each checked.
fn list(
    kind: ValueKind,
    written: &Spanned<DeValue<'_>>,
    check: &dyn Fn(&str) -> Result<String, ValueProblem>,
) -> Result<Vec<String>, Vec<SpannedProblem>> {
    let DeValue::Array(items) = written.get_ref() else {
        return Err(vec![SpannedProblem { span: written.span(), problem: expected(kind), advice: None }]);
    };
    let mut texts = Vec::new();
    let mut found = Vec::new();
    for item in items.iter() {
        let checked = match item.get_ref() {
            DeValue::String(text) => check(text),
            other => Err(ValueProblem::new(format!("expected {}, found {}", kind.expected(), called(other)))),
        };
        match checked {
            Ok(text) => texts.push(text),
            Err(problem) => found.push(SpannedProblem { span: item.span(), problem, advice: None }),
        }
    }
    if found.is_empty() { Ok(texts) } else { Err(found) }
}

/// Headers by name.
fn headers(written: &Spanned<DeValue<'_>>) -> Result<Value, Vec<SpannedProblem>> {
    let mut headers = BTreeMap::new();
    let mut found = Vec::new();
    for (name, value) in written.get_ref().as_table().into_iter().flatten() {
        let mut blame = |span: Range<usize>, message: &str| {
            found.push(SpannedProblem { span, problem: ValueProblem::new(message), advice: None });
        };
        if name.get_ref().parse::<HeaderName>().is_err() {
            blame(name.span(), "not a valid header name");
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
    if found.is_empty() { Ok(Value::Headers(headers)) } else { Err(found) }
}

/// Variables by name.
fn variables(written: &Spanned<DeValue<'_>>) -> Result<Value, Vec<SpannedProblem>> {
    let mut variables = BTreeMap::new();
    let mut found = Vec::new();
    for (name, value) in written.get_ref().as_table().into_iter().flatten() {
        let mut blame = |span: Range<usize>, message: &str| {
            found.push(SpannedProblem { span, problem: ValueProblem::new(message), advice: None });
        };
        if name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
            blame(name.span(), "not a valid variable name");
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
    if found.is_empty() { Ok(Value::Headers(variables)) } else { Err(found) }
}

/// What to write, where it is only a matter of notation.
fn advice(kind: ValueKind, found: &DeValue<'_>) -> Option<String> {
    match (kind, found) {
        (
            ValueKind::Whole { .. }
            | ValueKind::Number { .. }
            | ValueKind::Positive
            | ValueKind::Dollars
            | ValueKind::Flag,
            DeValue::String(_),
        ) => Some("write it without quotes".to_owned()),
        (ValueKind::Time, DeValue::Integer(number)) => {
            Some(format!("a time has a unit: write \"{number}s\" for seconds"))
        }
        (ValueKind::Models | ValueKind::Texts | ValueKind::Hosts | ValueKind::Paths, DeValue::String(_)) => {
            Some("a list stands between [ and ], also if there is only one".to_owned())
        }
        (ValueKind::Whole { .. }, DeValue::Float(_)) => Some("write it without a fraction".to_owned()),
        _ => None,
    }
}
