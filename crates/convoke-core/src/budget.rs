//! Limits on what a run, or a part of it, may use.
//!
//! Budgets nest: an effect is charged to the budget of its scope and to every budget further out, in one step. What an
//! effect may need is reserved before it is performed and settled with what it really used, so that branches running
//! side by side cannot together overdraw what each alone could afford. The one exception: an answer whose request sets no
//! `max_tokens` may be longer than what is reserved for it; what it used counts in full, and the next call is refused.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::Path;
use crate::message::{Money, Usage};

/// What may be used at most. What is not set is not limited.
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

/// What a budget limits.
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

/// A limit was reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("the budget of {} is used up: {}; raise the limit, or do less", owner.in_words(), self.amounts())]
pub struct Exhausted {
    /// The scope whose budget it is.
    pub owner: Path,
    /// What ran out.
    pub resource: Resource,
    /// The limit.
    pub limit: u64,
    /// What was used or reserved.
    pub used: u64,
}

impl Exhausted {
    /// What was used of how much: `12 of 12 model calls`, `$0.000987 of $0.001`.
    fn amounts(&self) -> String {
        let Self { resource, limit, used, .. } = self;
        match resource {
            Resource::Cost => format!("{} of {}", Money::from_micros(*used), Money::from_micros(*limit)),
            other => format!("{used} of {limit} {other}"),
        }
    }
}

/// What an effect uses, or may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Charge<'a> {
    pub(crate) model_calls: u64,
    pub(crate) tokens: u64,
    pub(crate) cost: Money,
    pub(crate) tool: Option<&'a str>,
    pub(crate) turns: u64,
}

impl<'a> Charge<'a> {
    pub(crate) fn model(tokens: u64, cost: Money) -> Self {
        Self { model_calls: 1, tokens, cost, ..Self::default() }
    }

    pub(crate) fn tool(name: &'a str) -> Self {
        Self { tool: Some(name), ..Self::default() }
    }

    pub(crate) fn turn() -> Self {
        Self { turns: 1, ..Self::default() }
    }
}

/// A budget in force.
#[derive(Debug)]
pub(crate) struct Budget {
    owner: Path,
    limits: Limits,
    used: Mutex<Used>,
    parent: Option<Arc<Budget>>,
}

#[derive(Debug, Default)]
struct Used {
    model_calls: u64,
    tokens: u64,
    cost: Money,
    tool_calls: u64,
    per_tool: BTreeMap<String, u64>,
    turns: u64,
}

impl Budget {
    pub(crate) fn new(owner: Path, limits: Limits, parent: Option<Arc<Budget>>) -> Arc<Self> {
        Arc::new(Self { owner, limits, used: Mutex::new(Used::default()), parent })
    }

    /// Takes what an effect may need from this budget and all further out, or from none of them.
    pub(crate) fn reserve(&self, charge: &Charge<'_>) -> Result<(), Exhausted> {
        // Locks are always taken from the inside out, so two reservations cannot wait for each other.
        let mut used = self.lock();
        self.afford(&used, charge)?;
        if let Some(parent) = &self.parent {
            parent.reserve(charge)?;
        }
        used.add(charge);
        Ok(())
    }

    /// Charges what was used whatever the limits say: it has happened (a replayed effect).
    pub(crate) fn charge(&self, charge: &Charge<'_>) {
        self.lock().add(charge);
        if let Some(parent) = &self.parent {
            parent.charge(charge);
        }
    }

    /// Replaces a reservation of tokens and money by what was really used.
    pub(crate) fn settle(&self, reserved: &Charge<'_>, actual: &Usage) {
        let mut used = self.lock();
        used.tokens = used.tokens.saturating_sub(reserved.tokens).saturating_add(actual.total_tokens());
        used.cost = used.cost.saturating_sub(reserved.cost) + actual.cost.unwrap_or(Money::ZERO);
        drop(used);
        if let Some(parent) = &self.parent {
            parent.settle(reserved, actual);
        }
    }

    /// How much of something may still be used, if that is limited.
    pub(crate) fn remaining(&self, resource: &Resource) -> Option<u64> {
        let (limit, used) = self.own(resource);
        let own = limit.map(|limit| limit.saturating_sub(used));
        let outer = self.parent.as_ref().and_then(|parent| parent.remaining(resource));
        own.into_iter().chain(outer).min()
    }

    /// A limit of which nothing is left, from the inside out. Those of single tools are no such limits.
    pub(crate) fn used_up(&self) -> Option<Exhausted> {
        use Resource::{Cost, ModelCalls, Tokens, ToolCalls, Turns};
        let own = [ModelCalls, Tokens, Turns, Cost, ToolCalls].into_iter().find_map(|resource| {
            let (limit, used) = self.own(&resource);
            let limit = limit.filter(|limit| used >= *limit)?;
            Some(Exhausted { owner: self.owner.clone(), resource, limit, used })
        });
        own.or_else(|| self.parent.as_ref()?.used_up())
    }

    /// The limit on something here, if there is one, and what was used.
    fn own(&self, resource: &Resource) -> (Option<u64>, u64) {
        let used = self.lock();
        match resource {
            Resource::ModelCalls => (self.limits.model_calls, used.model_calls),
            Resource::Tokens => (self.limits.tokens, used.tokens),
            Resource::Cost => (self.limits.cost.map(Money::as_micros), used.cost.as_micros()),
            Resource::ToolCalls => (self.limits.tool_calls, used.tool_calls),
            Resource::CallsOf(tool) => {
                let used = used.per_tool.get(tool).copied().unwrap_or(0);
                (self.limits.per_tool.get(tool).copied(), used)
            }
            Resource::Turns => (self.limits.turns, used.turns),
        }
    }

    fn afford(&self, used: &Used, charge: &Charge<'_>) -> Result<(), Exhausted> {
        let check = |resource: Resource, limit: Option<u64>, used: u64, more: u64| match limit {
            Some(limit) if more > 0 && used.saturating_add(more) > limit => {
                Err(Exhausted { owner: self.owner.clone(), resource, limit, used })
            }
            _ => Ok(()),
        };
        let limits = &self.limits;
        check(Resource::ModelCalls, limits.model_calls, used.model_calls, charge.model_calls)?;
        check(Resource::Tokens, limits.tokens, used.tokens, charge.tokens)?;
        check(Resource::Turns, limits.turns, used.turns, charge.turns)?;
        let cost_limit = limits.cost.map(Money::as_micros);
        check(Resource::Cost, cost_limit, used.cost.as_micros(), charge.cost.as_micros())?;
        // Money already spent closes the tap even when the price of the next call is not known.
        if charge.model_calls > 0 && cost_limit.is_some_and(|limit| used.cost.as_micros() >= limit) {
            check(Resource::Cost, cost_limit, used.cost.as_micros(), 1)?;
        }
        if let Some(tool) = charge.tool {
            check(Resource::ToolCalls, limits.tool_calls, used.tool_calls, 1)?;
            let of_this = used.per_tool.get(tool).copied().unwrap_or(0);
            check(Resource::CallsOf(tool.to_owned()), limits.per_tool.get(tool).copied(), of_this, 1)?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Used {
    fn add(&mut self, charge: &Charge<'_>) {
        self.model_calls += charge.model_calls;
        self.tokens = self.tokens.saturating_add(charge.tokens);
        self.cost += charge.cost;
        self.turns += charge.turns;
        if let Some(tool) = charge.tool {
            self.tool_calls += 1;
            *self.per_tool.entry(tool.to_owned()).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_budget_is_bounded_by_the_outer_one_and_a_refused_charge_takes_nothing() {
        let outer = Budget::new(Path::from("main"), Limits::default().model_calls(2), None);
        let inner =
            Budget::new(Path::from("main/a"), Limits::default().model_calls(9), Some(Arc::clone(&outer)));
        let call = Charge::model(10, Money::ZERO);
        assert!(inner.reserve(&call).is_ok() && inner.reserve(&call).is_ok());
        let refused = inner.reserve(&call).unwrap_err();
        assert_eq!((refused.owner.as_str(), refused.limit, refused.used), ("main", 2, 2));
        assert_eq!(inner.remaining(&Resource::ModelCalls), Some(0));
        assert_eq!(inner.remaining(&Resource::ModelCalls), Some(0));
        assert_eq!(inner.remaining(&Resource::Turns), None);
        assert_eq!(inner.used_up(), Some(refused));
        assert_eq!(inner.lock().model_calls, 2);
    }

    #[test]
    fn settling_refunds_what_was_reserved_and_not_used() {
        let budget = Budget::new(Path::from("main"), Limits::default().tokens(100), None);
        let call = Charge::model(90, Money::ZERO);
        budget.reserve(&call).unwrap();
        assert!(budget.reserve(&call).is_err());
        budget.settle(&call, &Usage::tokens(5, 5));
        assert_eq!(budget.remaining(&Resource::Tokens), Some(90));
        assert!(budget.reserve(&call).is_ok());
    }

    #[test]
    fn hostile_counts_use_the_budget_up_and_do_not_wrap_round() {
        let budget = Budget::new(Path::from("main"), Limits::default().tokens(100), None);
        for _ in 0..2 {
            budget.settle(&Charge::default(), &Usage::tokens(u64::MAX, u64::MAX));
            budget.charge(&Charge::model(u64::MAX, Money::ZERO));
            assert_eq!(budget.remaining(&Resource::Tokens), Some(0));
        }
    }
}
