//! Plays back a recorded reply.

use bytes::Bytes;
use futures_util::stream;

use super::exchange::{BodyEnding, Event, RecordedReply, ReplyBody};
use crate::http::{HttpReply, TransportError, TransportFailure};

/// The reply, with its body in the pieces it came in.
pub(super) fn play(reply: RecordedReply) -> HttpReply {
    let mut pieces: Vec<Result<Bytes, TransportError>> = match reply.body {
        ReplyBody::Empty => Vec::new(),
        ReplyBody::Events(events) => together(&events, write_event),
        ReplyBody::Lines(lines) => together(&lines, write_line),
        ReplyBody::Document(text) | ReplyBody::Text(text) => vec![Ok(text.into())],
        ReplyBody::Bytes(bytes) => vec![Ok(bytes.into())],
    };
    let broken = |message| Err(TransportError::new(TransportFailure::Broken, message));
    match reply.ending {
        BodyEnding::Whole => {}
        BodyEnding::Cut => pieces.push(broken("the reply broke off here when it was recorded")),
        BodyEnding::Dropped => {
            pieces.push(broken("the recording ends here: the reader stopped there; record it again"))
        }
    }
    HttpReply { status: reply.status, headers: reply.headers, body: Box::pin(stream::iter(pieces)) }
}

fn together(events: &[Event], write: fn(&Event, &mut String)) -> Vec<Result<Bytes, TransportError>> {
    let pieces = events.chunk_by(|_, next| next.joined).map(|piece| {
        let mut text = String::new();
        piece.iter().for_each(|event| write(event, &mut text));
        Ok(text.into())
    });
    pieces.collect()
}

fn write_event(event: &Event, text: &mut String) {
    if let Some(name) = &event.name {
        text.push_str(&format!("event: {name}\n"));
    }
    for line in event.data.as_str().split('\n') {
        text.push_str(&format!("data: {line}\n"));
    }
    text.push('\n');
}

fn write_line(line: &Event, text: &mut String) {
    text.push_str(line.data.as_str());
    text.push('\n');
}
