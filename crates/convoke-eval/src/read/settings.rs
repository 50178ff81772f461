//! The settings of each kind of assertion.

use convoke_machine::pack::Validator;
use convoke_machine::pack::model::ValidatorSpec;
use convoke_text::finding::{Finding, child};
use regex::Regex;
use serde_json::{Map, Value, json};

use super::reader::{Place, Reader};
use crate::assertion::{Amount, Ceilings, Check, Expected, PartWanted, Words};
use crate::json_part::JsonPart;
use crate::judge::JudgeCriteria;
use crate::kind::{Form, Kind, SCORES, SKILLS};

/// A pattern that all of these are like is one that every text is like.
const PROBES: [&str; 10] = ["", "a", "Z", "7", " ", "\n", "!", "é", "漢", "a longer text.\nWith two lines."];

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
                let least = self.least(params, "tool", "tools_not_called");
                Check::ToolsCalled { tools: self.tools(params)?, least }
            }
            Form::SkillsUsed => {
                let least = self.least(params, "skill", "skill_not_activated");
                Check::SkillsUsed { skills: self.one_of(params, SKILLS, "[refunds]")?, least }
            }
            Form::SkillsNotUsed => Check::SkillsNotUsed(self.one_of(params, SKILLS, "[refunds]")?),
            Form::ToolsNotCalled => Check::ToolsNotCalled(self.tools(params)?),
            Form::CalledWith => self.called_with(params)?,
            Form::CallCount => {
                let tool = params.get("tool").and_then(|tool| self.text(&tool));
                let counts = self.counts(params, "min", "max");
                if counts.is_none() {
                    self.error("missing-field", &params.path, "this counts nothing").help =
                        Some("write `min: 1` or `max: 3`".to_owned());
                }
                let (least, most) = counts.unwrap_or_default();
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
            Form::Output => Check::CompositionOutput(self.expected(params)),
            Form::Usage => self.ceilings(kind, params),
            Form::Status => {
                let wanted = self.required(params, "is", "completed")?;
                Check::Status(self.status(&wanted)?)
            }
            Form::Judge => {
                let mut criteria = self.named_text(params, "criteria", "the answer is polite")?;
                if criteria.trim().is_empty() {
                    self.error("bad-value", &child(&params.path, "criteria"), "the judge is asked nothing")
                        .help = Some("write `criteria: the answer is polite`".to_owned());
                }
                if let Some(rubric) = params.get("rubric").and_then(|rubric| self.text(&rubric)) {
                    criteria = format!("{criteria}\n\nHow to score:\n{rubric}");
                }
                Check::Judge(JudgeCriteria { criteria })
            }
            Form::Wrapper => return None,
        })
    }

    /// How often each of these is called at least.
    fn least(&mut self, params: &Place<'_>, what: &str, otherwise: &str) -> u64 {
        let least = params.get("min_calls");
        let number = least.as_ref().and_then(|least| self.whole(least)).unwrap_or(1);
        if let Some(least) = least.filter(|_| number == 0) {
            let instead = format!("write `min_calls: 1`, or an assertion of type `{otherwise}`");
            self.cannot_fail(&least.path, &format!("every {what} is called 0 times or more"), &instead);
        }
        number
    }

    fn json_path(&mut self, params: &Place<'_>) -> Option<Check> {
        let place = match self.one_name(params, &["path", "expression", "jmespath_expression"]) {
            Some(place) => place,
            None => self.required(params, "path", "items[0].price")?,
        };
        let text = self.text(&place)?;
        let part = match JsonPart::parse(&text) {
            Ok(part) => part,
            Err(why) => {
                let message = format!("`{text}` is not a way to a part of a value: {why}");
                self.error("bad-value", &place.path, message).help = Some(
                    "write names and indices, `items[0].price`, or JMESPath, `items[?price > `5`].name`"
                        .to_owned(),
                );
                return None;
            }
        };
        let equals = self.one_name(params, &["equals", "expected"]).map(|place| place.value());
        let contains = params.get("contains").map(|place| (place.value(), place.path));
        let exists = params.get("exists");
        let range = self.range(params, "min", "max");
        let count = self.counts(params, "min_results", "max_results");
        let given =
            [equals.is_some(), contains.is_some(), exists.is_some(), range.is_some(), count.is_some()];
        if given.iter().filter(|given| **given).count() > 1 {
            let message = "write one of `equals`, `contains`, `exists`, `min` and `max`, `min_results` and `max_results`";
            self.error("twice", &params.path, message);
            return None;
        }
        let wanted = match (equals, contains) {
            (Some(value), _) => PartWanted::Equal(value),
            (None, Some((value, path))) => {
                if [json!(""), json!([]), json!({})].contains(&value) {
                    self.cannot_fail(&path, "nothing is in everything", "write what has to be in it");
                }
                PartWanted::Containing(value)
            }
            (None, None) => match (range, count) {
                (Some((least, most)), _) => PartWanted::Between(least, most),
                (None, Some((least, most))) => PartWanted::Counting(least, most),
                (None, None) => {
                    let there = exists.and_then(|exists| self.truth(&exists)).unwrap_or(true);
                    if there && part.is_whole() {
                        let instead = "write `json_valid`, or which part has to be there";
                        self.cannot_fail(&place.path, "the whole value is always there", instead);
                    }
                    PartWanted::There(there)
                }
            },
        };
        Some(Check::JsonPath { part, wanted })
    }

    /// Numbers between which something must be.
    #[allow(clippy::type_complexity)]
    fn range(&mut self, params: &Place<'_>, least: &str, most: &str) -> Option<(Option<f64>, Option<f64>)> {
        let mut number =
            |name: &str| params.get(name).and_then(|place| self.number(&place, f64::MIN, f64::INFINITY));
        let (least, most) = (number(least), number(most));
        if least.zip(most).is_some_and(|(least, most)| least > most) {
            self.cannot_hold(&params.path, "the least is above the most");
        }
        (least.is_some() || most.is_some()).then_some((least, most))
    }

    /// How many of something there must be, at least and at most. That there are 0 or more says nothing.
    fn counts(&mut self, params: &Place<'_>, least: &str, most: &str) -> Option<(Option<u64>, Option<u64>)> {
        let mut whole = |name: &str| params.get(name).and_then(|place| self.whole(&place));
        let (fewest, greatest) = (whole(least), whole(most));
        match (fewest, greatest) {
            (None, None) => return None,
            (Some(0), None) => {
                let instead = format!("write `{least}: 1`, or `{most}`");
                self.cannot_fail(&child(&params.path, least), "there are always 0 or more", &instead);
            }
            (Some(fewest), Some(greatest)) if fewest > greatest => {
                self.cannot_hold(&params.path, &format!("`{least}` is above `{most}`"));
            }
            _ => {}
        }
        Some((fewest, greatest))
    }

    fn words(&mut self, params: &Place<'_>, amount: Amount) -> Option<Check> {
        let patterns = self.parts(params, &["patterns"], "[thank you]")?;
        let case_sensitive = params.get("case_sensitive").and_then(|case| self.truth(&case)).unwrap_or(false);
        Some(Check::Words(Words { patterns, amount, case_sensitive }))
    }

    /// A list of texts that are looked for in another one. An empty one is in every text.
    fn parts(&mut self, params: &Place<'_>, names: &[&str], example: &str) -> Option<Vec<String>> {
        let texts = self.one_of(params, names, example)?;
        let list = names.iter().find_map(|name| params.get(name))?;
        for empty in list.items().filter(|item| item.node.text() == Some("")) {
            self.error("cannot-fail", &empty.path, "an empty text is in every text, so this says nothing")
                .help = Some(format!("write what is looked for: `{example}`"));
        }
        Some(texts)
    }

    fn validator(&mut self, kind: &str, params: &Place<'_>) -> Option<Validator> {
        let known = self.findings.len();
        self.check_validator(kind, params)?;
        if self.findings.len() > known {
            return None;
        }
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

    /// Checks what validators of packs take as it is: that it is of the right type, and not such that every text passes.
    fn check_validator(&mut self, kind: &str, params: &Place<'_>) -> Option<()> {
        match kind {
            "banned_words" | "required_words" => {
                self.parts(params, &["words", "patterns"], "[refund]")?;
            }
            "required_fields" => {
                self.parts(params, &["fields", "required_fields"], "[name]")?;
            }
            "length" => {
                let most = self.one_name(params, &["max", "max_characters", "max_chars", "max_length"]);
                let least = self.one_name(params, &["min", "min_characters", "min_chars", "min_length"]);
                let mut whole = |place: &Option<Place<'_>>| match place {
                    Some(place) => self.whole(place).map(Some),
                    None => Some(None),
                };
                let (fewest, greatest) = (whole(&least)?, whole(&most)?);
                if let (Some(0), None, Some(least)) = (fewest, greatest, &least) {
                    let instead = "write `min: 1`, or `max`";
                    self.cannot_fail(&least.path, "every text has 0 letters or more", instead);
                }
                if fewest.zip(greatest).is_some_and(|(fewest, greatest)| fewest > greatest) {
                    self.cannot_hold(
                        &params.path,
                        "no text is longer than the least and shorter than the most",
                    );
                }
            }
            "max_sentences" => {
                if let Some(most) = self.one_name(params, &["max", "max_sentences"]) {
                    self.whole(&most)?;
                }
            }
            "regex" => {
                let pattern = self.required(params, "pattern", "'^Dear .*'")?;
                let regex = self.regex(&pattern)?;
                let wanted = params.get("expect_match").map_or(Some(true), |wanted| self.truth(&wanted))?;
                if PROBES.iter().all(|text| regex.is_match(text)) {
                    match wanted {
                        true => {
                            let instead = "write a pattern that some text is not like";
                            self.cannot_fail(&pattern.path, "every text is like this pattern", instead);
                        }
                        false => self.cannot_hold(&pattern.path, "every text is like this pattern"),
                    }
                }
            }
            _ => {}
        }
        Some(())
    }

    fn tool_access(&mut self, params: &Place<'_>) -> Option<Vec<(String, Vec<String>)>> {
        let rules = self.required(params, "rules", "[{state: intake, allowed: [look_up]}]")?;
        let rules = self.list(&rules);
        if rules.is_empty() {
            let finding =
                self.error("bad-value", &child(&params.path, "rules"), "there is no rule in this list");
            finding.help = Some("write `[{state: intake, allowed: [look_up]}]`".to_owned());
            return None;
        }
        let read =
            rules.iter().filter(|rule| self.object(rule, &["state", "allowed"])).cloned().collect::<Vec<_>>();
        let rule = |rule: &Place<'_>| {
            let allowed = self.required(rule, "allowed", "[look_up]")?;
            Some((self.named_text(rule, "state", "intake")?, self.texts(&allowed)))
        };
        let read: Vec<(String, Vec<String>)> = read.iter().filter_map(rule).collect();
        let twice = |(number, (state, _)): &(usize, &(String, Vec<String>))| {
            read[..*number].iter().any(|(earlier, _)| earlier == state)
        };
        if let Some((number, (state, _))) = read.iter().enumerate().find(twice) {
            let path = child(&child(&params.path, "rules"), number);
            self.error("twice", &path, format!("there is a rule for `{state}` already: write one list"));
        }
        Some(read)
    }

    fn called_with(&mut self, params: &Place<'_>) -> Option<Check> {
        let tool = self.named_text(params, "tool_name", "look_up_order")?;
        let exact = self.one_name(params, &["expected_args", "required_args", "args"]);
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
        let rule = match self.one_name(params, &["validator", "validator_type", "guardrail"]) {
            Some(rule) => self.text(&rule)?,
            None => self.named_text(params, "validator", "banned_words")?,
        };
        let wanted = self.one_name(params, &["should_trigger", "expected"]);
        let wanted = wanted.and_then(|wanted| self.truth(&wanted)).unwrap_or(true);
        Some(Check::RuleBroken { rule, wanted })
    }

    fn expected(&mut self, params: &Place<'_>) -> Expected {
        let mut text = |name: &str| params.get(name).and_then(|place| self.text(&place));
        match (text("equals"), text("contains")) {
            (Some(_), Some(_)) => {
                self.error("twice", &params.path, "write one of `equals` and `contains`");
                Expected::Something
            }
            (Some(text), None) => Expected::Equal(text),
            (None, Some(text)) => {
                if text.is_empty() {
                    let path = child(&params.path, "contains");
                    self.cannot_fail(&path, "an empty text is in every text", "write what has to be in it");
                }
                Expected::Containing(text)
            }
            (None, None) => Expected::Something,
        }
    }

    fn ceilings(&mut self, kind: &Kind, params: &Place<'_>) -> Check {
        let cost = self.one_name(params, &["max_cost", "max_cost_usd"]);
        let cost = cost.and_then(|place| self.number(&place, 0.0, f64::INFINITY));
        let tokens = self.one_name(params, &["max_tokens", "max_total_tokens"]);
        let tokens = tokens.and_then(|place| self.whole(&place));
        let mut whole = |name: &str| params.get(name).and_then(|place| self.whole(&place));
        let ceilings = Ceilings {
            cost,
            tokens,
            input_tokens: whole("max_input_tokens"),
            output_tokens: whole("max_output_tokens"),
            model_calls: whole("max_model_calls"),
            tool_calls: whole("max_tool_calls"),
        };
        if !kind.settings.iter().any(|name| params.get(name).is_some()) {
            self.error("missing-field", &params.path, "this limits nothing").help =
                Some(format!("give one of {}", kind.settings.join(", ")));
        }
        Check::Usage(ceilings)
    }

    fn tools(&mut self, params: &Place<'_>) -> Option<Vec<String>> {
        const NAMES: [&str; 5] = ["tools", "tool_names", "tool_name", "agents", "agent_names"];
        match self.one_name(params, &NAMES) {
            Some(one) if one.path.ends_with("/tool_name") => Some(vec![self.text(&one)?]),
            _ => self.one_of(params, &NAMES, "[look_up_order]"),
        }
    }

    fn status(&mut self, place: &Place<'_>) -> Option<String> {
        const STATUSES: [&str; 8] = [
            "completed",
            "failed",
            "suspended",
            "timed_out",
            "budget_exhausted",
            "max_visits_exceeded",
            "halted",
            "denied",
        ];
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
        let place = match self.one_name(params, names) {
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
