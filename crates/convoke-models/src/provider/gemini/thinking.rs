//! Thinking settings of Gemini: a budget of tokens up to generation 2.5, a level since generation 3.

use convoke_core::{ModelError, ReasoningEffort};
use serde_json::{Value, json};

use crate::provider::json::invalid;

/// A generation of models, as far as requests depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generation {
    /// Before 2.5: does not think.
    Plain,
    /// 2.5: thinks within a budget.
    Budget,
    /// 3 and later: thinks at a level, checks signatures, calls tools and answers in a shape at once.
    Level,
}

impl Generation {
    /// The generation a model's name tells. A name without a number, such as `gemini-flash-latest`, means the newest.
    pub(super) fn of(model: &str) -> Self {
        let (family, rest) = match (model.split_once("gemini-"), model.split_once("gemma-")) {
            (Some((_, rest)), _) => ("gemini", rest),
            (None, Some((_, rest))) => ("gemma", rest),
            (None, None) => return Self::Level,
        };
        let digits = rest.find(|sign: char| sign != '.' && !sign.is_ascii_digit()).unwrap_or(rest.len());
        let Ok(number) = rest[..digits].parse::<f32>() else { return Self::Level };
        match family {
            "gemma" if number < 4.0 => Self::Plain,
            "gemma" => Self::Level,
            _ if number < 2.5 => Self::Plain,
            _ if number < 3.0 => Self::Budget,
            _ => Self::Level,
        }
    }
}

/// The `thinkingConfig` for this effort; `None` if there is nothing to say.
pub(super) fn config(model: &str, effort: ReasoningEffort) -> Result<Option<Value>, ModelError> {
    let is_off = effort == ReasoningEffort::Off;
    let always_thinks = model.contains("-pro");
    let (name, amount) = match Generation::of(model) {
        Generation::Plain if is_off => return Ok(None),
        Generation::Plain => {
            return Err(invalid(format!(
                "{model} cannot think; leave the reasoning effort out or use Gemini 2.5 or later"
            )));
        }
        _ if is_off && always_thinks => {
            return Err(invalid(format!(
                "{model} always thinks; ask for low reasoning effort or use a Flash model"
            )));
        }
        Generation::Budget => ("thinkingBudget", json!(budget(effort))),
        Generation::Level => ("thinkingLevel", json!(level(effort))),
    };
    let mut config = json!({ name: amount });
    if !is_off {
        config["includeThoughts"] = json!(true);
    }
    Ok(Some(config))
}

/// Tokens. The most is what the smallest of the models allows.
fn budget(effort: ReasoningEffort) -> u32 {
    match effort {
        ReasoningEffort::Off => 0,
        ReasoningEffort::Low => 1_024,
        ReasoningEffort::Medium => 8_192,
        ReasoningEffort::High => 24_576,
    }
}

/// There is no level for not thinking; the least comes close.
fn level(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::Off => "MINIMAL",
        ReasoningEffort::Low => "LOW",
        ReasoningEffort::Medium => "MEDIUM",
        ReasoningEffort::High => "HIGH",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_s_name_tells_its_generation() {
        for (model, generation) in [
            ("gemini-1.5-flash-002", Generation::Plain),
            ("gemini-2.0-flash", Generation::Plain),
            ("gemini-2.5-flash-lite", Generation::Budget),
            ("models/gemini-2.5-pro", Generation::Budget),
            ("gemini-3-pro-preview", Generation::Level),
            ("gemini-3.1-flash-lite", Generation::Level),
            ("gemini-10-flash", Generation::Level),
            ("gemini-flash-latest", Generation::Level),
            ("gemma-3-27b-it", Generation::Plain),
            ("gemma-4-31b-it", Generation::Level),
            ("tunedModels/mine", Generation::Level),
        ] {
            assert_eq!(Generation::of(model), generation, "{model}");
        }
    }
}
