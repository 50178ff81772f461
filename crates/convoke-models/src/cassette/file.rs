//! Reads and writes a cassette's file.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::CassetteError;
use super::exchange::{
    BodyEnding, Event, EventData, Exchange, RecordedReply, RecordedRequest, ReplyBody, RequestBody,
};
use super::layout;

/// The version this program writes, and the newest it reads.
pub(super) const VERSION: u64 = 1;

#[derive(Deserialize)]
struct Head {
    cassette: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredCassette {
    #[serde(rename = "cassette")]
    _version: u64,
    exchanges: Vec<StoredExchange>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredExchange {
    request: StoredRequest,
    reply: StoredReply,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRequest {
    method: String,
    url: String,
    #[serde(default, deserialize_with = "present")]
    json: Option<Value>,
    text: Option<String>,
    hex: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredReply {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    events: Option<Vec<StoredEvent>>,
    lines: Option<Vec<StoredEvent>>,
    #[serde(default, deserialize_with = "present")]
    json: Option<Box<RawValue>>,
    text: Option<String>,
    hex: Option<String>,
    #[serde(default)]
    ending: StoredEnding,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredEvent {
    #[serde(default)]
    joined: bool,
    event: Option<String>,
    #[serde(default, deserialize_with = "present")]
    json: Option<Box<RawValue>>,
    text: Option<String>,
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "snake_case")]
enum StoredEnding {
    #[default]
    Whole,
    Cut,
    Dropped,
}

/// A key that is there, be it with `null`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// What stands in the file.
pub(super) fn read(file: &Path) -> Result<Vec<Exchange>, CassetteError> {
    let text = std::fs::read_to_string(file)
        .map_err(|source| CassetteError::Unreadable { file: file.to_owned(), source })?;
    let malformed = |message: String| CassetteError::Malformed { file: file.to_owned(), message };
    // The version first: what a newer one looks like is not known.
    let head: Head = serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
    if head.cassette > VERSION {
        return Err(CassetteError::Newer { file: file.to_owned(), found: head.cassette, known: VERSION });
    }
    let stored: StoredCassette = serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
    let numbered = (1..).zip(stored.exchanges);
    numbered
        .map(|(number, stored)| {
            exchange(stored).map_err(|message| malformed(format!("exchange {number}: {message}")))
        })
        .collect()
}

/// Writes the file anew, so that there is always a whole one, the old or the new.
pub(super) fn write<'a>(
    file: &Path,
    exchanges: impl Iterator<Item = &'a Exchange>,
) -> Result<(), CassetteError> {
    let text = layout::write(exchanges);
    replace(file, &text).map_err(|source| CassetteError::Unwritable { file: file.to_owned(), source })
}

fn replace(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let temporary = temporary(file);
    let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, file));
    if written.is_err() {
        // It may not even be there; the first error is the one to tell of.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

fn temporary(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    file.with_file_name(name)
}

fn exchange(stored: StoredExchange) -> Result<Exchange, String> {
    Ok(Exchange { request: request(stored.request)?, reply: reply(stored.reply)? })
}

fn request(stored: StoredRequest) -> Result<RecordedRequest, String> {
    let wrong = || format!("invalid address `{}`", stored.url);
    let uri: Uri = stored.url.parse().map_err(|_| wrong())?;
    let path = uri.path_and_query().ok_or_else(wrong)?.to_string();
    let place = stored.url.strip_suffix(&path).unwrap_or(&stored.url).to_owned();
    let method = Method::from_bytes(stored.method.as_bytes());
    let method = method.map_err(|_| format!("invalid method `{}`", stored.method))?;
    let body = match (stored.json, stored.text, stored.hex) {
        (None, None, None) => RequestBody::Empty,
        (Some(json), None, None) => RequestBody::Json(json),
        (None, Some(text), None) => RequestBody::Text(text),
        (None, None, Some(hex)) => RequestBody::Bytes(bytes(&hex)?),
        _ => return Err("a request has one body: keep one of `json`, `text` and `hex`".to_owned()),
    };
    Ok(RecordedRequest { method, place, path, body })
}

fn reply(stored: StoredReply) -> Result<RecordedReply, String> {
    let status =
        StatusCode::from_u16(stored.status).map_err(|_| format!("invalid status {}", stored.status))?;
    let mut headers = HeaderMap::new();
    for (name, value) in stored.headers {
        let parsed = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&value));
        let (Ok(name), Ok(value)) = parsed else { return Err(format!("invalid header `{name}`")) };
        headers.insert(name, value);
    }
    let body = match (stored.events, stored.lines, stored.json, stored.text, stored.hex) {
        (None, None, None, None, None) => ReplyBody::Empty,
        (Some(list), None, None, None, None) => ReplyBody::Events(events(list)?),
        (None, Some(list), None, None, None) => ReplyBody::Lines(events(list)?),
        (None, None, Some(json), None, None) => ReplyBody::Document(layout::compact(json.get())),
        (None, None, None, Some(text), None) => ReplyBody::Text(text),
        (None, None, None, None, Some(hex)) => ReplyBody::Bytes(bytes(&hex)?),
        _ => {
            let remedy = "keep one of `events`, `lines`, `json`, `text` and `hex`";
            return Err(format!("a reply has one body: {remedy}"));
        }
    };
    let ending = match stored.ending {
        StoredEnding::Whole => BodyEnding::Whole,
        StoredEnding::Cut => BodyEnding::Cut,
        StoredEnding::Dropped => BodyEnding::Dropped,
    };
    Ok(RecordedReply { status, headers, body, ending })
}

fn events(stored: Vec<StoredEvent>) -> Result<Vec<Event>, String> {
    let event = |stored: StoredEvent| {
        let data = match (stored.json, stored.text) {
            // Somebody's editor may have spread it over several lines.
            (Some(json), None) if json.get().contains('\n') => EventData::Json(layout::compact(json.get())),
            (Some(json), None) => EventData::Json(json.get().to_owned()),
            (None, Some(text)) => EventData::Text(text),
            _ => return Err("an event says one thing: give it `json` or `text`".to_owned()),
        };
        Ok(Event { name: stored.event, data, joined: stored.joined })
    };
    stored.into_iter().map(event).collect()
}

fn bytes(hex: &str) -> Result<Vec<u8>, String> {
    convoke_text::unhex(hex).ok_or_else(|| "`hex` must be pairs of digits from 0 to f".to_owned())
}
