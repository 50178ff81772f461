//! Reasoning settings, and what may not be asked of a model that thinks.

use convoke_core::{ModelError, ModelParams, ReasoningEffort};
use serde_json::{Map, Value, json};

use super::family::{Family, Thinking};
use crate::provider::json::invalid;

/// The least that can be thought, in tokens.
const SMALLEST_BUDGET: u32 = 1_024;

/// The reasoning settings of a request.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    /// The `thinking` of the request.
    pub(super) thinking: Option<Value>,
    /// The `effort` of its output.
    pub(super) effort: Option<&'static str>,
    /// Whether the model thinks, or may: it cannot be made to call a tool then.
    pub(super) thinks: bool,
}

/// Decides how a model thinks about this request. `must_call` says that it has to call a tool.
pub(super) fn plan(
    family: Family,
    params: &ModelParams,
    max_tokens: u32,
    must_call: bool,
) -> Result<Reasoning, ModelError> {
    let disabled = || Reasoning { thinking: Some(json!({"type": "disabled"})), ..Reasoning::default() };
    let adaptive = |effort| Reasoning {
        // Without `display`, the newest models keep their thoughts to themselves.
        thinking: Some(json!({"type": "adaptive", "display": "summarized"})),
        effort: Some(effort),
        thinks: true,
    };
    let asked = match params.reasoning {
        None | Some(ReasoningEffort::Off) => None,
        Some(ReasoningEffort::Low) => Some(("low", 2_048)),
        Some(ReasoningEffort::Medium) => Some(("medium", 8_192)),
        Some(ReasoningEffort::High) => Some(("high", 24_576)),
    };
    let off = params.reasoning == Some(ReasoningEffort::Off);
    Ok(match (family.thinking, asked) {
        (Thinking::Never, _) | (Thinking::Budget | Thinking::Adaptive, None) => Reasoning::default(),
        (Thinking::AdaptiveByDefault, None) if off || must_call => disabled(),
        (Thinking::Always, None) if off => {
            return Err(invalid(
                "this model always thinks; leave `reasoning` unset, ask for a low one, or use another model",
            ));
        }
        (Thinking::AdaptiveByDefault | Thinking::Always, None) => {
            Reasoning { thinks: true, ..Reasoning::default() }
        }
        (Thinking::Budget | Thinking::Adaptive | Thinking::AdaptiveByDefault, Some(_)) if must_call => {
            return Err(invalid(
                "a Claude cannot be made to call a tool while it thinks; turn `reasoning` off or leave it to the \
                 model whether to call one",
            ));
        }
        (Thinking::Budget, Some((_, wanted))) => budget(wanted, max_tokens)?,
        (Thinking::Adaptive | Thinking::AdaptiveByDefault | Thinking::Always, Some((effort, _))) => {
            adaptive(effort)
        }
    })
}

/// Thinking within a budget, which is part of what may be written and leaves a quarter of it for the answer.
fn budget(wanted: u32, max_tokens: u32) -> Result<Reasoning, ModelError> {
    if max_tokens <= SMALLEST_BUDGET {
        return Err(invalid(format!(
            "thinking takes at least {SMALLEST_BUDGET} tokens of output, but only {max_tokens} are allowed; allow more \
             or turn `reasoning` off"
        )));
    }
    let tokens = wanted.min(max_tokens / 4 * 3).max(SMALLEST_BUDGET);
    let thinking = json!({"type": "enabled", "budget_tokens": tokens});
    Ok(Reasoning { thinking: Some(thinking), effort: None, thinks: true })
}

/// Adds how to sample. Where that cannot be said, a value that says no more than the default does is left out.
pub(super) fn sample(
    body: &mut Map<String, Value>,
    family: Family,
    thinks: bool,
    params: &ModelParams,
) -> Result<(), ModelError> {
    // A model that thinks may still leave out the least likely tokens.
    let least_top_p = if thinks { 0.95 } else { 0.0 };
    for (name, value, is_taken) in [
        ("temperature", params.temperature, !thinks),
        ("top_p", params.top_p, params.top_p.is_some_and(|share| share >= least_top_p)),
    ] {
        let Some(value) = value else { continue };
        if family.sampling && is_taken {
            body.insert(name.to_owned(), json!(value));
        } else if value != 1.0 {
            let when = if family.sampling { " while it thinks" } else { "" };
            return Err(invalid(format!("this model takes no `{name}` of {value}{when}; leave it unset")));
        }
    }
    Ok(())
}
