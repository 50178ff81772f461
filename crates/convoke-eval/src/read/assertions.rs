//! Assertions as they are written, in scenarios and as evals of packs.

use convoke_machine::finding::Finding;
use convoke_machine::pack::Validator;
use convoke_machine::pack::model::ValidatorSpec;
use serde_json::{Map, Value, json};

use super::reader::{Place, Reader};
use crate::assertion::{Assertion, Ceilings, Check, Form, Kind, SCORES, Subject, named, names};
use crate::judge::JudgeCriteria;

/// The score from which on a judge is content, unless something else is said.
const CONTENT: f64 = 0.7;

const KEYS: [&str; 4] = ["type", "of", "params", "message"];

/// Where an assertion stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Turn,
    End,
}

impl Reader {
    pub(super) fn assertions(&mut self, place: &Place<'_>, moment: Moment) -> Vec<Assertion> {
        self.list(place).iter().filter_map(|item| self.assertion(item, moment)).collect()
    }

    fn assertion(&mut self, place: &Place<'_>, moment: Moment) -> Option<Assertion> {
        if !self.object(place, &KEYS) {
            return None;
        }
        let message = place.get("message").and_then(|message| self.text(&message));
        let subject = match place.get("of") {
            Some(of) => self.subject(&of)?,
            None => Subject::Said,
        };
        let written = self.required(place, "type", "content_includes")?;
        let name = self.text(&written)?;
        let Some(kind) = named(&name) else {
            let finding =
                Finding::error("unknown-assertion", &written.path, format!("there is no assertion `{name}`"));
            self.findings.push(finding.suggest(&name, names()));
            return None;
        };
        if moment == Moment::Turn && kind.end_only {
            let finding = self.error("misplaced", &written.path, format!("`{name}` is about the whole run"));
            finding.help = Some("write it in `spec.assertions`".to_owned());
            return None;
        }
        if moment == Moment::Turn && subject != Subject::Said {
            self.error("misplaced", &place.path, "outputs and artifacts are known at the end only").help =
                Some("write it in `spec.assertions`".to_owned());
            return None;
        }
        if subject != Subject::Said && !matches!(kind.form, Form::Validator(_) | Form::Equals | Form::Judge) {
            self.error("misplaced", &place.path, format!("`{name}` is not about a text: leave `of` out"));
            return None;
        }
        let (check, said) = self.check(kind, place)?;
        Some(Assertion { name, message: message.or(said), subject, check })
    }

    fn subject(&mut self, place: &Place<'_>) -> Option<Subject> {
        let text = self.text(place)?;
        let subject = match text.split_once('.') {
            Some(("outputs", name)) => Some(Subject::Output(name.to_owned())),
            Some(("artifacts", name)) => Some(Subject::Artifact(name.to_owned())),
            _ => (text == "result").then_some(Subject::Said),
        };
        if subject.is_none() {
            let message = format!("`{text}` is nothing that an assertion can be about");
            self.error("bad-value", &place.path, message).help =
                Some("write `result`, `outputs.NAME` or `artifacts.NAME`".to_owned());
        }
        subject
    }

    /// What must hold, and what its settings say it is for.
    fn check(&mut self, kind: &Kind, place: &Place<'_>) -> Option<(Check, Option<String>)> {
        let is_text = matches!(kind.form, Form::Validator(_));
        let mut known = kind.settings.to_vec();
        known.push("message");
        known.extend(SCORES.iter().filter(|_| is_text));
        let params = place.get("params");
        if let Some(params) = &params
            && !self.object(params, &known)
        {
            return None;
        }
        let said = params.as_ref().and_then(|params| params.get("message"));
        let said = said.and_then(|message| self.text(&message));
        let empty = super::empty();
        let path = format!("{}/params", place.path);
        let params = params.unwrap_or(Place { node: &empty, path });
        Some((self.settings(kind, &params)?, said))
    }

    fn settings(&mut self, kind: &Kind, params: &Place<'_>) -> Option<Check> {
        Some(match kind.form {
            Form::Validator(validator) => Check::Content(self.validator(validator, params)?),
            Form::Equals => Check::Equals(self.required(params, "value", "…")?.value()),
            Form::State => Check::State(self.state(params)?),
            Form::TransitionedTo => Check::TransitionedTo(self.state(params)?),
            Form::Complete => Check::Complete,
            Form::Order => Check::Order(self.states(params)?),
            Form::Path => Check::Path(self.states(params)?),
            Form::ToolsCalled => Check::ToolsCalled(self.tools(params)?),
            Form::ToolsNotCalled => Check::ToolsNotCalled(self.tools(params)?),
            Form::CalledWith => {
                let tool = self.required(params, "tool_name", "look_up_order")?;
                let arguments = self.required(params, "args", "{number: \"7\"}")?;
                let arguments = Value::Object(self.map(&arguments));
                Check::CalledWith { tool: self.text(&tool)?, arguments }
            }
            Form::Usage => {
                let mut whole = |name: &str| params.get(name).and_then(|place| self.whole(&place));
                let (tokens, model_calls) = (whole("max_tokens"), whole("max_model_calls"));
                let tool_calls = whole("max_tool_calls");
                let cost = params.get("max_cost");
                let cost = cost.and_then(|place| self.number(&place, 0.0, f64::INFINITY));
                let ceilings = Ceilings { cost, tokens, model_calls, tool_calls };
                if params.node.entries().is_empty() {
                    self.error("missing-field", &params.path, "this limits nothing").help =
                        Some(format!("give one of {}", kind.settings.join(", ")));
                }
                Check::Usage(ceilings)
            }
            Form::Status => {
                let wanted = self.required(params, "is", "completed")?;
                Check::Status(self.status(&wanted)?)
            }
            Form::Judge => {
                let criteria = self.required(params, "criteria", "the answer is polite")?;
                let criteria = self.text(&criteria)?;
                let least = params.get("min_score");
                let least = least.and_then(|least| self.number(&least, 0.0, 1.0)).unwrap_or(CONTENT);
                Check::Judge(JudgeCriteria { criteria, least })
            }
        })
    }

    fn validator(&mut self, kind: &str, params: &Place<'_>) -> Option<Validator> {
        let mut settings: Map<String, Value> = self.map(params);
        settings.remove("message");
        let spec = serde_json::from_value::<ValidatorSpec>(json!({"type": kind, "params": settings}));
        let read = spec.map_err(|error| error.to_string());
        match read.and_then(|spec| Validator::new(&spec).map_err(|error| error.to_string())) {
            Ok(validator) => Some(validator),
            Err(message) => {
                self.error("bad-value", &params.path, message);
                None
            }
        }
    }

    fn state(&mut self, params: &Place<'_>) -> Option<String> {
        let state = self.required(params, "state", "closed")?;
        self.text(&state)
    }

    fn states(&mut self, params: &Place<'_>) -> Option<Vec<String>> {
        let states = self.required(params, "states", "[intake, closed]")?;
        Some(self.texts(&states))
    }

    fn tools(&mut self, params: &Place<'_>) -> Option<Vec<String>> {
        if let Some(tool) = params.get("tool_name") {
            return Some(vec![self.text(&tool)?]);
        }
        let tools = match params.get("tool_names") {
            Some(tools) => tools,
            None => self.required(params, "tools", "[look_up_order]")?,
        };
        let tools = self.texts(&tools);
        (!tools.is_empty()).then_some(tools)
    }

    fn status(&mut self, place: &Place<'_>) -> Option<String> {
        const STATUSES: [&str; 7] =
            ["completed", "failed", "suspended", "timed_out", "budget_exhausted", "halted", "denied"];
        let text = self.text(place)?;
        if !STATUSES.contains(&text.as_str()) {
            let message = format!("no run ends as `{text}`; there are {}", STATUSES.join(", "));
            let finding = Finding::error("bad-value", &place.path, message);
            self.findings.push(finding.suggest(&text, STATUSES));
            return None;
        }
        Some(text)
    }
}

/// An assertion that a pack declares as an eval.
pub(crate) fn declared(kind: &str, params: &Map<String, Value>) -> Result<Check, String> {
    let known = named(kind).ok_or_else(|| format!("nobody here knows evals of type `{kind}`"))?;
    let text = json!({"params": params}).to_string();
    let mut reader = Reader::default();
    let node = convoke_machine::pack::document::parse(&text, &mut reader.findings)
        .ok_or_else(|| "its settings cannot be read".to_owned())?;
    let check = reader.check(known, &Place { node: &node, path: String::new() });
    match (check, reader.findings.first()) {
        (Some((check, _)), None) => Ok(check),
        (_, Some(finding)) => Err(finding.message.clone()),
        (None, None) => Err("its settings cannot be read".to_owned()),
    }
}
