//! Handles bodies without frames: a document where events were expected, or the page of somebody else.
//!
//! **What it is for.** A body of events without one event is no reply that was cut off, and asking again will not help. If
//! it is a JSON document after all, it is read as one; if not, whoever asked is told what came instead.

use bytes::{Bytes, BytesMut};
use convoke_core::{ModelError, ModelErrorKind};

use super::excerpt;
use crate::http::{Frame, Framing};

/// A larger document is not kept.
const LARGEST: usize = 16 * 1024 * 1024;

/// How much of it is shown.
const SHOWN: usize = 120;

/// The beginning of a body in which there was no frame yet.
#[derive(Debug)]
pub(super) struct Unframed {
    /// The type the server says it has.
    kind: String,
    /// The beginning of the body; `None` once it is known to be what it should be.
    body: Option<BytesMut>,
}

impl Unframed {
    pub(super) fn new(framing: Framing, kind: &str) -> Self {
        // Line by line, everything is a frame.
        let body = (framing != Framing::Lines).then(BytesMut::new);
        Self { kind: kind.to_owned(), body }
    }

    pub(super) fn push(&mut self, bytes: &Bytes) {
        if let Some(body) = &mut self.body {
            let room = LARGEST.saturating_sub(body.len());
            body.extend_from_slice(&bytes[..room.min(bytes.len())]);
        }
    }

    /// There is a frame: the body is what it should be.
    pub(super) fn forget(&mut self) {
        self.body = None;
    }

    /// The body has ended, with this frame as its last. Gives the document that it is, if it is one.
    ///
    /// # Errors
    /// [`Malformed`](ModelErrorKind::Malformed) if it is neither events nor a document.
    pub(super) fn end(&self, last: Option<&Frame>) -> Result<Option<Frame>, ModelError> {
        let Some(body) = self.body.as_ref().filter(|_| last.is_none()) else { return Ok(None) };
        let text = String::from_utf8_lossy(body);
        if is_document(body) {
            return Ok(Some(Frame { event: None, data: text.into_owned() }));
        }
        // Without an event, or with comments only: it was cut off.
        let is_stream = self.kind.starts_with("text/event-stream");
        if is_stream { Ok(None) } else { Err(self.no_reply(&text)) }
    }

    /// A reply has not come to its end. One that was cut off may be whole next time; a document was whole.
    pub(super) fn unanswered(&self) -> Result<(), ModelError> {
        match &self.body {
            Some(body) if is_document(body) => Err(self.no_reply(&String::from_utf8_lossy(body))),
            _ => Ok(()),
        }
    }

    fn no_reply(&self, text: &str) -> ModelError {
        let kind = if self.kind.is_empty() { "without a type" } else { &self.kind };
        let excerpt = excerpt(text.trim(), SHOWN);
        let what = if excerpt.is_empty() { "nothing" } else { &excerpt };
        let message = format!("not a model's reply ({kind}): {what}; check base_url");
        ModelError::new(ModelErrorKind::Malformed, message)
    }
}

fn is_document(body: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}
