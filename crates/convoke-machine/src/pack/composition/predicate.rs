//! Predicates: the conditions of branches.

use serde_json::Value;

use super::super::template::Path;
use super::reference::only_reference;
use crate::finding::{Finding, child};

/// The predicate that a branch depends on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Predicate {
    /// A value compared with another.
    Compare {
        /// The reference to it.
        path: Path,
        /// How.
        comparison: Comparison,
        /// The other.
        value: Value,
    },
    /// Whether there is a value.
    Exists {
        /// The reference to it.
        path: Path,
        /// Whether there must be one.
        exists: bool,
    },
    /// All of these.
    AllOf(Vec<Predicate>),
    /// One of these.
    AnyOf(Vec<Predicate>),
    /// The opposite of this.
    Not(Box<Predicate>),
}

/// The comparisons of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// They are equal.
    Equals,
    /// They are not.
    NotEquals,
    /// One is in a list.
    In,
    /// It is not.
    NotIn,
    /// A number is less.
    LessThan,
    /// It is less, or equal.
    LessThanOrEquals,
    /// A number is greater.
    GreaterThan,
    /// It is greater, or equal.
    GreaterThanOrEquals,
}

impl Comparison {
    const NAMES: [(&str, Self); 8] = [
        ("equals", Self::Equals),
        ("not_equals", Self::NotEquals),
        ("in", Self::In),
        ("not_in", Self::NotIn),
        ("less_than", Self::LessThan),
        ("less_than_or_equals", Self::LessThanOrEquals),
        ("greater_than", Self::GreaterThan),
        ("greater_than_or_equals", Self::GreaterThanOrEquals),
    ];
}

/// Something that is wrong with a predicate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct PredicateError {
    /// Where in it, as a JSON pointer.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl PredicateError {
    /// What is wrong with a predicate that stands at `path`.
    pub(super) fn within(self, path: &str) -> Finding {
        Finding::error("bad-predicate", path.to_owned() + &self.path, self.message)
    }
}

impl Predicate {
    /// Reads a predicate.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(value: &Value) -> Result<Self, Vec<PredicateError>> {
        let mut errors = Vec::new();
        let predicate = read(value, "", &mut errors);
        predicate.filter(|_| errors.is_empty()).ok_or(errors)
    }

    /// Whether it holds, given what references refer to. What is not there is null, except for whether it exists.
    ///
    /// # Errors
    /// If numbers are asked for and something else is there.
    pub(crate) fn holds<'a>(&self, look: &dyn Fn(&Path) -> Option<&'a Value>) -> Result<bool, NotANumber> {
        match self {
            Self::Exists { path, exists } => Ok(look(path).is_some() == *exists),
            Self::Not(predicate) => Ok(!predicate.holds(look)?),
            Self::AllOf(all) => all.iter().try_fold(true, |so_far, one| Ok(so_far && one.holds(look)?)),
            Self::AnyOf(any) => any.iter().try_fold(false, |so_far, one| Ok(so_far || one.holds(look)?)),
            Self::Compare { path, comparison, value } => {
                let found = look(path).unwrap_or(&Value::Null);
                comparison.holds(found, value).ok_or_else(|| NotANumber(path.to_string(), found.to_string()))
            }
        }
    }
}

/// Something that is not a number was to be compared as one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`${{{0}}}` is {1}, and only numbers can be less or greater")]
pub(crate) struct NotANumber(String, String);

impl Comparison {
    /// Nothing if a number is needed and one of the two is none.
    fn holds(self, found: &Value, value: &Value) -> Option<bool> {
        let order = || found.as_f64()?.partial_cmp(&value.as_f64()?);
        let equal = |other: &Value| match (found, other) {
            (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
            (a, b) => a == b,
        };
        let among = || value.as_array().is_some_and(|all| all.iter().any(equal));
        Some(match self {
            Self::Equals => equal(value),
            Self::NotEquals => !equal(value),
            Self::In => among(),
            Self::NotIn => !among(),
            Self::LessThan => order()?.is_lt(),
            Self::LessThanOrEquals => order()?.is_le(),
            Self::GreaterThan => order()?.is_gt(),
            Self::GreaterThanOrEquals => order()?.is_ge(),
        })
    }
}

fn read(value: &Value, path: &str, errors: &mut Vec<PredicateError>) -> Option<Predicate> {
    let named = |name: &str| value.get(name);
    let variants: Vec<&str> = ["op", "exists", "all_of", "any_of", "not"]
        .into_iter()
        .filter(|name| named(name).is_some())
        .collect();
    let place = |name: &str| child(path, name);
    match variants[..] {
        [] => wrong(errors, path, "a predicate needs one of `op`, `exists`, `all_of`, `any_of` and `not`"),
        [variant @ ("all_of" | "any_of")] => {
            let all = named(variant)?.as_array();
            let all = all.or_else(|| wrong(errors, place(variant), format!("`{variant}` must be a list")))?;
            let all = all.iter().enumerate();
            let all =
                all.filter_map(|(index, one)| read(one, &child(&place(variant), index), errors)).collect();
            Some(if variant == "all_of" { Predicate::AllOf(all) } else { Predicate::AnyOf(all) })
        }
        ["not"] => Some(Predicate::Not(Box::new(read(named("not")?, &place("not"), errors)?))),
        [variant] => {
            let missing = "this predicate needs a `path`: write \"path\": \"${step.output}\"";
            let written = named("path").and_then(Value::as_str).or_else(|| wrong(errors, path, missing))?;
            let message = format!("`{written}` is not a reference: write \"${{{written}}}\"");
            let path_to = only_reference(written).or_else(|| wrong(errors, place("path"), message))?;
            if variant == "exists" {
                let exists = named("exists")?.as_bool();
                let message = "`exists` must be true or false";
                let exists = exists.or_else(|| wrong(errors, place("exists"), message))?;
                return Some(Predicate::Exists { path: path_to, exists });
            }
            let op = named("op").and_then(Value::as_str).unwrap_or_default();
            let known = Comparison::NAMES.into_iter().find(|(name, _)| *name == op);
            let (_, comparison) = known.or_else(|| {
                let names = Comparison::NAMES.map(|(name, _)| name).join(", ");
                wrong(errors, place("op"), format!("`{op}` is none of {names}"))
            })?;
            let value = named("value").or_else(|| wrong(errors, path, "a comparison needs a `value`"))?;
            if matches!(comparison, Comparison::In | Comparison::NotIn) && !value.is_array() {
                return wrong(errors, place("value"), format!("`{op}` needs a list"));
            }
            Some(Predicate::Compare { path: path_to, comparison, value: value.clone() })
        }
        ref several => {
            let message = format!("a predicate is one thing only, not {}", several.join(" and "));
            wrong(errors, path, message)
        }
    }
}

/// Notes what is wrong.
fn wrong<T>(
    errors: &mut Vec<PredicateError>,
    path: impl Into<String>,
    message: impl Into<String>,
) -> Option<T> {
    errors.push(PredicateError { path: path.into(), message: message.into() });
    None
}
