//! Values: literals, numbers, durations, budgets, types.

use std::collections::HashSet;
use std::time::Duration;

use convoke_core::{Limits, Money};
use convoke_text::{duration, nearest};

use super::{Parsed, Parser, Reported};
use crate::agentfile::Span;
use crate::agentfile::diagnostic::{Code, Diagnostic};
use crate::agentfile::lexer::{Token, TokenKind};
use crate::agentfile::model::Type;
use crate::agentfile::syntax::{Budget, Spanned};

/// Lists in lists in lists: more makes no sense.
const DEEPEST: usize = 8;

impl<'a> Parser<'a> {
    /// A number, a text or a word.
    pub(super) fn literal(&mut self, after: &str, example: &str) -> Parsed<Spanned<String>> {
        let token = self.peek().clone();
        match token.kind {
            TokenKind::Number | TokenKind::String | TokenKind::Ident => {
                self.advance();
                Ok(Spanned::new(token.text.into_owned(), token.span))
            }
            _ => {
                self.missing(Code::MissingValue, "a number, a word or a text in quotes", after, example);
                Err(Reported)
            }
        }
    }

    /// The next token, if it is of this kind and there is no space before it.
    pub(super) fn adjacent(&mut self, kind: TokenKind) -> Option<Token<'a>> {
        if self.peek().span.start == self.last_end() { self.take(kind) } else { None }
    }

    /// A whole number.
    pub(super) fn count(&mut self, after: &str, example: &str) -> Parsed<u32> {
        let token = self.expect(TokenKind::Number, "a number", after, example)?;
        token.text.parse().map_err(|_| {
            self.diagnostics.error(|| {
                Diagnostic::new(Code::BadValue, token.span, format!("invalid number `{}`", token.text))
                    .label("must be whole and less than 4,294,967,296")
                    .help(format!("write for instance `{example}`"))
            });
            Reported
        })
    }

    /// A duration: `90s`, `5m`, `1h 30m`.
    pub(super) fn duration(&mut self, after: &str, example: &str) -> Parsed<Duration> {
        let number = self.expect(TokenKind::Number, "a time", after, example)?;
        let span = self.rest_of_duration(number.span);
        let wrong = match duration::parse(span.of(self.text)) {
            Ok(duration) if !duration.is_zero() => return Ok(duration),
            Ok(_) => format!("invalid duration `{}`: it must be more than zero", span.of(self.text)),
            Err(error) => error.to_string(),
        };
        self.diagnostics.error(|| {
            Diagnostic::new(Code::BadValue, span, wrong)
                .label("a number with a unit belongs here")
                .help("write for instance `500ms`, `90s`, `5m`, `1h30m` or `2d`")
        });
        Err(Reported)
    }

    /// Takes the tokens of the duration that begins with this number, which are whatever the lexer made of it; if there is
    /// none, the word directly behind the number.
    fn rest_of_duration(&mut self, number: Span) -> Span {
        let line = self.text[number.start..].lines().next().unwrap_or_default();
        let end = number.start + duration::leading(line);
        let before = self.place;
        while self.peek().span.end <= end && !self.at_line_end() {
            self.advance();
        }
        if self.last_end() == end {
            return Span::new(number.start, end);
        }
        self.place = before;
        self.adjacent(TokenKind::Ident).map_or(number, |unit| number.to(unit.span))
    }

    /// Limits: `20000 tokens, 0.50 usd`.
    pub(super) fn budget(&mut self) -> Parsed<Budget> {
        const UNITS: [&str; 5] = ["tokens", "usd", "calls", "tool-calls", "turns"];
        let mut limits = Limits::default();
        let mut written: Vec<String> = Vec::new();
        let mut units: Vec<String> = Vec::new();
        loop {
            let after = if written.is_empty() { "`BUDGET`" } else { "`,`" };
            let example = "BUDGET 20000 tokens, 0.50 usd";
            let number = self.expect(TokenKind::Number, "a number", after, example)?;
            let unit = self.expect(TokenKind::Ident, "a unit", "the number", example)?;
            if !UNITS.contains(&unit.text.as_ref()) {
                self.diagnostics.error(|| {
                    Diagnostic::new(
                        Code::BadValue,
                        unit.span,
                        format!("a budget is not counted in `{}`", unit.text),
                    )
                    .label("not a unit")
                    .suggest(nearest(&unit.text, UNITS), str::to_owned)
                    .help("the units are `tokens`, `usd`, `calls` (of models), `tool-calls` and `turns`")
                });
                return Err(Reported);
            }
            if units.iter().any(|before| *before == unit.text) {
                self.diagnostics.error(|| {
                    Diagnostic::new(
                        Code::RepeatedClause,
                        unit.span,
                        format!("a second limit on `{}`", unit.text),
                    )
                    .label("here again")
                    .help("keep one of them")
                });
            }
            let set = match unit.text.as_ref() {
                "usd" => parse_money(&number.text).map(|cost| limits.cost = Some(cost)),
                "tokens" => whole(&number.text).map(|count| limits.tokens = Some(count)),
                "calls" => whole(&number.text).map(|count| limits.model_calls = Some(count)),
                "tool-calls" => whole(&number.text).map(|count| limits.tool_calls = Some(count)),
                _ => whole(&number.text).map(|count| limits.turns = Some(count)),
            };
            if set.is_none() && number.text.bytes().all(|byte| matches!(byte, b'0' | b'.')) {
                self.diagnostics.error(|| {
                    let (number_text, unit) = (&number.text, &unit.text);
                    let message = format!("a limit of {number_text} {unit} lets nothing be done");
                    let some = if unit == "usd" { "0.50" } else { "10" };
                    let help = match unit.as_ref() {
                        "tool-calls" => {
                            "write `TOOLS none` to do without tools, or leave this limit out to have none"
                        }
                        _ => "leave this limit out to have none",
                    };
                    Diagnostic::new(Code::BadValue, number.span, message)
                        .label(format!("must be above 0: `{some} {unit}`, for instance"))
                        .help(help)
                });
            } else if set.is_none() {
                self.diagnostics.error(|| {
                    Diagnostic::new(
                        Code::BadValue,
                        number.span,
                        format!("invalid number of {}: `{}`", unit.text, number.text),
                    )
                    .label(
                        "must be a whole number; only `usd` takes a point, with six digits behind it at most",
                    )
                    .help(format!("write for instance `{example}`"))
                });
            }
            written.push(format!("{} {}", number.text, unit.text));
            units.push(unit.text.into_owned());
            if self.take(TokenKind::Comma).is_none() {
                return Ok(Budget { limits, written });
            }
        }
    }

    /// A type: `string`, `int`, `number`, `bool`, `json`, `[type]`, or the values there are: `low|high`.
    pub(super) fn ty(&mut self, depth: usize) -> Parsed<Type> {
        if let Some(open) = self.take(TokenKind::OpenBracket) {
            if depth == DEEPEST {
                self.diagnostics.error(|| {
                    Diagnostic::new(
                        Code::BadValue,
                        open.span,
                        format!("lists in lists, more than {DEEPEST} deep"),
                    )
                    .label("one too many")
                    .help("write `json` for a value of any shape")
                });
                return Err(Reported);
            }
            let inner = self.ty(depth + 1)?;
            self.expect(TokenKind::CloseBracket, "`]`", "the type of a list's items", "tags:[string]")?;
            return Ok(Type::List(Box::new(inner)));
        }
        let mut values: Vec<Token<'a>> = Vec::new();
        loop {
            let token = self.peek().clone();
            if !matches!(token.kind, TokenKind::Ident | TokenKind::String | TokenKind::Number) {
                let after = if values.is_empty() { "`:`" } else { "`|`" };
                let what = if values.is_empty() { "a type" } else { "a value" };
                self.missing(Code::MissingValue, what, after, "count:int, level:low|high, tags:[string]");
                return Err(Reported);
            }
            self.advance();
            values.push(token);
            if self.take(TokenKind::Bar).is_none() {
                break;
            }
        }
        match values.as_slice() {
            [single] => self.named_type(single),
            _ => self.values(&values),
        }
    }

    fn named_type(&mut self, token: &Token<'a>) -> Parsed<Type> {
        if token.kind == TokenKind::Ident
            && let Some(ty) = Type::from_name(&token.text)
        {
            return Ok(ty);
        }
        let usual = match token.text.to_lowercase().as_str() {
            "str" | "text" => Some("string"),
            "integer" | "i64" | "long" => Some("int"),
            "float" | "double" | "decimal" => Some("number"),
            "boolean" => Some("bool"),
            "object" | "any" | "map" => Some("json"),
            "list" | "array" => Some("[string]"),
            _ => nearest(&token.text, Type::NAMES.iter().copied()),
        };
        self.diagnostics.error(|| {
            Diagnostic::new(Code::UnknownType, token.span, format!("there is no type `{}`", token.text))
                .label("not a type")
                .suggest(usual, str::to_owned)
                .help("types are `string`, `int`, `number`, `bool`, `json`, lists `[string]`, and values `low|high`")
        });
        Err(Reported)
    }

    fn values(&mut self, values: &[Token<'a>]) -> Parsed<Type> {
        if let Some(token) = values
            .iter()
            .find(|token| token.kind == TokenKind::Ident && Type::from_name(&token.text).is_some())
        {
            self.diagnostics.error(|| {
                Diagnostic::new(
                    Code::BadValue,
                    token.span,
                    format!("`{}` is a type, not a value", token.text),
                )
                .label("among values")
                .note("`a|b` means that the value is the word `a` or the word `b`")
                .help("use one type, or `json` for a value of any shape; for the word itself use quotes")
            });
            return Err(Reported);
        }
        let mut names: Vec<String> = Vec::new();
        let mut seen = HashSet::new();
        for token in values {
            if !seen.insert(token.text.as_ref()) {
                self.diagnostics.error(|| {
                    Diagnostic::new(
                        Code::DuplicateName,
                        token.span,
                        format!("the value `{}` is named twice", token.text),
                    )
                    .label("here again")
                    .help("keep one of them")
                });
            } else {
                names.push(token.text.clone().into_owned());
            }
        }
        Ok(Type::OneOf(names))
    }

    /// The span from a place to the end of the last token.
    pub(super) fn since(&self, start: usize) -> Span {
        Span::new(start, self.last_end())
    }
}

fn whole(text: &str) -> Option<u64> {
    text.parse().ok().filter(|count| *count > 0)
}

/// Dollars with a point, exactly.
fn parse_money(text: &str) -> Option<Money> {
    Money::parse_dollars(text).filter(|money| *money > Money::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_exact() {
        assert_eq!(parse_money("0.5"), Some(Money::from_cents(50)));
        assert_eq!(parse_money("2"), Some(Money::from_dollars(2)));
        assert_eq!(parse_money("0.000001"), Some(Money::from_micros(1)));
        for wrong in ["0", "0.0000001", "99999999999999999999", "x"] {
            assert_eq!(parse_money(wrong), None, "{wrong}");
        }
    }
}
