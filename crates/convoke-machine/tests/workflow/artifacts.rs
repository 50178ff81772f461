//! Cases 70 to 85: what states produce.

use convoke_machine::workflow::{
    ArtifactMode, Compiled, Context, Known, Options, WorkflowError, artifact_arguments, artifact_tool,
};
use serde_json::{Value, json};

use super::{as_json, at, compiled, fire, linear, set, spec_of};

/// a -Go-> b, where a declares these artifacts.
fn declaring(artifacts: Value) -> Compiled {
    compiled(
        json!({"a": {"on_event": {"Go": "b"}, "artifacts": artifacts}, "b": {"on_event": {"Back": "a"}}}),
        "a",
    )
}

fn text(mode: &str) -> Value {
    json!({"type": "text/plain", "mode": mode})
}

fn after(machine: &Compiled, name: &str, values: &[&str]) -> Context {
    let mut context = machine.start(at(0));
    values.iter().for_each(|value| set(machine, &mut context, name, value).unwrap());
    context
}

#[test]
fn promptkit_070_a_value_survives_a_transition() {
    let machine = declaring(json!({"sha": text("replace")}));
    let mut context = after(&machine, "sha", &["abc123"]);
    assert_eq!(context.artifact("sha"), Some("abc123"));
    fire(&machine, &mut context, "Go").unwrap();
    assert_eq!(context.artifact("sha"), Some("abc123"));
}

#[test]
fn promptkit_071_text_is_appended() {
    let machine = declaring(json!({"log": text("append")}));
    assert_eq!(after(&machine, "log", &["line1\n", "line2\n"]).artifact("log"), Some("line1\nline2\n"));
    assert_eq!(after(&machine, "log", &["line1", "line2"]).artifact("log"), Some("line1\nline2"));
}

#[test]
fn promptkit_072_the_last_value_counts() {
    for artifact in [text("replace"), json!({"type": "text/plain"})] {
        let machine = declaring(json!({"sha": artifact}));
        assert_eq!(after(&machine, "sha", &["one", "two"]).artifact("sha"), Some("two"));
    }
}

#[test]
fn promptkit_073_a_transition_keeps_what_artifacts_are_worth() {
    let machine = declaring(json!({"sha": text("replace")}));
    let mut context = after(&machine, "sha", &["abc"]);
    fire(&machine, &mut context, "Go").unwrap();
    assert_eq!(
        as_json(&context)["artifact_history"],
        json!([{"from_state": "a", "to_state": "b", "event": "Go", "values": {"sha": "abc"}, "timestamp": at(0).to_string()}])
    );
}

#[test]
fn promptkit_074_a_transition_without_values_keeps_nothing() {
    let machine = declaring(json!({"sha": text("replace")}));
    let mut context = machine.start(at(0));
    fire(&machine, &mut context, "Go").unwrap();
    assert_eq!(as_json(&context).get("artifact_history"), None);
}

#[test]
fn promptkit_075_what_is_kept_is_everything_not_only_what_changed() {
    let machine = declaring(json!({"one": text("replace"), "two": text("replace")}));
    let mut context = after(&machine, "one", &["1"]);
    fire(&machine, &mut context, "Go").unwrap();
    set(&machine, &mut context, "two", "2").unwrap();
    fire(&machine, &mut context, "Back").unwrap();
    let kept = as_json(&context)["artifact_history"].clone();
    assert_eq!(kept[0]["values"], json!({"one": "1"}));
    assert_eq!(kept[1]["values"], json!({"one": "1", "two": "2"}));
}

#[test]
fn promptkit_076_a_name_in_two_states_is_one_artifact() {
    let both = json!({"sha": text("replace")});
    let states = json!({"a": {"on_event": {"Go": "b"}, "artifacts": both}, "b": {"artifacts": both}});
    let machine = compiled(states, "a");
    let mut context = after(&machine, "sha", &["from a"]);
    fire(&machine, &mut context, "Go").unwrap();
    set(&machine, &mut context, "sha", "from b").unwrap();
    assert_eq!(context.artifacts().collect::<Vec<_>>(), [("sha", "from b")]);
}

#[test]
fn promptkit_077_the_mode_is_the_one_the_state_declares_and_else_the_one_another_does() {
    let machine = declaring(json!({"log": text("append")}));
    let mut context = after(&machine, "log", &["1\n", "2\n"]);
    fire(&machine, &mut context, "Go").unwrap();
    set(&machine, &mut context, "log", "3\n").unwrap();
    assert_eq!(context.artifact("log"), Some("1\n2\n3\n"));
    assert_eq!(machine.artifact("log").unwrap().mode, ArtifactMode::Append);
}

#[test]
fn promptkit_078_a_name_that_nobody_declares_is_an_error() {
    let machine = declaring(json!({"log": text("append")}));
    let mut context = machine.start(at(0));
    let error = set(&machine, &mut context, "lag", "x").unwrap_err();
    assert_eq!(error.to_string(), "no artifact `lag` is declared: there are `log`");
    assert_eq!(context, machine.start(at(0)));
}

#[test]
fn promptkit_079_one_artifact_has_one_mode_and_one_type() {
    for other in [text("append"), json!({"type": "application/json"})] {
        let spec = spec_of(
            json!({"a": {"on_event": {"Go": "b"}, "artifacts": {"sha": text("replace")}},
                "b": {"terminal": true, "artifacts": {"sha": other}}}),
            "a",
        );
        let error = Compiled::new(&spec, &Known::anything()).unwrap_err();
        let found: Vec<_> =
            error.findings.iter().map(|finding| (finding.code, finding.path.as_str())).collect();
        assert_eq!(found, [("artifact-conflict", "/workflow/states/b/artifacts/sha")]);
    }
}

fn arguments(json: &Value) -> Result<(&str, &str), String> {
    artifact_arguments(json.as_object().unwrap())
}

#[test]
fn promptkit_080_an_artifact_without_a_name_is_not_set() {
    assert!(arguments(&json!({"name": "", "value": "x"})).unwrap_err().contains("`name` is empty"));
    assert_eq!(arguments(&json!({"name": "sha", "value": "x"})), Ok(("sha", "x")));
    assert_eq!(
        convoke_machine::workflow::artifact_reply("sha"),
        json!({"status": "artifact_set", "artifact": "sha"})
    );
}

#[test]
fn promptkit_081_a_value_that_is_no_text_is_not_set() {
    assert!(arguments(&json!({"name": "sha", "value": 5})).unwrap_err().contains("`value` is 5"));
    assert!(arguments(&json!({"name": "sha"})).unwrap_err().contains("`value` is missing"));
}

#[test]
fn promptkit_082_the_tool_is_there_if_some_state_declares_an_artifact() {
    assert_eq!(artifact_tool(&linear()), None);
    let tool = artifact_tool(&declaring(json!({"sha": text("replace")}))).unwrap();
    assert_eq!((tool.name, tool.mode), ("workflow__set_artifact", "workflow-artifact"));
}

#[test]
fn promptkit_083_the_tool_names_the_artifacts_of_all_states_sorted() {
    let machine = compiled(
        json!({"a": {"on_event": {"Go": "b"}, "artifacts": {"sha": text(""), "report": text("")}},
            "b": {"artifacts": {"sha": text(""), "log": text("")}}}),
        "a",
    );
    let schema = artifact_tool(&machine).unwrap().input_schema;
    assert_eq!(schema["properties"]["name"]["enum"], json!(["log", "report", "sha"]));
    assert_eq!(schema["properties"]["value"]["type"], json!("string"));
    assert_eq!(schema["required"], json!(["name", "value"]));
}

#[test]
fn promptkit_085_the_history_of_artifacts_is_bounded() {
    let machine = declaring(json!({"log": text("append")}));
    let mut context = after(&machine, "log", &["x"]);
    for event in ["Go", "Back"].into_iter().cycle().take(1100) {
        fire(&machine, &mut context, event).unwrap();
    }
    assert_eq!(context.artifact_history().len(), 1000);
}

/// Values that change at every transition are not shared, so that their number alone bounds nothing.
#[test]
fn the_history_of_artifacts_is_bounded_in_bytes() {
    let mut options = Options::default();
    options.snapshot_bytes = 100_000;
    let spec = spec_of(json!({"a": {"on_event": {"Go": "a"}, "artifacts": {"log": text("append")}}}), "a");
    let machine = Compiled::with_options(&spec, &Known::anything(), options).unwrap();
    let mut context = machine.start(at(0));
    for _ in 0..50 {
        set(&machine, &mut context, "log", &"x".repeat(1_000)).unwrap();
        fire(&machine, &mut context, "Go").unwrap();
    }
    let kept: usize = context.artifact_history().map(|snapshot| snapshot.values["log"].len()).sum();
    assert!((50_000..=100_000).contains(&kept), "{kept}");
    let mut restored = machine.restore(&serde_json::to_string(&context).unwrap()).unwrap();
    fire(&machine, &mut restored, "Go").unwrap();
    fire(&machine, &mut context, "Go").unwrap();
    assert!(as_json(&restored) == as_json(&context), "what was stored is bounded alike");
}

#[test]
fn json_is_appended_as_elements_of_an_array() {
    let machine = declaring(json!({"found": {"type": "application/json", "mode": "append"}}));
    let context = after(&machine, "found", &["{\"n\": 1}", "[2]"]);
    assert_eq!(context.artifact("found"), Some(r#"[{"n":1},[2]]"#));
    let error = set(&machine, &mut context.clone(), "found", "{").unwrap_err();
    assert!(matches!(error, WorkflowError::InvalidArtifact { .. }));
}

#[test]
fn json_that_is_appended_keeps_every_digit() {
    let machine = declaring(json!({"found": {"type": "application/json", "mode": "append"}}));
    let long = r#"{"account": 12345678901234567890123}"#;
    let context = after(&machine, "found", &[long, "{\"n\": 1}", " 0.12345678901234567890123 "]);
    let elements = r#"[{"account": 12345678901234567890123},{"n": 1},0.12345678901234567890123]"#;
    assert_eq!(context.artifact("found"), Some(elements));
    assert!(set(&machine, &mut context.clone(), "found", "[12345678901234567890123").is_err());
}

#[test]
fn an_artifact_is_not_longer_than_it_may_be() {
    let machine = declaring(json!({"log": text("append")}));
    let mut context = after(&machine, "log", &[&"x".repeat(1 << 20)]);
    let before = context.clone();
    let error = set(&machine, &mut context, "log", "y").unwrap_err();
    let (bytes, max) = ((1 << 20) + 2, 1 << 20);
    assert_eq!(error, WorkflowError::ArtifactTooLarge { name: "log".into(), bytes, max });
    assert_eq!(context, before);
}
