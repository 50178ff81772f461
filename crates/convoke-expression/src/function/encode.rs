//! Functions that write values as texts which other programs read, and read those.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use super::convert::unread;
use super::{Evaluated, Fault, Function, Work, function};
use crate::value::{Keys, Value};

pub(crate) const FUNCTIONS: &[Function] = &[
    function("toJSON", 1, 1, "a value", |given, work| {
        let json = given.value(0)?.to_json(work)?;
        let mut text = String::new();
        write(&json, &mut text, work)?;
        Ok(Value::text(text))
    }),
    function("fromJSON", 1, 1, "a text", |given, work| {
        let text = given.text(0)?;
        work.read(text.len())?;
        // Behind each of these a value may stand: they are counted before they are made.
        work.touch(1 + text.bytes().filter(|byte| b",[{".contains(byte)).count())?;
        work.make(text.len())?;
        let json = serde_json::from_str(text).map_err(|error| {
            Fault::Problem(format!("`fromJSON` takes JSON in a text, and this is none: {error}"))
        })?;
        made(json)
    }),
    function("toBase64", 1, 1, "a text", |given, work| {
        let text = given.text(0)?;
        work.make(text.len().saturating_mul(4) / 3)?;
        Ok(Value::text(STANDARD.encode(text.as_bytes())))
    }),
    function("fromBase64", 1, 1, "a text", |given, work| {
        let text = given.text(0)?;
        work.make(text.len())?;
        let bytes = STANDARD.decode(text.as_bytes()).map_err(|_| unread("fromBase64", "Base64", text))?;
        let text = String::from_utf8(bytes);
        let no_text = |_| {
            Fault::Problem("what `fromBase64` is given stands for bytes that are no text in UTF-8".to_owned())
        };
        text.map(Value::text).map_err(no_text)
    }),
];

/// Writes JSON without blanks. Entries stand in the order of their keys, whatever order a build keeps them in.
fn write(json: &Json, written: &mut String, work: &mut Work) -> Evaluated<'static, ()> {
    let begin = written.len();
    match json {
        Json::Array(items) => {
            written.push('[');
            for (place, item) in items.iter().enumerate() {
                written.push_str(if place > 0 { "," } else { "" });
                write(item, written, work)?;
            }
            written.push(']');
            return Ok(());
        }
        Json::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            written.push('{');
            for (place, (key, value)) in entries.into_iter().enumerate() {
                written.push_str(if place > 0 { "," } else { "" });
                written.push_str(&Json::from(key.as_str()).to_string());
                written.push(':');
                write(value, written, work)?;
            }
            written.push('}');
            return Ok(());
        }
        scalar => written.push_str(&scalar.to_string()),
    }
    // Signs may be written with six for one.
    work.make(written.len() - begin)
}

/// JSON as a value that was made, with its entries in the order of their keys.
fn made<'a>(json: Json) -> Evaluated<'a> {
    match json {
        Json::Null => Ok(Value::Nil),
        Json::String(text) => Ok(Value::text(text)),
        Json::Array(items) => Value::list(items.into_iter().map(made).collect::<Result<_, _>>()?),
        Json::Object(entries) => {
            let mut entries: Vec<(String, Json)> = entries.into_iter().collect();
            entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            let entries = entries.into_iter().map(|(key, value)| Ok((Value::text(key), made(value)?)));
            Value::object(entries.collect::<Result<_, Fault>>()?, Keys::Texts)
        }
        Json::Bool(value) => Ok(Value::Bool(value)),
        Json::Number(number) => Ok(match number.as_i64() {
            Some(whole) => Value::Whole(whole),
            None => Value::Float(number.as_f64().unwrap_or(f64::MAX)),
        }),
    }
}
