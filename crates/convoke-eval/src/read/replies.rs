//! Scripted replies for many scenarios in one file, in the form of PromptKit's mock provider.
//!
//! ```yaml
//! defaultResponse: I do not know.
//! scenarios:
//!   refund:
//!     turns:
//!       1: Which order is it?
//!       2: {response: Let me look., tool_calls: [{name: look_up_order, arguments: {number: "7"}}]}
//! ```

use convoke_models::ScriptedModel;
use convoke_text::document::{parse, place};
use convoke_text::finding::{Finding, child};
use serde_json::{Value, json};

use super::empty;
use super::reader::{Place, Reader};
use crate::scenario::{ModelSource, Script};

/// Replies for scenarios, by their names.
#[derive(Debug, Clone, Default)]
pub struct Replies {
    scenarios: Vec<(String, Vec<Value>, Option<Value>)>,
    default: Option<Value>,
}

impl Replies {
    /// Reads such a file: what it says if nothing is wrong with it, and everything that is wrong.
    #[must_use]
    pub fn read(text: &str) -> (Option<Self>, Vec<Finding>) {
        let mut reader = Reader::default();
        let Some(node) = parse(text, &mut reader.findings) else { return (None, reader.findings) };
        let replies = reader.replies(&Place { node: &node, path: String::new() });
        let mut findings = reader.findings;
        place(&node, &mut findings);
        (replies.filter(|_| !findings.iter().any(Finding::is_error)), findings)
    }

    /// The names of scenarios that it has replies for.
    pub fn scenarios(&self) -> impl Iterator<Item = &str> {
        self.scenarios.iter().map(|(name, _, _)| name.as_str())
    }

    /// The replies for a scenario; nothing if the file has none for it.
    #[must_use]
    pub fn of(&self, scenario: &str) -> Option<ModelSource> {
        let own = self.scenarios.iter().find(|(name, _, _)| name == scenario);
        let (replies, default) =
            own.map_or((&[][..], None), |(_, replies, default)| (&replies[..], default.clone()));
        let default = default.or_else(|| self.default.clone());
        if own.is_none() && default.is_none() {
            return None;
        }
        let script = Script::Replies { replies: replies.to_vec(), default, may_be_left: true };
        Some(ModelSource::Scripted { script, price: None })
    }
}

impl Reader {
    fn replies(&mut self, top: &Place<'_>) -> Option<Replies> {
        if !self.object(top, &["scenarios", "defaultResponse"]) {
            return None;
        }
        let default = top.get("defaultResponse").and_then(|default| self.text(&default)).map(Value::String);
        let none = empty();
        let scenarios = top.get("scenarios").unwrap_or(Place { node: &none, path: String::new() });
        self.map(&scenarios);
        let mut all = Vec::new();
        for entry in scenarios.node.entries() {
            let place = Place { node: &entry.node, path: child(&scenarios.path, &entry.name) };
            if !self.object(&place, &["turns", "defaultResponse"]) {
                continue;
            }
            let own = place.get("defaultResponse").and_then(|default| self.text(&default)).map(Value::String);
            let turns = place.get("turns").map(|turns| self.numbered(&turns)).unwrap_or_default();
            all.push((entry.name.clone(), turns, own));
        }
        Some(Replies { scenarios: all, default })
    }

    /// Replies by their number, from 1, without a gap.
    fn numbered(&mut self, place: &Place<'_>) -> Vec<Value> {
        self.map(place);
        let mut numbered = Vec::new();
        for entry in place.node.entries() {
            let at = Place { node: &entry.node, path: child(&place.path, &entry.name) };
            match entry.name.parse::<u32>() {
                Ok(number) => numbered.extend(self.reply(&at).map(|reply| (number, reply, at.path))),
                Err(_) => {
                    self.error("bad-value", &at.path, "replies are numbered: write `1:`");
                }
            }
        }
        numbered.sort_by_key(|(number, _, _)| *number);
        for (wanted, (number, _, path)) in (1..).zip(&numbered) {
            if *number != wanted {
                self.error("bad-value", path, format!("reply {wanted} is missing before reply {number}"));
                break;
            }
        }
        numbered.into_iter().map(|(_, reply, _)| reply).collect()
    }

    fn reply(&mut self, place: &Place<'_>) -> Option<Value> {
        if let Some(text) = place.node.text() {
            return Some(text.into());
        }
        if !self.object(place, &["response", "tool_calls"]) {
            return None;
        }
        let mut reply = json!({});
        if let Some(text) = place.get("response").and_then(|text| self.text(&text)) {
            reply["text"] = text.into();
        }
        if let Some(calls) = place.get("tool_calls") {
            reply["tool_calls"] = calls.value();
        }
        let script = json!({"rule": [{"reply": reply}]}).to_string();
        if let Err(error) = ScriptedModel::from_json_str(&script) {
            self.error("bad-value", &place.path, error.to_string()).help =
                Some("write `response: …`, or `tool_calls: [{name: …, arguments: {…}}]`".to_owned());
        }
        Some(reply)
    }
}
