//! Inputs of a workflow, checked before there is a run.

use convoke_goals::{Equipment, Goal, Input, InputProblem, Sequence, Type, Values, Workflow};
use serde_json::json;

fn main_with(goals: impl IntoIterator<Item = Goal>) -> Workflow {
    Workflow::new("w").sequence(goals.into_iter().fold(Sequence::new("main"), Sequence::goal))
}

/// Whether each problem contains its text, in order.
fn assert_says(found: &[String], expected: &[&str]) {
    let matches = found.iter().zip(expected).all(|(found, expected)| found.contains(expected));
    assert!(matches && found.len() == expected.len(), "{found:#?}\nis not\n{expected:#?}");
}

#[test]
fn agentcore_032_033_035_036_inputs_are_given_or_have_defaults() {
    let tree = main_with([Goal::new("g", "$topic in a $style style")])
        .input(Input::new("topic"))
        .input(Input::new("style").default("concise"));
    let prepared = tree.prepare(&Equipment::default()).unwrap();
    let inputs = |values: &[(&str, &str)]| {
        let bound = prepared.bind(values.iter().copied().collect()).unwrap();
        let inputs = bound.state.inputs.iter();
        let inputs: Vec<String> = inputs.map(|(name, value)| format!("{name}={value}")).collect();
        (inputs, bound.ignored)
    };
    assert_eq!(inputs(&[("topic", "owls")]).0, ["topic=\"owls\"", "style=\"concise\""]);
    assert_eq!(inputs(&[("topic", "")]).0[0], "topic=\"\"");
    let (given, ignored) = inputs(&[("style", "long"), ("other", "x"), ("topic", "owls")]);
    assert_eq!(given, ["topic=\"owls\"", "style=\"long\""]);
    assert_eq!(ignored, ["other"]);
    let error = prepared.bind(Values::new()).unwrap_err().to_string();
    assert_eq!(error, "required input missing: `topic` must be a text");
}

#[test]
fn agent_054_055_all_that_is_wrong_with_inputs_is_said_at_once() {
    let tree = main_with([Goal::converging_within("g", "$topic $hours $kind", "times")])
        .input(Input::new("topic"))
        .input(Input::new("hours").typed(Type::Int))
        .input(Input::new("kind").typed(Type::OneOf(vec!["bug".into(), "wish".into()])))
        .input(Input::new("tags").typed(Type::List(Box::new(Type::String))).default(json!([])))
        .input(Input::new("times").typed(Type::Int).default(3));
    let prepared = tree.prepare(&Equipment::default()).unwrap();
    let texts = [("topci", "x"), ("hours", "many"), ("kind", "idea"), ("times", "0")];
    let problems = prepared.bind_texts(texts.into_iter().collect()).unwrap_err().problems;
    let found: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_says(
        &found,
        &[
            "required input missing: `topic` must be a text (`topci` was given; did you mean this input?)",
            "the input `hours` must be a whole number",
            "the input `kind` must be one of `bug`, `wish`",
            "the input `times` says how often something is done at most",
        ],
    );
    assert!(matches!(&problems[0], InputProblem::Missing { instead: Some(_), .. }));
    let texts = [("topic", "7"), ("hours", "4"), ("kind", "bug"), ("tags", "a, b")];
    let bound = prepared.bind_texts(texts.into_iter().collect()).unwrap();
    assert_eq!(bound.state.get("hours"), Some(&json!(4)));
    assert_eq!(bound.state.get("topic"), Some(&json!("7")));
    assert_eq!(bound.state.get("tags"), Some(&json!(["a", "b"])));
    // Values are taken as they are: a text is no number.
    let values = [("topic", json!("x")), ("hours", json!("4")), ("kind", json!("bug"))];
    let error = prepared.bind(values.into_iter().collect()).unwrap_err().to_string();
    assert_eq!(error, "the input `hours` must be a whole number");
}
