//! The scanner, which reads a text from left to right.

use std::borrow::Cow;

use super::token::{Comment, Comparison, Illegal, Keyword, Token, TokenKind};
use super::{is_name_byte, string};
use crate::agentfile::Span;

/// The tokens of a text, and its comments beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lexed<'a> {
    /// All tokens; the last one, and only that, is [`TokenKind::End`].
    pub tokens: Vec<Token<'a>>,
    /// All comments, in order.
    pub comments: Vec<Comment>,
}

/// Splits a text into tokens. Never fails: what means nothing becomes [`TokenKind::Illegal`].
///
/// ```
/// use convoke_goals::agentfile::lexer::{Keyword, TokenKind, lex};
///
/// let lexed = lex("NAME plan # mine\n\n");
/// let kinds: Vec<_> = lexed.tokens.iter().map(|token| token.kind).collect();
/// assert_eq!(kinds, [TokenKind::Keyword(Keyword::Name), TokenKind::Ident, TokenKind::End]);
/// assert_eq!(lexed.comments.len(), 1);
/// ```
#[must_use]
pub fn lex(text: &str) -> Lexed<'_> {
    let mut scanner = Scanner { text, place: 0, tokens: Vec::new(), comments: Vec::new(), line_end: None };
    scanner.run();
    Lexed { tokens: scanner.tokens, comments: scanner.comments }
}

struct Scanner<'a> {
    text: &'a str,
    place: usize,
    tokens: Vec<Token<'a>>,
    comments: Vec<Comment>,
    /// The first end of line since the last token.
    line_end: Option<usize>,
}

impl<'a> Scanner<'a> {
    fn run(&mut self) {
        // Editors on some systems begin a file with a mark of its byte order.
        if self.text.starts_with('\u{feff}') {
            self.place = '\u{feff}'.len_utf8();
        }
        loop {
            self.skip_space();
            let start = self.place;
            let Some(kind) = self.next() else { break };
            let span = Span::new(start, self.place);
            self.emit(kind, span);
        }
        let end = Span::at(self.text.len());
        self.tokens.push(Token { kind: TokenKind::End, span: end, text: Cow::Borrowed("") });
    }

    fn emit(&mut self, (kind, text): (TokenKind, Option<Cow<'a, str>>), span: Span) {
        if let Some(place) = self.line_end.take()
            && !self.tokens.is_empty()
        {
            let span = Span::new(place, place + 1);
            self.tokens.push(Token { kind: TokenKind::Newline, span, text: Cow::Borrowed("\n") });
        }
        let text = text.unwrap_or_else(|| Cow::Borrowed(span.of(self.text)));
        self.tokens.push(Token { kind, span, text });
    }

    /// Skips spaces, ends of lines and comments.
    fn skip_space(&mut self) {
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\r' => self.place += 1,
                b'\n' => {
                    self.line_end.get_or_insert(self.place);
                    self.place += 1;
                }
                b'#' => {
                    let start = self.place;
                    self.place += self.rest().find('\n').unwrap_or(self.rest().len());
                    let own_line = self.line_end.is_some() || self.tokens.is_empty();
                    self.comments.push(Comment { span: Span::new(start, self.place), own_line });
                }
                _ => break,
            }
        }
    }

    /// The next token's kind and, if it is not what is written, its text. Moves behind it.
    fn next(&mut self) -> Option<(TokenKind, Option<Cow<'a, str>>)> {
        let byte = self.peek(0)?;
        if self.after_from() && !matches!(byte, b',' | b'-' | b'"' | b'$') {
            self.skip_while(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'#'));
            return Some((TokenKind::Path, None));
        }
        let simple = |kind| (kind, None);
        Some(match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => {
                let start = self.place;
                self.skip_while(is_name_byte);
                simple(match Keyword::from_word(&self.text[start..self.place]) {
                    Some(keyword) => TokenKind::Keyword(keyword),
                    None => TokenKind::Ident,
                })
            }
            b'0'..=b'9' => {
                self.skip_while(|byte| byte.is_ascii_digit());
                if self.peek(0) == Some(b'.') && self.peek(1).is_some_and(|byte| byte.is_ascii_digit()) {
                    self.place += 1;
                    self.skip_while(|byte| byte.is_ascii_digit());
                }
                simple(TokenKind::Number)
            }
            b'$' => self.variable(),
            b'"' => {
                let string = string::read(self.rest());
                self.place += string.length;
                match string.value {
                    Ok(value) => (TokenKind::String, Some(value)),
                    Err(why) => simple(TokenKind::Illegal(why)),
                }
            }
            b',' => self.sign(1, TokenKind::Comma),
            b':' => self.sign(1, TokenKind::Colon),
            b'|' => self.sign(1, TokenKind::Bar),
            b'[' => self.sign(1, TokenKind::OpenBracket),
            b']' => self.sign(1, TokenKind::CloseBracket),
            b'-' if self.peek(1) == Some(b'>') => self.sign(2, TokenKind::Arrow),
            b'>' if self.place > 0 && self.text.as_bytes()[self.place - 1] == b'-' => {
                self.sign(1, TokenKind::Illegal(Illegal::BrokenArrow))
            }
            b'<' if self.peek(1) == Some(b'=') => self.sign(2, TokenKind::Comparison(Comparison::AtMost)),
            b'<' => self.sign(1, TokenKind::Comparison(Comparison::Less)),
            b'>' if self.peek(1) == Some(b'=') => self.sign(2, TokenKind::Comparison(Comparison::AtLeast)),
            b'>' => self.sign(1, TokenKind::Comparison(Comparison::Greater)),
            _ => {
                let character = self.rest().chars().next()?;
                self.sign(character.len_utf8(), TokenKind::Illegal(Illegal::Character(character)))
            }
        })
    }

    /// `$name`, or `${name}` for names with a hyphen in them.
    fn variable(&mut self) -> (TokenKind, Option<Cow<'a, str>>) {
        self.place += 1;
        if self.peek(0) == Some(b'{') {
            let inner = &self.rest()[1..];
            let length = inner.bytes().take_while(|byte| is_name_byte(*byte)).count();
            if length > 0 && inner.as_bytes().get(length) == Some(&b'}') {
                self.place += length + 2;
                return (TokenKind::Variable, Some(Cow::Borrowed(&inner[..length])));
            }
        }
        let start = self.place;
        self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        (TokenKind::Variable, Some(Cow::Borrowed(&self.text[start..self.place])))
    }

    fn sign(&mut self, length: usize, kind: TokenKind) -> (TokenKind, Option<Cow<'a, str>>) {
        self.place += length;
        (kind, None)
    }

    /// Whether the last token was `FROM`, in this line.
    fn after_from(&self) -> bool {
        self.line_end.is_none()
            && self.tokens.last().is_some_and(|token| token.kind == TokenKind::Keyword(Keyword::From))
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        self.place += self.rest().bytes().take_while(|byte| wanted(*byte)).count();
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.place + ahead).copied()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.place..]
    }
}
