//! Parses statement heads: what comes directly after the first word of a statement.

use convoke_text::nearest;

use super::Parser;
use crate::agentfile::Span;
use crate::agentfile::diagnostic::{Code, Diagnostic};
use crate::agentfile::lexer::{Illegal, Token, TokenKind};
use crate::agentfile::model::SecurityMode;
use crate::agentfile::syntax::{ClauseKind, Spanned, Statement, StatementKind, Supervise};

impl<'a> Parser<'a> {
    pub(super) fn supervised(&mut self, statement: &mut Statement) {
        let word = self.advance();
        let human = self.human();
        let end = human.as_ref().map_or(word.span, |human| human.span);
        let value = if human.is_some() { Supervise::Human } else { Supervise::Model };
        statement.clauses.supervise = Some(Spanned::new(value, word.span.to(end)));
        // Nothing forbids to indent a statement, but this one is then easily mistaken for a part of the one above.
        if self.indented(&word)
            && let Some(above) = self.file.statements.last()
            && above.kind.takes(ClauseKind::Supervised)
            && !self.text[above.span.end..word.span.start].contains("\n\n")
        {
            let above = above.keyword;
            self.diagnostics.warning(|| {
                Diagnostic::new(
                    Code::StrayModifier,
                    word.span,
                    "this `SUPERVISED` is for the whole file, not for the statement above",
                )
                .label("in a line of its own it is a statement")
                .related(above, "the statement above")
                .help("write it in the same line as the statement it is for, or do not indent it")
            });
        }
    }

    pub(super) fn security(&mut self, statement: &mut Statement) {
        const MODES: [&str; 3] = ["default", "paranoid", "research"];
        let token = self.peek().clone();
        if !matches!(token.kind, TokenKind::Ident | TokenKind::Keyword(_)) || self.statement_here().is_some()
        {
            self.missing(
                Code::MissingValue,
                "`default`, `paranoid` or `research`",
                "`SECURITY`",
                "SECURITY paranoid",
            );
            self.skip_line();
            return;
        }
        let mut mode = token.text.as_ref();
        if !MODES.contains(&mode) {
            let meant = nearest(mode, MODES);
            self.diagnostics.error(|| {
                Diagnostic::new(
                    Code::BadValue,
                    token.span,
                    format!("there is no security mode `{}`", token.text),
                )
                .label("not a mode")
                .suggest(meant, str::to_owned)
                .help("the modes are `default`, `paranoid` and `research \"what is allowed\"`")
            });
            match meant {
                Some(meant) => mode = meant,
                None => {
                    self.skip_line();
                    return;
                }
            }
        }
        self.advance();
        let mode = match mode {
            "default" => SecurityMode::Default,
            "paranoid" => SecurityMode::Paranoid,
            _ => {
                let example = "SECURITY research \"our own test servers\"";
                match self.expect(
                    TokenKind::String,
                    "a text that says what is allowed",
                    "`SECURITY research`",
                    example,
                ) {
                    Ok(scope) => {
                        if scope.text.trim().is_empty() {
                            self.diagnostics.error(|| {
                                Diagnostic::new(Code::BadValue, scope.span, "the scope of research is empty")
                                    .label("says nothing")
                                    .help("say what is allowed, for instance `\"our own test servers\"`")
                            });
                        }
                        SecurityMode::Research { scope: scope.text.into_owned() }
                    }
                    Err(_) => {
                        self.skip_to_clause();
                        return;
                    }
                }
            }
        };
        let span = Span::new(token.span.start, self.last_end());
        statement.clauses.security = Some(Spanned::new(mode, span));
    }

    /// The name after the first word of a statement.
    pub(super) fn name(&mut self, kind: StatementKind) -> Option<Spanned<String>> {
        let word = kind.word();
        let token = self.peek().clone();
        match token.kind {
            TokenKind::Ident => {
                self.advance();
                Some(self.named(token))
            }
            // A keyword in the place of a name, unless a name may follow it.
            TokenKind::Keyword(_) if self.ahead(1).kind != TokenKind::Ident => {
                self.advance();
                self.diagnostics.error(|| {
                    Diagnostic::new(
                        Code::MissingName,
                        token.span,
                        format!("`{}` is a keyword and cannot be a name", token.text),
                    )
                    .label("a name belongs here")
                    .replace(
                        "write it in small letters",
                        token.span,
                        token.text.to_lowercase(),
                    )
                });
                None
            }
            TokenKind::Number => {
                self.advance();
                let mut span = token.span;
                if let Some(rest) = self.adjacent(TokenKind::Ident) {
                    span = span.to(rest.span);
                }
                let text = span.of(self.text);
                self.diagnostics.error(|| {
                    Diagnostic::new(Code::MissingName, span, format!("`{text}` cannot be a name"))
                        .label("begins with a digit")
                        .replace("begin a name with a letter or `_`", span, format!("_{text}"))
                });
                None
            }
            TokenKind::String if kind != StatementKind::Name => {
                self.diagnostics.error(|| {
                    Diagnostic::new(Code::MissingName, token.span, format!("this `{word}` has no name"))
                        .label("a name belongs before the text")
                        .note("other statements refer to it by its name")
                        .replace(
                            "give it a name",
                            Span::at(token.span.start),
                            format!("my-{} ", word.to_lowercase()),
                        )
                });
                None
            }
            TokenKind::String => {
                self.advance();
                let name: String = token
                    .text
                    .chars()
                    .map(|character| if character.is_ascii_alphanumeric() { character } else { '-' })
                    .collect();
                self.diagnostics.error(|| {
                    Diagnostic::new(Code::MissingName, token.span, "a name has no quotes")
                        .label("a text")
                        .replace("write only the name", token.span, name.to_lowercase())
                });
                None
            }
            _ => {
                self.missing(Code::MissingName, "a name", &format!("`{word}`"), &format!("{word} my-name"));
                self.skip_to_clause();
                None
            }
        }
    }

    /// A name that was just taken, without what belongs to an arrow: `foo->bar`.
    pub(super) fn named(&self, token: Token<'a>) -> Spanned<String> {
        let broken =
            self.at(TokenKind::Illegal(Illegal::BrokenArrow)) && self.peek().span.start == token.span.end;
        match token.text.strip_suffix('-') {
            Some(name) if broken => {
                Spanned::new(name.to_owned(), Span::new(token.span.start, token.span.end - 1))
            }
            _ => Spanned::new(token.text.into_owned(), token.span),
        }
    }

    /// What may come directly after an input's name: its type, or a default as other languages write it.
    pub(super) fn input_head(&mut self, statement: &mut Statement) {
        if let Some(colon) = self.take(TokenKind::Colon) {
            match self.ty(0) {
                Ok(ty) => {
                    statement.clauses.ty = Some(Spanned::new(ty, Span::new(colon.span.end, self.last_end())));
                }
                Err(_) => self.skip_to_clause(),
            }
        }
        let token = self.peek().clone();
        let wrong = match token.kind {
            TokenKind::Illegal(Illegal::Character('=')) => {
                self.advance();
                Some(token.span)
            }
            TokenKind::String | TokenKind::Number => Some(Span::at(token.span.start)),
            _ => None,
        };
        if let Some(span) = wrong {
            self.diagnostics.error(|| {
                let written = if span.start == span.end { "DEFAULT " } else { " DEFAULT " };
                Diagnostic::new(Code::UnexpectedToken, token.span, "a default value needs the word `DEFAULT`")
                    .label("`DEFAULT` is missing")
                    .replace("write", span, written)
            });
            match self.literal("`DEFAULT`", "INPUT hours DEFAULT 4") {
                Ok(value) => {
                    let span = value.span;
                    statement.clauses.default = Some(Spanned::new(value, span));
                }
                Err(_) => self.skip_to_clause(),
            }
        }
    }
}
