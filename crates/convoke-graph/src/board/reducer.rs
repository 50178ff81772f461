//! Reducers: what becomes of a variable that several branches have written.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::change::VarChange;
use super::{APPROVALS, CUT_SHORT, GATES, INTERRUPTED_NODE, TOOL_CALLS, USAGE};

/// The ways to put together the values that branches gave the same variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reducer {
    /// It is a conflict, and the run ends with it, unless they are equal.
    #[default]
    Error,
    /// The value of the first branch, in declared order.
    First,
    /// The value of the last branch, in declared order.
    Last,
    /// The items of all lists, after those that were there before.
    Append,
    /// Everything that was added, to what was there before.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Whether one of them is true.
    Any,
    /// Whether all of them are true.
    All,
    /// The items of all lists, each once.
    Union,
    /// The entries of all objects; an entry that several branches wrote is the last one's.
    Object,
    /// What it was before the branches, if they differ: what each wrote is its own affair.
    Before,
}

/// What nodes write who cannot be given another name for it.
const UNNAMED: [&str; 5] = ["answer", "branch_result", "route_target", "loop_count", "loop_count_exceeded"];

impl Reducer {
    /// How the variables are put together that the engine and its nodes keep count in.
    pub(crate) fn of_engine(key: &str) -> Option<Self> {
        match key {
            USAGE | "usage" => Some(Self::Sum),
            TOOL_CALLS | "agent_steps" => Some(Self::Append),
            "tool_pending" => Some(Self::Any),
            APPROVALS | CUT_SHORT => Some(Self::Object),
            // `approved` is the least of its values: only what everybody approved is.
            "approval_status" => Some(Self::Max),
            "approval_request" | "approval_comment" | INTERRUPTED_NODE => Some(Self::Last),
            _ => None,
        }
    }

    /// How the variables are put together that gates write. That one failed is what counts: `fail` is the least of its values.
    pub(crate) fn of_gates(key: &str) -> Option<Self> {
        match key {
            GATES => Some(Self::Object),
            "gate_result" => Some(Self::Min),
            "gate_result_output" | "gate_result_failed_command" => Some(Self::Last),
            _ => None,
        }
    }

    /// How the variables are put together that say where to go, unless somebody names a rule: every branch goes its own way.
    pub(crate) fn of_ways(key: &str) -> Option<Self> {
        (key != "answer" && UNNAMED.contains(&key)).then_some(Self::Before)
    }

    /// The decision that a variable says more about: it is that of the branch whose decision counts.
    pub(super) fn decision_of(key: &str) -> Option<&'static str> {
        match key {
            "approval_comment" => Some("approval_status"),
            "gate_result_output" | "gate_result_failed_command" => Some("gate_result"),
            _ => None,
        }
    }

    /// Whether nodes write a variable that cannot be given another name for it.
    pub(super) fn is_unnamed(key: &str) -> bool {
        UNNAMED.contains(&key) || Self::of_gates(key).or_else(|| Self::of_engine(key)).is_some()
    }

    /// What values it puts together, and its name; `None` if it puts nothing together.
    pub(crate) fn demand(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Append => Some(("append", "lists")),
            Self::Union => Some(("union", "lists")),
            Self::Sum => Some(("sum", "numbers, or objects of numbers")),
            Self::Min => Some(("min", "numbers or texts")),
            Self::Max => Some(("max", "numbers or texts")),
            Self::Any => Some(("any", "booleans")),
            Self::All => Some(("all", "booleans")),
            Self::Object => Some(("object", "objects")),
            Self::Error | Self::First | Self::Last | Self::Before => None,
        }
    }

    /// Whether two branches that come to the same value have each added to it.
    pub(crate) fn accumulates(self) -> bool {
        matches!(self, Self::Append | Self::Sum)
    }

    /// Whether what was written takes part. Where values are judged, everybody who wrote one is heard; where what was added is put
    /// together, and where two changes are a conflict, only who changed something.
    pub(super) fn counts(self, written: &VarChange) -> bool {
        self.judges() || written.is_difference()
    }

    /// Whether it judges the values that were written, also those that were there before.
    pub(crate) fn judges(self) -> bool {
        match self {
            Self::Error | Self::Append | Self::Sum => false,
            Self::First
            | Self::Last
            | Self::Before
            | Self::Min
            | Self::Max
            | Self::Any
            | Self::All
            | Self::Union
            | Self::Object => true,
        }
    }

    /// Puts two values together; `None` if that cannot be done with such values.
    pub(crate) fn reduce(self, before: Option<&Value>, first: Value, second: &Value) -> Option<Value> {
        match self {
            Self::Error => None,
            Self::Before => before.cloned(),
            Self::First => Some(first),
            Self::Last => Some(second.clone()),
            Self::Append => {
                let (Value::Array(mut all), before) = (first, items(before)?) else { return None };
                let added = second.as_array()?.strip_prefix(&*before)?;
                all.strip_prefix(&*before)?;
                all.extend_from_slice(added);
                Some(Value::Array(all))
            }
            Self::Sum => summed(before, &first, second),
            Self::Min => least(&first, second, true),
            Self::Max => least(&first, second, false),
            Self::Any => Some(Value::Bool(first.as_bool()? || second.as_bool()?)),
            Self::All => Some(Value::Bool(first.as_bool()? && second.as_bool()?)),
            Self::Union => {
                let (Value::Array(mut all), added) = (first, second.as_array()?) else { return None };
                all.extend_from_slice(added);
                let mut known = HashSet::with_capacity(all.len());
                let is_new: Vec<bool> = all.iter().map(|item| known.insert(item)).collect();
                let mut is_new = is_new.into_iter();
                all.retain(|_| is_new.next().unwrap_or_default());
                Some(Value::Array(all))
            }
            Self::Object => {
                let Value::Object(mut entries) = first else { return None };
                let old = before.and_then(Value::as_object);
                for (name, value) in second.as_object()? {
                    if old.and_then(|old| old.get(name)) != Some(value) || !entries.contains_key(name) {
                        entries.insert(name.clone(), value.clone());
                    }
                }
                Some(Value::Object(entries))
            }
        }
    }
}

fn items(list: Option<&Value>) -> Option<Cow<'_, [Value]>> {
    match list {
        None | Some(Value::Null) => Some(Cow::Borrowed(&[])),
        Some(list) => list.as_array().map(|items| Cow::Borrowed(&**items)),
    }
}

/// What was there before and what either added; field by field for objects of numbers.
fn summed(before: Option<&Value>, first: &Value, second: &Value) -> Option<Value> {
    match (first, second) {
        (Value::Object(first), Value::Object(second)) => {
            let old = before.and_then(Value::as_object);
            let mut sums = first.clone();
            for (name, value) in second {
                let before = old.and_then(|old| old.get(name));
                let sum = match first.get(name) {
                    Some(other) if other.is_number() && value.is_number() => summed(before, other, value)?,
                    Some(other) => summed(before, other, value).unwrap_or_else(|| value.clone()),
                    None => value.clone(),
                };
                sums.insert(name.clone(), sum);
            }
            Some(Value::Object(sums))
        }
        (Value::Number(first), Value::Number(second)) => {
            let before = before.and_then(Value::as_number);
            let whole = || Some(whole(first)? + whole(second)? - before.map_or(Some(0), whole)?);
            if let Some(sum) = whole() {
                // Rounded, it would be another number.
                return Number::from_i128(sum).map(Value::Number);
            }
            let sum = first.as_f64()? + second.as_f64()? - before.map_or(Some(0.0), Number::as_f64)?;
            Number::from_f64(sum).map(Value::Number)
        }
        (Value::Bool(first), Value::Bool(second)) => Some(Value::Bool(*first || *second)),
        _ => None,
    }
}

fn least(first: &Value, second: &Value, wanted_least: bool) -> Option<Value> {
    let is_less = match (first, second) {
        (Value::Number(first), Value::Number(second)) => match (whole(first), whole(second)) {
            (Some(first), Some(second)) => first <= second,
            (Some(first), None) => before_point(first, second.as_f64()?).is_le(),
            (None, Some(second)) => before_point(second, first.as_f64()?).is_ge(),
            (None, None) => first.as_f64()? <= second.as_f64()?,
        },
        (Value::String(first), Value::String(second)) => first <= second,
        _ => return None,
    };
    Some(if is_less == wanted_least { first.clone() } else { second.clone() })
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i128()
}

/// How a whole number compares with one that has a point, exactly.
fn before_point(whole: i128, number: f64) -> Ordering {
    // Far beyond what whole numbers of JSON reach this stands at the end of its range, which is as good.
    #[expect(clippy::cast_possible_truncation, reason = "the rest is compared after it")]
    let cut = number.trunc() as i128;
    whole.cmp(&cut).then(0.0.partial_cmp(&number.fract()).unwrap_or(Ordering::Equal))
}
