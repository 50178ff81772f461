//! Records a reply while it passes through.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderMap, StatusCode};

use super::body_collector::BodyCollector;
use super::exchange::{BodyEnding, Exchange, RecordedReply, RecordedRequest};
use super::redaction::Redactor;
use super::tape::Tape;
use crate::http::{Body, HttpReply, TransportError, TransportFailure};

/// The same reply; what is read of it is kept.
pub(super) fn record(
    tape: Arc<Tape>,
    slot: usize,
    asked: RecordedRequest,
    redactor: Redactor,
    reply: HttpReply,
) -> HttpReply {
    let recording = Recording {
        tape,
        slot,
        asked,
        status: reply.status,
        headers: redactor.headers(&reply.headers),
        pieces: BodyCollector::new(&reply.headers, redactor),
    };
    let body = RecordingBody { body: reply.body, recording: Some(recording) };
    HttpReply { status: reply.status, headers: reply.headers, body: Box::pin(body) }
}

/// An exchange on its way.
struct Recording {
    tape: Arc<Tape>,
    slot: usize,
    asked: RecordedRequest,
    status: StatusCode,
    headers: HeaderMap,
    pieces: BodyCollector,
}

impl Recording {
    fn finish(self, ending: BodyEnding) -> Result<(), TransportError> {
        let body = self.pieces.finish(ending);
        let reply = RecordedReply { status: self.status, headers: self.headers, body, ending };
        let kept = self.tape.keep(self.slot, Exchange { request: self.asked, reply });
        kept.map_err(|error| TransportError::new(TransportFailure::NotRecorded, error.to_string()))
    }
}

/// A body that is kept while it is read.
struct RecordingBody {
    body: Body,
    /// None once it is kept.
    recording: Option<Recording>,
}

impl RecordingBody {
    fn finish(&mut self, ending: BodyEnding) -> Result<(), TransportError> {
        self.recording.take().map_or(Ok(()), |recording| recording.finish(ending))
    }
}

impl Stream for RecordingBody {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = match ready!(self.body.as_mut().poll_next(context)) {
            Some(Ok(bytes)) => {
                let pushed =
                    self.recording.as_mut().map_or(Ok(()), |recording| recording.pieces.push(&bytes));
                Some(pushed.map(|()| bytes))
            }
            // That the reply broke is what the reader must hear of, even if it cannot be written down.
            Some(Err(error)) => {
                let _ = self.finish(BodyEnding::Cut);
                Some(Err(error))
            }
            None => self.finish(BodyEnding::Whole).err().map(Err),
        };
        Poll::Ready(item)
    }
}

impl Drop for RecordingBody {
    fn drop(&mut self) {
        // Nobody is left to hear of an error; the next request to this cassette will meet the same one.
        let _ = self.finish(BodyEnding::Dropped);
    }
}
