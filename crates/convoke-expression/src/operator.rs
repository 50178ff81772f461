//! Operators between two values, in one table.

use std::cmp::Ordering;

use crate::value::{List, Value};
use crate::work::{Evaluated, Fault, Work};

/// How strongly something binds, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Choice,
    Pipe,
    Or,
    And,
    Comparison,
    Range,
    Sum,
    Not,
    Product,
    Sign,
    Power,
    Default,
}

#[derive(Debug)]
pub(crate) struct Operator {
    /// How it is written.
    pub(crate) sign: &'static str,
    pub(crate) level: Level,
    /// What it takes, for messages.
    takes: &'static str,
    apply: Apply,
}

type Apply = for<'a> fn(&Value<'a>, &Value<'a>, &mut Work) -> Evaluated<'a>;

const fn operator(sign: &'static str, level: Level, takes: &'static str, apply: Apply) -> Operator {
    Operator { sign, level, takes, apply }
}

pub(crate) const TEXTS: &str = "two texts";
const NUMBERS: &str = "two numbers";
const WHOLE: &str = "two whole numbers";
const ORDERED: &str = "two numbers or two texts";
const WITHIN: &str = "a value and a list, or a name and an object";

static OPERATORS: &[Operator] = &[
    operator("+", Level::Sum, ORDERED, add),
    operator("-", Level::Sum, NUMBERS, |one, other, _| {
        computed(one, other, i64::checked_sub, |one, other| one - other)
    }),
    operator("*", Level::Product, NUMBERS, |one, other, _| {
        computed(one, other, i64::checked_mul, |one, other| one * other)
    }),
    operator("/", Level::Product, NUMBERS, |one, other, _| {
        floats(one, other).map(|(one, other)| Value::Float(one / other))
    }),
    operator("%", Level::Product, WHOLE, |one, other, _| match (one, other) {
        (Value::Whole(_), Value::Whole(0)) => Fault::problem("it divides by zero, with `%`"),
        // The smallest number by -1 leaves nothing.
        (Value::Whole(one), Value::Whole(other)) => Ok(Value::Whole(one.wrapping_rem(*other))),
        _ => Err(Fault::Unfit),
    }),
    operator("^", Level::Power, NUMBERS, power),
    operator("**", Level::Power, NUMBERS, power),
    operator("..", Level::Range, WHOLE, range),
    operator("==", Level::Comparison, "two values", |one, other, work| {
        one.equals(other, work).map(Value::Bool)
    }),
    operator("!=", Level::Comparison, "two values", |one, other, work| {
        Ok(Value::Bool(!one.equals(other, work)?))
    }),
    operator("<", Level::Comparison, ORDERED, |one, other, work| order(one, other, work, Ordering::is_lt)),
    operator("<=", Level::Comparison, ORDERED, |one, other, work| order(one, other, work, Ordering::is_le)),
    operator(">", Level::Comparison, ORDERED, |one, other, work| order(one, other, work, Ordering::is_gt)),
    operator(">=", Level::Comparison, ORDERED, |one, other, work| order(one, other, work, Ordering::is_ge)),
    operator("in", Level::Comparison, WITHIN, |one, other, work| other.has(one, work).map(Value::Bool)),
    operator(
        "contains",
        Level::Comparison,
        "two texts, a list and a value, or an object and a name",
        |one, other, work| match (one, other) {
            (Value::Text(text), Value::Text(part)) => {
                work.read(text.len())?;
                Ok(Value::Bool(text.contains(&**part)))
            }
            _ => one.has(other, work).map(Value::Bool),
        },
    ),
    operator("startsWith", Level::Comparison, TEXTS, |one, other, work| {
        ends(one, other, work, |one, other| one.starts_with(other))
    }),
    operator("endsWith", Level::Comparison, TEXTS, |one, other, work| {
        ends(one, other, work, |one, other| one.ends_with(other))
    }),
];

impl Operator {
    pub(crate) fn written(sign: &str) -> Option<&'static Self> {
        OPERATORS.iter().find(|operator| operator.sign == sign)
    }

    pub(crate) fn apply<'a>(&self, one: Value<'a>, other: Value<'a>, work: &mut Work) -> Evaluated<'a> {
        match (self.apply)(&one, &other, work) {
            Err(Fault::Unfit) => Err(Fault::unfit(self.sign, self.takes, &[one, other])),
            made => made,
        }
    }
}

fn floats(one: &Value<'_>, other: &Value<'_>) -> Evaluated<'static, (f64, f64)> {
    one.as_float().zip(other.as_float()).ok_or(Fault::Unfit)
}

fn computed<'a>(
    one: &Value<'a>,
    other: &Value<'a>,
    whole: fn(i64, i64) -> Option<i64>,
    float: fn(f64, f64) -> f64,
) -> Evaluated<'a> {
    if let (Value::Whole(one), Value::Whole(other)) = (one, other) {
        return whole(*one, *other).map(Value::Whole).ok_or_else(Fault::overflow);
    }
    floats(one, other).map(|(one, other)| Value::Float(float(one, other)))
}

fn add<'a>(one: &Value<'a>, other: &Value<'a>, work: &mut Work) -> Evaluated<'a> {
    let (Value::Text(one), Value::Text(other)) = (one, other) else {
        return computed(one, other, i64::checked_add, |one, other| one + other);
    };
    work.make(one.len() + other.len())?;
    Ok(Value::text([&**one, &**other].concat()))
}

fn power<'a>(one: &Value<'a>, other: &Value<'a>, _: &mut Work) -> Evaluated<'a> {
    floats(one, other).map(|(one, other)| Value::Float(one.powf(other)))
}

fn range<'a>(first: &Value<'a>, last: &Value<'a>, _: &mut Work) -> Evaluated<'a> {
    let (Value::Whole(first), Value::Whole(last)) = (first, last) else { return Err(Fault::Unfit) };
    let length = last.checked_sub(*first).and_then(|more| more.checked_add(1)).ok_or_else(Fault::overflow);
    // What ends before it begins is empty.
    let length = if last < first { 0 } else { length? };
    Ok(Value::List(List::Range(*first, usize::try_from(length).unwrap_or(usize::MAX))))
}

fn order<'a>(
    one: &Value<'a>,
    other: &Value<'a>,
    work: &mut Work,
    is_so: fn(Ordering) -> bool,
) -> Evaluated<'a> {
    let order = match (one, other) {
        (Value::Whole(one), Value::Whole(other)) => Some(one.cmp(other)),
        (Value::Text(one), Value::Text(other)) => {
            work.read(one.len().min(other.len()))?;
            Some((**one).cmp(&**other))
        }
        _ => floats(one, other).map(|(one, other)| one.partial_cmp(&other))?,
    };
    Ok(Value::Bool(order.is_some_and(is_so)))
}

/// Whether a text begins or ends with another, counted.
pub(crate) fn ends<'a>(
    one: &Value<'a>,
    other: &Value<'a>,
    work: &mut Work,
    is_so: fn(&str, &str) -> bool,
) -> Evaluated<'a> {
    let (Value::Text(one), Value::Text(other)) = (one, other) else { return Err(Fault::Unfit) };
    work.read(other.len())?;
    Ok(Value::Bool(is_so(one, other)))
}
