//! Reads what stands for the world in a scenario: models, tools of clients, and people who answer.

use std::collections::BTreeMap;

use convoke_core::json_text;
use convoke_models::ScriptedModel;
use convoke_text::document::Content;
use convoke_text::finding::child;
use serde_json::Value;

use super::reader::{Place, Reader};
use crate::scenario::{ModelSource, PersonAnswer, Script, ToolAnswer};

const MODEL: [&str; 5] = ["replies", "rules", "price", "name", "cassette"];

impl Reader {
    pub(super) fn model(&mut self, place: &Place<'_>) -> Option<ModelSource> {
        if let Some(name) = place.node.text() {
            return Some(ModelSource::Named(name.to_owned()));
        }
        if !self.object(place, &MODEL) {
            return None;
        }
        let values = |place: Place<'_>| place.items().map(|item| item.value()).collect();
        let script = match (place.get("replies"), place.get("rules"), place.get("cassette")) {
            (Some(replies), None, None) => {
                Script::Replies { replies: values(replies), default: None, may_be_left: false }
            }
            (None, Some(rules), None) => Script::Rules(values(rules)),
            (None, None, Some(file)) => {
                self.only_of(place, "price", "a script");
                let model = self.required(place, "name", "anthropic/claude-sonnet-4-5")?;
                return Some(ModelSource::Cassette { model: self.text(&model)?, file: self.text(&file)? });
            }
            _ => {
                let message = "a model has either `replies`, `rules` or a `cassette`";
                self.error("bad-value", &place.path, message).help =
                    Some("write a model's name, or `replies: [Hello.]`".to_owned());
                return None;
            }
        };
        self.only_of(place, "name", "a recorded model");
        let source = ModelSource::Scripted { script, price: place.get("price").map(|price| price.value()) };
        if let Some(text) = source.script("scenario", 0)
            && let Err(error) = ScriptedModel::from_json_str(&text)
        {
            self.error("bad-script", &place.path, error.to_string()).help =
                Some("docs/scripted-model.md says how replies and rules are written".to_owned());
        }
        Some(source)
    }

    /// Refuses a field that only something else has.
    fn only_of(&mut self, place: &Place<'_>, name: &str, what: &str) {
        if let Some(field) = place.get(name) {
            self.error("misplaced", &field.path, format!("only {what} has a `{name}`"));
        }
    }

    pub(super) fn tool_answers(&mut self, place: &Place<'_>) -> BTreeMap<String, Vec<ToolAnswer>> {
        if !matches!(place.node.content, Content::Map(_)) {
            self.map(place);
        }
        let tools = place.node.entries().iter().map(|entry| {
            let place = Place { node: &entry.node, path: child(&place.path, &entry.name) };
            let items: Vec<Place<'_>> = match place.node.content {
                Content::List(_) => place.items().collect(),
                _ => vec![place],
            };
            let answers: Vec<ToolAnswer> = items.iter().filter_map(|item| self.tool_answer(item)).collect();
            let last = answers.iter().position(|answer| answer.when.is_none());
            if let Some(hidden) =
                last.and_then(|last| items.get(last + 1)).filter(|_| answers.len() == items.len())
            {
                let message = "this is never given: what is before it fits every call";
                self.error("never-given", &hidden.path, message).help =
                    Some("give what is before it a `when: {ARGUMENT: VALUE}`".to_owned());
            }
            (entry.name.clone(), answers)
        });
        tools.collect()
    }

    fn tool_answer(&mut self, place: &Place<'_>) -> Option<ToolAnswer> {
        if let Some(text) = place.node.text() {
            return Some(ToolAnswer { when: None, content: text.to_owned(), is_error: false });
        }
        if !self.object(place, &["when", "result", "error"]) {
            return None;
        }
        let when = place.get("when").map(|when| Value::Object(self.map(&when)));
        let (given, is_error) = match (place.get("result"), place.get("error")) {
            (Some(result), None) => (result.value(), false),
            (None, Some(error)) => (error.value(), true),
            _ => {
                self.error("missing-field", &place.path, "a tool gives a `result` or an `error`");
                return None;
            }
        };
        let content = given.as_str().map_or_else(|| json_text(&given), str::to_owned);
        Some(ToolAnswer { when, content, is_error })
    }

    pub(super) fn answer(&mut self, place: &Place<'_>) -> Option<PersonAnswer> {
        const KEYS: [&str; 5] = ["reject", "revise", "choose", "text", "json"];
        match place.node.text() {
            Some("approve") => return Some(PersonAnswer::Approve),
            Some(other) => {
                let message = format!("`{other}` is not an answer");
                self.error("bad-value", &place.path, message).help =
                    Some(format!("write `approve`, or one of {} with its text", KEYS.join(", ")));
                return None;
            }
            None => {}
        }
        if !self.object(place, &KEYS) {
            return None;
        }
        let [entry] = place.node.entries() else {
            self.error("bad-value", &place.path, "an answer is one thing");
            return None;
        };
        let value = place.get(&entry.name)?;
        if entry.name == "json" {
            return Some(PersonAnswer::Json(value.value()));
        }
        let text = self.text(&value)?;
        Some(match entry.name.as_str() {
            "reject" => PersonAnswer::Reject(text),
            "revise" => PersonAnswer::Revise(text),
            "choose" => PersonAnswer::Choose(text),
            _ => PersonAnswer::Text(text),
        })
    }
}
