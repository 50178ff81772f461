//! Settings of a composition that only we know: how its steps are run, and which event follows from what they give.

use std::num::NonZeroUsize;

use serde_json::{Map, Value};

use super::Predicate;
use crate::finding::{Finding, child};

/// The settings of a composition.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Engine {
    /// How many steps are run at once; as many as can be without a word.
    pub concurrency: Option<NonZeroUsize>,
    /// Whether steps under way are cancelled when another one fails. Otherwise they finish.
    pub cancels_on_failure: bool,
    /// Which events follow from what steps give: the first whose predicate holds and that the state has.
    pub on_output: Vec<OutputRule>,
}

/// An event that follows if something holds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OutputRule {
    /// What must hold; nothing holds always.
    pub predicate: Option<Predicate>,
    /// The event.
    pub event: String,
}

impl Engine {
    /// The settings, with everything that is wrong with them; `path` is where they stand.
    #[must_use]
    pub fn of(settings: &Map<String, Value>, path: &str) -> (Self, Vec<Finding>) {
        let (mut engine, mut findings) = (Self::default(), Vec::new());
        for (name, value) in settings {
            let place = child(path, name);
            let mut wrong = |place: &str, message: &str| {
                findings.push(Finding::error("bad-value", place, message));
            };
            match name.as_str() {
                "concurrency" => {
                    let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
                    engine.concurrency = number.and_then(NonZeroUsize::new);
                    if engine.concurrency.is_none() {
                        wrong(&place, "`concurrency` is how many steps are run at once: write 1 or more");
                    }
                }
                "on_failure" => match value.as_str() {
                    Some("finish") => engine.cancels_on_failure = false,
                    Some("cancel") => engine.cancels_on_failure = true,
                    _ => wrong(&place, "write `finish` or `cancel`"),
                },
                "on_output" => match value.as_array() {
                    Some(rules) => {
                        for (number, rule) in rules.iter().enumerate() {
                            let rule = OutputRule::of(rule, &child(&place, number), &mut findings);
                            engine.on_output.extend(rule);
                        }
                    }
                    None => wrong(&place, "write a list of `{predicate, event}`"),
                },
                other => {
                    let known = ["concurrency", "on_failure", "on_output"];
                    let message = format!("nothing here heeds `{other}`");
                    findings.push(Finding::warning("no-effect", place, message).suggest(other, known));
                }
            }
        }
        (engine, findings)
    }
}

impl OutputRule {
    fn of(value: &Value, path: &str, findings: &mut Vec<Finding>) -> Option<Self> {
        let Some(event) = value.get("event").and_then(Value::as_str) else {
            let message = "which event is it? write \"event\": \"Done\"";
            findings.push(Finding::error("missing-field", path, message));
            return None;
        };
        let predicate = match value.get("predicate").map(Predicate::parse).transpose() {
            Ok(predicate) => predicate,
            Err(errors) => {
                findings.extend(errors.into_iter().map(|error| error.within(&child(path, "predicate"))));
                return None;
            }
        };
        Some(Self { predicate, event: event.to_owned() })
    }
}
