//! The parser: turns tokens into a syntax tree.
//!
//! Recursive descent over one statement at a time. A mistake never hides the next one: after it, reading goes on at the
//! next clause or line, and what a word was most likely meant to be is taken for what it is, so that one slip is one
//! error.

mod clause;
mod condition;
mod head;
mod list;
mod recovery;
mod statement;
mod value;

use super::Span;
use super::diagnostic::{Code, Diagnostic, Diagnostics};
use super::lexer::{Illegal, Keyword, Token, TokenKind, lex};
use super::syntax::File;

/// Parses a file. The tree has everything that could be made out; the diagnostics say what could not.
///
/// ```
/// let (file, diagnostics) = convoke_goals::agentfile::parser::parse("GOAL one\nGOAL two \"Count\"\nRUN");
/// assert_eq!(file.statements.len(), 3);
/// assert_eq!(diagnostics.errors(), 2);
/// ```
#[must_use]
pub fn parse(text: &str) -> (File, Diagnostics) {
    let lexed = lex(text);
    let mut parser = Parser {
        text,
        tokens: lexed.tokens,
        place: 0,
        file: File { statements: Vec::new(), comments: lexed.comments },
        diagnostics: Diagnostics::default(),
    };
    parser.file();
    (parser.file, parser.diagnostics)
}

/// Something was missing and has been reported.
struct Reported;

type Parsed<T> = Result<T, Reported>;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    place: usize,
    file: File,
    diagnostics: Diagnostics,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &Token<'a> {
        self.ahead(0)
    }

    /// The token `distance` ahead; the end, if there are not so many.
    fn ahead(&self, distance: usize) -> &Token<'a> {
        &self.tokens[(self.place + distance).min(self.tokens.len() - 1)]
    }

    fn advance(&mut self) -> Token<'a> {
        let token = self.peek().clone();
        if token.kind != TokenKind::End {
            self.place += 1;
        }
        token
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.peek().kind == kind
    }

    fn at_line_end(&self) -> bool {
        matches!(self.peek().kind, TokenKind::Newline | TokenKind::End)
    }

    /// Takes the next token if it is of this kind.
    fn take(&mut self, kind: TokenKind) -> Option<Token<'a>> {
        self.at(kind).then(|| self.advance())
    }

    /// Takes the next token if it is this word.
    fn take_word(&mut self, word: &str) -> Option<Token<'a>> {
        self.peek().is_word(word).then(|| self.advance())
    }

    /// Takes the next token or says that it is needed.
    fn expect(&mut self, kind: TokenKind, what: &str, after: &str, example: &str) -> Parsed<Token<'a>> {
        if self.at(kind) {
            return Ok(self.advance());
        }
        self.missing(Code::MissingValue, what, after, example);
        Err(Reported)
    }

    /// Where the last token ends.
    fn last_end(&self) -> usize {
        self.place.checked_sub(1).map_or(0, |last| self.tokens[last].span.end)
    }

    /// Where to point if the next token is not what is needed: at it, or behind the last one if the line ends.
    fn here(&self) -> Span {
        if self.at_line_end() { Span::at(self.last_end()) } else { self.peek().span }
    }

    /// Says that something is needed here.
    fn missing(&mut self, code: Code, what: &str, after: &str, example: &str) {
        if let TokenKind::Illegal(illegal) = self.peek().kind
            && illegal != Illegal::BrokenArrow
        {
            self.illegal();
            return;
        }
        let (here, found) = (self.here(), self.peek().to_string());
        self.diagnostics.error(|| {
            Diagnostic::new(code, here, format!("{after} needs {what}, not {found}"))
                .label(format!("{what} belongs here"))
                .help(format!("write for instance `{example}`"))
        });
    }

    /// Whether the next token begins a line and is indented there.
    fn indented(&self, token: &Token<'_>) -> bool {
        let before = &self.text[..token.span.start];
        before.ends_with([' ', '\t'])
    }
}

fn keyword(word: &str) -> TokenKind {
    Keyword::from_word(word).map_or(TokenKind::Ident, TokenKind::Keyword)
}
