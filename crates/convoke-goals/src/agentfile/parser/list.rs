//! Parses clause arguments: paths, limits, lists of names.

use std::collections::HashMap;

use convoke_text::nearest;

use super::{Parsed, Parser, Reported};
use crate::agentfile::Span;
use crate::agentfile::diagnostic::{Code, Diagnostic};
use crate::agentfile::lexer::TokenKind;
use crate::agentfile::syntax::{ClauseKind, OutputField, Spanned, Tools, Within};

impl Parser<'_> {
    /// What follows `FROM`.
    pub(super) fn path(&mut self) -> Parsed<String> {
        self.filled(TokenKind::Path, "a path", "`FROM`", "FROM agents/critic.md")
    }

    /// What follows `MEMORY`.
    pub(super) fn memory(&mut self) -> Parsed<String> {
        self.filled(TokenKind::Ident, "a memory's name", "`MEMORY`", "MEMORY assistant")
    }

    /// A word of this kind or a string, with something in it.
    fn filled(&mut self, kind: TokenKind, what: &str, after: &str, example: &str) -> Parsed<String> {
        let token = self.peek().clone();
        if (token.kind == kind || token.kind == TokenKind::String) && !token.text.trim().is_empty() {
            self.advance();
            return Ok(token.text.into_owned());
        }
        self.missing(Code::MissingValue, what, after, example);
        Err(Reported)
    }

    pub(super) fn within(&mut self) -> Parsed<Within> {
        if let Some(variable) = self.take(TokenKind::Variable) {
            if variable.text.is_empty() {
                self.diagnostics.error(|| {
                    Diagnostic::new(Code::MissingValue, variable.span, "`$` needs a name behind it")
                        .label("no name")
                        .help("write for instance `WITHIN $rounds`, or a number")
                });
                return Err(Reported);
            }
            return Ok(Within::Variable(Spanned::new(variable.text.into_owned(), variable.span)));
        }
        let start = self.peek().span;
        let times = self.count("`WITHIN`", "WITHIN 5")?;
        if times == 0 {
            self.diagnostics.error(|| {
                Diagnostic::new(Code::BadValue, start, "`WITHIN 0` would never do anything")
                    .label("must be 1 or more")
                    .replace("say how often at most", start, "5")
            });
        }
        Ok(Within::Times(times))
    }

    pub(super) fn tools(&mut self) -> Parsed<Tools> {
        if self.peek().is_word("none") && self.ahead(1).kind != TokenKind::Comma {
            self.advance();
            return Ok(Tools::None);
        }
        let mut names = Vec::new();
        loop {
            let token = self.peek().clone();
            if !matches!(token.kind, TokenKind::Ident | TokenKind::String) {
                let after = if names.is_empty() { "`TOOLS`" } else { "`,`" };
                self.missing(Code::MissingValue, "a tool's name", after, "TOOLS read, grep");
                return Err(Reported);
            }
            self.advance();
            names.push(Spanned::new(token.text.into_owned(), token.span));
            if !self.comma("`TOOLS`") {
                return Ok(Tools::Named(names));
            }
        }
    }

    pub(super) fn outputs(&mut self) -> Parsed<Vec<OutputField>> {
        let mut fields: Vec<OutputField> = Vec::new();
        let mut seen: HashMap<String, Span> = HashMap::new();
        loop {
            let after = if fields.is_empty() { "`->`" } else { "`,`" };
            let name = self.expect(TokenKind::Ident, "an output's name", after, "-> summary, count:int")?;
            let mut field = OutputField { name: Spanned::new(name.text.into_owned(), name.span), ty: None };
            if self.take(TokenKind::Colon).is_some() {
                let start = self.peek().span.start;
                let ty = self.ty(0)?;
                field.ty = Some(Spanned::new(ty, Span::new(start, self.last_end())));
            }
            match seen.get(&field.name.value).copied() {
                None => {
                    seen.insert(field.name.value.clone(), field.name.span);
                    fields.push(field);
                }
                Some(before) => {
                    let again = field.name;
                    self.diagnostics.error(|| {
                        Diagnostic::new(
                            Code::DuplicateName,
                            again.span,
                            format!("the output `{}` is named twice", again.value),
                        )
                        .label("here again")
                        .related(before, "first here")
                        .help("keep one of them")
                    });
                }
            }
            if !self.comma("`->`") {
                return Ok(fields);
            }
        }
    }

    pub(super) fn names(&mut self, after: &str) -> Parsed<Vec<Spanned<String>>> {
        let mut names = Vec::new();
        loop {
            let after = if names.is_empty() { after } else { "`,`" };
            let name = self.expect(TokenKind::Ident, "a name", after, "USING first, second")?;
            names.push(self.named(name));
            if !self.comma(after) {
                return Ok(names);
            }
        }
    }

    /// Takes a comma, or a name that lacks one before it. Whether the list goes on.
    pub(super) fn comma(&mut self, list: &str) -> bool {
        if self.take(TokenKind::Comma).is_some() {
            return true;
        }
        let token = self.peek().clone();
        let begins = self.clause_here().is_some() || self.statement_here().is_some();
        if token.kind != TokenKind::Ident || begins {
            return false;
        }
        let gap = Span::new(self.last_end(), token.span.start);
        if token.is_word("THEN") {
            self.advance();
            let more = self.at(TokenKind::Ident);
            self.diagnostics.error(|| {
                Diagnostic::new(Code::UnexpectedToken, token.span, "there is no `THEN`")
                    .label("not known")
                    .note("goals are run one after the other, in the order they are listed")
                    .replace("write a comma", gap.to(token.span), ",")
            });
            return more;
        }
        let words = ClauseKind::WORDS.iter().map(|(word, _)| *word);
        if token.text.chars().all(|character| character.is_ascii_uppercase())
            && nearest(&token.text, words).is_some()
        {
            return false;
        }
        self.diagnostics.error(|| {
            Diagnostic::new(
                Code::UnexpectedToken,
                token.span,
                format!("a comma is missing before `{}`", token.text),
            )
            .label(format!("taken for the next of the names after {list}"))
            .replace("separate names by commas", gap, ", ")
        });
        true
    }
}
