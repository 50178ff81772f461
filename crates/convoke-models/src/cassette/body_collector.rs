//! Collects a reply's body for recording while it comes in.

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;

use super::exchange::{BodyEnding, Event, ReplyBody};
use super::layout;
use super::redaction::Redactor;
use crate::http::{Frame, Frames, Framing, TransportError};

/// Collects a body.
pub(super) struct BodyCollector {
    framing: Framing,
    frames: Frames,
    events: Vec<Event>,
    /// The whole body, if it is not cut into frames.
    bytes: Vec<u8>,
    redactor: Redactor,
}

impl BodyCollector {
    /// For a reply with these headers.
    pub(super) fn new(headers: &HeaderMap, redactor: Redactor) -> Self {
        let framing = framing(headers);
        Self { framing, frames: Frames::new(framing), events: Vec::new(), bytes: Vec::new(), redactor }
    }

    /// Adds a piece. Events that it ends belong together.
    pub(super) fn push(&mut self, bytes: &Bytes) -> Result<(), TransportError> {
        if self.framing == Framing::Whole {
            self.bytes.extend_from_slice(bytes);
            return Ok(());
        }
        self.frames.push(bytes)?;
        let mut joined = false;
        while let Some(frame) = self.frames.next() {
            self.keep(&frame, joined);
            joined = true;
        }
        Ok(())
    }

    /// What is kept. Of a body that did not end as it should, half an event is not.
    pub(super) fn finish(mut self, ending: BodyEnding) -> ReplyBody {
        if self.framing == Framing::Whole {
            return self.whole();
        }
        if ending == BodyEnding::Whole
            && let Some(frame) = self.frames.last()
        {
            self.keep(&frame, false);
        }
        if self.framing == Framing::Events {
            ReplyBody::Events(self.events)
        } else {
            ReplyBody::Lines(self.events)
        }
    }

    fn keep(&mut self, frame: &Frame, joined: bool) {
        let name = frame.event.as_ref().map(|name| self.redactor.text(name));
        self.events.push(Event { name, data: self.redactor.data(&frame.data), joined });
    }

    fn whole(self) -> ReplyBody {
        match String::from_utf8(self.bytes) {
            Ok(text) if text.is_empty() => ReplyBody::Empty,
            Ok(text) => match self.redactor.json(&text) {
                Some(json) => ReplyBody::Document(layout::compact(&json)),
                None => ReplyBody::Text(self.redactor.text(&text)),
            },
            Err(error) => ReplyBody::Bytes(self.redactor.bytes(error.as_bytes())),
        }
    }
}

fn framing(headers: &HeaderMap) -> Framing {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind.as_str() {
        "text/event-stream" => Framing::Events,
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Framing::Lines,
        _ => Framing::Whole,
    }
}
