//! Reads scripts from TOML or JSON files into the same rules the builder makes.

mod document;
mod fault;
mod reply;
mod rule;
mod section;
mod values;
mod when;

use std::path::Path;

use convoke_text::read_bounded;
use serde_json::Value;

use super::model::ScriptOrigin;
use super::{ScriptError, ScriptLocation, ScriptedModel};
use section::Section;

/// No script is larger: a path may lead to something without an end.
const LARGEST: u64 = 32 << 20;

const KEYS: [&str; 3] = ["name", "price", "rule"];

/// Scripts in files. [The module](super) shows what one looks like.
impl ScriptedModel {
    /// Reads a script from a file whose name ends in `.toml` or `.json`.
    ///
    /// # Errors
    /// [`ScriptError`], which names the file, the rule and the remedy.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let read = match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => document::of_toml,
            Some("json") => document::of_json,
            _ => return Err(ScriptError::UnknownFormat { file: path.to_owned() }),
        };
        let text = std::fs::File::open(path)
            .and_then(|file| read_bounded(file, LARGEST))
            .map_err(|source| ScriptError::Unreadable { file: path.to_owned(), source })?;
        let place = ScriptLocation { file: Some(path.to_owned()), ..ScriptLocation::default() };
        let document = read(&text, &place)?;
        model(document, &place)
    }

    /// Reads a script from TOML.
    ///
    /// ```
    /// use convoke_models::ScriptedModel;
    ///
    /// let error = ScriptedModel::from_toml_str("[[rule]]\nreplay = 'Hello!'").unwrap_err();
    /// assert_eq!(error.to_string(), "the script, rule 1: unknown key `replay`; did you mean `reply`?");
    /// ```
    ///
    /// # Errors
    /// [`ScriptError`], which names the rule and the remedy.
    pub fn from_toml_str(text: &str) -> Result<Self, ScriptError> {
        let place = ScriptLocation::default();
        model(document::of_toml(text, &place)?, &place)
    }

    /// Reads a script from JSON.
    ///
    /// ```
    /// use convoke_core::Model;
    /// use convoke_models::ScriptedModel;
    ///
    /// let model = ScriptedModel::from_json_str(r#"{"name": "demo", "rule": [{"reply": "Hello!"}]}"#)?;
    /// assert_eq!(model.name(), "demo");
    /// # Ok::<(), convoke_models::ScriptError>(())
    /// ```
    ///
    /// # Errors
    /// [`ScriptError`], which names the rule and the remedy.
    pub fn from_json_str(text: &str) -> Result<Self, ScriptError> {
        let place = ScriptLocation::default();
        model(document::of_json(text, &place)?, &place)
    }
}

fn model(document: Value, place: &ScriptLocation) -> Result<ScriptedModel, ScriptError> {
    let mut script = Section::open(place.clone(), "", document, &KEYS)?;
    let mut builder = ScriptedModel::builder().origin(ScriptOrigin::File);
    if let Some(name) = script.text("name")? {
        builder = builder.name(name);
    }
    if let Some(price) = script.section("price", &values::PRICE_KEYS)? {
        builder = builder.price(values::price(price)?);
    }
    let rules = script.list("rule")?.unwrap_or_default();
    if rules.is_empty() {
        return Err(ScriptError::NoRules { place: place.clone() });
    }
    let mut blocker = None;
    for (index, rule) in rules.into_iter().enumerate() {
        let number = index + 1;
        let place = ScriptLocation { rule: Some(number), ..place.clone() };
        if let Some(blocker) = blocker {
            return Err(ScriptError::Unreachable { place, blocker });
        }
        let rule = rule::read(place, rule)?;
        if rule.condition.is_none() && rule.replies.limit.is_none() {
            blocker = Some(number);
        }
        builder = builder.when(rule.condition.unwrap_or_else(super::Match::any), rule.replies);
    }
    Ok(builder.build())
}
