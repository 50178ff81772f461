//! Decides whether conditions cover every case.
//!
//! A value is made under some conditions and used under others. It is sure to be there if there is no case in which the
//! latter hold and none of the former do. Cases are counted out: variables with few values (`bool`, `low|high`) by their
//! values, all other tests by whether they hold.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::agentfile::model::{Condition, Test, TestKind, Type};

/// More cases than this are not counted out for one question, and not more than so many in all.
const CASES: usize = 4_096;
const ALL_CASES: usize = 400_000;

/// What is known of variables.
pub(crate) trait Facts<V> {
    /// What a variable may be.
    fn ty(&self, variable: &V) -> Option<&Type>;

    /// Whether its value changes during a run: what was tested before says nothing about it then.
    fn changes(&self, variable: &V) -> bool;
}

pub(crate) struct Coverage<F> {
    facts: F,
    left: Cell<usize>,
}

/// What is decided in a case.
#[derive(Debug, Clone, PartialEq)]
enum Question<V> {
    /// Which value a variable has, of these.
    Which(V, Vec<Value>),
    /// Whether a test holds.
    Whether(Test<V>),
}

impl<F> Coverage<F> {
    pub(crate) fn new(facts: F) -> Self {
        Self { facts, left: Cell::new(ALL_CASES) }
    }

    /// Whether at least one of `made` holds in every case in which all of `used` hold.
    pub(crate) fn is_sure<V: Clone + Ord>(&self, made: &[Vec<&Condition<V>>], used: &[&Condition<V>]) -> bool
    where
        F: Facts<V>,
    {
        if made.is_empty() {
            return false;
        }
        let mut questions: Vec<Question<V>> = Vec::new();
        for test in made.iter().flatten().chain(used).flat_map(|condition| condition.tests()) {
            if self.facts.changes(&test.variable) {
                return false;
            }
            let question = self.question(test);
            if !questions.contains(&question) {
                questions.push(question);
            }
            let cases = questions.iter().map(Question::answers).try_fold(1_usize, usize::checked_mul);
            if cases.is_none_or(|cases| cases > CASES) {
                return false;
            }
        }
        let cases: usize = questions.iter().map(Question::answers).product();
        let Some(left) = self.left.get().checked_sub(cases) else { return false };
        self.left.set(left);
        (0..cases).all(|case| {
            let answers = Answers::of(&questions, case);
            let holds = |condition: &Condition<V>| answers.holds(condition);
            !used.iter().all(|condition| holds(condition))
                || made.iter().any(|all| all.iter().all(|condition| holds(condition)))
        })
    }

    fn question<V: Clone>(&self, test: &Test<V>) -> Question<V>
    where
        F: Facts<V>,
    {
        let few = match self.facts.ty(&test.variable) {
            Some(Type::Bool) => Some(vec![Value::Bool(true), Value::Bool(false)]),
            Some(Type::OneOf(values)) => Some(values.iter().cloned().map(Value::String).collect()),
            _ => None,
        };
        match (few, &test.kind) {
            (Some(values), _) => Question::Which(test.variable.clone(), values),
            // The opposite of a test is the same question.
            (None, TestKind::NotIn(values)) => Question::Whether(Test {
                variable: test.variable.clone(),
                kind: TestKind::In(values.clone()),
            }),
            (None, _) => Question::Whether(test.clone()),
        }
    }
}

impl<V> Question<V> {
    fn answers(&self) -> usize {
        match self {
            Self::Which(_, values) => values.len(),
            Self::Whether(_) => 2,
        }
    }
}

/// One case.
struct Answers<'q, V> {
    values: BTreeMap<&'q V, &'q Value>,
    tests: Vec<(&'q Test<V>, bool)>,
}

impl<'q, V: Ord> Answers<'q, V> {
    fn of(questions: &'q [Question<V>], mut case: usize) -> Self {
        let mut answers = Self { values: BTreeMap::new(), tests: Vec::new() };
        for question in questions {
            let count = question.answers();
            let answer = case % count;
            case /= count;
            match question {
                Question::Which(variable, values) => {
                    answers.values.insert(variable, &values[answer]);
                }
                Question::Whether(test) => answers.tests.push((test, answer == 1)),
            }
        }
        answers
    }

    fn holds(&self, condition: &Condition<V>) -> bool {
        condition.holds_if(|test| self.passes(test))
    }

    fn passes(&self, test: &Test<V>) -> bool {
        if let Some(value) = self.values.get(&test.variable) {
            return test.kind.holds(value);
        }
        let answer = |wanted: &TestKind| {
            self.tests
                .iter()
                .find(|(known, _)| known.variable == test.variable && known.kind == *wanted)
                .is_some_and(|(_, holds)| *holds)
        };
        match &test.kind {
            TestKind::NotIn(values) => !answer(&TestKind::In(values.clone())),
            kind => answer(kind),
        }
    }
}
