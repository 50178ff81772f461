//! Assertions compared with what was observed.

mod calls;

use convoke_core::json_text;
use convoke_machine::pack::model::Eval;
use serde_json::{Map, Value};

pub(crate) use self::calls::is_of;
use crate::assertion::{Amount, Assertion, Ceilings, Check, Expected, PartWanted, Subject, Threshold, Words};
use crate::fit::NOWHERE;
use crate::json_part::{JsonPart, is_same};
use crate::judge::JudgeQuestion;
use crate::observation::{ASSISTANT, Episode, Observation, ObservedUsage};
use crate::read::declared;
use crate::report::AssertionReport;
use crate::scenario::{Scenario, contains};

/// So much of a text is shown.
const SHOWN: usize = 80;

/// The outcome of an assertion, or the judgement it takes to know it.
#[derive(Debug, Clone, PartialEq)]
pub enum Evaluated {
    /// This came of it.
    Done(AssertionReport),
    /// A model has to say. The report is complete but for what it says.
    Judge(JudgeQuestion, AssertionReport),
}

/// Compares a scenario with what was observed of a run of it. That the run completed, and that no turn of it went wrong, need not be
/// asserted.
#[must_use]
pub fn evaluate(scenario: &Scenario, run: &Observation) -> Vec<Evaluated> {
    let mut all = Vec::new();
    let says_status = scenario.assertions.iter().any(|assertion| matches!(assertion.check, Check::Status(_)));
    if !says_status && run.status != "completed" {
        let why = run.error.as_deref().unwrap_or("nobody knows why");
        all.push(Evaluated::Done(AssertionReport::failed(
            "completed",
            None,
            format!("the run is {}: {why}", run.status),
        )));
    }
    // After the end of a workflow nothing is said any more, and nothing changes.
    let after = Episode { path: run.whole.path.clone(), is_over: true, ..Episode::default() };
    for (number, turn) in scenario.turns.iter().enumerate() {
        let place = Some(number + 1);
        let after = || run.whole.is_over.then_some(&after);
        let Some(episode) = run.turns.get(number).or_else(after) else {
            if !turn.assertions.is_empty() || run.status == "completed" {
                let why = "the run was over before this turn".to_owned();
                all.push(Evaluated::Done(AssertionReport::failed("turn", place, why)));
            }
            continue;
        };
        if let Some(trouble) = &episode.trouble {
            all.push(Evaluated::Done(AssertionReport::failed(
                "turn",
                place,
                format!("it went wrong: {trouble}"),
            )));
        }
        let view = View { run, episode };
        all.extend(turn.assertions.iter().filter_map(|assertion| evaluated(assertion, &view, place)));
    }
    let end = View { run, episode: &run.whole };
    all.extend(scenario.assertions.iter().filter_map(|assertion| evaluated(assertion, &end, None)));
    all
}

/// Compares an eval that a pack declares with a turn, counted from 0, or with the end of a run. It measures; only one with a threshold
/// passes or fails. Nothing if what it depends on is not the case.
#[must_use]
pub fn evaluate_declared(eval: &Eval, run: &Observation, turn: Option<usize>) -> Option<Evaluated> {
    let place = turn.map(|turn| turn + 1);
    let episode = turn.and_then(|turn| run.turns.get(turn)).unwrap_or(&run.whole);
    let (assertion, threshold) = match declared(eval) {
        Ok(read) => read,
        Err(why) => {
            let passed = eval.threshold.as_ref().map(|_| false);
            let report = AssertionReport::failed(&eval.id, place, why.message);
            let report = AssertionReport { passed, score: None, ..report };
            return Some(Evaluated::Done(report));
        }
    };
    let mut evaluated = evaluated(&assertion, &View { run, episode }, place)?;
    let (Evaluated::Done(report) | Evaluated::Judge(_, report)) = &mut evaluated;
    report.passed = report.passed.filter(|_| threshold.is_some());
    let metric = eval.metric.as_ref().and_then(|metric| metric.get("name")?.as_str());
    report.metric = metric.map(str::to_owned);
    Some(evaluated)
}

/// Says that the threshold of an eval is one that every score reaches, if it is: its author may think that it can fail.
#[must_use]
pub fn cannot_fail(eval: &Eval) -> Option<String> {
    let (_, threshold) = declared(eval).ok()?;
    let threshold = threshold.filter(Threshold::holds_always)?;
    Some(format!("the eval `{}` of the pack cannot fail: every score is {threshold}", eval.id))
}

/// Compares an eval that a step of a composition names with what the step gave.
#[must_use]
pub fn evaluate_step(eval: &Eval, run: &Observation, step: &str, output: &Value) -> Option<Evaluated> {
    let content = text_of(output);
    let said = vec![(ASSISTANT.to_owned(), content.clone())];
    let whole = Episode { content, said, ..Episode::default() };
    let mut evaluated = evaluate_declared(eval, &Observation { whole, ..run.clone() }, None)?;
    let (Evaluated::Done(report) | Evaluated::Judge(_, report)) = &mut evaluated;
    report.name = format!("{} of step {step}", eval.id);
    Some(evaluated)
}

/// What an assertion looks at.
struct View<'a> {
    run: &'a Observation,
    episode: &'a Episode,
}

impl View<'_> {
    /// The value that an assertion is about.
    fn subject(&self, assertion: &Assertion) -> Result<Value, String> {
        let named = |values: &Map<String, Value>, what: &str, name: &str| {
            let known = listed(values.keys().map(String::as_str));
            let missing = || format!("there is no {what} `{name}`; there are: {known}");
            values.get(name).cloned().ok_or_else(missing)
        };
        match &assertion.subject {
            Subject::Said => Ok(self.episode.content.as_str().into()),
            Subject::Conversation if matches!(assertion.check, Check::Judge(_)) => {
                let lines = self.episode.said.iter().map(|(who, text)| format!("{who}: {text}"));
                Ok(lines.collect::<Vec<_>>().join("\n").into())
            }
            Subject::Conversation => {
                let answers = self.episode.answers();
                Ok(if answers.is_empty() { self.episode.content.clone() } else { answers }.into())
            }
            Subject::Output(name) => named(&self.run.facts.outputs, "output", name),
            Subject::Artifact(name) => named(&self.run.facts.artifacts, "artifact", name),
        }
    }
}

fn evaluated(assertion: &Assertion, view: &View<'_>, turn: Option<usize>) -> Option<Evaluated> {
    if !assertion.when.holds(&view.episode.calls) {
        return None;
    }
    let mut report = AssertionReport::failed(&assertion.name, turn, String::new());
    report.message.clone_from(&assertion.message);
    report.pass_threshold = assertion.pass_threshold;
    let subject = match view.subject(assertion) {
        Ok(subject) => subject,
        Err(why) => return Some(Evaluated::Done(AssertionReport { found: why, ..report })),
    };
    let text = text_of(&subject);
    if let Check::Judge(criteria) = &assertion.check {
        let (criteria, threshold) = (criteria.clone(), assertion.threshold.clone());
        return Some(Evaluated::Judge(JudgeQuestion { criteria, threshold, content: text }, report));
    }
    let (score, found) = match &assertion.check {
        Check::Content(validator) => (validator.score(&text), format!("found {}", shown(&text))),
        Check::Words(words) => occurring(words, &text),
        Check::Order(states) => in_order(states, &view.episode.path),
        check => {
            let why = objection(check, view, &subject);
            (f64::from(u8::from(why.is_none())), why.unwrap_or_default())
        }
    };
    let passed = assertion.threshold.holds(score);
    let found = if passed { String::new() } else { found };
    Some(Evaluated::Done(AssertionReport { passed: Some(passed), score: Some(score), found, ..report }))
}

/// How many of some texts occur as they should, and which do not.
fn occurring(words: &Words, text: &str) -> (f64, String) {
    let fold = |text: &str| if words.case_sensitive { text.to_owned() } else { text.to_lowercase() };
    let folded = fold(text);
    let (there, missing): (Vec<&String>, Vec<&String>) =
        words.patterns.iter().partition(|pattern| folded.contains(&fold(pattern)));
    let quoted =
        |texts: &[&String]| texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ");
    match words.amount {
        Amount::All => {
            let why = format!("{} is missing in {}", quoted(&missing), shown(text));
            (share(there.len(), words.patterns.len()), why)
        }
        Amount::Any => {
            let why = format!("none of {} is in {}", quoted(&missing), shown(text));
            (f64::from(u8::from(!there.is_empty())), why)
        }
        Amount::None => {
            let why = format!("{} is in {}", quoted(&there), shown(text));
            (f64::from(u8::from(there.is_empty())), why)
        }
    }
}

/// How many of these states were entered in this order.
fn in_order(states: &[String], path: &[String]) -> (f64, String) {
    let mut entered = path.iter();
    let met = states.iter().take_while(|state| entered.any(|entered| entered == *state)).count();
    (share(met, states.len()), other_path(path, states))
}

/// Why something does not hold that is no matter of degree.
fn objection(check: &Check, view: &View<'_>, subject: &Value) -> Option<String> {
    let episode = view.episode;
    let state = episode.state().unwrap_or("none");
    let unless = |holds: bool, why: String| (!holds).then_some(why);
    match check {
        Check::Equals(value) => unless(
            subject == value,
            format!("found {}, wanted {}", shown(&json_text(subject)), shown(&json_text(value))),
        ),
        Check::JsonPath { part, wanted } => part_objection(part, wanted, subject),
        Check::State(wanted) => unless(state == wanted, format!("the state is {state}, not {wanted}")),
        Check::TransitionedTo(wanted) => {
            let moved = episode.path.iter().skip(1).any(|entered| entered == wanted);
            unless(
                moved,
                format!("it did not move to {wanted}; the path is {}", listed(texts(&episode.path))),
            )
        }
        Check::SpokeIn(wanted) => {
            let spoke = episode.spoke.contains(wanted);
            unless(spoke, format!("nothing was said in {wanted}, but in {}", listed(texts(&episode.spoke))))
        }
        Check::Complete => unless(episode.is_over, format!("the workflow is not over; the state is {state}")),
        Check::Path(states) => unless(episode.path == *states, other_path(&episode.path, states)),
        Check::ToolAccess(rules) => calls::made(&episode.calls).find_map(|call| {
            let own = call.state.as_deref()?;
            let (_, allowed) = rules.iter().find(|(state, _)| state == own)?;
            unless(
                allowed.iter().any(|tool| is_of(&call.tool, tool)),
                format!("{} was called in {own}", call.tool),
            )
        }),
        Check::ToolsCalled { .. }
        | Check::ToolsNotCalled(_)
        | Check::SkillsUsed { .. }
        | Check::SkillsNotUsed(_)
        | Check::CalledWith { .. }
        | Check::CallCount { .. }
        | Check::CallSequence(_)
        | Check::NoToolErrors => calls::objection(check, &episode.calls),
        Check::RuleBroken { rule, wanted } => {
            let broken = episode.broken_rules.contains(rule);
            let not = if broken { "was" } else { "was not" };
            unless(broken == *wanted, format!("{rule} {not} broken"))
        }
        Check::CompositionOutput(output) => match &episode.composition {
            None => Some("no composition gave anything".to_owned()),
            Some(given) => {
                let text = text_of(given);
                unless(
                    is_expected(output, &text),
                    format!("the composition gave {}{}", shown(&text), wanted(output)),
                )
            }
        },
        Check::StepOutput { step, output } => match episode.steps.get(step) {
            None => {
                Some(format!("step {step} gave nothing; there are {}", listed(texts(episode.steps.keys()))))
            }
            Some(given) => {
                let text = text_of(given);
                unless(
                    is_expected(output, &text),
                    format!("step {step} gave {}{}", shown(&text), wanted(output)),
                )
            }
        },
        Check::BranchTaken { branch, target } => match episode.branches.get(branch) {
            None => Some(format!(
                "there was no branch {branch}; there were {}",
                listed(texts(episode.branches.keys()))
            )),
            Some(taken) => {
                let taken = taken.as_deref().unwrap_or(NOWHERE);
                unless(taken == target, format!("branch {branch} led to {taken}, not {target}"))
            }
        },
        Check::ParallelComplete(step) => match episode.parallels.get(step) {
            None => Some(format!("there was no parallel step {step}")),
            Some(complete) => unless(*complete, format!("a branch of {step} failed")),
        },
        Check::Usage(ceilings) => too_much(ceilings, &view.run.usage),
        Check::Status(wanted) => {
            let why = view.run.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
            unless(view.run.status == *wanted, format!("the run is {}, not {wanted}{why}", view.run.status))
        }
        Check::Content(_) | Check::Words(_) | Check::Order(_) | Check::Judge(_) => None,
    }
}

/// Why a part of a value is not what is wanted. A text is looked into as JSON.
fn part_objection(part: &JsonPart, wanted: &PartWanted, subject: &Value) -> Option<String> {
    let parsed = subject.as_str().and_then(|text| serde_json::from_str(text).ok());
    let whole = parsed.as_ref().unwrap_or(subject);
    let way = part.written();
    let found = match (part.find(whole), wanted) {
        (Err(why), _) => return Some(format!("{way} cannot be looked for: {why}")),
        (Ok(None), PartWanted::There(false)) => return None,
        (Ok(None), _) => return Some(format!("there is no {way} in {}", shown(&json_text(whole)))),
        (Ok(Some(found)), _) => found,
    };
    let has = |items: &[Value], wanted: &Value| items.iter().any(|item| contains(item, wanted));
    let within = |number: f64, least: &Option<f64>, most: &Option<f64>| {
        least.is_none_or(|least| number >= least) && most.is_none_or(|most| number <= most)
    };
    let holds = match (wanted, &found) {
        (PartWanted::There(there), _) => *there,
        (PartWanted::Equal(value), found) => is_same(found, value),
        (PartWanted::Containing(Value::Array(wanted)), Value::Array(items)) => {
            wanted.iter().all(|wanted| has(items, wanted))
        }
        (PartWanted::Containing(wanted), Value::Array(items)) => has(items, wanted),
        (PartWanted::Containing(Value::String(wanted)), Value::String(text)) => text.contains(wanted),
        (PartWanted::Containing(wanted), found) => contains(found, wanted),
        (PartWanted::Between(least, most), found) => {
            found.as_f64().is_some_and(|number| within(number, least, most))
        }
        (PartWanted::Counting(least, most), Value::Array(items)) => {
            let count = items.len() as u64;
            least.is_none_or(|least| count >= least) && most.is_none_or(|most| count <= most)
        }
        (PartWanted::Counting(..), _) => false,
    };
    let expected = match wanted {
        PartWanted::There(_) | PartWanted::Between(..) | PartWanted::Counting(..) => String::new(),
        PartWanted::Equal(value) => format!(", wanted {}", shown(&json_text(value))),
        PartWanted::Containing(value) => format!(", without {}", shown(&json_text(value))),
    };
    (!holds).then(|| format!("{way} is {}{expected}", shown(&json_text(&found))))
}

/// What is said of a path that is not the one that was wanted.
fn other_path(path: &[String], wanted: &[String]) -> String {
    format!("the path is {}, wanted {}", listed(texts(path)), listed(texts(wanted)))
}

/// What an output should have been.
fn wanted(expected: &Expected) -> String {
    match expected {
        Expected::Something => String::new(),
        Expected::Containing(part) => format!(", without {}", shown(part)),
        Expected::Equal(whole) => format!(", wanted {}", shown(whole)),
    }
}

fn is_expected(expected: &Expected, text: &str) -> bool {
    match expected {
        Expected::Something => !text.is_empty() && text != "null",
        Expected::Containing(part) => text.contains(part),
        Expected::Equal(whole) => text == whole,
    }
}

fn too_much(most: &Ceilings, used: &ObservedUsage) -> Option<String> {
    let counts = [
        ("tokens", used.tokens, most.tokens),
        ("tokens given to models", used.input_tokens, most.input_tokens),
        ("tokens of models", used.output_tokens, most.output_tokens),
        ("model calls", used.model_calls, most.model_calls),
        ("tool calls", used.tool_calls, most.tool_calls),
    ];
    let over = counts.iter().filter(|(_, used, most)| most.is_some_and(|most| *used > most));
    let mut over: Vec<String> = over.map(|(what, used, _)| format!("{used} {what}")).collect();
    match (most.cost, used.cost) {
        (Some(most), Some(cost)) if cost > most => over.push(format!("{cost} dollars")),
        (Some(_), None) => over.push("a cost that is not known: a model has no price".to_owned()),
        _ => {}
    }
    (!over.is_empty()).then(|| format!("it used {}", over.join(", ")))
}

/// A share that every float has closely enough.
fn share(part: usize, of: usize) -> f64 {
    let number = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    if of == 0 { 1.0 } else { number(part) / number(of) }
}

/// A value as text: texts are what they are.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| json_text(value), str::to_owned)
}

fn texts<'a>(texts: impl IntoIterator<Item = &'a String>) -> impl Iterator<Item = &'a str> {
    texts.into_iter().map(String::as_str)
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn shown(text: &str) -> String {
    if text.is_empty() {
        "nothing".to_owned()
    } else {
        format!("`{}`", convoke_text::one_line_of(text, SHOWN))
    }
}
