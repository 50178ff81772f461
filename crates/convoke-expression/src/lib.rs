#![doc = include_str!("../README.md")]
//!
//! **What this crate must never do.** Ask a clock or chance; do more for an expression than it counted before; change what an expression
//! comes to, for a run that is resumed decides again what it decided.

mod evaluate;
mod function;
mod lexer;
mod operator;
mod parser;
mod pattern;
mod syntax;
mod value;
mod work;

use std::sync::Arc;

use serde_json::Value as Json;

use evaluate::Evaluation;
use syntax::Block;
use value::Value;
use work::{Evaluated, Fault};

/// An expression that was read. Copying it costs nothing.
#[derive(Debug, Clone)]
pub struct Expression {
    block: Arc<Block>,
    names: Arc<[String]>,
}

/// Why a text is not an expression: where, and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
#[non_exhaustive]
pub struct ParseError {
    /// What is wrong.
    pub problem: String,
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
#[non_exhaustive]
pub struct EvaluationError {
    /// What is wrong.
    pub problem: String,
    /// Whether something is nil that must not be: a variable that is not there, most likely.
    pub is_about_nil: bool,
}

/// What an expression came to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome<T> {
    /// Its value.
    pub value: T,
    /// How many values were touched for it. The same for the same variables, wherever that is.
    pub work: usize,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let (block, names) = parser::parse(text).map_err(|problem| ParseError { problem })?;
        Ok(Self { block: Arc::new(block), names: names.into() })
    }

    /// The variables that it asks about.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Whether it is true. Nil is not.
    ///
    /// # Errors
    /// If that cannot be said.
    pub fn truth<'a>(
        &'a self,
        variable: &'a dyn Fn(&str) -> Option<&'a Json>,
    ) -> Result<Outcome<bool>, EvaluationError> {
        self.evaluated(variable, |_, value| match value {
            Value::Bool(value) => Ok(value),
            Value::Nil => Ok(false),
            other => Fault::problem(format!("it is {}, neither true nor false", other.kind())),
        })
    }

    /// What it comes to. Keys that are no texts become texts.
    ///
    /// # Errors
    /// If it has no value.
    pub fn value<'a>(
        &'a self,
        variable: &'a dyn Fn(&str) -> Option<&'a Json>,
    ) -> Result<Outcome<Json>, EvaluationError> {
        self.evaluated(variable, |evaluation, value| value.to_json(&mut evaluation.work))
    }

    fn evaluated<'a, T>(
        &'a self,
        variable: &'a dyn Fn(&str) -> Option<&'a Json>,
        make: impl FnOnce(&mut Evaluation<'a>, Value<'a>) -> Evaluated<'a, T>,
    ) -> Result<Outcome<T>, EvaluationError> {
        let mut evaluation = Evaluation::new(&self.names, variable);
        let made = evaluation.block(&self.block).and_then(|value| make(&mut evaluation, value));
        let (problem, is_about_nil) = match made {
            Ok(value) => return Ok(Outcome { value, work: evaluation.work.done() }),
            Err(Fault::Problem(problem)) => (problem, false),
            Err(Fault::OfNil(problem)) => (problem, true),
            Err(Fault::Unfit) => ("something in it is not what it should be".to_owned(), false),
        };
        Err(EvaluationError { problem, is_about_nil })
    }
}
