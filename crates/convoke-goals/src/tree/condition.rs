//! Builders of conditions.

use serde_json::Value;

use super::Name;
use crate::agentfile::lexer::Comparison;
use crate::agentfile::model::{Condition, Test, TestKind};

/// Begins a condition on a value.
///
/// ```
/// use convoke_goals::{Goal, when};
///
/// let urgent = when("kind").is("bug").and(when("severity").at_least(3)).or(when("escalated").is(true));
/// let fix = Goal::new("fix", "Fix $issue").when(urgent);
/// ```
pub fn when(variable: impl Into<Name>) -> Subject {
    Subject(variable.into())
}

/// A value that a condition is about.
#[derive(Debug, Clone)]
#[must_use = "say what is asked of the value"]
pub struct Subject(Name);

impl Subject {
    /// Tests that it is this.
    pub fn is(self, value: impl Into<Value>) -> Condition<Name> {
        self.one_of([value])
    }

    /// Tests that it is anything but this.
    pub fn is_not(self, value: impl Into<Value>) -> Condition<Name> {
        self.none_of([value])
    }

    /// Tests that it is one of these.
    pub fn one_of<V: Into<Value>>(self, values: impl IntoIterator<Item = V>) -> Condition<Name> {
        self.test(TestKind::In(values.into_iter().map(Into::into).collect()))
    }

    /// Tests that it is none of these.
    pub fn none_of<V: Into<Value>>(self, values: impl IntoIterator<Item = V>) -> Condition<Name> {
        self.test(TestKind::NotIn(values.into_iter().map(Into::into).collect()))
    }

    /// Tests that it is a list that has this, or a text that has this in it.
    pub fn contains(self, part: impl Into<Value>) -> Condition<Name> {
        self.test(TestKind::Contains(part.into()))
    }

    /// Tests that it is a number below this.
    pub fn less_than(self, bound: impl Into<f64>) -> Condition<Name> {
        self.test(TestKind::Compare(Comparison::Less, bound.into()))
    }

    /// Tests that it is this number or one below.
    pub fn at_most(self, bound: impl Into<f64>) -> Condition<Name> {
        self.test(TestKind::Compare(Comparison::AtMost, bound.into()))
    }

    /// Tests that it is a number above this.
    pub fn greater_than(self, bound: impl Into<f64>) -> Condition<Name> {
        self.test(TestKind::Compare(Comparison::Greater, bound.into()))
    }

    /// Tests that it is this number or one above.
    pub fn at_least(self, bound: impl Into<f64>) -> Condition<Name> {
        self.test(TestKind::Compare(Comparison::AtLeast, bound.into()))
    }

    fn test(self, kind: TestKind) -> Condition<Name> {
        Condition::Test(Test { variable: self.0, kind })
    }
}

impl Condition<Name> {
    /// Requires both. The other one is looked at only if this one holds.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::all([self, other])
    }

    /// Requires at least one of them. The other one is looked at only if this one does not hold.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::any([self, other])
    }
}
