//! Budget limits, and the error that says one was reached.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Path;
use crate::message::Money;

/// Upper limits on what may be used. What is not set is not limited.
///
/// ```
/// use convoke_core::{Limits, Money};
///
/// let limits = Limits::default().model_calls(20).tokens(50_000).cost(Money::from_cents(50)).calls_of("search", 3);
/// assert_eq!(limits.model_calls, Some(20));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Limits {
    /// Model calls.
    pub model_calls: Option<u64>,
    /// Tokens, in and out together.
    pub tokens: Option<u64>,
    /// Money.
    pub cost: Option<Money>,
    /// Tool calls, of all tools together.
    pub tool_calls: Option<u64>,
    /// Calls of single tools.
    pub per_tool: BTreeMap<String, u64>,
    /// Turns of agents.
    pub turns: Option<u64>,
}

impl Limits {
    /// Limits model calls.
    #[must_use]
    pub fn model_calls(mut self, calls: u64) -> Self {
        self.model_calls = Some(calls);
        self
    }

    /// Limits tokens, in and out together. Answers are then no longer than what is left. A model call that does not say how
    /// long its answer may be is reckoned with 4,096 tokens of output: a longer answer is not cut short as long as so
    /// many are left, and may overdraw the budget. Set `max_tokens` where it must not.
    #[must_use]
    pub fn tokens(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Limits money.
    #[must_use]
    pub fn cost(mut self, cost: Money) -> Self {
        self.cost = Some(cost);
        self
    }

    /// Limits tool calls.
    #[must_use]
    pub fn tool_calls(mut self, calls: u64) -> Self {
        self.tool_calls = Some(calls);
        self
    }

    /// Limits calls of one tool.
    #[must_use]
    pub fn calls_of(mut self, tool: impl Into<String>, calls: u64) -> Self {
        self.per_tool.insert(tool.into(), calls);
        self
    }

    /// Limits turns of agents.
    #[must_use]
    pub fn turns(mut self, turns: u64) -> Self {
        self.turns = Some(turns);
        self
    }
}

impl Limits {
    /// Returns these limits, each replaced by the one `given` has, if it has it.
    ///
    /// ```
    /// use convoke_core::Limits;
    ///
    /// let given = Limits::default().model_calls(5).tokens(100);
    /// let limits = Limits::default().model_calls(2).turns(9).replaced_by(&given);
    /// assert_eq!(limits, Limits::default().model_calls(5).turns(9).tokens(100));
    /// ```
    #[must_use]
    pub fn replaced_by(mut self, given: &Self) -> Self {
        self.model_calls = given.model_calls.or(self.model_calls);
        self.tokens = given.tokens.or(self.tokens);
        self.cost = given.cost.or(self.cost);
        self.tool_calls = given.tool_calls.or(self.tool_calls);
        self.turns = given.turns.or(self.turns);
        self.per_tool.extend(given.per_tool.clone());
        self
    }

    /// Both: of two limits on the same thing the narrower one holds.
    ///
    /// ```
    /// use convoke_core::Limits;
    ///
    /// let both = Limits::default().model_calls(2).turns(9).and(&Limits::default().model_calls(5).tokens(100));
    /// assert_eq!(both, Limits::default().model_calls(2).turns(9).tokens(100));
    /// ```
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        fn narrower<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        let mut per_tool = self.per_tool.clone();
        for (tool, calls) in &other.per_tool {
            let limit = per_tool.entry(tool.clone()).or_insert(*calls);
            *limit = (*limit).min(*calls);
        }
        Self {
            model_calls: narrower(self.model_calls, other.model_calls),
            tokens: narrower(self.tokens, other.tokens),
            cost: narrower(self.cost, other.cost),
            tool_calls: narrower(self.tool_calls, other.tool_calls),
            per_tool,
            turns: narrower(self.turns, other.turns),
        }
    }
}

/// The resources that budgets limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Resource {
    /// Model calls.
    ModelCalls,
    /// Tokens.
    Tokens,
    /// Money.
    Cost,
    /// Tool calls.
    ToolCalls,
    /// Calls of one tool.
    CallsOf(String),
    /// Turns of agents.
    Turns,
}

impl fmt::Display for Resource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ModelCalls => formatter.write_str("model calls"),
            Self::Tokens => formatter.write_str("tokens"),
            Self::Cost => formatter.write_str("millionths of a dollar"),
            Self::ToolCalls => formatter.write_str("tool calls"),
            Self::CallsOf(tool) => write!(formatter, "calls of `{tool}`"),
            Self::Turns => formatter.write_str("turns"),
        }
    }
}

/// A limit was reached, or would be by what was to be done next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}; raise the limit, or do less", self.in_words())]
pub struct BudgetExhausted {
    /// The scope whose budget it is.
    pub owner: Path,
    /// What ran out.
    pub resource: Resource,
    /// The limit.
    pub limit: u64,
    /// What was used or reserved.
    pub used: u64,
    /// What was to be done next needs at least this much, and less is left. `None` if nothing is left; journals of older
    /// versions never have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<u64>,
}

impl BudgetExhausted {
    /// `the budget of the run is used up: 12 of 12 model calls`, or how much is left and how much is needed.
    fn in_words(&self) -> String {
        let Self { owner, limit, used, .. } = self;
        let (owner, limit) = (owner.in_words(), self.amount(*limit));
        match self.needed {
            None => format!("the budget of {owner} is used up: {} of {limit}", self.number(*used)),
            Some(needed) => {
                let (next, takes) = match self.resource {
                    Resource::ToolCalls | Resource::CallsOf(_) => ("calls", "they are"),
                    _ => ("call", "the call takes at least"),
                };
                format!(
                    "too little of the budget of {owner} is left for the next {next}: {} of {limit}, and {takes} {}",
                    self.number(self.limit.saturating_sub(*used)),
                    self.number(needed),
                )
            }
        }
    }

    /// `12`, `$0.000987`.
    fn number(&self, number: u64) -> String {
        match self.resource {
            Resource::Cost => Money::from_micros(number).to_string(),
            _ => number.to_string(),
        }
    }

    /// The same with what it is a number of: `12 model calls`.
    fn amount(&self, number: u64) -> String {
        match &self.resource {
            Resource::Cost => self.number(number),
            other => format!("{number} {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exhausted(resource: Resource, used: u64, needed: Option<u64>) -> String {
        BudgetExhausted { owner: Path::from("main/plan"), resource, limit: 12, used, needed }.to_string()
    }

    #[test]
    fn of_two_limits_the_narrower_one_holds_and_what_one_leaves_open_the_other_closes() {
        let one = Limits::default().model_calls(2).turns(9).cost(Money::from_cents(5)).calls_of("look", 3);
        let other =
            Limits::default().model_calls(5).tokens(100).tool_calls(7).calls_of("look", 8).calls_of("go", 1);
        let both =
            Limits::default().model_calls(2).turns(9).cost(Money::from_cents(5)).tokens(100).tool_calls(7);
        let both = both.calls_of("look", 3).calls_of("go", 1);
        assert_eq!((one.and(&other), other.and(&one)), (both.clone(), both));
    }

    #[test]
    fn limits_that_are_given_replace_those_there_are() {
        let there = Limits::default().model_calls(2).turns(9).calls_of("look", 3).calls_of("go", 1);
        let given = Limits::default().model_calls(5).tokens(100).calls_of("look", 8);
        let now = Limits::default().model_calls(5).turns(9).tokens(100).calls_of("look", 8).calls_of("go", 1);
        assert_eq!(there.replaced_by(&given), now);
    }

    #[test]
    fn a_budget_that_is_used_up_is_said_in_numbers_of_what_it_limits() {
        let up = exhausted(Resource::ModelCalls, 12, None);
        assert!(up.contains("is used up: 12 of 12 model calls; raise the limit"), "{up}");
        let of_tool = exhausted(Resource::CallsOf("look".into()), 12, None);
        assert!(of_tool.contains("12 of 12 calls of `look`"), "{of_tool}");
        let little = exhausted(Resource::Tokens, 5, Some(40));
        assert!(
            little.contains("is left for the next call: 7 of 12 tokens, and the call takes at least 40"),
            "{little}"
        );
        let money = exhausted(Resource::Cost, 5, Some(40));
        assert!(money.contains("$0.000007 of $0.000012, and the call takes at least $0.00004"), "{money}");
    }
}
