//! Statements.

use convoke_text::nearest;

use super::{Parser, keyword};
use crate::agentfile::Span;
use crate::agentfile::diagnostic::{Code, Diagnostic};
use crate::agentfile::lexer::{Token, TokenKind};
use crate::agentfile::syntax::{ClauseKind, Clauses, Statement, StatementKind};

impl<'a> Parser<'a> {
    pub(super) fn file(&mut self) {
        loop {
            match self.peek().kind {
                TokenKind::End => break,
                TokenKind::Newline => {
                    self.advance();
                }
                _ => self.statement(),
            }
        }
    }

    /// The statement that may begin with the next token.
    pub(super) fn statement_here(&self) -> Option<StatementKind> {
        let token = self.peek();
        if !matches!(token.kind, TokenKind::Ident | TokenKind::Keyword(_)) {
            return None;
        }
        StatementKind::from_word(&token.text)
    }

    fn statement(&mut self) {
        if let Some(kind) = self.statement_here() {
            self.statement_of(kind);
        } else if let TokenKind::Illegal(_) = self.peek().kind {
            self.illegal();
            self.skip_line();
        } else if let Some(clause) = self.clause_here() {
            self.stray_clause(clause);
        } else {
            self.unknown_statement();
        }
    }

    fn statement_of(&mut self, kind: StatementKind) {
        let first = self.peek().clone();
        let mut statement = Statement {
            kind,
            keyword: first.span,
            span: first.span,
            name: None,
            clauses: Clauses::default(),
            continued: false,
        };
        match kind {
            StatementKind::Supervised => self.supervised(&mut statement),
            StatementKind::Security => {
                self.advance();
                self.security(&mut statement);
            }
            StatementKind::Setting => {
                if let Some(clause) = self.clause_here() {
                    self.clause(clause, &mut statement);
                }
            }
            _ => {
                self.advance();
                statement.name = self.name(kind);
                if kind == StatementKind::Input {
                    self.input_head(&mut statement);
                }
                self.clauses(&mut statement);
            }
        }
        statement.span = Span::new(first.span.start, self.last_end());
        self.complete(&statement);
        self.file.statements.push(statement);
    }

    /// Says what a statement lacks.
    fn complete(&mut self, statement: &Statement) {
        let clauses = &statement.clauses;
        let kind = statement.kind;
        // Nothing but its first word: that has been said.
        if kind.is_named() && statement.name.is_none() && *clauses == Clauses::default() {
            return;
        }
        let named = statement.name_span();
        let word = kind.word();
        let end = Span::at(statement.span.end);
        let is_goal = matches!(kind, StatementKind::Agent | StatementKind::Goal | StatementKind::Converge);
        if is_goal && clauses.body.is_none() && !self.failed_within(statement.span) {
            let what = if kind == StatementKind::Agent { "who it is" } else { "what is to be achieved" };
            self.diagnostics.error(|| {
                Diagnostic::new(Code::MissingText, named, format!("this `{word}` does not say {what}"))
                    .label("a text or `FROM` and a path belongs behind the name")
                    .replace("put a text between quotes", Span::at(named.end), format!(" \"{what}\""))
            });
            self.skip_prose();
        }
        let repeats = matches!(kind, StatementKind::Converge | StatementKind::Loop);
        if repeats && clauses.within.is_none() && !self.failed_within(statement.span) {
            self.diagnostics.error(|| {
                Diagnostic::new(
                    Code::MissingClause,
                    named,
                    format!("this `{word}` does not say how often at most"),
                )
                .label("`WITHIN` is missing")
                .replace("say it", end, " WITHIN 5")
            });
        }
        let runs = kind == StatementKind::Run || kind == StatementKind::Loop && clauses.body.is_none();
        if runs && clauses.using.is_none() && !self.failed_within(statement.span) {
            self.diagnostics.error(|| {
                Diagnostic::new(Code::MissingClause, named, format!("this `{word}` does not say what to run"))
                    .label("`USING` is missing")
                    .replace("name goals", Span::at(named.end), " USING first-goal, second-goal")
            });
        }
    }

    /// Whether an error was already reported within a statement: then something may be missing because of that.
    fn failed_within(&self, span: Span) -> bool {
        self.diagnostics.iter().next_back().is_some_and(|last| {
            last.severity() == crate::agentfile::diagnostic::Severity::Error
                && last.span.start >= span.start
                && last.span.start <= span.end
                && !matches!(last.code, Code::MissingName | Code::MissingText)
        })
    }

    /// A line that begins with a word that goes on with a statement, and is not indented.
    fn stray_clause(&mut self, clause: ClauseKind) {
        let token = self.peek().clone();
        let above = self.file.statements.last().map(|statement| (statement.kind, statement.keyword));
        let indented = self.indented(&token);
        self.diagnostics.error(|| {
            let diagnostic = Diagnostic::new(
                Code::UnexpectedToken,
                token.span,
                format!("no statement begins with {}", describe(&token)),
            );
            match above {
                Some((kind, above)) if kind.takes(clause) && !indented => diagnostic
                    .label("begins a line")
                    .related(above, "may belong to this statement")
                    .replace("indent it to go on with the statement above", Span::at(token.span.start), "  "),
                _ => diagnostic
                    .label("no statement goes on here")
                    .help("statements begin with NAME, INPUT, AGENT, GOAL, CONVERGE, LOOP, RUN, SUPERVISED or SECURITY"),
            }
        });
        match self.file.statements.pop() {
            Some(mut statement) if statement.kind.takes(clause) => {
                self.clauses(&mut statement);
                statement.continued = true;
                statement.span.end = self.last_end();
                self.file.statements.push(statement);
            }
            other => {
                self.file.statements.extend(other);
                self.skip_line();
            }
        }
    }

    fn unknown_statement(&mut self) {
        let token = self.peek().clone();
        let words = StatementKind::WORDS.iter().map(|(word, _)| *word);
        let is_named = self.file.statements.iter().any(|statement| statement.kind == StatementKind::Name);
        let capitals = token.text.to_ascii_uppercase();
        let meant = match &*capitals {
            "WORKFLOW" => (!is_named).then_some("NAME"),
            _ if token.kind == TokenKind::Ident => nearest(&token.text, words),
            _ => None,
        };
        self.diagnostics.error(|| {
            let diagnostic = Diagnostic::new(
                Code::UnknownStatement,
                token.span,
                format!("no statement begins with {token}"),
            )
            .label("not known");
            match (meant, &*capitals) {
                (_, "VERSION") => diagnostic.help("a version belongs into the package's manifest.json; delete this line"),
                (None, "WORKFLOW") => diagnostic.help("`NAME` says what the workflow is called; delete this line"),
                (_, "WORKFLOW") => diagnostic.replace("the name of a workflow is written", token.span, "NAME"),
                (_, "STEP" | "THEN" | "DO") => {
                    diagnostic.help("goals are run by `RUN name USING goal, goal`, in the order they are listed")
                }
                (Some(meant), _) => diagnostic.suggest(Some(meant), str::to_owned),
                _ => diagnostic.help(
                    "statements begin with NAME, INPUT, AGENT, GOAL, CONVERGE, LOOP, RUN, SUPERVISED or SECURITY; a \
                     comment begins with `#`",
                ),
            }
        });
        match meant {
            Some(word) if capitals != "VERSION" => {
                self.tokens[self.place] = Token { kind: keyword(word), text: word.into(), ..token };
                self.statement();
            }
            _ => self.skip_line(),
        }
    }
}

fn describe(token: &Token<'_>) -> String {
    match token.kind {
        TokenKind::String => "a text".to_owned(),
        _ => format!("`{}`", token.text),
    }
}
