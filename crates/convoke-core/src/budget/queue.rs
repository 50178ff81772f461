//! Budget reservations for model calls, and the queue of calls that wait for others to settle theirs.
//!
//! Whoever finds only reservations in its way waits in the queue of each budget, from the inside out, in the order of
//! coming. It never waits for what is really used up, and holds nothing but its places while it waits. Those it waits for
//! are calls under way, which need nothing more from a budget to end: nobody can wait in a circle.

use std::sync::{Arc, MutexGuard};

use super::{Account, Budget, BudgetExhausted, BudgetUsage, Charge};
use crate::message::{Money, Usage};
use crate::model::Price;

/// What a model call may need.
pub(crate) struct ReservationRequest {
    /// Tokens that are read.
    pub(crate) input: u64,
    /// Tokens that are written, at most.
    pub(crate) output: u64,
    pub(crate) price: Option<Price>,
}

impl ReservationRequest {
    fn with_output(&self, output: u64) -> Charge<'static> {
        let usage = Usage::tokens(self.input, output);
        Charge::model(usage.total_tokens(), self.price.map_or(Money::ZERO, |price| price.of(&usage)))
    }
}

/// What keeps a call from being made.
enum Obstacle<'a> {
    /// What is set aside in this budget for others, and may not be used.
    Reserved(&'a Budget),
    UsedUp(BudgetExhausted),
}

/// What was set aside for a call under way. Given back if the call is dropped.
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    charge: Charge<'static>,
    /// How many tokens the answer may have.
    pub(crate) output: u64,
    is_open: bool,
}

impl Budget {
    /// Sets aside what a model call may need, in this budget and all further out. Waits while only what others have set
    /// aside is in the way; then, and if there is room for no more, the answer gets what is left.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        wanted: &ReservationRequest,
    ) -> Result<Reservation, BudgetExhausted> {
        let mut places = Vec::new();
        for budget in self.with_outer() {
            // The queue is never closed.
            places.push(budget.place.acquire().await);
            budget.settled_until(|| !budget.is_reserved_for_others(wanted)).await;
        }
        loop {
            match self.try_reserve(wanted) {
                Ok(reservation) => return Ok(reservation),
                Err(Obstacle::UsedUp(exhausted)) => return Err(exhausted),
                // Rare: a call has used more than was set aside for it while we waited further out.
                Err(Obstacle::Reserved(budget)) => {
                    budget.settled_until(|| !budget.is_reserved_for_others(wanted)).await;
                }
            }
        }
    }

    fn try_reserve(self: &Arc<Self>, wanted: &ReservationRequest) -> Result<Reservation, Obstacle<'_>> {
        // Locks are always taken from the inside out, so two reservations cannot wait for each other.
        let mut accounts: Vec<(&Budget, MutexGuard<'_, Account>)> =
            self.with_outer().map(|budget| (budget, budget.lock())).collect();
        for (budget, account) in &accounts {
            budget.must_fit(account, wanted)?;
        }
        let room =
            accounts.iter().filter_map(|(budget, account)| budget.available_output(account, wanted)).min();
        // At least one token, so that it is the budget that refuses a call there is no room for.
        let output = room.map_or(wanted.output, |room| room.max(1).min(wanted.output));
        let charge = wanted.with_output(output);
        for (_, account) in &mut accounts {
            account.reserve(&charge);
        }
        Ok(Reservation { budget: Arc::clone(self), charge, output, is_open: true })
    }

    fn is_reserved_for_others(&self, wanted: &ReservationRequest) -> bool {
        matches!(self.must_fit(&self.lock(), wanted), Err(Obstacle::Reserved(_)))
    }

    /// Whether there is room here for the call now, if need be for a shorter answer.
    fn must_fit(&self, account: &Account, wanted: &ReservationRequest) -> Result<(), Obstacle<'_>> {
        if self.afford(&account.with_reserved(), &wanted.with_output(wanted.output)).is_ok() {
            return Ok(());
        }
        self.afford(&account.used, &wanted.with_output(1)).map_err(Obstacle::UsedUp)?;
        if account.reserved_tokens > 0 { Err(Obstacle::Reserved(self)) } else { Ok(()) }
    }

    /// How long an answer may be at most, by what is left here of tokens and of money.
    fn available_output(&self, account: &Account, wanted: &ReservationRequest) -> Option<u64> {
        let taken = account.with_reserved();
        let by_tokens =
            self.limits.tokens.map(|limit| limit.saturating_sub(taken.tokens).saturating_sub(wanted.input));
        let by_money = self.limits.cost.zip(wanted.price).and_then(|(limit, price)| {
            let reading = price.of(&Usage::tokens(wanted.input, 0));
            let left = limit.saturating_sub(taken.cost).saturating_sub(reading);
            // A price is for a million tokens.
            let tokens = u128::from(left.as_micros()) * 1_000_000;
            let room = tokens.checked_div(u128::from(price.output.as_micros()))?;
            Some(u64::try_from(room).unwrap_or(u64::MAX))
        });
        by_tokens.into_iter().chain(by_money).min()
    }

    /// Waits for reservations to be settled until something is so.
    async fn settled_until(&self, is_so: impl Fn() -> bool) {
        loop {
            // Made before the look, so that nothing can be settled unnoticed in between.
            let settled = self.settled.notified();
            if is_so() {
                return;
            }
            settled.await;
        }
    }

    /// Replaces a reservation by what was really used.
    fn settle(&self, reserved: &Charge<'_>, actual: &Usage) {
        for budget in self.with_outer() {
            budget.lock().settle(reserved, actual);
            budget.settled.notify_waiters();
        }
    }
}

impl Account {
    /// What would be used if every call under way used all that is set aside for it. Model calls need no more of it.
    fn with_reserved(&self) -> BudgetUsage {
        BudgetUsage {
            model_calls: self.used.model_calls,
            tokens: self.used.tokens.saturating_add(self.reserved_tokens),
            cost: self.used.cost + self.reserved_cost,
            ..BudgetUsage::default()
        }
    }

    fn reserve(&mut self, charge: &Charge<'_>) {
        self.used.model_calls += charge.model_calls;
        self.reserved_tokens = self.reserved_tokens.saturating_add(charge.tokens);
        self.reserved_cost += charge.cost;
    }

    pub(super) fn settle(&mut self, reserved: &Charge<'_>, actual: &Usage) {
        self.reserved_tokens = self.reserved_tokens.saturating_sub(reserved.tokens);
        self.reserved_cost = self.reserved_cost.saturating_sub(reserved.cost);
        self.used.tokens = self.used.tokens.saturating_add(actual.total_tokens());
        self.used.cost += actual.cost.unwrap_or(Money::ZERO);
    }
}

impl Reservation {
    /// The call has ended, and used this.
    pub(crate) fn settle(mut self, usage: Usage) {
        self.release(usage);
    }

    fn release(&mut self, usage: Usage) {
        if std::mem::take(&mut self.is_open) {
            self.budget.settle(&self.charge, &usage);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.release(Usage::default());
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::super::{Limits, Resource};
    use super::*;
    use crate::Path;

    fn tokens(limit: u64, parent: Option<&Arc<Budget>>) -> Arc<Budget> {
        Budget::new(Path::from("main"), Limits::default().tokens(limit), parent.cloned())
    }

    fn wanted(output: u64) -> ReservationRequest {
        ReservationRequest { input: 10, output, price: None }
    }

    /// What can be had without waiting.
    fn at_once(budget: &Arc<Budget>, output: u64) -> Option<Result<Reservation, BudgetExhausted>> {
        budget.reserve(&wanted(output)).now_or_never()
    }

    #[test]
    fn settling_refunds_what_was_reserved_and_not_used_here_and_further_out() {
        let outer = tokens(100, None);
        let inner = tokens(200, Some(&outer));
        let held = at_once(&inner, 80).unwrap().unwrap();
        assert!(at_once(&inner, 80).is_none(), "it waits");
        assert_eq!(inner.remaining(&Resource::Tokens), Some(100), "nothing was used yet");
        held.settle(Usage::tokens(5, 5));
        assert_eq!(outer.remaining(&Resource::Tokens), Some(90));
        assert!(at_once(&inner, 80).is_some_and(|held| held.is_ok_and(|held| held.output == 80)));
    }

    #[test]
    fn a_call_that_is_dropped_gives_back_what_was_set_aside() {
        let budget = tokens(100, None);
        drop(at_once(&budget, 80));
        assert_eq!(at_once(&budget, 90).unwrap().unwrap().output, 90);
    }

    #[test]
    fn what_is_really_used_up_is_refused_while_others_are_under_way() {
        let budget = tokens(100, None);
        let held = at_once(&budget, 10).unwrap().unwrap();
        budget.charge(&Charge::model(95, Money::ZERO));
        let refused = at_once(&budget, 80).unwrap().err().unwrap();
        assert_eq!((refused.limit, refused.used), (100, 95));
        drop(held);
    }

    #[test]
    fn an_answer_is_cut_to_what_is_left_only_when_nothing_is_set_aside_for_others() {
        let budget = tokens(100, None);
        let held = at_once(&budget, 40).unwrap().unwrap();
        let waiting = wanted(500);
        let mut longer = Box::pin(budget.reserve(&waiting));
        assert!((&mut longer).now_or_never().is_none());
        held.settle(Usage::tokens(10, 10));
        assert_eq!((&mut longer).now_or_never().unwrap().unwrap().output, 70);
    }

    /// Calls of a dollar for a million tokens read, and two for a million written.
    fn paid(output: u64) -> ReservationRequest {
        let price = Price::new(Money::from_dollars(1), Money::from_dollars(2));
        ReservationRequest { input: 10, output, price: Some(price) }
    }

    #[test]
    fn an_answer_is_cut_to_what_the_money_that_is_left_buys() {
        let limits = Limits::default().cost(Money::from_micros(110));
        let budget = Budget::new(Path::from("main"), limits, None);
        let first = budget.reserve(&paid(500)).now_or_never().unwrap().unwrap();
        assert_eq!(first.output, 50, "10 are for reading");
        assert!(budget.reserve(&paid(10)).now_or_never().is_none(), "all of it is set aside");
        first.settle(Usage { cost: Some(Money::from_micros(40)), ..Usage::tokens(10, 15) });
        let second = budget.reserve(&paid(20)).now_or_never().unwrap().unwrap();
        assert_eq!((second.output, budget.remaining(&Resource::Cost)), (20, Some(70)));
        let third = wanted_beside(&budget, &paid(5));
        assert_eq!(third, Some(5), "50 of 70 are set aside, and 20 suffice");
        drop(second);
        assert_eq!(budget.reserve(&paid(500)).now_or_never().unwrap().unwrap().output, 30);
    }

    /// How long an answer may be that is asked for beside others.
    fn wanted_beside(budget: &Arc<Budget>, wanted: &ReservationRequest) -> Option<u64> {
        budget.reserve(wanted).now_or_never().map(|reserved| reserved.unwrap().output)
    }

    #[test]
    fn calls_under_way_count_as_calls() {
        let limits = Limits::default().model_calls(2);
        let budget = Budget::new(Path::from("main"), limits, None);
        let held = [at_once(&budget, 10), at_once(&budget, 10)].map(|held| held.unwrap().unwrap());
        let refused = at_once(&budget, 10).unwrap().err().unwrap();
        assert_eq!((refused.resource, refused.used, refused.needed), (Resource::ModelCalls, 2, None));
        drop(held);
        assert!(at_once(&budget, 10).unwrap().is_err(), "a call that was dropped was made");
    }

    #[test]
    fn those_who_wait_are_served_in_the_order_of_coming_and_a_small_call_does_not_overtake() {
        let budget = tokens(100, None);
        let held = at_once(&budget, 60).unwrap().unwrap();
        let (large, small) = (wanted(80), wanted(1));
        let mut first = Box::pin(budget.reserve(&large));
        let mut second = Box::pin(budget.reserve(&small));
        assert!((&mut first).now_or_never().is_none());
        assert!((&mut second).now_or_never().is_none(), "there would be room for it, but another was first");
        held.settle(Usage::default());
        let served = (&mut first).now_or_never().unwrap().unwrap();
        assert_eq!(served.output, 80);
        // Whoever gives up lets the next one through.
        drop(first);
        drop(served);
        assert_eq!((&mut second).now_or_never().unwrap().unwrap().output, 1);
    }

    #[test]
    fn a_call_that_used_more_than_it_had_set_aside_is_noticed_by_those_who_wait_further_out() {
        let outer = tokens(130, None);
        let (left, right) = (tokens(100, Some(&outer)), tokens(200, Some(&outer)));
        let held = [at_once(&left, 10), at_once(&left, 10)].map(|held| held.unwrap().unwrap());
        let [first, second] = held;
        let (long, ours) = (wanted(100), wanted(40));
        let mut before_us = Box::pin(right.reserve(&long));
        let mut waiting = Box::pin(left.reserve(&ours));
        assert!((&mut before_us).now_or_never().is_none());
        assert!(
            (&mut waiting).now_or_never().is_none(),
            "there is room further in, and another is first further out"
        );
        first.settle(Usage::tokens(25, 25));
        drop(before_us);
        assert!((&mut waiting).now_or_never().is_none(), "now there is no room further in");
        second.settle(Usage::tokens(5, 5));
        assert_eq!((&mut waiting).now_or_never().unwrap().unwrap().output, 30);
    }

    #[test]
    fn who_waits_for_an_inner_budget_does_not_stand_in_the_way_of_others_further_out() {
        let outer = tokens(1_000, None);
        let (left, right) = (tokens(100, Some(&outer)), tokens(100, Some(&outer)));
        let held = at_once(&left, 80).unwrap().unwrap();
        let waiting = wanted(80);
        let mut stuck = Box::pin(left.reserve(&waiting));
        assert!((&mut stuck).now_or_never().is_none());
        assert!(at_once(&right, 80).is_some_and(|other| other.is_ok()));
        drop(held);
        assert!((&mut stuck).now_or_never().is_some_and(|other| other.is_ok()));
    }
}
