//! Tokens, costs and calls as JSON.

use convoke_core::store::Totals;
use convoke_core::{Money, Usage};
use serde::Serialize;

use super::dollars;
use crate::Spent;

/// Tokens, of each kind.
#[derive(Debug, Serialize)]
struct TokensView {
    input_tokens: u64,
    output_tokens: u64,
    cached_input_tokens: u64,
    cache_write_tokens: u64,
    reasoning_tokens: u64,
    /// Only if it is so: a model did not say what it used.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_estimated: bool,
}

impl From<&Usage> for TokensView {
    fn from(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            is_estimated: usage.is_estimated,
        }
    }
}

/// The usage of one call.
#[derive(Debug, Serialize)]
pub struct UsageView {
    #[serde(flatten)]
    tokens: TokensView,
    /// `null` if it is not known.
    cost_usd: Option<f64>,
}

impl From<&Usage> for UsageView {
    fn from(usage: &Usage) -> Self {
        Self { tokens: usage.into(), cost_usd: usage.cost.map(dollars) }
    }
}

/// The spending of a run, or a part of one.
#[derive(Debug, Serialize)]
pub struct SpentView {
    model_calls: u64,
    tool_calls: u64,
    #[serde(flatten)]
    tokens: TokensView,
    /// The whole cost; `null` if any part of it is unknown.
    cost_usd: Option<f64>,
    /// What is known of the cost.
    known_cost_usd: Option<f64>,
    /// Calls whose cost is not known.
    unpriced_calls: u64,
}

/// What is known of a cost: a part of it, or all.
pub(crate) fn known(whole: Option<Money>, part: Option<Money>) -> Option<f64> {
    part.or(whole).map(dollars)
}

impl From<&Totals> for SpentView {
    fn from(totals: &Totals) -> Self {
        // Without calls nothing was paid; otherwise a cost that is not there is not known.
        let whole = totals.whole_cost().or((totals.model_calls == 0).then_some(Money::ZERO));
        Self {
            model_calls: totals.model_calls,
            tool_calls: totals.tool_calls,
            tokens: (&totals.usage).into(),
            cost_usd: whole.map(dollars),
            known_cost_usd: known(whole, totals.usage.cost),
            unpriced_calls: totals.unpriced_calls,
        }
    }
}

impl From<&Spent> for SpentView {
    fn from(spent: &Spent) -> Self {
        let whole = spent.whole_cost();
        Self {
            model_calls: spent.model_calls,
            tool_calls: spent.tool_calls,
            tokens: (&spent.usage).into(),
            cost_usd: whole.map(dollars),
            known_cost_usd: known(whole, spent.usage.cost),
            unpriced_calls: spent.unpriced_calls,
        }
    }
}
