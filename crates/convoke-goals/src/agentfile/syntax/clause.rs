//! Syntax of clauses.

use std::time::Duration;

use convoke_core::Limits;

use super::Spanned;
use crate::agentfile::Span;
use crate::agentfile::lexer::Comparison;
use crate::agentfile::model::{SecurityMode, Type};

macro_rules! clauses {
    ($($(#[$doc:meta])* $clause:ident: $value:ty,)*) => {
        /// All parts a statement can have. The span of each has its first word too.
        #[derive(Debug, Clone, Default, PartialEq)]
        #[non_exhaustive]
        pub struct Clauses { $($(#[$doc])* pub $clause: Option<Spanned<$value>>,)* }

        impl Clauses {
            /// Adds the one clause that `other` has. If it is there already: where.
            pub(crate) fn merge(&mut self, other: Clauses, span: Span) -> Option<Span> {
                let mut before = None;
                $(put(&mut self.$clause, other.$clause, span, &mut before);)*
                before
            }
        }
    };
}

clauses! {
    /// `"text"` or `FROM path`.
    body: Body,
    /// `:type` after an input's name.
    ty: Type,
    /// `DEFAULT value`.
    default: Spanned<String>,
    /// `SECRET`.
    secret: (),
    /// `-> name:type, name`.
    outputs: Vec<OutputField>,
    /// `USING name, name`.
    using: Vec<Spanned<String>>,
    /// `REQUIRES "profile"`.
    requires: String,
    /// `WITHIN 5` or `WITHIN $rounds`.
    within: Within,
    /// `MODEL "service/model"`.
    model: String,
    /// `TOOLS read, grep` or `TOOLS none`.
    tools: Tools,
    /// `TIMEOUT 5m`.
    timeout: Duration,
    /// `RETRY 3` or `RETRY 3 AFTER 10s`.
    retry: Retry,
    /// `BUDGET 20000 tokens, 0.50 usd`.
    budget: Budget,
    /// `MEMORY assistant`.
    memory: String,
    /// `WHEN $kind IS bug`.
    when: Condition,
    /// `PARALLEL`.
    parallel: (),
    /// `SUPERVISED`, `SUPERVISED HUMAN` or `UNSUPERVISED`.
    supervise: Supervise,
    /// What `SECURITY` says.
    security: SecurityMode,
}

/// The body of a goal or an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// The text itself.
    Text(Quoted),
    /// Where the text is.
    From(String),
}

/// A text between quotes. Texts are equal if they say the same, however they are written.
#[derive(Debug, Clone, Eq)]
pub struct Quoted {
    /// What it says.
    pub value: String,
    /// Where its first byte is written.
    start: usize,
    /// The places in `value` of bytes that are written with an escape, and so take a byte more.
    escapes: Vec<usize>,
}

impl PartialEq for Quoted {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Quoted {
    /// A text that says `value` and is written, quotes included, as `raw` at `place`.
    pub(crate) fn new(value: String, raw: &str, place: usize) -> Self {
        if let Some(inner) = raw.strip_prefix("\"\"\"") {
            let line_end = if inner.starts_with("\r\n") { 2 } else { usize::from(inner.starts_with('\n')) };
            return Self { value, start: place + 3 + line_end, escapes: Vec::new() };
        }
        let mut escapes = Vec::new();
        let bytes = raw.as_bytes();
        let mut at = 1;
        while let Some(found) = raw.get(at..).and_then(|rest| rest.find('\\')) {
            at += found;
            if matches!(bytes.get(at + 1), Some(b'n' | b't' | b'r' | b'\\' | b'"')) {
                escapes.push(at - 1 - escapes.len());
                at += 2;
            } else {
                at += 1;
            }
        }
        Self { value, start: place + 1, escapes }
    }

    /// Where a part of the value is written.
    pub(crate) fn span(&self, start: usize, length: usize) -> Span {
        let place = |at: usize| self.start + at + self.escapes.partition_point(|escape| *escape < at);
        Span::new(place(start), place(start + length))
    }
}

/// A value a goal or an agent is to give.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputField {
    /// Its name.
    pub name: Spanned<String>,
    /// Its type, if it says.
    pub ty: Option<Spanned<Type>>,
}

/// The limit of a loop or a convergence.
#[derive(Debug, Clone, PartialEq)]
pub enum Within {
    /// So often.
    Times(u32),
    /// As often as a variable says.
    Variable(Spanned<String>),
}

/// The tools that may be used.
#[derive(Debug, Clone, PartialEq)]
pub enum Tools {
    /// None at all.
    None,
    /// Those with these names; `*` stands for any part of a name.
    Named(Vec<Spanned<String>>),
}

/// The number of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// So often, after the first time.
    pub times: u32,
    /// How long to wait before the second time.
    pub after: Option<Duration>,
}

/// A budget, and how that is written: `20000 tokens`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// The limits.
    pub limits: Limits,
    /// The limits as they are written, one by one.
    pub(crate) written: Vec<String>,
}

/// The supervision clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supervise {
    /// `SUPERVISED`: a model does.
    Model,
    /// `SUPERVISED HUMAN`: a person does.
    Human,
    /// `UNSUPERVISED`: nobody does.
    Nobody,
}

/// Under which condition: all tests of at least one of the lists hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The lists, which `OR` separates; the tests of each, which `AND` separates.
    pub any: Vec<Vec<Spanned<Test>>>,
}

/// One test of a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// The variable that is looked at.
    pub variable: Spanned<String>,
    /// What is asked of it.
    pub operator: Operator,
    /// What it is compared with.
    pub values: Vec<Spanned<String>>,
}

/// The operator of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `$x`
    True,
    /// `NOT $x`
    False,
    /// `$x IS a`
    Is,
    /// `$x IS NOT a`
    IsNot,
    /// `$x IN a, b`
    In,
    /// `$x NOT IN a, b`
    NotIn,
    /// `$x CONTAINS a`
    Contains,
    /// `$x < 3`
    Compare(Comparison),
}

fn put<T>(slot: &mut Option<Spanned<T>>, new: Option<Spanned<T>>, span: Span, before: &mut Option<Span>) {
    match (new, slot.as_ref()) {
        (Some(_), Some(old)) => *before = Some(old.span),
        (Some(new), None) => *slot = Some(Spanned::new(new.value, span)),
        (None, _) => {}
    }
}
