//! Conditions with their variables resolved and their values typed.

use serde_json::Value;

use super::VariableId;
use crate::agentfile::lexer::Comparison;

/// Under which condition: all tests of at least one list hold. Tests are made from left to right, and a list is left at
/// the first that does not hold: later tests may look at variables that have no value then.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition<V = VariableId> {
    /// The lists.
    pub any: Vec<Vec<Test<V>>>,
}

/// A test of a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Test<V = VariableId> {
    /// The variable.
    pub variable: V,
    /// What is asked of it.
    pub kind: TestKind,
}

/// What is asked of a variable.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TestKind {
    /// Whether it is one of these.
    In(Vec<Value>),
    /// Whether it is none of these.
    NotIn(Vec<Value>),
    /// Whether it is a list that has this, or a text that has this in it.
    Contains(Value),
    /// How it compares with a number.
    Compare(Comparison, f64),
}

impl<V> Condition<V> {
    /// Whether it holds, given what variables are.
    ///
    /// A variable without a value fails every test.
    pub fn holds<'v>(&self, value: impl Fn(&V) -> Option<&'v Value>) -> bool {
        self.any.iter().any(|all| {
            all.iter().all(|test| value(&test.variable).is_some_and(|value| test.kind.holds(value)))
        })
    }

    /// The variables it looks at, in order; the same one perhaps more than once.
    pub fn variables(&self) -> impl Iterator<Item = &V> {
        self.any.iter().flatten().map(|test| &test.variable)
    }

    /// The same condition with its variables referred to in another way.
    pub fn map<W>(&self, mut other: impl FnMut(&V) -> W) -> Condition<W> {
        let mut test = |test: &Test<V>| Test { variable: other(&test.variable), kind: test.kind.clone() };
        Condition { any: self.any.iter().map(|all| all.iter().map(&mut test).collect()).collect() }
    }
}

impl TestKind {
    /// Whether a value passes.
    #[must_use]
    pub fn holds(&self, value: &Value) -> bool {
        match self {
            Self::In(values) => values.iter().any(|one| same(one, value)),
            Self::NotIn(values) => !values.iter().any(|one| same(one, value)),
            Self::Contains(part) => match value {
                Value::Array(items) => items.iter().any(|item| same(item, part)),
                Value::String(text) => part.as_str().is_some_and(|part| text.contains(part)),
                _ => false,
            },
            Self::Compare(comparison, bound) => value.as_f64().is_some_and(|value| match comparison {
                Comparison::Less => value < *bound,
                Comparison::AtMost => value <= *bound,
                Comparison::Greater => value > *bound,
                Comparison::AtLeast => value >= *bound,
            }),
        }
    }
}

/// Whether two values are the same; numbers by what they count.
fn same(left: &Value, right: &Value) -> bool {
    match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => left == right,
        _ => left == right,
    }
}
