//! Conditions: `WHEN $kind IS bug AND $count > 3 OR $urgent`.

use super::{Parsed, Parser, Reported, Token};
use crate::agentfile::diagnostic::{Code, Diagnostic};
use crate::agentfile::lexer::{Illegal, TokenKind};
use crate::agentfile::syntax::{Condition, Operator, Spanned, Test};

const EXAMPLE: &str = "WHEN $kind IS bug AND $count > 3";

impl<'a> Parser<'a> {
    /// What follows `WHEN`. `AND` binds tighter than `OR`.
    pub(super) fn condition(&mut self) -> Parsed<Condition> {
        let mut any = vec![vec![self.test("`WHEN`")?]];
        loop {
            if let Some(word) = self.connective("AND") {
                let test = self.test(&word)?;
                if let Some(all) = any.last_mut() {
                    all.push(test);
                }
            } else if let Some(word) = self.connective("OR") {
                any.push(vec![self.test(&word)?]);
            } else {
                return Ok(Condition { any });
            }
        }
    }

    /// Takes a word of conditions, also if it is in small letters, which is a mistake.
    fn connective(&mut self, word: &str) -> Option<String> {
        let token = self.peek().clone();
        if token.kind != TokenKind::Ident || !token.text.eq_ignore_ascii_case(word) {
            return None;
        }
        self.advance();
        if token.text != word {
            self.diagnostics.error(|| {
                Diagnostic::new(
                    Code::UnexpectedToken,
                    token.span,
                    format!("`{}` is written in capitals", token.text),
                )
                .label("in small letters")
                .replace("write", token.span, word)
            });
        }
        Some(format!("`{word}`"))
    }

    fn test(&mut self, after: &str) -> Parsed<Spanned<Test>> {
        let start = self.peek().span.start;
        let negated = self.connective("NOT").is_some();
        let variable = self.condition_variable(after)?;
        let mut test = Test { variable, operator: Operator::True, values: Vec::new() };
        if negated {
            test.operator = Operator::False;
            return Ok(Spanned::new(test, self.since(start)));
        }
        let token = self.peek().clone();
        match token.kind {
            TokenKind::Comparison(comparison) => {
                self.advance();
                test.operator = Operator::Compare(comparison);
                test.values.push(self.literal(&format!("`{}`", comparison.sign()), EXAMPLE)?);
            }
            TokenKind::Illegal(Illegal::Character('=' | '!')) => {
                self.equals_sign(&token, &mut test)?;
            }
            _ if self.connective("IS").is_some() => {
                let not = self.connective("NOT").is_some();
                test.operator = if not { Operator::IsNot } else { Operator::Is };
                test.values.push(self.literal("`IS`", EXAMPLE)?);
            }
            _ if self.connective("IN").is_some() => {
                test.operator = Operator::In;
                self.values_of_test(&mut test)?;
            }
            _ if self.connective("CONTAINS").is_some() => {
                test.operator = Operator::Contains;
                test.values.push(self.literal("`CONTAINS`", "WHEN $tags CONTAINS urgent")?);
            }
            _ if self.connective("NOT").is_some() => {
                if self.connective("IN").is_none() {
                    self.missing(Code::MissingValue, "`IN`", "`NOT`", "WHEN $kind NOT IN bug, crash");
                    return Err(Reported);
                }
                test.operator = Operator::NotIn;
                self.values_of_test(&mut test)?;
            }
            _ => {}
        }
        Ok(Spanned::new(test, self.since(start)))
    }

    fn condition_variable(&mut self, after: &str) -> Parsed<Spanned<String>> {
        let token = self.peek().clone();
        match token.kind {
            TokenKind::Variable if !token.text.is_empty() => {
                self.advance();
                Ok(Spanned::new(token.text.into_owned(), token.span))
            }
            // The dollar is easily forgotten.
            TokenKind::Ident if self.clause_here().is_none() && self.statement_here().is_none() => {
                self.advance();
                self.diagnostics.error(|| {
                    Diagnostic::new(
                        Code::UnexpectedToken,
                        token.span,
                        format!("`{}` is not a variable", token.text),
                    )
                    .label("a `$` is missing")
                    .replace("write", token.span, format!("${}", token.text))
                });
                Ok(Spanned::new(token.text.into_owned(), token.span))
            }
            _ => {
                self.missing(Code::MissingValue, "a variable", after, EXAMPLE);
                Err(Reported)
            }
        }
    }

    /// `=`, `==` or `!=`, which other languages have.
    fn equals_sign(&mut self, first: &Token<'a>, test: &mut Test) -> Parsed<()> {
        let mut span = first.span;
        self.advance();
        while let Some(next) = self.adjacent(TokenKind::Illegal(Illegal::Character('='))) {
            span = span.to(next.span);
        }
        let not = first.text == "!";
        self.diagnostics.error(|| {
            let word = if not { "IS NOT" } else { "IS" };
            Diagnostic::new(
                Code::UnexpectedCharacter,
                span,
                format!("`{}` has no meaning here", span.of(self.text)),
            )
            .label("not a comparison")
            .replace("write", span, word)
        });
        test.operator = if not { Operator::IsNot } else { Operator::Is };
        test.values.push(self.literal("`IS`", EXAMPLE)?);
        Ok(())
    }

    fn values_of_test(&mut self, test: &mut Test) -> Parsed<()> {
        loop {
            test.values.push(self.literal("`IN`", "WHEN $kind IN bug, crash")?);
            if self.take(TokenKind::Comma).is_none() {
                return Ok(());
            }
        }
    }
}
