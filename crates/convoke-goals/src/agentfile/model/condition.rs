//! Conditions with their variables resolved and their values typed.

use std::convert::Infallible;

use serde_json::Value;

use super::VariableId;
use crate::agentfile::lexer::Comparison;

/// Under which condition. Tests are made from left to right and no more of them than are needed: later ones may look at
/// variables that have no value then.
///
/// It is kept as it was said: put into lists of alternatives it could be as long as two to the power of its length.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition<V = VariableId> {
    /// A test holds.
    Test(Test<V>),
    /// All of these hold.
    All(Vec<Self>),
    /// At least one of these holds.
    Any(Vec<Self>),
}

/// A test of a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Test<V = VariableId> {
    /// The variable.
    pub variable: V,
    /// What is asked of it.
    pub kind: TestKind,
}

/// The kind of a test.
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
    /// Returns whether it holds, given what variables are.
    ///
    /// A variable without a value fails every test.
    pub fn holds<'v>(&self, value: impl Fn(&V) -> Option<&'v Value>) -> bool {
        self.holds_if(|test| value(&test.variable).is_some_and(|value| test.kind.holds(value)))
    }

    /// Whether it holds, given which of its tests do.
    pub(crate) fn holds_if(&self, mut passes: impl FnMut(&Test<V>) -> bool) -> bool {
        let Ok(holds) = self.decide(&mut |test| Ok::<_, Infallible>(passes(test)));
        holds
    }

    /// Whether it holds, given which of its tests do, if that can be said.
    pub(crate) fn decide<E>(&self, passes: &mut impl FnMut(&Test<V>) -> Result<bool, E>) -> Result<bool, E> {
        let (parts, enough) = match self {
            Self::Test(test) => return passes(test),
            Self::All(parts) => (parts, false),
            Self::Any(parts) => (parts, true),
        };
        for part in parts {
            if part.decide(passes)? == enough {
                return Ok(enough);
            }
        }
        Ok(!enough)
    }

    /// Its tests, in order.
    pub fn tests(&self) -> impl Iterator<Item = &Test<V>> {
        let mut next = vec![self];
        std::iter::from_fn(move || {
            loop {
                match next.pop()? {
                    Self::Test(test) => return Some(test),
                    Self::All(parts) | Self::Any(parts) => next.extend(parts.iter().rev()),
                }
            }
        })
    }

    /// The variables it looks at, in order; the same one perhaps more than once.
    pub fn variables(&self) -> impl Iterator<Item = &V> {
        self.tests().map(|test| &test.variable)
    }

    /// Looks at its tests, in order, each with the conditions that hold whenever it is made.
    pub(crate) fn each_test<'c>(&'c self, look: &mut impl FnMut(&'c Test<V>, &[&'c Self])) {
        self.each_test_after(&mut Vec::new(), look);
    }

    fn each_test_after<'c>(
        &'c self,
        before: &mut Vec<&'c Self>,
        look: &mut impl FnMut(&'c Test<V>, &[&'c Self]),
    ) {
        match self {
            Self::Test(test) => look(test, before),
            Self::All(parts) => {
                let outside = before.len();
                for part in parts {
                    part.each_test_after(before, look);
                    before.push(part);
                }
                before.truncate(outside);
            }
            Self::Any(parts) => parts.iter().for_each(|part| part.each_test_after(before, look)),
        }
    }

    /// Maps its variables.
    pub fn map<W>(&self, mut other: impl FnMut(&V) -> W) -> Condition<W> {
        self.replace(&mut |test| {
            Condition::Test(Test { variable: other(&test.variable), kind: test.kind.clone() })
        })
    }

    /// The same condition with others in the place of its tests.
    pub(crate) fn replace<W>(&self, other: &mut impl FnMut(&Test<V>) -> Condition<W>) -> Condition<W> {
        let mut all = |parts: &[Self]| parts.iter().map(|part| part.replace(other)).collect();
        match self {
            Self::Test(test) => other(test),
            Self::All(parts) => Condition::All(all(parts)),
            Self::Any(parts) => Condition::Any(all(parts)),
        }
    }

    /// Requires all of these. Without any of them: always.
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        let inner = |part| match part {
            Self::All(parts) => Ok(parts),
            part => Err(part),
        };
        one_level(parts, inner, Self::All)
    }

    /// Requires at least one of these. Without any of them: never.
    pub fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        let inner = |part| match part {
            Self::Any(parts) => Ok(parts),
            part => Err(part),
        };
        one_level(parts, inner, Self::Any)
    }

    /// How many conditions stand within each other. Everything else goes through them by calling itself; this does not.
    pub(crate) fn depth(&self) -> usize {
        let mut deepest = 0;
        let mut next = vec![(self, 0)];
        while let Some((condition, depth)) = next.pop() {
            deepest = deepest.max(depth);
            if let Self::All(parts) | Self::Any(parts) = condition {
                next.extend(parts.iter().map(|part| (part, depth + 1)));
            }
        }
        deepest
    }
}

/// Parts as a whole. Those that are such a whole themselves are taken apart, and one part is a whole by itself: what is
/// said in the same way is the same then.
fn one_level<V>(
    parts: impl IntoIterator<Item = Condition<V>>,
    inner: impl Fn(Condition<V>) -> Result<Vec<Condition<V>>, Condition<V>>,
    whole: impl FnOnce(Vec<Condition<V>>) -> Condition<V>,
) -> Condition<V> {
    let mut all = Vec::new();
    for part in parts {
        match inner(part) {
            Ok(first) if all.is_empty() => all = first,
            Ok(more) => all.extend(more),
            Err(part) => all.push(part),
        }
    }
    match all.pop() {
        Some(only) if all.is_empty() => only,
        last => {
            all.extend(last);
            whole(all)
        }
    }
}

impl TestKind {
    /// Returns whether a value passes.
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
