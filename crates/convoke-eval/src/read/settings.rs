//! The settings of each kind of assertion.

use convoke_machine::pack::Validator;
use convoke_machine::pack::model::ValidatorSpec;
use convoke_machine::pack::template::{Part, Template};
use convoke_text::finding::{Finding, child};
use regex::Regex;
use serde_json::{Map, Value, json};

use super::reader::{Place, Reader};
use crate::assertion::{Amount, Ceilings, Check, Expected, PartWanted, ROOT, Words};
use crate::judge::JudgeCriteria;
use crate::kind::{Form, Kind, SCORES};

impl Reader {
    /// What must hold, by the settings of a kind that is no wrapper.
    pub(super) fn settings(&mut self, kind: &Kind, params: &Place<'_>) -> Option<Check> {
        Some(match kind.form {
            Form::Validator(validator) => Check::Content(self.validator(validator, params)?),
            Form::Includes => self.words(params, Amount::All)?,
            Form::IncludesAny => self.words(params, Amount::Any)?,
            Form::Excludes => self.words(params, Amount::None)?,
            Form::Equals => Check::Equals(self.required(params, "value", "…")?.value()),
            Form::JsonPath => self.json_path(params)?,
            Form::State => Check::State(self.named_text(params, "state", "closed")?),
            Form::TransitionedTo => Check::TransitionedTo(self.named_text(params, "state", "closed")?),
            Form::SpokeIn => Check::SpokeIn(self.named_text(params, "state", "closed")?),
            Form::Complete => Check::Complete,
            Form::Order => Check::Order(self.one_of(params, &["sequence", "states"], "[intake, closed]")?),
            Form::Path => Check::Path(self.one_of(params, &["states"], "[intake, closed]")?),
            Form::ToolAccess => Check::ToolAccess(self.tool_access(params)?),
            Form::ToolsCalled => {
                let least = params.get("min_calls").and_then(|least| self.whole(&least)).unwrap_or(1);
                Check::ToolsCalled { tools: self.tools(params)?, least }
            }
            Form::ToolsNotCalled => Check::ToolsNotCalled(self.tools(params)?),
            Form::CalledWith => self.called_with(params)?,
            Form::CallCount => {
                let tool = params.get("tool").and_then(|tool| self.text(&tool));
                let least = params.get("min").and_then(|least| self.whole(&least));
                let most = params.get("max").and_then(|most| self.whole(&most));
                if least.is_none() && most.is_none() {
                    self.error("missing-field", &params.path, "this counts nothing").help =
                        Some("write `min: 1` or `max: 3`".to_owned());
                }
                Check::CallCount { tool, least: least.unwrap_or_default(), most }
            }
            Form::CallSequence => {
                Check::CallSequence(self.one_of(params, &["sequence"], "[look_up, pay]")?)
            }
            Form::NoToolErrors => Check::NoToolErrors,
            Form::RuleBroken => self.rule_broken(params)?,
            Form::StepOutput => {
                let step = self.named_text(params, "step", "classify")?;
                Check::StepOutput { step, output: self.expected(params) }
            }
            Form::BranchTaken => Check::BranchTaken {
                branch: self.named_text(params, "branch", "route")?,
                target: self.named_text(params, "expected", "refund")?,
            },
            Form::ParallelComplete => Check::ParallelComplete(self.named_text(params, "parallel", "checks")?),
            Form::Output => match self.expected(params) {
                Expected::Equal(text) => Check::Equals(text.into()),
                Expected::Containing(text) => {
                    Check::Words(Words { patterns: vec![text], amount: Amount::All, case_sensitive: true })
                }
                Expected::Something => Check::Content(self.built(
                    "length",
                    [("min".to_owned(), 1.into())].into_iter().collect(),
                    params,
                )?),
            },
            Form::Usage => self.ceilings(kind, params),
            Form::Status => {
                let wanted = self.required(params, "is", "completed")?;
                Check::Status(self.status(&wanted)?)
            }
            Form::Judge => {
                let mut criteria = self.named_text(params, "criteria", "the answer is polite")?;
                if let Some(rubric) = params.get("rubric").and_then(|rubric| self.text(&rubric)) {
                    criteria = format!("{criteria}\n\nHow to score:\n{rubric}");
                }
                Check::Judge(JudgeCriteria { criteria })
            }
            Form::Wrapper => return None,
        })
    }

    fn json_path(&mut self, params: &Place<'_>) -> Option<Check> {
        let place = match params.get("expression") {
            Some(place) => place,
            None => self.required(params, "path", "items[0].price")?,
        };
        let written = self.text(&place)?;
        let way = written.strip_prefix('$').unwrap_or(&written);
        let dot = if way.starts_with(['.', '[']) { "" } else { "." };
        let template = Template::parse(&format!("{{{{{ROOT}{dot}{way}}}}}"));
        let [Part::Value(path)] = template.parts() else {
            let message = format!("`{written}` is not a way to a part of a value");
            self.error("bad-value", &place.path, message).help =
                Some("write names with dots, and indices: `items[0].price`".to_owned());
            return None;
        };
        let given = |name: &str| params.get(name).map(|place| place.value());
        let wanted = match (given("equals").or(given("expected")), given("contains"), params.get("exists")) {
            (Some(value), None, None) => PartWanted::Equal(value),
            (None, Some(value), None) => PartWanted::Containing(value),
            (None, None, exists) => {
                PartWanted::There(exists.and_then(|exists| self.truth(&exists)).unwrap_or(true))
            }
            _ => {
                self.error("twice", &params.path, "write one of `equals`, `contains` and `exists`");
                return None;
            }
        };
        Some(Check::JsonPath { path: path.clone(), wanted })
    }

    fn words(&mut self, params: &Place<'_>, amount: Amount) -> Option<Check> {
        let patterns = self.one_of(params, &["patterns"], "[thank you]")?;
        let case_sensitive = params.get("case_sensitive").and_then(|case| self.truth(&case)).unwrap_or(false);
        Some(Check::Words(Words { patterns, amount, case_sensitive }))
    }

    fn validator(&mut self, kind: &str, params: &Place<'_>) -> Option<Validator> {
        let mut settings: Map<String, Value> = self.map(params);
        settings.retain(|name, _| name != "message" && !SCORES.contains(&name.as_str()));
        self.built(kind, settings, params)
    }

    fn built(&mut self, kind: &str, settings: Map<String, Value>, params: &Place<'_>) -> Option<Validator> {
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

    fn tool_access(&mut self, params: &Place<'_>) -> Option<Vec<(String, Vec<String>)>> {
        let rules = self.required(params, "rules", "[{state: intake, allowed: [look_up]}]")?;
        let rules = self.list(&rules);
        let read =
            rules.iter().filter(|rule| self.object(rule, &["state", "allowed"])).cloned().collect::<Vec<_>>();
        let rule = |rule: &Place<'_>| {
            let allowed = self.required(rule, "allowed", "[look_up]")?;
            Some((self.named_text(rule, "state", "intake")?, self.texts(&allowed)))
        };
        Some(read.iter().filter_map(rule).collect())
    }

    fn called_with(&mut self, params: &Place<'_>) -> Option<Check> {
        let tool = self.named_text(params, "tool_name", "look_up_order")?;
        let exact = ["expected_args", "required_args", "args"].iter().find_map(|name| params.get(name));
        let matching = params.get("args_match");
        if exact.is_none() && matching.is_none() {
            let finding = self.error("missing-field", &params.path, "this says nothing of arguments");
            finding.help =
                Some("write `expected_args: {number: \"7\"}`, or `args_match` with patterns".to_owned());
            return None;
        }
        let arguments = exact.map(|exact| self.map(&exact)).unwrap_or_default();
        let mut patterns = Vec::new();
        for entry in matching.iter().flat_map(|matching| matching.node.entries()) {
            let path = child(&params.path, "args_match");
            let path = child(&path, &entry.name);
            patterns.push((entry.name.clone(), self.regex(&Place { node: &entry.node, path })?));
        }
        if let Some(matching) = &matching {
            self.map(matching);
        }
        Some(Check::CalledWith { tool, arguments, matching: patterns })
    }

    fn rule_broken(&mut self, params: &Place<'_>) -> Option<Check> {
        let names = ["validator", "validator_type", "guardrail"];
        let rule = match names.iter().find_map(|name| params.get(name)) {
            Some(rule) => self.text(&rule)?,
            None => self.named_text(params, "validator", "banned_words")?,
        };
        let wanted = ["should_trigger", "expected"].iter().find_map(|name| params.get(name));
        let wanted = wanted.and_then(|wanted| self.truth(&wanted)).unwrap_or(true);
        Some(Check::RuleBroken { rule, wanted })
    }

    fn expected(&mut self, params: &Place<'_>) -> Expected {
        let mut text = |name: &str| params.get(name).and_then(|place| self.text(&place));
        match (text("equals"), text("contains")) {
            (Some(text), _) => Expected::Equal(text),
            (None, Some(text)) => Expected::Containing(text),
            (None, None) => Expected::Something,
        }
    }

    fn ceilings(&mut self, kind: &Kind, params: &Place<'_>) -> Check {
        let cost = params.get("max_cost").or(params.get("max_cost_usd"));
        let cost = cost.and_then(|place| self.number(&place, 0.0, f64::INFINITY));
        let mut whole = |name: &str| params.get(name).and_then(|place| self.whole(&place));
        let ceilings = Ceilings {
            cost,
            tokens: whole("max_tokens").or(whole("max_total_tokens")),
            input_tokens: whole("max_input_tokens"),
            output_tokens: whole("max_output_tokens"),
            model_calls: whole("max_model_calls"),
            tool_calls: whole("max_tool_calls"),
        };
        if ceilings == Ceilings::default() {
            self.error("missing-field", &params.path, "this limits nothing").help =
                Some(format!("give one of {}", kind.settings.join(", ")));
        }
        Check::Usage(ceilings)
    }

    fn tools(&mut self, params: &Place<'_>) -> Option<Vec<String>> {
        if let Some(tool) = params.get("tool_name") {
            return Some(vec![self.text(&tool)?]);
        }
        self.one_of(params, &["tools", "tool_names", "agents", "agent_names"], "[look_up_order]")
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

    fn named_text(&mut self, params: &Place<'_>, name: &str, example: &str) -> Option<String> {
        let place = self.required(params, name, example)?;
        self.text(&place)
    }

    /// A list of texts that has several names. An empty one says nothing.
    fn one_of(&mut self, params: &Place<'_>, names: &[&str], example: &str) -> Option<Vec<String>> {
        let place = match names.iter().find_map(|name| params.get(name)) {
            Some(place) => place,
            None => self.required(params, names[0], example)?,
        };
        let texts = self.texts(&place);
        if place.items().next().is_none() && texts.is_empty() {
            self.error("bad-value", &place.path, "nothing is in this list").help =
                Some(format!("write `{example}`"));
        }
        (!texts.is_empty()).then_some(texts)
    }

    pub(super) fn regex(&mut self, place: &Place<'_>) -> Option<Regex> {
        let text = self.text(place)?;
        Regex::new(&text)
            .map_err(|error| {
                self.error("bad-value", &place.path, format!("this is not a regular expression: {error}"));
            })
            .ok()
    }
}
