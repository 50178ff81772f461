//! Clauses: the parts of a statement after its name, in any order.

use convoke_text::nearest;

use super::{Parsed, Parser, keyword};
use crate::agentfile::Span;
use crate::agentfile::diagnostic::{Code, Diagnostic};
use crate::agentfile::lexer::{Illegal, Keyword, Token, TokenKind};
use crate::agentfile::syntax::{
    Body, ClauseKind, Clauses, Quoted, Retry, Spanned, Statement, StatementKind, Supervise,
};

impl<'a> Parser<'a> {
    /// The clause that may begin with the next token.
    pub(super) fn clause_here(&self) -> Option<ClauseKind> {
        clause_of(self.peek())
    }

    /// All clauses of a statement.
    pub(super) fn clauses(&mut self, statement: &mut Statement) {
        loop {
            if self.at(TokenKind::End) {
                break;
            }
            if self.at(TokenKind::Newline) {
                if !self.goes_on(statement.kind) {
                    break;
                }
                self.advance();
                statement.continued = true;
                continue;
            }
            match self.clause_here() {
                // A word may begin a clause and a statement. In the same line it is a clause if it can be one.
                Some(clause) if statement.kind.takes(clause) => self.clause(clause, statement),
                // Behind an agent it is not the whole file's.
                Some(clause @ ClauseKind::Memory) if statement.kind == StatementKind::Agent => {
                    self.misplaced(clause, statement);
                }
                _ if self.statement_here().is_some() => break,
                Some(clause) => self.misplaced(clause, statement),
                None => self.unexpected(statement.kind),
            }
        }
    }

    /// Whether the next line goes on with the statement: it is indented and begins with a clause.
    fn goes_on(&self, kind: StatementKind) -> bool {
        let next = self.ahead(1);
        let begins_statement =
            StatementKind::from_word(&next.text).is_some() && next.kind != TokenKind::String;
        match clause_of(next) {
            // In a line of its own it has always been a statement.
            Some(ClauseKind::Supervised) | None => false,
            Some(clause) => {
                self.indented(next)
                    && (kind.takes(clause)
                        || (kind, clause) == (StatementKind::Agent, ClauseKind::Memory)
                        || !begins_statement && kind.clauses().next().is_some())
            }
        }
    }

    /// Parses a clause and puts it into the statement.
    pub(super) fn clause(&mut self, clause: ClauseKind, statement: &mut Statement) {
        let start = self.peek().span;
        let mut parsed = Clauses::default();
        if self.clause_value(clause, &mut parsed).is_err() {
            self.skip_to_clause();
            return;
        }
        let span = Span::new(start.start, self.last_end());
        let before = statement.clauses.merge(parsed, span);
        if let Some(before) = before {
            let word = clause.word();
            self.diagnostics.error(|| {
                let message = match clause {
                    ClauseKind::Text | ClauseKind::From => "a second text in the same statement".to_owned(),
                    ClauseKind::Supervised | ClauseKind::Unsupervised => {
                        "the statement says twice whether it is supervised".to_owned()
                    }
                    _ => format!("a second `{word}` in the same statement"),
                };
                Diagnostic::new(Code::RepeatedClause, span, message)
                    .label("here again")
                    .related(before, "first here")
                    .help("keep one of them")
            });
        }
    }

    fn misplaced(&mut self, clause: ClauseKind, statement: &Statement) {
        let start = self.peek().span;
        if self.clause_value(clause, &mut Clauses::default()).is_err() {
            self.skip_to_clause();
        }
        let span = Span::new(start.start, self.last_end());
        let kind = statement.kind;
        self.diagnostics.error(|| {
            let mut word = clause.word().to_owned();
            if word != "a text" {
                word = format!("`{word}`");
            }
            let diagnostic = Diagnostic::new(
                Code::MisplacedClause,
                span,
                format!("`{}` takes no {}", kind.word(), word.trim_start_matches("a ")),
            )
            .label("does not belong here");
            match (kind, clause) {
                (StatementKind::Goal, ClauseKind::Within) => {
                    diagnostic.replace("a goal that is improved on is written", statement.keyword, "CONVERGE")
                }
                (StatementKind::Goal | StatementKind::Converge, ClauseKind::Requires) => diagnostic
                    .help("give `REQUIRES` to the agent, or choose a model for this goal with `MODEL`"),
                (StatementKind::Agent, ClauseKind::Memory) => {
                    diagnostic.help("give `MEMORY` to the goal that uses the agent, or to the whole file in a line of its own")
                }
                (StatementKind::Run, ClauseKind::Within) => {
                    diagnostic.replace("a step that is repeated is written", statement.keyword, "LOOP")
                }
                (StatementKind::Run, ClauseKind::Text | ClauseKind::From) => {
                    diagnostic.help("a text belongs to a `GOAL`; a `RUN` names goals: `RUN main USING goal`")
                }
                (StatementKind::Run, ClauseKind::Outputs) => diagnostic.help("outputs belong to the goals"),
                _ => diagnostic.help(format!("`{}` takes {}", kind.word(), listed(kind))),
            }
        });
    }

    /// The value of a clause. Its span is set by the caller.
    fn clause_value(&mut self, clause: ClauseKind, clauses: &mut Clauses) -> Parsed<()> {
        let first = self.advance();
        let here = first.span;
        match clause {
            ClauseKind::Text => {
                let quoted = Quoted::new(first.text.into_owned(), here.of(self.text), here.start);
                clauses.body = Some(Spanned::new(Body::Text(quoted), here));
            }
            ClauseKind::From => {
                let path = self.path()?;
                clauses.body = Some(Spanned::new(Body::From(path), here));
            }
            ClauseKind::Outputs => clauses.outputs = Some(Spanned::new(self.outputs()?, here)),
            ClauseKind::Using => clauses.using = Some(Spanned::new(self.names("`USING`")?, here)),
            ClauseKind::Requires => {
                let profile = self.expect(
                    TokenKind::String,
                    "a profile's name in quotes",
                    "`REQUIRES`",
                    "REQUIRES \"fast\"",
                )?;
                clauses.requires = Some(Spanned::new(profile.text.into_owned(), profile.span));
            }
            ClauseKind::Within => clauses.within = Some(Spanned::new(self.within()?, here)),
            ClauseKind::Default => {
                let value = self.literal("`DEFAULT`", "INPUT hours DEFAULT 4")?;
                clauses.default = Some(Spanned::new(value, here));
            }
            ClauseKind::Secret => clauses.secret = Some(Spanned::new((), here)),
            ClauseKind::Model => {
                let example = "MODEL \"openai/gpt-5-mini\"";
                let model = self.expect(TokenKind::String, "a model's name in quotes", "`MODEL`", example)?;
                if model.text.trim().is_empty() {
                    self.diagnostics.error(|| {
                        Diagnostic::new(Code::BadValue, model.span, "the model has no name")
                            .label("empty")
                            .help(format!("write for instance `{example}`"))
                    });
                }
                clauses.model = Some(Spanned::new(model.text.into_owned(), model.span));
            }
            ClauseKind::Tools => clauses.tools = Some(Spanned::new(self.tools()?, here)),
            ClauseKind::Timeout => {
                clauses.timeout = Some(Spanned::new(self.duration("`TIMEOUT`", "TIMEOUT 5m")?, here));
            }
            ClauseKind::Retry => {
                let times = self.count("`RETRY`", "RETRY 3")?;
                let after = match self.take_word("AFTER") {
                    Some(_) => Some(self.duration("`AFTER`", "RETRY 3 AFTER 10s")?),
                    None => None,
                };
                clauses.retry = Some(Spanned::new(Retry { times, after }, here));
            }
            ClauseKind::Budget => clauses.budget = Some(Spanned::new(self.budget()?, here)),
            ClauseKind::Memory => clauses.memory = Some(Spanned::new(self.memory()?, here)),
            ClauseKind::When => clauses.when = Some(Spanned::new(self.condition()?, here)),
            ClauseKind::Parallel => clauses.parallel = Some(Spanned::new((), here)),
            ClauseKind::Supervised => {
                let human = self.human().is_some();
                let value = if human { Supervise::Human } else { Supervise::Model };
                clauses.supervise = Some(Spanned::new(value, here));
            }
            ClauseKind::Unsupervised => clauses.supervise = Some(Spanned::new(Supervise::Nobody, here)),
        }
        Ok(())
    }

    /// Takes the `HUMAN` after `SUPERVISED`, and what was most likely meant to be one.
    pub(super) fn human(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        if token.kind == TokenKind::Ident
            && let Some(meant) = nearest(&token.text, [Keyword::Human.word()])
        {
            let (shown, span) = (token.to_string(), token.span);
            self.diagnostics.error(|| {
                Diagnostic::new(
                    Code::UnexpectedToken,
                    span,
                    format!("{shown} has no meaning after `SUPERVISED`"),
                )
                .label("not expected here")
                .suggest(Some(meant), str::to_owned)
            });
            return Some(self.advance());
        }
        self.take(TokenKind::Keyword(Keyword::Human))
    }

    /// Reports a token that begins no clause, and takes it for the clause that was most likely meant.
    fn unexpected(&mut self, kind: StatementKind) {
        let token = self.peek().clone();
        if let TokenKind::Illegal(illegal) = token.kind {
            if illegal == Illegal::BrokenArrow && kind.takes(ClauseKind::Outputs) {
                // What it would be with a space before it.
                self.diagnostics.error(|| {
                    let arrow = Span::new(token.span.start - 1, token.span.end);
                    Diagnostic::new(Code::UnexpectedCharacter, arrow, "`->` needs a space before it")
                        .label("the `-` is taken for a part of the name before it")
                        .replace("put a space there", arrow, " -> ")
                });
                self.tokens[self.place] = Token { kind: TokenKind::Arrow, text: "->".into(), ..token };
                return;
            }
            self.illegal();
            return;
        }
        let words = ClauseKind::WORDS
            .iter()
            .filter(|(_, clause)| kind.takes(*clause))
            .map(|(word, _)| *word)
            .filter(|word| *word != "->");
        let meant = if token.kind == TokenKind::Ident { nearest(&token.text, words) } else { None };
        let after_supervised = self
            .place
            .checked_sub(1)
            .is_some_and(|before| self.tokens[before].kind == TokenKind::Keyword(Keyword::Supervised));
        self.diagnostics.error(|| {
            let diagnostic = Diagnostic::new(
                Code::UnexpectedToken,
                token.span,
                format!("{token} has no meaning in `{}`", kind.word()),
            )
            .label("not expected here");
            match (meant, kind) {
                (Some(_), _) => diagnostic.suggest(meant, str::to_owned),
                (None, StatementKind::Name) => {
                    diagnostic.help("a name is one word of letters, digits, `-` and `_`")
                }
                _ if after_supervised => diagnostic.help(
                    "write `SUPERVISED` for a model that looks at the work, `SUPERVISED HUMAN` for a person",
                ),
                _ if token.is_word("THEN") => {
                    diagnostic.help("goals are run in the order they are listed: `USING first, second`")
                }
                _ => diagnostic.help(format!("`{}` takes {}", kind.word(), listed(kind))),
            }
        });
        match meant {
            Some(word) => {
                self.tokens[self.place] = Token { kind: keyword(word), text: word.into(), ..token };
            }
            None => {
                self.advance();
                self.skip_to_clause();
            }
        }
    }
}

/// The clause that begins with a token.
fn clause_of(token: &Token<'_>) -> Option<ClauseKind> {
    match token.kind {
        TokenKind::String => Some(ClauseKind::Text),
        TokenKind::Arrow | TokenKind::Ident | TokenKind::Keyword(_) => ClauseKind::from_word(&token.text),
        _ => None,
    }
}

/// The clauses a statement takes, in words.
fn listed(kind: StatementKind) -> String {
    let words: Vec<String> = kind
        .clauses()
        .filter(|clause| !matches!(clause, ClauseKind::Text))
        .map(|clause| format!("`{}`", clause.word()))
        .collect();
    match words.split_last() {
        None => "nothing else".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}
