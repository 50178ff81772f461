//! Functions that make one kind of value from another.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::mem::discriminant;

use super::{Evaluated, Fault, Function, Work, function};
use crate::value::Value;

pub(crate) const FUNCTIONS: &[Function] = &[
    function("type", 1, 1, "a value", |given, _| {
        Ok(Value::text(match given.value(0)? {
            Value::Nil => "nil",
            Value::Bool(_) => "bool",
            Value::Whole(_) => "int",
            Value::Float(_) => "float",
            Value::Text(_) => "string",
            Value::List(_) => "array",
            Value::Object(_) => "map",
        }))
    }),
    function("int", 1, 1, "a number, or a text that is one", |given, _| match given.value(0)? {
        Value::Whole(number) => Ok(Value::Whole(*number)),
        Value::Float(number) if number.abs() < 9_223_372_036_854_775_808.0 => {
            Ok(Value::Whole(*number as i64))
        }
        Value::Float(_) => Err(Fault::overflow()),
        Value::Text(text) => {
            text.parse().map(Value::Whole).map_err(|_| unread("int", "a whole number", text))
        }
        _ => Err(Fault::Unfit),
    }),
    function("float", 1, 1, "a number, or a text that is one", |given, _| match given.value(0)? {
        Value::Text(text) => text.parse().map(Value::Float).map_err(|_| unread("float", "a number", text)),
        number => number.as_float().map(Value::Float).ok_or(Fault::Unfit),
    }),
    function("string", 1, 1, "a value", |given, work| written(given.value(0)?, work).map(Value::text)),
];

pub(super) fn unread(name: &str, takes: &str, text: &str) -> Fault {
    let start: String = text.chars().take(40).collect();
    Fault::Problem(format!("`{name}` takes {takes} in a text, not \"{start}\""))
}

/// A value as a text, as `string` has it.
pub(crate) fn written(value: &Value<'_>, work: &mut Work) -> Evaluated<'static, String> {
    let mut text = String::new();
    write(value, &mut text, work)?;
    Ok(text)
}

fn write(value: &Value<'_>, written: &mut String, work: &mut Work) -> Evaluated<'static, ()> {
    work.touch(1)?;
    match value {
        Value::Text(text) => {
            work.make(text.len())?;
            written.push_str(text);
        }
        Value::List(items) => {
            written.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    written.push(' ');
                }
                write(&item, written, work)?;
            }
            written.push(']');
        }
        Value::Object(entries) => {
            work.touch(entries.len())?;
            let mut entries: Vec<_> = entries.iter().collect();
            let is_mixed =
                entries.windows(2).any(|pair| discriminant(&pair[0].0) != discriminant(&pair[1].0));
            entries.sort_by(|(one, _), (other, _)| compare_keys(one, other, is_mixed));
            written.push_str("map[");
            for (place, (key, value)) in entries.iter().enumerate() {
                if place > 0 {
                    written.push(' ');
                }
                write(key, written, work)?;
                written.push(':');
                write(value, written, work)?;
            }
            written.push(']');
        }
        other => written.push_str(&scalar(other)),
    }
    Ok(())
}

/// The order of keys; those of different kinds stand in the order of what is written of them.
fn compare_keys(one: &Value<'_>, other: &Value<'_>, is_mixed: bool) -> Ordering {
    // What is no number stands before all that are.
    let number = |number: f64| if number.is_nan() { -f64::NAN.abs() } else { number + 0.0 };
    match (one, other) {
        (Value::Text(one), Value::Text(other)) => (**one).cmp(&**other),
        (Value::Whole(one), Value::Whole(other)) if !is_mixed => one.cmp(other),
        (Value::Float(one), Value::Float(other)) if !is_mixed => number(*one).total_cmp(&number(*other)),
        _ => scalar(one).cmp(&scalar(other)),
    }
}

fn scalar<'v>(value: &'v Value<'_>) -> Cow<'v, str> {
    match value {
        Value::Bool(value) => value.to_string().into(),
        Value::Whole(number) => number.to_string().into(),
        Value::Float(number) => float(*number).into(),
        Value::Text(text) => (&**text).into(),
        _ => "<nil>".into(),
    }
}

/// A number with a point as Go writes it: with an exponent below 0.0001 and from a million on.
fn float(number: f64) -> String {
    if !number.is_finite() {
        return match number.is_nan() {
            true => "NaN".to_owned(),
            false => format!("{}Inf", if number > 0.0 { '+' } else { '-' }),
        };
    }
    let scientific = format!("{number:e}");
    match scientific.split_once('e').map(|(digits, exponent)| (digits, exponent.parse::<i32>().unwrap_or(0)))
    {
        Some((digits, exponent)) if !(-4..6).contains(&exponent) => {
            format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        }
        _ => number.to_string(),
    }
}
