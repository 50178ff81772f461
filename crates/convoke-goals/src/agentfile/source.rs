//! A source text with its name and an index of its lines.

use super::diagnostic::{Code, Diagnostic};
use super::span::{Position, Span};

/// The text of an Agentfile and what to call it in messages.
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    text: String,
    /// Where each line begins.
    lines: Vec<usize>,
}

impl Source {
    /// A text, and what to call it in messages: usually the path it was read from.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(place, _)| place + 1);
        let lines = std::iter::once(0).chain(breaks).collect();
        Self { name: name.into(), text, lines }
    }

    /// Makes a source of bytes.
    ///
    /// # Errors
    /// If they are not UTF-8. The source that comes with the error has the bytes that are not text replaced, so that
    /// the error can be shown.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, Box<(Self, Diagnostic)>> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self::new(name, text)),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let source = Self::new(name, String::from_utf8_lossy(error.as_bytes()));
                let end = (valid + 1..=source.text.len())
                    .find(|place| source.text.is_char_boundary(*place))
                    .unwrap_or(source.text.len());
                let diagnostic =
                    Diagnostic::new(Code::NotText, Span::new(valid, end), "this file is not UTF-8 text")
                        .label("this byte is not part of a character")
                        .help("save the file in the encoding UTF-8");
                Err(Box::new((source, diagnostic)))
            }
        }
    }

    /// Returns its name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte.
    #[must_use]
    pub fn position(&self, byte: usize) -> Position {
        let line = self.line_of(byte);
        let before = Span::new(self.lines[line], byte.min(self.text.len())).of(&self.text);
        Position { line: line + 1, column: before.chars().count() + 1 }
    }

    /// The whole lines that a span touches, without the last line's end.
    pub(crate) fn lines_around(&self, span: Span) -> Span {
        let start = self.lines[self.line_of(span.start)];
        let last = self.line_of(span.end.max(span.start));
        let end = self.lines.get(last + 1).map_or(self.text.len(), |next| next - 1);
        Span::new(start, end)
    }

    /// Which line a byte is in, from 0.
    fn line_of(&self, byte: usize) -> usize {
        self.lines.partition_point(|start| *start <= byte).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_as_people_count_them() {
        let source = Source::new("x", "NAME ä\n\nRUN");
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        assert_eq!(source.position(7), Position { line: 1, column: 7 });
        assert_eq!(source.position(8), Position { line: 2, column: 1 });
        assert_eq!(source.position(12), Position { line: 3, column: 4 });
        assert_eq!(source.lines_around(Span::new(9, 10)).of(source.text()), "RUN");
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_where_they_are() {
        let (source, diagnostic) = *Source::from_bytes("x", b"NAME a\nRUN \xff\xfe".to_vec()).unwrap_err();
        assert_eq!(source.position(diagnostic.span.start), Position { line: 2, column: 5 });
    }
}
