//! Conditions: expressions over the variables of a board.
//!
//! A condition is checked when a graph is compiled: its syntax, the functions it calls, and whether it is true or false at all if
//! nothing of the board is in it. What is not on the board is `nil`. A condition is a function of the board: it knows no clock and
//! no chance, and what it may do is bounded by a count that is the same on every machine.

use convoke_expression::{EvaluationError, Expression, Outcome};
use serde_json::Value;

use crate::Board;
use crate::board::ITERATIONS;

/// After an expression that touched more values whoever evaluates several gives way once, so that a limit of time is noticed.
const LONG: usize = 50_000;

/// An expression that is true or false of a board.
#[derive(Debug, Clone)]
pub struct Condition {
    text: String,
    expression: Expression,
}

/// The reasons why something is not a condition, or is neither true nor false.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// It cannot be understood.
    #[error("invalid condition `{condition}`: {problem}")]
    Invalid {
        /// The condition.
        condition: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It cannot be decided with what is on the board.
    #[error("condition `{condition}` cannot be decided: {problem}")]
    Undecided {
        /// The condition.
        condition: String,
        /// Why.
        problem: String,
    },
}

impl From<ConditionError> for convoke_core::Error {
    fn from(error: ConditionError) -> Self {
        Self::permanent(error)
    }
}

impl Condition {
    /// Understands a condition.
    ///
    /// ```
    /// use convoke_graph::{Board, Condition};
    ///
    /// let enough = Condition::new("len(items) > 2 and name startsWith 'x'")?;
    /// let mut board = Board::new();
    /// board.set("items", vec![1, 2, 3])?;
    /// board.set("name", "xylophone")?;
    /// assert!(enough.holds(&board, 0)?);
    /// assert!(Condition::new("1 + 2").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(text: &str) -> Result<Self, ConditionError> {
        let condition = Self::expression(text)?;
        if condition.names().next().is_none() {
            condition.holds(&Board::new(), 0).map_err(|error| match error {
                ConditionError::Undecided { condition, problem } => {
                    ConditionError::Invalid { condition, problem }
                }
                other => other,
            })?;
        }
        Ok(condition)
    }

    /// Understands an expression that may have any value.
    pub(crate) fn expression(text: &str) -> Result<Self, ConditionError> {
        let expression = Expression::parse(text).map_err(|error| ConditionError::Invalid {
            condition: text.to_owned(),
            problem: error.problem,
        })?;
        Ok(Self { text: text.to_owned(), expression })
    }

    /// The expression as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The variables that it asks about.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.expression.names()
    }

    /// Returns whether it is true of a board. `iterations` is what it knows as `__iterations`: how many nodes ran before.
    ///
    /// # Errors
    /// If that cannot be said.
    pub fn holds(&self, board: &Board, iterations: u64) -> Result<bool, ConditionError> {
        self.truth(board, iterations).map(|outcome| outcome.value)
    }

    /// Like [`holds`](Self::holds), within a node.
    pub(crate) async fn decided(&self, board: &Board, iterations: u64) -> Result<bool, ConditionError> {
        let Outcome { value, work, .. } = self.truth(board, iterations)?;
        give_way(work).await;
        Ok(value)
    }

    /// What it comes to, within a node.
    pub(crate) async fn value(&self, board: &Board, iterations: u64) -> Result<Value, ConditionError> {
        let iterations = Value::from(i64::try_from(iterations).unwrap_or(i64::MAX));
        let outcome = self.expression.value(&|name| variable(board, &iterations, name));
        let Outcome { value, work, .. } = outcome.map_err(|error| self.undecided(error))?;
        give_way(work).await;
        Ok(value)
    }

    fn truth(&self, board: &Board, iterations: u64) -> Result<Outcome<bool>, ConditionError> {
        let iterations = Value::from(i64::try_from(iterations).unwrap_or(i64::MAX));
        let outcome = self.expression.truth(&|name| variable(board, &iterations, name));
        outcome.map_err(|error| self.undecided(error))
    }

    fn undecided(&self, error: EvaluationError) -> ConditionError {
        let EvaluationError { mut problem, is_about_nil, .. } = error;
        if is_about_nil {
            problem += ". What is not on the board is nil: test for that first, or write `?.` and `??`";
        }
        ConditionError::Undecided { condition: self.text.clone(), problem }
    }
}

fn variable<'a>(board: &'a Board, iterations: &'a Value, name: &str) -> Option<&'a Value> {
    if name == ITERATIONS { Some(iterations) } else { board.get(name) }
}

async fn give_way(work: usize) {
    if work > LONG {
        tokio::task::yield_now().await;
    }
}
