//! Budgets: limits on what a run, or a part of it, may use.
//!
//! Budgets nest: an effect is charged to the budget of its scope and to every budget further out, in one step. What an
//! effect may need is reserved before it is performed and settled with what it really used, so that branches running
//! side by side cannot together overdraw what each alone could afford. A model call that finds only reservations in its
//! way waits for them to be settled (`queue.rs`); what is really used up is refused at once. The one exception: an answer
//! whose request sets no `max_tokens` may be longer than what is reserved for it; what it used counts in full, and the
//! next call is refused.

mod estimate;
mod limits;
mod queue;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use estimate::{ReplyProgress, broken_off, completed, tokens_asked};
pub use limits::{BudgetExhausted, Limits, Resource};
pub(crate) use queue::{Reservation, ReservationRequest};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, Semaphore};

use crate::Path;
use crate::message::Money;

/// The number of tokens an answer is reckoned to have under a budget if its request does not say.
pub const ASSUMED_OUTPUT_TOKENS: u64 = 4_096;

/// Bytes of a conversation that make about one token. Used to reserve, and to charge for replies whose model does not say
/// what it used.
pub const BYTES_PER_TOKEN: u64 = 4;

/// What an effect uses, or may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Charge<'a> {
    pub(crate) model_calls: u64,
    pub(crate) tokens: u64,
    pub(crate) cost: Money,
    /// The tools that are called, once for each call.
    pub(crate) tools: &'a [&'a str],
    pub(crate) turns: u64,
}

impl<'a> Charge<'a> {
    pub(crate) fn model(tokens: u64, cost: Money) -> Self {
        Self { model_calls: 1, tokens, cost, ..Self::default() }
    }

    pub(crate) fn tools(tools: &'a [&'a str]) -> Self {
        Self { tools, ..Self::default() }
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
    account: Mutex<Account>,
    parent: Option<Arc<Budget>>,
    /// Whoever waits for reservations to be settled has the one place, in the order of coming.
    place: Semaphore,
    /// A reservation was settled.
    settled: Notify,
}

/// What was used, and what is set aside for calls under way.
#[derive(Debug, Default)]
struct Account {
    used: BudgetUsage,
    reserved_tokens: u64,
    reserved_cost: Money,
}

/// What was used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct BudgetUsage {
    pub(crate) model_calls: u64,
    pub(crate) tokens: u64,
    pub(crate) cost: Money,
    pub(crate) tool_calls: u64,
    per_tool: BTreeMap<String, u64>,
    turns: u64,
}

impl Budget {
    pub(crate) fn new(owner: Path, limits: Limits, parent: Option<Arc<Budget>>) -> Arc<Self> {
        Arc::new(Self {
            owner,
            limits,
            account: Mutex::default(),
            parent,
            place: Semaphore::new(1),
            settled: Notify::new(),
        })
    }

    /// The budget of a whole run, which has used this much before.
    pub(crate) fn of_run(limits: Limits, used: BudgetUsage) -> Arc<Self> {
        let budget = Self::new(Path::from(""), limits, None);
        budget.lock().used = used;
        budget
    }

    /// What was used of it.
    pub(crate) fn used(&self) -> BudgetUsage {
        self.lock().used.clone()
    }

    /// Takes what an effect uses at once from this budget and all further out, or from none of them.
    pub(crate) fn take(&self, charge: &Charge<'_>) -> Result<(), BudgetExhausted> {
        // Locks are always taken from the inside out, so two who take cannot wait for each other.
        let mut account = self.lock();
        self.afford(&account.used, charge)?;
        if let Some(parent) = &self.parent {
            parent.take(charge)?;
        }
        account.used.add(charge);
        Ok(())
    }

    /// Charges what was used whatever the limits say: it has happened (a replayed effect).
    pub(crate) fn charge(&self, charge: &Charge<'_>) {
        for budget in self.with_outer() {
            budget.lock().used.add(charge);
        }
    }

    /// How much of something may still be used, if that is limited. What is only set aside counts as not used.
    pub(crate) fn remaining(&self, resource: &Resource) -> Option<u64> {
        let left = self.with_outer().filter_map(|budget| {
            let (limit, used) = budget.own(resource);
            limit.map(|limit| limit.saturating_sub(used))
        });
        left.min()
    }

    /// A limit of which nothing is left, from the inside out. Those of single tools are no such limits.
    pub(crate) fn used_up(&self) -> Option<BudgetExhausted> {
        use Resource::{Cost, ModelCalls, Tokens, ToolCalls, Turns};
        self.with_outer().find_map(|budget| {
            [ModelCalls, Tokens, Turns, Cost, ToolCalls].into_iter().find_map(|resource| {
                let (limit, used) = budget.own(&resource);
                let limit = limit.filter(|limit| used >= *limit)?;
                Some(BudgetExhausted { owner: budget.owner.clone(), resource, limit, used, needed: None })
            })
        })
    }

    /// This budget and those further out.
    fn with_outer(&self) -> impl Iterator<Item = &Budget> {
        std::iter::successors(Some(self), |budget| budget.parent.as_deref())
    }

    /// The limit on something here, if there is one, and what was used.
    fn own(&self, resource: &Resource) -> (Option<u64>, u64) {
        let used = &self.lock().used;
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

    fn afford(&self, used: &BudgetUsage, charge: &Charge<'_>) -> Result<(), BudgetExhausted> {
        let check = |resource: Resource, limit: Option<u64>, used: u64, more: u64| match limit {
            Some(limit) if more > 0 && used.saturating_add(more) > limit => {
                // What is not used up is too little for this.
                let needed = (used < limit).then_some(more);
                Err(BudgetExhausted { owner: self.owner.clone(), resource, limit, used, needed })
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
        check(Resource::ToolCalls, limits.tool_calls, used.tool_calls, charge.tools.len() as u64)?;
        for tool in charge.tools {
            let more = charge.tools.iter().filter(|other| *other == tool).count() as u64;
            let of_this = used.per_tool.get(*tool).copied().unwrap_or(0);
            let limit = limits.per_tool.get(*tool).copied();
            check(Resource::CallsOf((*tool).to_owned()), limit, of_this, more)?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BudgetUsage {
    fn add(&mut self, charge: &Charge<'_>) {
        self.model_calls += charge.model_calls;
        self.tokens = self.tokens.saturating_add(charge.tokens);
        self.cost += charge.cost;
        self.turns += charge.turns;
        for tool in charge.tools {
            self.tool_calls += 1;
            *self.per_tool.entry((*tool).to_owned()).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Usage;

    #[test]
    fn an_inner_budget_is_bounded_by_the_outer_one_and_a_refused_charge_takes_nothing() {
        let outer = Budget::new(Path::from("main"), Limits::default().model_calls(2), None);
        let inner =
            Budget::new(Path::from("main/a"), Limits::default().model_calls(9), Some(Arc::clone(&outer)));
        let call = Charge::model(10, Money::ZERO);
        assert!(inner.take(&call).is_ok() && inner.take(&call).is_ok());
        let refused = inner.take(&call).unwrap_err();
        assert_eq!((refused.owner.as_str(), refused.limit, refused.used), ("main", 2, 2));
        assert_eq!(inner.remaining(&Resource::ModelCalls), Some(0));
        assert_eq!(inner.remaining(&Resource::ModelCalls), Some(0));
        assert_eq!(inner.remaining(&Resource::Turns), None);
        assert_eq!(inner.used_up(), Some(refused));
        assert_eq!(inner.lock().used.model_calls, 2);
    }

    #[test]
    fn what_is_used_counts_for_every_limit_and_the_last_one_that_fits_is_let_through() {
        let limits = Limits::default().tool_calls(3).calls_of("look", 2).turns(1);
        let budget = Budget::new(Path::from("main"), limits, None);
        assert!(
            budget.take(&Charge::tools(&["look"])).is_ok() && budget.take(&Charge::tools(&["look"])).is_ok()
        );
        assert_eq!(budget.remaining(&Resource::CallsOf("look".into())), Some(0));
        assert_eq!(budget.used_up(), None, "other tools may be called");
        let refused = budget.take(&Charge::tools(&["look"])).unwrap_err();
        assert_eq!((refused.resource, refused.limit, refused.used), (Resource::CallsOf("look".into()), 2, 2));
        assert!(budget.take(&Charge::tools(&["go"])).is_ok());
        assert_eq!(budget.used_up().map(|up| up.resource), Some(Resource::ToolCalls));
        assert_eq!(budget.take(&Charge::tools(&["go"])).unwrap_err().resource, Resource::ToolCalls);
        assert!(budget.take(&Charge::turn()).is_ok(), "a turn is no call");
        assert_eq!(budget.take(&Charge::turn()).unwrap_err().resource, Resource::Turns);
    }

    #[test]
    fn calls_that_are_asked_for_together_are_all_charged_or_none_of_them() {
        let limits = Limits::default().tool_calls(3).calls_of("look", 1);
        let budget = Budget::new(Path::from("main"), limits, None);
        let both = budget.take(&Charge::tools(&["look", "look"])).unwrap_err();
        assert_eq!((both.resource, both.used, both.needed), (Resource::CallsOf("look".into()), 0, Some(2)));
        assert!(budget.take(&Charge::tools(&["look", "go"])).is_ok());
        let both = budget.take(&Charge::tools(&["go", "go"])).unwrap_err();
        assert_eq!((&both.resource, both.used, both.needed), (&Resource::ToolCalls, 2, Some(2)));
        assert!(both.to_string().contains("the next calls: 1 of 3 tool calls, and they are 2"), "{both}");
        assert!(budget.take(&Charge::tools(&["go"])).is_ok(), "what was refused took nothing");
    }

    #[test]
    fn money_closes_the_tap_for_calls_of_models_only() {
        let budget = Budget::new(Path::from("main"), Limits::default().cost(Money::from_micros(10)), None);
        assert!(budget.take(&Charge::model(1, Money::from_micros(10))).is_ok(), "exactly what there is");
        let unpriced = budget.take(&Charge::model(1, Money::ZERO)).unwrap_err();
        assert_eq!((unpriced.resource, unpriced.used, unpriced.needed), (Resource::Cost, 10, None));
        assert!(budget.take(&Charge::tools(&["look"])).is_ok() && budget.take(&Charge::turn()).is_ok());
        budget.charge(&Charge::model(1, Money::from_micros(5)));
        assert!(budget.take(&Charge::tools(&["look"])).is_ok(), "it costs nothing, whatever was overdrawn");
        let new = Budget::new(Path::from("main"), Limits::default().cost(Money::from_micros(10)), None);
        let dear = new.take(&Charge::model(1, Money::from_micros(11))).unwrap_err();
        assert_eq!((dear.used, dear.needed), (0, Some(11)), "there is something left, but too little");
    }

    #[test]
    fn hostile_counts_use_the_budget_up_and_do_not_wrap_round() {
        let budget = Budget::new(Path::from("main"), Limits::default().tokens(100), None);
        for _ in 0..2 {
            budget.lock().settle(&Charge::default(), &Usage::tokens(u64::MAX, u64::MAX));
            budget.charge(&Charge::model(u64::MAX, Money::ZERO));
            assert_eq!(budget.remaining(&Resource::Tokens), Some(0));
        }
    }
}
