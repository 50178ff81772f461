//! Lays out a cassette's JSON for people, so that a diff shows what changed.
//!
//! JSON is laid out as text and never taken apart and put together again: keys keep their order and numbers their
//! digits.

use convoke_text::hex;
use serde_json::Value;

use super::exchange::{
    BodyEnding, Event, EventData, Exchange, RecordedReply, RecordedRequest, ReplyBody, RequestBody,
};
use super::file::VERSION;

/// What fits in this many columns stays on one line.
const WIDTH: usize = 100;

/// The file's text.
pub(super) fn write<'a>(exchanges: impl Iterator<Item = &'a Exchange>) -> String {
    let exchanges: Vec<String> = exchanges.map(exchange).collect();
    let list = if exchanges.is_empty() { String::new() } else { format!("\n{}\n  ", exchanges.join(",\n")) };
    format!("{{\n  \"cassette\": {VERSION},\n  \"exchanges\": [{list}]\n}}\n")
}

fn exchange(exchange: &Exchange) -> String {
    let request = object(3, &request(&exchange.request));
    let reply = object(3, &reply(&exchange.reply));
    format!("    {}", object(2, &[("request", request), ("reply", reply)]))
}

fn request(asked: &RecordedRequest) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("method", quoted(asked.method.as_str())),
        ("url", quoted(&format!("{}{}", asked.place, asked.path))),
    ];
    fields.extend(match &asked.body {
        RequestBody::Empty => None,
        RequestBody::Json(value) => Some(("json", pretty(&value.to_string(), 4))),
        RequestBody::Text(text) => Some(("text", quoted(text))),
        RequestBody::Bytes(bytes) => Some(("hex", quoted(&hex(bytes)))),
    });
    fields
}

fn reply(answered: &RecordedReply) -> Vec<(&'static str, String)> {
    let headers = answered.headers.iter();
    let headers = headers.filter_map(|(name, value)| Some((name.as_str(), quoted(value.to_str().ok()?))));
    let mut fields = vec![("status", answered.status.as_str().to_owned())];
    fields.push(("headers", object(4, &headers.collect::<Vec<_>>())));
    fields.extend(match &answered.body {
        ReplyBody::Empty => None,
        ReplyBody::Events(list) => Some(("events", events(list))),
        ReplyBody::Lines(list) => Some(("lines", events(list))),
        ReplyBody::Document(text) => Some(("json", pretty(text, 4))),
        ReplyBody::Text(text) => Some(("text", quoted(text))),
        ReplyBody::Bytes(bytes) => Some(("hex", quoted(&hex(bytes)))),
    });
    match answered.ending {
        BodyEnding::Whole => {}
        BodyEnding::Cut => fields.push(("ending", quoted("cut"))),
        BodyEnding::Dropped => fields.push(("ending", quoted("dropped"))),
    }
    fields
}

/// One event to a line.
fn events(events: &[Event]) -> String {
    if events.is_empty() {
        return "[]".to_owned();
    }
    let lines: Vec<String> = events.iter().map(|one| format!("{}{}", blanks(5), event(one))).collect();
    format!("[\n{}\n{}]", lines.join(",\n"), blanks(4))
}

fn event(event: &Event) -> String {
    let mut fields = Vec::new();
    if event.joined {
        fields.push("\"joined\": true".to_owned());
    }
    if let Some(name) = &event.name {
        fields.push(format!("\"event\": {}", quoted(name)));
    }
    fields.push(match &event.data {
        EventData::Json(json) => format!("\"json\": {json}"),
        EventData::Text(text) => format!("\"text\": {}", quoted(text)),
    });
    format!("{{{}}}", fields.join(", "))
}

/// An object of values that are laid out already, one to a line.
fn object(depth: usize, fields: &[(&str, String)]) -> String {
    if fields.is_empty() {
        return "{}".to_owned();
    }
    let line = |(name, value): &(&str, String)| format!("{}{}: {value}", blanks(depth + 1), quoted(name));
    format!("{{\n{}\n{}}}", fields.iter().map(line).collect::<Vec<_>>().join(",\n"), blanks(depth))
}

/// A JSON text without the blanks between its tokens.
pub(super) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(next) = rest.chars().next() {
        let token = token(rest);
        if !next.is_ascii_whitespace() {
            out.push_str(token);
        }
        rest = &rest[token.len()..];
    }
    out
}

/// A JSON text over several lines, those after the first at this depth. What fits stays on one line, and so do lists of
/// numbers, of which an embedding is a long one.
fn pretty(json: &str, depth: usize) -> String {
    let mut out = String::new();
    lay_out(&compact(json), depth, &mut out);
    out
}

fn lay_out(value: &str, depth: usize, out: &mut String) {
    let is_nested = value.starts_with(['{', '[']);
    let is_flat = value.starts_with('[') && !value.contains(['{', '"']) && !value[1..].contains('[');
    if !is_nested || is_flat || value.len() <= 2 || depth * 2 + value.len() <= WIDTH {
        return spaced(value, out);
    }
    let (open, inner, close) = (&value[..1], &value[1..value.len() - 1], &value[value.len() - 1..]);
    out.push_str(open);
    for (index, member) in members(inner).into_iter().enumerate() {
        out.push_str(if index > 0 { ",\n" } else { "\n" });
        out.push_str(&blanks(depth + 1));
        let mut value = member;
        if open == "{" {
            let name = token(member);
            out.push_str(name);
            out.push_str(": ");
            value = &member[name.len() + 1..];
        }
        lay_out(value, depth + 1, out);
    }
    out.push('\n');
    out.push_str(&blanks(depth));
    out.push_str(close);
}

/// What stands between the commas of a list or object.
fn members(inner: &str) -> Vec<&str> {
    let (mut members, mut level, mut start, mut at) = (Vec::new(), 0_usize, 0, 0);
    while at < inner.len() {
        let token = token(&inner[at..]);
        match token {
            "{" | "[" => level += 1,
            "}" | "]" => level = level.saturating_sub(1),
            "," if level == 0 => {
                members.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += token.len();
    }
    members.push(&inner[start..]);
    members
}

/// On one line, with a blank after each comma and colon.
fn spaced(value: &str, out: &mut String) {
    let mut rest = value;
    while !rest.is_empty() {
        let token = token(rest);
        out.push_str(token);
        if token == "," || token == ":" {
            out.push(' ');
        }
        rest = &rest[token.len()..];
    }
}

/// The token a text begins with: a whole string, or one character.
fn token(text: &str) -> &str {
    if !text.starts_with('"') {
        return &text[..text.chars().next().map_or(0, char::len_utf8)];
    }
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        is_end
    });
    end.map_or(text, |end| &text[..end + 2])
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn blanks(depth: usize) -> String {
    "  ".repeat(depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_without_a_change_to_its_tokens() {
        let json = r#"{"b":1.50,"a":"{[,:]} \"\\","long":"0123456789012345678901234567890123456789","list":[1,2,{}],"e":[],"big":12345678901234567890123,"ü":"ß"}"#;
        let laid_out = pretty(json, 0);
        assert_eq!(
            laid_out,
            r#"{
  "b": 1.50,
  "a": "{[,:]} \"\\",
  "long": "0123456789012345678901234567890123456789",
  "list": [1, 2, {}],
  "e": [],
  "big": 12345678901234567890123,
  "ü": "ß"
}"#
        );
        assert_eq!(compact(&laid_out), json);
    }

    #[test]
    fn numbers_stay_on_one_line_however_many() {
        let numbers = format!("[{}1]", "0.25,".repeat(100));
        assert_eq!(pretty(&numbers, 0).lines().count(), 1);
        assert_eq!(compact(&pretty(&numbers, 0)), numbers);
    }

    proptest::proptest! {
        #[test]
        fn any_json_survives(value in json()) {
            let text = value.to_string();
            let laid_out = pretty(&text, 0);
            proptest::prop_assert_eq!(&serde_json::from_str::<Value>(&laid_out).unwrap(), &value);
            proptest::prop_assert_eq!(compact(&laid_out), text);
        }
    }

    fn json() -> impl proptest::strategy::Strategy<Value = Value> {
        use proptest::prelude::*;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            ".{0,40}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(".{0,8}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }
}
