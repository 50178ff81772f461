//! Reports: pass rates, JUnit files, comparisons.

use convoke_eval::{AssertionReport, Change, Report, RunReport, ScenarioReport, compare, junit, read};
use insta::assert_snapshot;
use serde_json::json;

fn assertion(name: &str, passed: Option<bool>, pass_threshold: Option<f64>) -> AssertionReport {
    serde_json::from_value(json!({
        "name": name, "turn": 1, "passed": passed, "score": f64::from(u8::from(passed == Some(true))),
        "found": if passed == Some(false) { "found `<b>\"x\" & \u{1}`" } else { "" }, "pass_threshold": pass_threshold,
    }))
    .expect("a report")
}

fn run(number: usize, assertions: Vec<AssertionReport>) -> RunReport {
    let passed = !assertions.iter().any(AssertionReport::fails_its_run);
    let mut run: RunReport = serde_json::from_value(json!({
        "run": format!("e-{number}"), "passed": passed, "status": "completed", "seconds": 0.25,
        "usage": {"model_calls": 1, "tool_calls": 0, "tokens": 5, "cost": null}, "assertions": [],
    }))
    .expect("a report");
    run.assertions = assertions;
    run
}

fn scenario(name: &str, required: f64, runs: Vec<RunReport>) -> ScenarioReport {
    let (scenario, _) = read(&format!("kind: Scenario\nmetadata: {{name: {name}}}\nspec: {{}}"));
    ScenarioReport::new(&scenario.expect("a scenario"), "a&b.scenario.yaml", required, runs)
}

#[test]
fn a_scenario_passes_with_enough_of_its_runs() {
    let runs = |held: &[bool]| {
        let run =
            |(number, held): (usize, &bool)| run(number, vec![assertion("state_is", Some(*held), None)]);
        held.iter().enumerate().map(run).collect::<Vec<_>>()
    };
    assert!(scenario("a", 0.66, runs(&[true, true, false])).passed);
    assert!(!scenario("a", 0.67, runs(&[true, true, false])).passed);
    assert!(scenario("a", 1.0 / 3.0, runs(&[true, false, false])).passed, "a fraction loses nothing");
    assert!(!scenario("a", 0.0, Vec::new()).passed, "nothing was run");
}

#[test]
fn an_assertion_with_a_threshold_of_its_own_counts_over_all_runs() {
    let runs = |held: &[bool]| {
        let run = |(number, held): (usize, &bool)| {
            run(
                number,
                vec![assertion("contains", Some(*held), Some(0.5)), assertion("state_is", Some(true), None)],
            )
        };
        held.iter().enumerate().map(run).collect::<Vec<_>>()
    };
    let enough = scenario("a", 1.0, runs(&[true, false]));
    assert!(enough.passed && enough.pass_rate >= 1.0);
    let rare = scenario("a", 1.0, runs(&[true, false, false]));
    assert!(!rare.passed);
    assert_eq!(rare.held_too_rarely(), ["turn 1: contains: it held in 1 of 3 runs, and must in 50%"]);
}

#[test]
fn what_is_only_measured_has_a_mean() {
    let runs = vec![
        run(1, vec![assertion("tone", None, None), assertion("state_is", Some(true), None)]),
        run(2, vec![assertion("tone", None, None)]),
    ];
    assert_eq!(scenario("a", 1.0, runs).measured(), [("tone", Some(0.0))]);
}

#[test]
fn junit_has_a_case_for_every_run() {
    let bad = || run(2, vec![assertion("contains", Some(false), None)]);
    let good = || run(1, vec![assertion("contains", Some(true), None)]);
    let scenarios = vec![
        scenario("works", 1.0, vec![good()]),
        scenario("mostly", 0.5, vec![good(), bad()]),
        scenario("breaks", 1.0, vec![good(), bad()]),
        scenario("rarely", 1.0, vec![run(3, vec![assertion("contains", Some(false), Some(0.5))])]),
    ];
    assert_snapshot!("junit", junit(&Report::new("e", "a.pack.json", scenarios)));
}

#[test]
fn reports_are_compared_scenario_by_scenario() {
    let bad = |name: &str| vec![run(1, vec![assertion(name, Some(false), None)])];
    let good = || vec![run(1, vec![assertion("contains", Some(true), None)])];
    let report = |scenarios: Vec<ScenarioReport>| Report::new("e", "a.pack.json", scenarios);
    let earlier = report(vec![
        scenario("same", 1.0, bad("contains")),
        scenario("better", 1.0, bad("contains")),
        scenario("worse", 1.0, good()),
        scenario("other", 1.0, bad("contains")),
        scenario("gone", 1.0, good()),
    ]);
    let later = report(vec![
        scenario("same", 1.0, bad("contains")),
        scenario("better", 1.0, good()),
        scenario("worse", 1.0, bad("state_is")),
        scenario("other", 1.0, bad("state_is")),
        scenario("new", 1.0, good()),
    ]);
    // As it is written and read again.
    let earlier: Report =
        serde_json::from_value(serde_json::to_value(&earlier).expect("JSON")).expect("a report");
    let changes = compare(&earlier, &later).changes;
    let found: Vec<(&str, Change, String)> = changes
        .iter()
        .map(|change| (change.scenario.as_str(), change.change, change.assertions.join(", ")))
        .collect();
    assert_eq!(
        found,
        [
            ("better", Change::Better, "turn 1: contains".to_owned()),
            ("worse", Change::Worse, "turn 1: state_is".to_owned()),
            ("other", Change::Different, "turn 1: state_is".to_owned()),
            ("new", Change::New, String::new()),
            ("gone", Change::Gone, String::new()),
        ]
    );
}

#[test]
fn money_has_its_unit_in_its_name_and_reports_of_earlier_builds_are_read() {
    // As `run` has it: `cost`, like reports of earlier builds.
    let mut paid = run(1, Vec::new());
    let earlier = |cost: f64| json!({"model_calls": 1, "tool_calls": 0, "tokens": 5, "cost": cost});
    paid.usage = serde_json::from_value(earlier(0.5)).expect("usage of an earlier build");
    assert_eq!(paid.usage.cost, Some(0.5));
    let written = serde_json::to_value(&paid).expect("JSON");
    assert_eq!((&written["usage"]["cost_usd"], written["usage"].get("cost")), (&json!(0.5), None));
}
