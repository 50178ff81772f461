//! Thresholds of scores, as assertions and packs write them.

use serde_json::{Map, Value};

/// The scores that are good enough.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold(Vec<(Comparison, f64)>);

/// How a score is compared with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Above,
    AtLeast,
    Below,
    AtMost,
    Exactly,
}

impl Threshold {
    /// Scores from this on.
    #[must_use]
    pub fn at_least(score: f64) -> Self {
        Self(vec![(Comparison::AtLeast, score)])
    }

    /// Scores between these, as far as they are given.
    #[must_use]
    pub fn between(least: Option<f64>, most: Option<f64>) -> Option<Self> {
        let least = least.map(|least| (Comparison::AtLeast, least));
        let bounds: Vec<_> = least.into_iter().chain(most.map(|most| (Comparison::AtMost, most))).collect();
        (!bounds.is_empty()).then_some(Self(bounds))
    }

    /// A threshold as packs write it: an operator and a value, or what the original runtime reads.
    ///
    /// # Errors
    /// Why it says nothing.
    pub(crate) fn declared(threshold: &Map<String, Value>) -> Result<Self, String> {
        let number = |name: &str| threshold.get(name).and_then(Value::as_f64);
        let mut bounds =
            Self::between(number("min_score"), number("max_score")).map_or(Vec::new(), |own| own.0);
        if let Some(passed) = threshold.get("passed").and_then(Value::as_bool) {
            bounds.push((if passed { Comparison::AtLeast } else { Comparison::Below }, 1.0));
        }
        match (threshold.get("operator").and_then(Value::as_str), number("value")) {
            (Some(operator), Some(value)) => bounds.push((Comparison::of(operator)?, value)),
            (None, None) => {}
            _ => return Err("a threshold has both an `operator` and a `value`".to_owned()),
        }
        if bounds.is_empty() {
            return Err("its threshold says nothing: write `min_score`, or `operator` and `value`".to_owned());
        }
        Ok(Self(bounds))
    }

    /// Returns whether every score there can be, from 0 to 1, is good enough.
    pub(crate) fn holds_always(&self) -> bool {
        self.holds(0.0) && self.holds(1.0)
    }

    /// Returns whether a score is good enough.
    #[must_use]
    pub fn holds(&self, score: f64) -> bool {
        self.0.iter().all(|(comparison, number)| match comparison {
            Comparison::Above => score > *number,
            Comparison::AtLeast => score >= *number,
            Comparison::Below => score < *number,
            Comparison::AtMost => score <= *number,
            Comparison::Exactly => (score - number).abs() < f64::EPSILON,
        })
    }
}

impl std::fmt::Display for Threshold {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (comparison, number)) in self.0.iter().enumerate() {
            let word = match comparison {
                Comparison::Above => "more than",
                Comparison::AtLeast => "at least",
                Comparison::Below => "less than",
                Comparison::AtMost => "at most",
                Comparison::Exactly => "exactly",
            };
            let and = if index > 0 { " and " } else { "" };
            write!(formatter, "{and}{word} {number}")?;
        }
        Ok(())
    }
}

impl Comparison {
    fn of(operator: &str) -> Result<Self, String> {
        Ok(match operator {
            "gt" | ">" => Self::Above,
            "gte" | ">=" => Self::AtLeast,
            "lt" | "<" => Self::Below,
            "lte" | "<=" => Self::AtMost,
            "eq" | "==" => Self::Exactly,
            _ => return Err(format!("`{operator}` is not an operator: there are gt, gte, lt, lte, eq")),
        })
    }
}
