//! Splits bytes into frames: server-sent events, or JSON line by line.
//!
//! A frame may be cut anywhere, also within a character; what is incomplete waits for more.

use bytes::{Buf, Bytes, BytesMut};

use super::{TransportError, TransportFailure};

/// More than this in one frame is not an answer.
const LARGEST_FRAME: usize = 64 * 1024 * 1024;

/// The framing of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// A JSON value per line.
    Lines,
    /// The whole body is one.
    Whole,
}

/// A frame of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The event's name, if it has one.
    pub(crate) event: Option<String>,
    /// What it says.
    pub(crate) data: String,
}

/// Collects bytes and gives frames.
#[derive(Debug)]
pub(crate) struct Frames {
    framing: Framing,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line end.
    searched: usize,
    event: Option<String>,
    data: Option<String>,
    /// Whether no line has been read yet.
    at_start: bool,
}

impl Frames {
    pub(crate) fn new(framing: Framing) -> Self {
        Self { framing, buffer: BytesMut::new(), searched: 0, event: None, data: None, at_start: true }
    }

    /// Adds bytes.
    pub(crate) fn push(&mut self, bytes: &Bytes) -> Result<(), TransportError> {
        // An event that no empty line ends grows line by line.
        let unfinished = self.data.as_ref().map_or(0, String::len);
        if self.buffer.len() + unfinished + bytes.len() > LARGEST_FRAME {
            return Err(TransportError::new(
                TransportFailure::Broken,
                format!("a frame of more than {LARGEST_FRAME} bytes came in"),
            ));
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// The next whole frame.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        while self.framing != Framing::Whole {
            let line = self.line()?;
            if let Some(frame) = self.take(&line) {
                return Some(frame);
            }
        }
        None
    }

    /// What is left when the body has ended. An event that was not finished by an empty line is given all the same:
    /// whoever reads it sees whether it is whole.
    pub(crate) fn last(&mut self) -> Option<Frame> {
        let rest = text(&std::mem::take(&mut self.buffer));
        self.searched = 0;
        match self.framing {
            Framing::Whole => (!rest.trim().is_empty()).then_some(Frame { event: None, data: rest }),
            Framing::Lines => self.take(&rest),
            Framing::Events => {
                let frame = if rest.is_empty() { None } else { self.take(&rest) };
                frame.or_else(|| self.take(""))
            }
        }
    }

    /// Whether what is left at the end of a body is a piece of a frame. Events end with an empty line; a line that is JSON up
    /// to its end may have lost only its line break.
    pub(crate) fn cuts_off(&self, last: &Frame) -> bool {
        let is_half =
            || serde_json::from_str::<serde::de::IgnoredAny>(&last.data).is_err_and(|error| error.is_eof());
        match self.framing {
            Framing::Events => true,
            Framing::Lines => is_half(),
            Framing::Whole => false,
        }
    }

    fn line(&mut self) -> Option<String> {
        let Some(at) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let line = self.buffer.split_to(self.searched + at);
        self.buffer.advance(1);
        self.searched = 0;
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        // A mark of the order of bytes may stand at the beginning.
        let mark: &[u8] = if std::mem::take(&mut self.at_start) { b"\xef\xbb\xbf" } else { b"" };
        Some(text(line.strip_prefix(mark).unwrap_or(line)))
    }

    /// Takes one line; gives a frame if it ends one.
    fn take(&mut self, line: &str) -> Option<Frame> {
        if self.framing == Framing::Lines {
            return (!line.trim().is_empty()).then(|| Frame { event: None, data: line.to_owned() });
        }
        if line.is_empty() {
            let event = self.event.take();
            return self.data.take().map(|data| Frame { event, data });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event = Some(value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // Comments keep a connection alive; ids and retry times are for those who reconnect.
            _ => {}
        }
        None
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(framing: Framing, body: &str, piece: usize) -> Vec<Frame> {
        let mut frames = Frames::new(framing);
        let mut found = Vec::new();
        for bytes in body.as_bytes().chunks(piece) {
            frames.push(&Bytes::copy_from_slice(bytes)).unwrap();
            found.extend(std::iter::from_fn(|| frames.next()));
        }
        found.extend(frames.last());
        found
    }

    fn frame(event: Option<&str>, data: &str) -> Frame {
        Frame { event: event.map(str::to_owned), data: data.to_owned() }
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let body =
            ": hello\r\nevent: start\r\ndata: {\"a\":\"ü\"}\r\n\r\ndata: one\ndata: two\n\ndata: [DONE]";
        let expected =
            [frame(Some("start"), "{\"a\":\"ü\"}"), frame(None, "one\ntwo"), frame(None, "[DONE]")];
        for piece in 1..=body.len() {
            assert_eq!(frames(Framing::Events, body, piece), expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn a_mark_of_the_order_of_bytes_is_no_part_of_the_first_event() {
        let body = "\u{feff}data: one\n\ndata: \u{feff}two\n\n";
        for piece in 1..=body.len() {
            let expected = [frame(None, "one"), frame(None, "\u{feff}two")];
            assert_eq!(frames(Framing::Events, body, piece), expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn an_event_without_an_end_does_not_grow_for_ever() {
        let mut frames = Frames::new(Framing::Events);
        let line = Bytes::from(format!("data: {}\n", "x".repeat(1024 * 1024)));
        let taken = (0..=LARGEST_FRAME / line.len()).take_while(|_| {
            let is_taken = frames.push(&line).is_ok();
            assert_eq!(frames.next(), None);
            is_taken
        });
        assert_eq!(taken.count(), LARGEST_FRAME / line.len());
    }

    #[test]
    fn lines_and_whole_bodies_come_out_too() {
        let body = "{\"a\":1}\n\n{\"b\":2}";
        for piece in 1..=body.len() {
            assert_eq!(
                frames(Framing::Lines, body, piece),
                [frame(None, "{\"a\":1}"), frame(None, "{\"b\":2}")]
            );
            assert_eq!(frames(Framing::Whole, body, piece), [frame(None, body)]);
        }
        assert_eq!(frames(Framing::Whole, "", 1), []);
    }
}
