//! Predicates: the conditions of branches.

use serde_json::Value;

use super::super::template::Path;
use super::reference::only_reference;
use crate::finding::child;

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
    let mut wrong = |path: &str, message: String| {
        errors.push(PredicateError { path: path.to_owned(), message });
        None
    };
    let named = |name: &str| value.get(name);
    let variants: Vec<&str> = ["op", "exists", "all_of", "any_of", "not"]
        .into_iter()
        .filter(|name| named(name).is_some())
        .collect();
    let [variant] = variants[..] else {
        let message = match &variants[..] {
            [] => "a predicate needs one of `op`, `exists`, `all_of`, `any_of` and `not`".to_owned(),
            several => format!("a predicate is one thing only, not {}", several.join(" and ")),
        };
        return wrong(path, message);
    };
    match variant {
        "all_of" | "any_of" => {
            let Some(all) = named(variant).and_then(Value::as_array) else {
                return wrong(&child(path, variant), format!("`{variant}` must be a list"));
            };
            let place = child(path, variant);
            let all =
                all.iter().enumerate().filter_map(|(index, one)| read(one, &child(&place, index), errors));
            let all = all.collect();
            Some(if variant == "all_of" { Predicate::AllOf(all) } else { Predicate::AnyOf(all) })
        }
        "not" => {
            let opposite = read(named("not")?, &child(path, "not"), errors)?;
            Some(Predicate::Not(Box::new(opposite)))
        }
        _ => {
            let Some(written) = named("path").and_then(Value::as_str) else {
                return wrong(
                    path,
                    "this predicate needs a `path`: write \"path\": \"${step.output}\"".to_owned(),
                );
            };
            let Some(path_to) = only_reference(written) else {
                let message = format!("`{written}` is not a reference: write \"${{{written}}}\"");
                return wrong(&child(path, "path"), message);
            };
            if variant == "exists" {
                let Some(exists) = named("exists").and_then(Value::as_bool) else {
                    return wrong(&child(path, "exists"), "`exists` must be true or false".to_owned());
                };
                return Some(Predicate::Exists { path: path_to, exists });
            }
            let op = named("op").and_then(Value::as_str).unwrap_or_default();
            let Some((_, comparison)) = Comparison::NAMES.into_iter().find(|(name, _)| *name == op) else {
                let names = Comparison::NAMES.map(|(name, _)| name).join(", ");
                return wrong(&child(path, "op"), format!("`{op}` is none of {names}"));
            };
            let Some(value) = named("value") else {
                return wrong(path, "a comparison needs a `value`".to_owned());
            };
            if matches!(comparison, Comparison::In | Comparison::NotIn) && !value.is_array() {
                return wrong(&child(path, "value"), format!("`{op}` needs a list"));
            }
            Some(Predicate::Compare { path: path_to, comparison, value: value.clone() })
        }
    }
}
