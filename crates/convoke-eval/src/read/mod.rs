//! Scenario files, JSON or YAML, in the form of PromptKit's Arena; and everything that is wrong with them, at once.

mod assertions;
mod reader;

use std::collections::BTreeMap;

use convoke_machine::finding::{Finding, child};
use convoke_machine::pack::document::{Content, Node, parse};
use convoke_models::ScriptedModel;
use serde_json::{Map, Value};

use crate::assertion::{Assertion, Check, Subject};
use crate::scenario::{ModelSource, PersonAnswer, Scenario, Script, ToolAnswer, Turn, TurnInput};
use assertions::Moment;
pub(crate) use assertions::declared;
use reader::{Place, Reader};

/// A run continues with another generation after so many turns, and only one can be looked at.
const MOST_TURNS: usize = 49;

const TOP: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];
const SPEC: [&str; 15] = [
    "id",
    "description",
    "inputs",
    "variables",
    "model",
    "judge",
    "turns",
    "steps",
    "tools",
    "answers",
    "assertions",
    "conversation_assertions",
    "trials",
    "require",
    "pass_threshold",
];
/// What does not change how a run goes.
const NOT_SCRIPT: [&str; 8] = [
    "id",
    "description",
    "judge",
    "assertions",
    "conversation_assertions",
    "trials",
    "require",
    "pass_threshold",
];
const TURN: [&str; 7] = ["type", "role", "content", "event", "payload", "expect_state", "assertions"];
const MODEL: [&str; 5] = ["replies", "rules", "price", "name", "cassette"];

/// Reads a scenario: what it says if nothing is wrong with it, and everything that is wrong, in the order of the text.
///
/// ```
/// let (scenario, findings) = convoke_eval::read("
/// kind: Scenario
/// metadata: {name: greeting}
/// spec:
///   turns:
///     - role: user
///       content: Hello
///       assertions: [{type: content_inclides, params: {patterns: [hello]}}]
/// ");
/// assert!(scenario.is_none());
/// assert_eq!(findings[0].help.as_deref(), Some("did you mean `content_includes`?"));
/// ```
#[must_use]
pub fn read(text: &str) -> (Option<Scenario>, Vec<Finding>) {
    let mut reader = Reader::default();
    let Some(node) = parse(text, &mut reader.findings) else { return (None, reader.findings) };
    let scenario = reader.scenario(&Place { node: &node, path: String::new() });
    let mut findings = reader.findings;
    for finding in findings.iter_mut().filter(|finding| finding.place.is_none()) {
        let name = (finding.code == "unknown-field").then(|| node.name_place_of(&finding.path));
        finding.place = Some(name.flatten().unwrap_or_else(|| node.place_of(&finding.path)));
    }
    findings.sort_by_key(|finding| finding.place.as_ref().map_or(0, |place| place.start));
    (scenario.filter(|_| !findings.iter().any(Finding::is_error)), findings)
}

fn empty() -> Node {
    Node::new(Content::Map(Vec::new()))
}

impl Reader {
    fn scenario(&mut self, top: &Place<'_>) -> Option<Scenario> {
        if !self.object(top, &TOP) {
            return None;
        }
        top.get("apiVersion").and_then(|version| self.text(&version));
        let kind = self.required(top, "kind", "Scenario");
        if let Some(kind) = kind
            && self.text(&kind).is_some_and(|text| text != "Scenario")
        {
            self.error("wrong-kind", &kind.path, "this is not a scenario").help =
                Some("a scenario begins with `kind: Scenario`".to_owned());
            return None;
        }
        let metadata = self.required(top, "metadata", "{name: refund}");
        let (mut name, mut labels) = (None, Map::new());
        if let Some(metadata) = &metadata
            && self.object(metadata, &["name", "labels"])
        {
            name = self.required(metadata, "name", "refund").and_then(|name| self.text(&name));
            labels = metadata.get("labels").map(|labels| self.map(&labels)).unwrap_or_default();
        }
        let spec = self.required(top, "spec", "{turns: […]}")?;
        if !self.object(&spec, &SPEC) {
            return None;
        }
        let turns = self.either(&spec, "turns", "steps").map(|turns| self.turns(&turns)).unwrap_or_default();
        let assertions = self.either(&spec, "assertions", "conversation_assertions");
        let assertions = assertions.map(|place| self.assertions(&place, Moment::End)).unwrap_or_default();
        let id = spec.get("id").and_then(|id| self.text(&id));
        let description = spec.get("description").and_then(|text| self.text(&text)).unwrap_or_default();
        let inputs = self.either(&spec, "inputs", "variables").map(|inputs| self.map(&inputs));
        let model = spec.get("model").and_then(|model| self.model(&model));
        let judge = spec.get("judge").and_then(|judge| self.model(&judge));
        let tools = spec.get("tools").map(|tools| self.tool_answers(&tools)).unwrap_or_default();
        let answers = spec.get("answers").map(|answers| self.list(&answers)).unwrap_or_default();
        let answers = answers.iter().filter_map(|answer| self.answer(answer)).collect();
        let trials = spec.get("trials").and_then(|trials| self.trials(&trials));
        let require = self.either(&spec, "require", "pass_threshold");
        let require = require.and_then(|place| self.number(&place, 0.0, 1.0));
        let all = turns.iter().flat_map(|turn| &turn.assertions).chain(&assertions);
        let judged = all.filter(|assertion| matches!(assertion.check, Check::Judge(_))).count() > 0;
        let scripted = model.as_ref().is_some_and(ModelSource::is_scripted);
        if judged && scripted && judge.is_none() {
            self.error("missing-field", &spec.path, "a script replies, and nobody says who judges").help =
                Some("name a model in `judge`, or write its replies there".to_owned());
        }
        Some(Scenario {
            name: id.or(name)?,
            description,
            labels,
            inputs: inputs.unwrap_or_default(),
            model,
            judge,
            turns,
            tools,
            answers,
            assertions,
            trials,
            require,
            script: script(&spec.value()),
        })
    }

    /// What has two names, of which one is used.
    fn either<'a>(&mut self, place: &Place<'a>, name: &str, other: &str) -> Option<Place<'a>> {
        let (first, second) = (place.get(name), place.get(other));
        if let (Some(_), Some(second)) = (&first, &second) {
            let message = format!("`{name}` and `{other}` mean the same: write one of them");
            self.error("twice", &second.path, message);
        }
        first.or(second)
    }

    fn trials(&mut self, place: &Place<'_>) -> Option<u32> {
        let number = self.whole(place)?;
        let trials = u32::try_from(number).ok().filter(|trials| (1..=1000).contains(trials));
        if trials.is_none() {
            self.error("bad-value", &place.path, "a scenario is run 1 to 1000 times");
        }
        trials
    }

    fn turns(&mut self, place: &Place<'_>) -> Vec<Turn> {
        let items = self.list(place);
        if items.len() > MOST_TURNS {
            self.error("too-many", &place.path, format!("a scenario has at most {MOST_TURNS} turns"));
        }
        items.iter().filter_map(|item| self.turn(item)).collect()
    }

    fn turn(&mut self, place: &Place<'_>) -> Option<Turn> {
        if !self.object(place, &TURN) {
            return None;
        }
        let mut assertions =
            place.get("assertions").map(|list| self.assertions(&list, Moment::Turn)).unwrap_or_default();
        if let Some(state) = place.get("expect_state").and_then(|state| self.text(&state)) {
            let (name, subject) = ("expect_state".to_owned(), Subject::Said);
            assertions.push(Assertion { name, message: None, subject, check: Check::State(state) });
        }
        for (key, allowed) in [("role", &["user"][..]), ("type", &["input", "event"])] {
            if let Some(written) = place.get(key)
                && let Some(text) = self.text(&written)
                && !allowed.contains(&text.as_str())
            {
                let message =
                    format!("`{text}` takes no turn in a scenario; {key} is {}", allowed.join(" or "));
                let finding = Finding::error("bad-value", &written.path, message);
                self.findings.push(finding.suggest(&text, allowed.iter().copied()));
            }
        }
        let input = match (place.get("event"), place.get("content")) {
            (Some(event), None) => {
                let payload = place.get("payload").map(|payload| payload.value()).unwrap_or_default();
                TurnInput::Event { event: self.text(&event)?, payload }
            }
            (None, Some(content)) => {
                if let Some(payload) = place.get("payload") {
                    self.error("misplaced", &payload.path, "only an event has a `payload`");
                }
                TurnInput::Words(self.text(&content)?)
            }
            (Some(_), Some(_)) => {
                self.error(
                    "twice",
                    &place.path,
                    "a turn is words or an event: write them one after the other",
                );
                return None;
            }
            (None, None) => {
                let finding = self.error("missing-field", &place.path, "nothing happens in this turn");
                finding.help = Some("write `content: …` for the person's words, or `event: NAME`".to_owned());
                return None;
            }
        };
        Some(Turn { input, assertions })
    }

    fn model(&mut self, place: &Place<'_>) -> Option<ModelSource> {
        if let Some(name) = place.node.text() {
            return Some(ModelSource::Named(name.to_owned()));
        }
        if !self.object(place, &MODEL) {
            return None;
        }
        let values = |place: Place<'_>| place.items().map(|item| item.value()).collect();
        let script = match (place.get("replies"), place.get("rules"), place.get("cassette")) {
            (Some(replies), None, None) => Script::Replies(values(replies)),
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

    fn tool_answers(&mut self, place: &Place<'_>) -> BTreeMap<String, Vec<ToolAnswer>> {
        if !matches!(place.node.content, Content::Map(_)) {
            self.map(place);
        }
        let tools = place.node.entries().iter().map(|entry| {
            let place = Place { node: &entry.node, path: child(&place.path, &entry.name) };
            let items: Vec<Place<'_>> = match place.node.content {
                Content::List(_) => place.items().collect(),
                _ => vec![place],
            };
            (entry.name.clone(), items.iter().filter_map(|item| self.tool_answer(item)).collect())
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
        let content = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
        Some(ToolAnswer { when, content, is_error })
    }

    fn answer(&mut self, place: &Place<'_>) -> Option<PersonAnswer> {
        const KEYS: [&str; 5] = ["reject", "revise", "choose", "text", "json"];
        match place.node.text() {
            Some("approve") => return Some(PersonAnswer::Approve),
            Some(other) => {
                let message = format!("`{other}` is no answer");
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

/// What decides how a run goes.
fn script(spec: &Value) -> Value {
    let mut script = spec.as_object().cloned().unwrap_or_default();
    script.retain(|name, _| !NOT_SCRIPT.contains(&name.as_str()));
    for name in ["turns", "steps"] {
        for turn in script.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(turn) = turn.as_object_mut() {
                turn.retain(|name, _| name != "assertions" && name != "expect_state");
            }
        }
    }
    Value::Object(script)
}
