//! Cases 86 to 109: what is wrong with a workflow.

use convoke_machine::finding::Finding;
use convoke_machine::workflow::{Known, Spec, validate};
use convoke_text::diagnostic::Severity;
use serde_json::{Value, json};

use super::{in_pack, spec_of, with_prompts};

fn found(states: Value, entry: &str) -> Vec<Finding> {
    validate(&spec_of(states, entry), &Known::anything())
}

fn errors(findings: &[Finding]) -> Vec<(&str, &str)> {
    of(findings, Severity::Error)
}

fn warnings(findings: &[Finding]) -> Vec<(&str, &str)> {
    of(findings, Severity::Warning)
}

fn of(findings: &[Finding], severity: Severity) -> Vec<(&str, &str)> {
    let wanted = findings.iter().filter(|finding| finding.severity == severity);
    wanted.map(|finding| (finding.code, finding.path.as_str())).collect()
}

fn linear() -> Value {
    json!({"a": {"on_event": {"Next": "b"}}, "b": {"on_event": {"Next": "c"}}, "c": {"terminal": true}})
}

/// The states of `linear`, with something else in a.
fn with_a(changes: Value) -> Vec<Finding> {
    let mut states = linear();
    states["a"].as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    found(states, "a")
}

#[test]
fn promptkit_086_nothing_is_wrong_with_a_linear_workflow() {
    let known = Known::anything().prompts(["a", "b", "c"]);
    assert_eq!(validate(&spec_of(linear(), "a"), &known), []);
}

#[test]
fn promptkit_087_there_are_versions_1_and_2() {
    let mut spec = spec_of(linear(), "a");
    for (version, fits) in [(1, true), (2, true), (0, false), (3, false)] {
        spec.version = version;
        let findings = validate(&spec, &Known::anything());
        assert_eq!(findings.is_empty(), fits);
        if !fits {
            assert_eq!(errors(&findings), [("unknown-version", "/workflow/version")]);
            assert!(findings[0].message.contains("1 or 2"));
        }
    }
}

#[test]
fn promptkit_088_without_states_nothing_else_is_looked_at() {
    let spec: Spec = serde_json::from_value(json!({"version": 1, "entry": "x", "states": {}})).unwrap();
    assert_eq!(errors(&validate(&spec, &Known::anything())), [("no-states", "/workflow/states")]);
}

#[test]
fn promptkit_089_the_entry_is_a_state() {
    let findings = found(linear(), "aa");
    assert_eq!(errors(&findings), [("unknown-entry", "/workflow/entry")]);
}

#[test]
fn promptkit_090_an_unknown_prompt_of_the_entry_is_said_once() {
    let findings = validate(&spec_of(linear(), "a"), &Known::anything().prompts(["b", "c"]));
    assert_eq!(errors(&findings), [("unknown-prompt", "/workflow/states/a/prompt_task")]);
}

#[test]
fn promptkit_091_an_unknown_prompt_of_another_state_is_an_error() {
    let findings = validate(&spec_of(linear(), "a"), &Known::anything().prompts(["a", "c"]));
    assert_eq!(errors(&findings), [("unknown-prompt", "/workflow/states/b/prompt_task")]);
}

#[test]
fn promptkit_092_events_lead_to_states() {
    let findings = with_a(json!({"on_event": {"Next": "b", "Go": "bb"}}));
    assert_eq!(errors(&findings), [("unknown-target", "/workflow/states/a/on_event/Go")]);
    assert!(findings[0].message.contains("`bb`"));
}

#[test]
fn promptkit_093_an_event_in_another_case_is_a_warning() {
    let findings = with_a(json!({"on_event": {"not_pascal_case": "b"}}));
    assert_eq!(errors(&findings), []);
    assert_eq!(warnings(&findings), [("event-name", "/workflow/states/a/on_event/not_pascal_case")]);
}

#[test]
fn promptkit_094_events_begin_with_a_capital_and_have_letters_and_digits() {
    let findings = with_a(json!({"on_event": {"Go2": "b", "goNow": "b", "GO-NOW": "b", "1Go": "b"}}));
    let warned: Vec<&str> = warnings(&findings).iter().map(|(_, path)| &path[28..]).collect();
    assert_eq!(warned, ["1Go", "GO-NOW", "goNow"]);
}

#[test]
fn promptkit_095_persistence_is_transient_or_persistent() {
    assert_eq!(with_a(json!({"persistence": "transient"})), []);
    assert_eq!(with_a(json!({"persistence": "persistent"})), []);
    let findings = with_a(json!({"persistence": "invalid"}));
    assert_eq!(errors(&findings), [("unknown-persistence", "/workflow/states/a/persistence")]);
}

#[test]
fn promptkit_096_orchestration_is_one_of_four() {
    for mode in ["internal", "external", "hybrid"] {
        assert_eq!(with_a(json!({"orchestration": mode})), []);
    }
    let findings = with_a(json!({"orchestration": "invalid"}));
    assert_eq!(errors(&findings), [("unknown-orchestration", "/workflow/states/a/orchestration")]);
}

#[test]
fn promptkit_097_cycles_are_warnings() {
    let two = found(
        json!({"a": {"on_event": {"Go": "b", "End": "c"}}, "b": {"on_event": {"Back": "a"}}, "c": {"terminal": true}}),
        "a",
    );
    assert_eq!(warnings(&two), [("cycle", "/workflow/states/b/on_event/Back")]);
    assert!(two[0].message.contains("cycle: b -> a"));
    let own = with_a(json!({"on_event": {"Again": "a", "Next": "b"}}));
    assert_eq!(warnings(&own), [("cycle", "/workflow/states/a/on_event/Again")]);
    let bounded =
        with_a(json!({"on_event": {"Again": "a", "Next": "b"}, "max_visits": 3, "on_max_visits": "b"}));
    assert!(!warnings(&bounded).iter().any(|(code, _)| *code == "cycle"), "{bounded:?}");
}

#[test]
fn promptkit_098_everything_is_collected() {
    let findings = found(
        json!({"a": {"on_event": {"Go": "nowhere"}, "persistence": "x"}, "b": {"orchestration": "y"}}),
        "c",
    );
    assert_eq!(errors(&findings).len(), 4);
}

#[test]
fn promptkit_099_a_fallback_is_a_state() {
    let findings = with_a(json!({"max_visits": 2, "on_max_visits": "nowhere"}));
    assert_eq!(errors(&findings), [("unknown-fallback", "/workflow/states/a/on_max_visits")]);
    assert!(findings[0].message.contains("`a`") && findings[0].message.contains("`nowhere`"));
}

#[test]
fn promptkit_100_events_of_a_terminal_state_are_a_warning() {
    let mut states = linear();
    states["b"]["terminal"] = json!(true);
    assert_eq!(warnings(&found(states, "a")), [("terminal-with-events", "/workflow/states/b/on_event")]);
}

#[test]
fn promptkit_101_a_dead_end_of_version_2_is_a_warning() {
    let states = json!({"a": {"on_event": {"Next": "b"}}, "b": {}});
    assert_eq!(warnings(&found(states.clone(), "a")), [("dead-end", "/workflow/states/b")]);
    let mut silenced = states.clone();
    silenced["b"]["terminal"] = json!(true);
    assert_eq!(found(silenced, "a"), []);
    let mut first = spec_of(states, "a");
    first.version = 1;
    assert_eq!(validate(&first, &Known::anything()), []);
}

#[test]
fn promptkit_102_a_fallback_with_a_limit_of_its_own_is_a_warning() {
    let states = json!({
        "a": {"on_event": {"Next": "b"}, "max_visits": 2, "on_max_visits": "b"},
        "b": {"on_event": {"Next": "c"}, "max_visits": 2},
        "c": {"terminal": true},
    });
    let findings = found(states, "a");
    assert_eq!(errors(&findings), []);
    assert_eq!(warnings(&findings), [("redirect-chain", "/workflow/states/a/on_max_visits")]);
}

#[test]
fn promptkit_103_a_composition_state_names_its_composition() {
    let state = |composition: &str| {
        let state = json!({"orchestration": "composition", "composition": composition, "terminal": true});
        validate(
            &spec_of(json!({"a": state}), "a"),
            &Known::anything().prompts(["p"]).compositions(["pipeline"]),
        )
    };
    assert_eq!(state("pipeline"), []);
    assert_eq!(errors(&state("")), [("missing-composition", "/workflow/states/a/composition")]);
    assert_eq!(errors(&state("pipelime")), [("unknown-composition", "/workflow/states/a/composition")]);
}

#[test]
fn promptkit_104_other_states_name_a_prompt_and_no_composition() {
    let findings = with_a(json!({"composition": "pipeline"}));
    assert_eq!(errors(&findings), [("unexpected-composition", "/workflow/states/a/composition")]);
    let findings = with_a(json!({"prompt_task": ""}));
    assert_eq!(errors(&findings), [("missing-prompt", "/workflow/states/a/prompt_task")]);
}

#[test]
fn promptkit_105_a_state_that_is_null_is_an_error() {
    let section = json!({"version": 2, "entry": "a", "states": {"a": {"prompt_task": "a"}, "b/c": null}});
    let (pack, findings) = in_pack(Some(section));
    assert!(pack.is_none());
    assert_eq!(errors(&findings), [("wrong-type", "/workflow/states/b~1c")]);
}

#[test]
fn promptkit_106_a_template_uses_artifacts_that_its_state_declares() {
    let known = Known::anything().prompts(["a", "b", "c"]).template_uses("b", "sha");
    let findings = validate(&spec_of(linear(), "a"), &known);
    assert_eq!(warnings(&findings), [("undeclared-artifact", "/workflow/states/b/prompt_task")]);
    let mut states = linear();
    states["b"]["artifacts"] = json!({"sha": {"type": "text/plain"}});
    assert_eq!(validate(&spec_of(states, "a"), &known), []);
}

#[test]
fn promptkit_107_a_budget_below_what_states_allow_is_a_warning() {
    let section = |max: i64| {
        let mut states = linear();
        states["b"]["max_visits"] = json!(3);
        states["c"]["max_visits"] = json!(2);
        let states = with_prompts(states);
        let spec: Spec = serde_json::from_value(json!({"version": 2, "entry": "a", "states": states,
            "engine": {"budget": {"max_total_visits": max}}}))
        .unwrap();
        validate(&spec, &Known::anything())
    };
    assert_eq!(section(5), []);
    let place = "/workflow/engine/budget/max_total_visits";
    assert_eq!(warnings(&section(4)), [("budget-below-visits", place)]);
}

#[test]
fn promptkit_108_what_cannot_be_reached_is_a_warning() {
    let mut states = linear();
    states["island"] = json!({"terminal": true});
    assert_eq!(warnings(&found(states, "a")), [("unreachable-state", "/workflow/states/island")]);
    let endless = json!({"a": {"on_event": {"Go": "b"}}, "b": {"on_event": {"Back": "a"}}});
    assert!(warnings(&found(endless, "a")).contains(&("no-terminal-state", "/workflow/entry")));
}

#[test]
fn promptkit_109_findings_come_in_the_same_order_whatever_the_order_of_the_file() {
    let a = json!({"on_event": {"z": "nowhere", "Y": "nowhere"}, "persistence": "x"});
    let (b, c) = (json!({"orchestration": "y"}), json!({"skils": "none"}));
    let one = found(json!({"a": a, "b": b, "c": c}), "a");
    let text = format!(
        r#"{{"version": 2, "entry": "a", "states": {{"c": {}, "b": {}, "a": {}}}}}"#,
        with_prompts(json!({"c": c}))["c"],
        with_prompts(json!({"b": b}))["b"],
        with_prompts(json!({"a": a}))["a"],
    );
    let other: Spec = serde_json::from_str(&text).unwrap();
    assert_eq!(other.states.get_index(0).unwrap().0, "c");
    assert_eq!(validate(&other, &Known::anything()), one);
    let states: Vec<_> =
        one.iter().filter_map(|finding| finding.path.strip_prefix("/workflow/states/")).collect();
    assert!(states.is_sorted_by_key(|path| &path[..1]), "{states:?}");
}

#[test]
fn promptkit_217_a_fallback_from_which_every_way_leads_back_is_a_warning() {
    let place = "/workflow/states/implement/on_max_visits";
    let states = |review: serde_json::Value| {
        json!({
            "implement": {"on_event": {"Ready": "review"}, "max_visits": 3, "on_max_visits": "review"},
            "review": review,
            "again": {"on_event": {"Back": "review"}},
            "done": {"terminal": true},
        })
    };
    let is_trap = |review| warnings(&found(states(review), "implement")).contains(&("redirect-trap", place));
    assert!(is_trap(json!({"on_event": {"ChangesNeeded": "implement"}})));
    assert!(
        is_trap(json!({"on_event": {"ChangesNeeded": "implement", "Later": "again"}})),
        "a detour is no exit"
    );
    assert!(!is_trap(json!({"on_event": {"ChangesNeeded": "implement", "Fine": "done"}})));
    assert!(!is_trap(json!({"on_event": {"Fine": "done"}})));
}
