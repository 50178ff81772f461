//! Error recovery: where parsing goes on after a mistake.

use super::Parser;
use crate::agentfile::diagnostic::{Code, Diagnostic};
use crate::agentfile::lexer::{Illegal, TokenKind};
use crate::agentfile::syntax::{ClauseKind, StatementKind};

impl Parser<'_> {
    /// Skips to the end of the line.
    pub(super) fn skip_line(&mut self) {
        self.skip_until(|_| false);
    }

    /// Skips to where a clause or a statement may begin, or to the end of the line.
    pub(super) fn skip_to_clause(&mut self) {
        self.skip_until(|parser| parser.clause_here().is_some() || parser.statement_here().is_some());
    }

    fn skip_until(&mut self, there: impl Fn(&Self) -> bool) {
        while !self.at_line_end() && !there(self) {
            if matches!(self.peek().kind, TokenKind::Illegal(Illegal::OpenString | Illegal::OpenTripleString))
            {
                self.illegal();
                return;
            }
            self.advance();
        }
    }

    /// Skips lines until one begins with a word that begins statements.
    fn skip_to_statement(&mut self) {
        loop {
            match self.peek().kind {
                TokenKind::End => return,
                TokenKind::Newline => {
                    let next = self.ahead(1);
                    if StatementKind::from_word(&next.text).is_some() || next.kind == TokenKind::End {
                        return;
                    }
                }
                _ => {}
            }
            self.advance();
        }
    }

    /// Skips lines that look like the text of a goal that was written without quotes.
    pub(super) fn skip_prose(&mut self) {
        while self.at(TokenKind::Newline) {
            let next = self.ahead(1).clone();
            let word = next.text.as_ref();
            let known = StatementKind::from_word(word).is_some() || ClauseKind::from_word(word).is_some();
            if known || !self.indented(&next) || next.kind == TokenKind::String {
                return;
            }
            self.advance();
            while !self.at_line_end() {
                self.advance();
            }
        }
    }

    /// Reports the illegal token that comes next, and skips what it spoils.
    pub(super) fn illegal(&mut self) {
        let token = self.advance();
        let span = token.span;
        let TokenKind::Illegal(illegal) = token.kind else { return };
        match illegal {
            Illegal::OpenString => {
                self.diagnostics.error(|| {
                    let span = crate::agentfile::Span::new(span.start, span.start + 1);
                    Diagnostic::new(Code::OpenString, span, "this text has no closing quote in its line")
                        .label("it begins here")
                        .note("a text between `\"` and `\"` ends in the line it begins in")
                        .help(
                            "close it with `\"`, or put a text of several lines between triple quotes: \
                             `\"\"\"...\"\"\"`",
                        )
                });
                self.skip_to_statement();
            }
            Illegal::OpenTripleString => self.diagnostics.error(|| {
                let span = crate::agentfile::Span::new(span.start, span.start + 3);
                Diagnostic::new(Code::OpenString, span, "this text has no closing `\"\"\"`")
                    .label("it begins here and takes all the rest of the file")
                    .help("write `\"\"\"` where the text ends")
            }),
            Illegal::BrokenArrow => {
                self.diagnostics.error(|| {
                    let arrow = crate::agentfile::Span::new(span.start.saturating_sub(1), span.end);
                    Diagnostic::new(Code::UnexpectedCharacter, arrow, "`->` needs a space before it")
                        .label("the `-` is taken for a part of the name before it")
                        .replace("put a space there", arrow, " -> ")
                });
                self.skip_to_clause();
            }
            Illegal::Character(character) => {
                self.diagnostics.error(|| {
                    let shown = match character {
                        '\'' | '\\' => character.to_string(),
                        other => other.escape_debug().to_string(),
                    };
                    let message = format!("`{shown}` has no meaning here");
                    let diagnostic =
                        Diagnostic::new(Code::UnexpectedCharacter, span, message).label("this character");
                    match character {
                        '“' | '”' | '„' | '«' | '»' | '\'' | '‘' | '’' | '`' => {
                            diagnostic.help("texts are written between straight double quotes: `\"...\"`")
                        }
                        '\u{a0}' | '\u{2003}' | '\u{2002}' | '\u{3000}' => {
                            diagnostic.replace("use an ordinary space", span, " ")
                        }
                        '=' => diagnostic.help("a default value is written `DEFAULT value`"),
                        '/' | ';' => diagnostic.help("a comment begins with `#`"),
                        '-' | '–' | '—' | '→' => diagnostic.help("outputs are written `-> name, name`"),
                        _ => diagnostic.help("put a text between quotes; a comment begins with `#`"),
                    }
                });
                self.skip_to_clause();
            }
        }
    }
}
