//! The syntax tree, with spans.
//!
//! A tree holds every statement that could be made out, also those with mistakes in them. Trees are equal if they say
//! the same: places and comments do not count.

mod clause;
mod kind;

pub use clause::{
    Body, Budget, Clauses, Condition, Operator, OutputField, Quoted, Retry, Supervise, Test, Tools, Within,
};
pub use kind::{ClauseKind, StatementKind};

use super::Span;
use super::lexer::Comment;

/// A value and where it is written.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it is written.
    pub span: Span,
}

impl<T> Spanned<T> {
    pub(crate) fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

/// A whole file.
#[derive(Debug, Clone, Default)]
pub struct File {
    /// All statements, in order.
    pub statements: Vec<Statement>,
    /// All comments, in order.
    pub comments: Vec<Comment>,
}

impl PartialEq for File {
    fn eq(&self, other: &Self) -> bool {
        self.statements == other.statements
    }
}

/// A statement.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Which one.
    pub kind: StatementKind,
    /// Where its first word is.
    pub keyword: Span,
    /// Where all of it is.
    pub span: Span,
    /// Its name. `None` for statements without one, and if it is missing.
    pub name: Option<Spanned<String>>,
    /// Everything else.
    pub clauses: Clauses,
    /// Whether it goes on in further lines, apart from those within a text.
    pub continued: bool,
}

impl Statement {
    /// Where its name is, or its first word if it has none.
    pub(crate) fn name_span(&self) -> Span {
        self.name.as_ref().map_or(self.keyword, |name| name.span)
    }
}

impl PartialEq for Statement {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.name == other.name && self.clauses == other.clauses
    }
}
