//! What a script is given: each variable when it asks for it.
//!
//! **What it must never do.** Hand over a number that JavaScript would make another one of.

use convoke_core::json_text;
use serde_json::{Value, json};

use super::javascript::TOO_MUCH;
use crate::Board;
use crate::board::DEEPEST;
use crate::run::Rules;

/// The greatest whole number below which JavaScript has all others.
const MOST: u64 = (1 << 53) - 1;

/// The variables, and what the script knows as `config`.
pub(super) struct Given {
    pub(super) vars: Board,
    pub(super) config: Value,
    pub(super) rules: Rules,
    /// Whether it is run for an item, and may say what comes of it.
    pub(super) iterates: bool,
}

impl Given {
    /// What every script is told: which variables there are, and its configuration.
    pub(super) fn announced(&self) -> String {
        let names: Vec<&str> = self.vars.vars().map(|(name, _)| name).collect();
        json_text(&json!({
            "names": names, "config": self.config, "deepest": DEEPEST, "tooMuch": TOO_MUCH, "iterates": self.iterates,
            "earlier": self.rules < Rules::Current,
        }))
    }

    /// A variable as JSON.
    ///
    /// # Errors
    /// If a number in it is a whole one that JavaScript would round.
    pub(super) fn variable(&self, name: &str) -> Result<String, String> {
        let Some(value) = self.vars.get(name) else { return Ok("null".to_owned()) };
        match inexact(value) {
            None => Ok(json_text(value)),
            Some(number) => Err(format!(
                "variable `{name}` has the whole number {number}, which JavaScript cannot hold exactly: write it as a text, or let \
                 an `assigner` work with it"
            )),
        }
    }
}

/// The first whole number that JavaScript cannot hold exactly, or cannot tell from its neighbours.
fn inexact(value: &Value) -> Option<&serde_json::Number> {
    match value {
        Value::Number(number) => {
            let is_rounded = number.as_i128().is_some_and(|whole| whole.unsigned_abs() > MOST.into());
            is_rounded.then_some(number)
        }
        Value::Array(items) => items.iter().find_map(inexact),
        Value::Object(entries) => entries.values().find_map(inexact),
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}
