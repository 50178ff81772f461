//! Scenario files, JSON or YAML, in the form of PromptKit's Arena; and everything that is wrong with them, at once.

mod assertions;
mod reader;
mod replies;
mod settings;
mod world;

use convoke_text::document::{Content, Node, parse, place};
use convoke_text::finding::{Finding, child};
use serde_json::{Map, Value};

use crate::assertion::{Assertion, Check, Precondition, Subject, Threshold};
use crate::scenario::{ModelSource, Scenario, Turn, TurnInput};
use assertions::Moment;
pub(crate) use assertions::declared;
pub use assertions::misfit;
use reader::{Place, Reader};
pub use replies::Replies;

/// Every turn is asked with all those before it, so what many of them take grows with their square.
const MOST_TURNS: usize = 1000;

const TOP: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];
const SPEC: [&str; 17] = [
    "id",
    "description",
    "pack",
    "task_type",
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
const NOT_SCRIPT: [&str; 9] = [
    "id",
    "description",
    "pack",
    "judge",
    "assertions",
    "conversation_assertions",
    "trials",
    "require",
    "pass_threshold",
];
const TURN: [&str; 7] = ["type", "role", "content", "event", "payload", "expect_state", "assertions"];

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
    place(&node, &mut findings);
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
            && self.text(&kind).is_some_and(|text| text != "Scenario" && text != "WorkflowScenario")
        {
            self.error("wrong-kind", &kind.path, "this is not a scenario").help =
                Some("a scenario begins with `kind: Scenario`".to_owned());
            return None;
        }
        let metadata = self.required(top, "metadata", "{name: refund}");
        let (mut name, mut labels) = (None, Map::new());
        if let Some(metadata) = &metadata
            && self.object(metadata, &["name", "labels", "annotations"])
        {
            name = self.required(metadata, "name", "refund").and_then(|name| self.text(&name));
            for written in ["labels", "annotations"].iter().filter_map(|name| metadata.get(name)) {
                labels.extend(self.map(&written));
            }
        }
        let spec = self.required(top, "spec", "{turns: […]}")?;
        if !self.object(&spec, &SPEC) {
            return None;
        }
        let turns =
            self.one_name(&spec, &["turns", "steps"]).map(|turns| self.turns(&turns)).unwrap_or_default();
        let assertions = self.one_name(&spec, &["assertions", "conversation_assertions"]);
        let assertions = assertions.map(|place| self.assertions(&place, Moment::End)).unwrap_or_default();
        let id = spec.get("id").and_then(|id| self.text(&id));
        let description = spec.get("description").and_then(|text| self.text(&text)).unwrap_or_default();
        let pack = spec.get("pack").and_then(|pack| self.text(&pack));
        let task_type =
            spec.get("task_type").and_then(|task| self.text(&task)).filter(|task| !task.is_empty());
        let inputs = self.one_name(&spec, &["inputs", "variables"]).map(|inputs| self.map(&inputs));
        let model = spec.get("model").and_then(|model| self.model(&model));
        let judge = spec.get("judge").and_then(|judge| self.model(&judge));
        let tools = spec.get("tools").map(|tools| self.tool_answers(&tools)).unwrap_or_default();
        let answers = spec.get("answers").map(|answers| self.list(&answers)).unwrap_or_default();
        let answers = answers.iter().filter_map(|answer| self.answer(answer)).collect();
        let trials = spec.get("trials").and_then(|trials| self.trials(&trials));
        let require = self.one_name(&spec, &["require", "pass_threshold"]);
        let require = require.and_then(|place| self.share(&place));
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
            pack,
            task_type,
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
            assertions.push(Assertion {
                name: "expect_state".to_owned(),
                path: child(&place.path, "expect_state"),
                message: None,
                subject: Subject::Said,
                check: Check::State(state),
                threshold: Threshold::at_least(1.0),
                when: Precondition::default(),
                pass_threshold: None,
            });
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
        let is_event = place.get("event").is_some();
        if let Some(written) = place.get("type").filter(|written| {
            let said = written.node.text();
            (said == Some("event") && !is_event) || (said == Some("input") && is_event)
        }) {
            let wanted = if is_event { "event" } else { "input" };
            self.error("bad-value", &written.path, "this does not fit what happens in the turn").help =
                Some(format!("write `type: {wanted}`, or leave it out"));
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
        Some(Turn { path: place.path.clone(), input, assertions })
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
