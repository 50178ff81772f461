//! Assertions compared with what was observed.

use convoke_machine::pack::model::Eval;
use convoke_machine::pack::{Judgement, Validator};
use serde_json::{Map, Value, json};

use crate::assertion::{Assertion, Ceilings, Check, Subject};
use crate::judge::JudgeQuestion;
use crate::observation::{Observation, ObservedCall, ObservedTurn, ObservedUsage};
use crate::read::declared;
use crate::report::AssertionReport;
use crate::scenario::{Scenario, contains};

/// So much of a text is shown.
const SHOWN: usize = 80;

/// What came of an assertion, or what it takes to know.
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
        all.push(failed("completed", None, format!("the run is {}: {why}", run.status)));
    }
    for (number, turn) in scenario.turns.iter().enumerate() {
        let place = Some(number + 1);
        let Some(observed) = run.turns.get(number) else {
            if run.status == "completed" {
                all.push(failed("turn", place, "the conversation was over before this turn".to_owned()));
            }
            continue;
        };
        if let Some(trouble) = &observed.trouble {
            all.push(failed("turn", place, format!("it went wrong: {trouble}")));
        }
        all.extend(
            turn.assertions
                .iter()
                .map(|assertion| evaluated(assertion, &View { run, turn: Some(observed) }, place)),
        );
    }
    let end = View { run, turn: None };
    all.extend(scenario.assertions.iter().map(|assertion| evaluated(assertion, &end, None)));
    all
}

/// Compares an eval that a pack declares with a turn, or with the end of a run. It measures; only one with a threshold passes or
/// fails. Nothing if what it depends on is not the case.
#[must_use]
pub fn evaluate_declared(eval: &Eval, run: &Observation, turn: Option<usize>) -> Option<Evaluated> {
    let view = View { run, turn: turn.and_then(|turn| run.turns.get(turn)) };
    let place = turn.map(|turn| turn + 1);
    if !eval.when.as_ref().is_none_or(|when| depends(when, view.calls())) {
        return None;
    }
    let message = (!eval.description.is_empty()).then(|| eval.description.clone());
    let named = |check: Check| Assertion {
        name: eval.id.clone(),
        message: message.clone(),
        subject: Subject::Said,
        check,
    };
    let mut evaluated = match declared(&eval.kind, &eval.params) {
        Ok(check) => evaluated(&named(check), &view, place),
        Err(why) => failed(&eval.id, place, why),
    };
    let (Evaluated::Done(report) | Evaluated::Judge(_, report)) = &mut evaluated;
    report.passed = eval.threshold.as_ref().map(|threshold| reaches(threshold, report.score));
    if let (Evaluated::Judge(question, _), Some(threshold)) = (&mut evaluated, &eval.threshold) {
        question.criteria.least =
            threshold.get("min_score").and_then(Value::as_f64).unwrap_or(question.criteria.least);
    }
    Some(evaluated)
}

/// Whether a score is as good as a threshold of a pack wants it, in either of the ways they are written.
fn reaches(threshold: &Map<String, Value>, score: f64) -> bool {
    let number = |name: &str| threshold.get(name).and_then(Value::as_f64);
    let compared = match (threshold.get("operator").and_then(Value::as_str), number("value")) {
        (Some("gt" | ">"), Some(value)) => score > value,
        (Some("gte" | ">="), Some(value)) => score >= value,
        (Some("lt" | "<"), Some(value)) => score < value,
        (Some("lte" | "<="), Some(value)) => score <= value,
        (Some("eq" | "=="), Some(value)) => (score - value).abs() < f64::EPSILON,
        _ => true,
    };
    let wanted =
        threshold.get("passed").and_then(Value::as_bool).is_none_or(|passed| passed == (score >= 1.0));
    compared
        && wanted
        && number("min_score").is_none_or(|least| score >= least)
        && number("max_score").is_none_or(|most| score <= most)
}

/// Whether what an eval depends on is the case.
fn depends(when: &Map<String, Value>, calls: &[ObservedCall]) -> bool {
    when.iter().all(|(name, value)| match (name.as_str(), value) {
        ("tool_called", Value::String(tool)) => calls.iter().any(|call| call.tool == *tool),
        ("tool_called_pattern", Value::String(pattern)) => {
            let spec = json!({"type": "regex", "params": {"pattern": pattern}});
            let validator = serde_json::from_value(spec).ok().and_then(|spec| Validator::new(&spec).ok());
            validator.is_some_and(|validator| calls.iter().any(|call| validator.score(&call.tool) >= 1.0))
        }
        ("any_tool_called", Value::Bool(wanted)) => calls.is_empty() != *wanted,
        ("min_tool_calls", Value::Number(least)) => {
            least.as_u64().is_some_and(|least| calls.len() as u64 >= least)
        }
        _ => false,
    })
}

/// What an assertion looks at.
struct View<'a> {
    run: &'a Observation,
    turn: Option<&'a ObservedTurn>,
}

impl View<'_> {
    fn calls(&self) -> &[ObservedCall] {
        self.turn.map_or(&self.run.calls, |turn| &turn.calls)
    }

    fn state(&self) -> Option<&str> {
        self.turn.map_or(&self.run.facts.state, |turn| &turn.state).as_deref()
    }

    /// The value that an assertion is about.
    fn subject(&self, subject: &Subject) -> Result<Value, String> {
        let named = |values: &Map<String, Value>, what: &str, name: &str| {
            let known: Vec<&str> = values.keys().map(String::as_str).collect();
            values.get(name).cloned().ok_or_else(|| {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                format!("there is no {what} `{name}`; there are: {known}")
            })
        };
        match subject {
            Subject::Said => Ok(self.turn.map_or(&self.run.result, |turn| &turn.content).as_str().into()),
            Subject::Output(name) => named(&self.run.facts.outputs, "output", name),
            Subject::Artifact(name) => named(&self.run.facts.artifacts, "artifact", name),
        }
    }
}

fn evaluated(assertion: &Assertion, view: &View<'_>, turn: Option<usize>) -> Evaluated {
    let report = |passed: bool, score: f64, found: String| AssertionReport {
        name: assertion.name.clone(),
        turn,
        passed: Some(passed),
        score,
        found,
        message: assertion.message.clone(),
        judged_by: None,
    };
    let subject = match view.subject(&assertion.subject) {
        Ok(subject) => subject,
        Err(why) => return Evaluated::Done(report(false, 0.0, why)),
    };
    let text = subject.as_str().map_or_else(|| subject.to_string(), str::to_owned);
    match &assertion.check {
        Check::Judge(criteria) => {
            let question = JudgeQuestion { criteria: criteria.clone(), content: text };
            Evaluated::Judge(question, report(false, 0.0, String::new()))
        }
        Check::Content(validator) => {
            let passed = validator.judge(&text) == Judgement::Passed;
            let found = if passed { String::new() } else { format!("found {}", shown(&text)) };
            Evaluated::Done(report(passed, validator.score(&text), found))
        }
        check => {
            let why = objection(check, view, &subject);
            let score = f64::from(u8::from(why.is_none()));
            Evaluated::Done(report(why.is_none(), score, why.unwrap_or_default()))
        }
    }
}

/// Why something does not hold that is no matter of degree.
fn objection(check: &Check, view: &View<'_>, subject: &Value) -> Option<String> {
    let facts = &view.run.facts;
    let state = view.state().unwrap_or("none");
    let unless = |holds: bool, why: String| (!holds).then_some(why);
    match check {
        Check::Equals(value) => unless(subject == value, format!("found {}", shown(&subject.to_string()))),
        Check::State(wanted) => unless(state == wanted, format!("the state is {state}, not {wanted}")),
        Check::TransitionedTo(wanted) => {
            let moved = match view.turn {
                Some(turn) => state == wanted && turn.from.as_deref() != Some(wanted),
                None => facts.path.iter().skip(1).any(|state| state == wanted),
            };
            unless(moved, format!("it did not move to {wanted}; the state is {state}"))
        }
        Check::Complete => {
            // Within a conversation it is over when no further turn can be taken.
            let last = view
                .turn
                .is_none_or(|turn| view.run.turns.last().is_some_and(|last| std::ptr::eq(last, turn)));
            let over = last && facts.workflow.as_deref() == Some("completed");
            unless(over, format!("the workflow is not over; the state is {state}"))
        }
        Check::Order(states) => {
            let mut entered = facts.path.iter();
            let holds = states.iter().all(|state| entered.any(|entered| entered == state));
            unless(holds, format!("the path is {}", facts.path.join(", ")))
        }
        Check::Path(states) => {
            unless(facts.path == *states, format!("the path is {}", facts.path.join(", ")))
        }
        Check::ToolsCalled(tools) => {
            let missing = |tool: &&String| !view.calls().iter().any(|call| call.tool == **tool);
            let missing: Vec<&str> = tools.iter().filter(missing).map(String::as_str).collect();
            let why = format!("{} was not called; called: {}", missing.join(", "), called(view.calls()));
            unless(missing.is_empty(), why)
        }
        Check::ToolsNotCalled(tools) => {
            let bad = view.calls().iter().find(|call| tools.contains(&call.tool));
            bad.map(|call| format!("{} was called with {}", call.tool, shown(&call.arguments.to_string())))
        }
        Check::CalledWith { tool, arguments } => {
            let mut calls = view.calls().iter().filter(|call| call.tool == *tool).peekable();
            if calls.peek().is_none() {
                return Some(format!("{tool} was not called; called: {}", called(view.calls())));
            }
            let given: Vec<String> = calls.clone().map(|call| call.arguments.to_string()).collect();
            let holds = calls.any(|call| contains(&call.arguments, arguments));
            unless(holds, format!("{tool} was called with {}", shown(&given.join(", "))))
        }
        Check::Usage(ceilings) => too_much(ceilings, &view.run.usage),
        Check::Status(wanted) => {
            let why = view.run.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
            unless(view.run.status == *wanted, format!("the run is {}{why}", view.run.status))
        }
        Check::Content(_) | Check::Judge(_) => None,
    }
}

fn too_much(most: &Ceilings, used: &ObservedUsage) -> Option<String> {
    let counts = [
        ("tokens", used.tokens, most.tokens),
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

fn failed(name: &str, turn: Option<usize>, found: String) -> Evaluated {
    let (name, message, judged_by) = (name.to_owned(), None, None);
    Evaluated::Done(AssertionReport {
        name,
        turn,
        passed: Some(false),
        score: 0.0,
        found,
        message,
        judged_by,
    })
}

fn called(calls: &[ObservedCall]) -> String {
    if calls.is_empty() {
        return "nothing".to_owned();
    }
    calls.iter().map(|call| call.tool.as_str()).collect::<Vec<_>>().join(", ")
}

fn shown(text: &str) -> String {
    if text.is_empty() {
        "nothing".to_owned()
    } else {
        format!("`{}`", convoke_text::one_line_of(text, SHOWN))
    }
}
