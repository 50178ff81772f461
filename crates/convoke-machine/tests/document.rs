//! Packs as documents: what is accepted, by whom, and what is said about the rest.

mod packs;

use convoke_machine::pack::{Dialect, read, read_as};
use packs::{errors, findings, prompt, smallest, valid, warnings, with};
use serde_json::{Value, json};

#[test]
fn promptkit_177_versions_are_semantic() {
    for version in ["1.0.0", "v2.1.3", "1.0.0-alpha", "1.0.0+build", "1.0.0-alpha.1+b.2", "0.0.0"] {
        valid(&with(&[("/version", json!(version))]));
    }
    for version in ["1.0", "v1", "latest", "", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0+", "1.0.0.0", "vv1.0.0"]
    {
        assert_eq!(errors(&with(&[("/version", json!(version))])), ["bad-value"], "{version}");
    }
}

#[test]
fn promptkit_178_a_pack_needs_prompts_and_takes_three_forms_of_skills() {
    assert_eq!(errors(&with(&[("/prompts", json!({}))])), ["too-few"]);
    let mut none = smallest();
    none.as_object_mut().unwrap().remove("prompts");
    assert_eq!(errors(&none), ["missing-field"]);
    let skills = json!(["./skills", {"path": "./billing", "preload": true},
        {"name": "refunds", "description": "Giving back", "instructions": "Ask first."}]);
    let pack = valid(&with(&[("/skills", skills)]));
    assert_eq!(pack.model().skills.len(), 3);
    assert_eq!(errors(&with(&[("/skills", json!([3]))])), ["wrong-type"]);
    assert_eq!(errors(&with(&[("/skills", json!([{"name": "x"}]))])), ["missing-field", "missing-field"]);
}

/// What the two dialects say to a change of the smallest pack.
fn verdicts(changes: &[(&str, Value)]) -> (bool, bool) {
    let text = with(changes).to_string();
    let accepts = |dialect| {
        let refused = read_as(&text, dialect).1.iter().any(|finding| finding.code == "refused");
        !refused
    };
    (accepts(Dialect::V1_4), accepts(Dialect::V1_5))
}

#[test]
fn promptkit_216_each_dialect_refuses_what_its_schema_refuses() {
    let workflow = |state: Value| ("/workflow", json!({"version": 1, "entry": "a", "states": {"a": state}}));
    let state = |extra: Value| {
        let mut state = json!({"prompt_task": "chat", "on_event": {}});
        state.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        workflow(state)
    };
    let engine = |budget: Value| {
        let states = json!({"a": {"prompt_task": "chat", "on_event": {}}});
        ("/workflow", json!({"version": 1, "entry": "a", "states": states, "engine": {"budget": budget}}))
    };
    let validator = |value: Value| ("/prompts/chat/validators", json!([value]));
    let eval = |extra: Value| {
        let mut eval = json!({"id": "e", "type": "contains", "trigger": "every_turn"});
        eval.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        ("/evals", json!([eval]))
    };
    let tool = |key: &str, name: &str| ("/tools", json!({key: {"name": name, "description": "Does"}}));
    let steps = |step: Value| ("/compositions", json!({"c": {"version": 1, "steps": [step]}}));
    let variable = |extra: Value| {
        let mut variable = json!({"name": "v", "type": "string", "required": true});
        variable.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        ("/prompts/chat/variables", json!([variable]))
    };
    for (what, change, expected) in [
        ("only a prompt", workflow(json!({"prompt_task": "chat"})), (true, false)),
        ("no events", state(json!({})), (true, true)),
        ("unknown orchestration", state(json!({"orchestration": "x"})), (true, false)),
        ("unknown persistence", state(json!({"persistence": "x"})), (true, false)),
        ("a composition elsewhere", state(json!({"composition": "x"})), (false, true)),
        ("a budget in quotes", engine(json!({"max_tool_calls": "5"})), (false, true)),
        ("an unknown budget", engine(json!({"max_money": 5})), (false, true)),
        (
            "version 3",
            (
                "/workflow",
                json!({"version": 3, "entry": "a", "states": {"a": {"prompt_task": "chat", "on_event": {}}}}),
            ),
            (true, true),
        ),
        ("no visits", state(json!({"max_visits": 0})), (false, false)),
        ("a validator without enabled", validator(json!({"type": "length"})), (true, false)),
        (
            "a validator with a message",
            validator(json!({"type": "length", "enabled": true, "message": "m"})),
            (true, false),
        ),
        ("a required variable with a default", variable(json!({"default": "x"})), (true, true)),
        ("a bound variable", variable(json!({"binding": {"kind": "env"}})), (true, false)),
        ("another type", variable(json!({"type": "text"})), (true, false)),
        ("a threshold", eval(json!({"threshold": {"operator": "gte", "value": 1}})), (true, false)),
        ("the runtime's threshold", eval(json!({"threshold": {"min_score": 1}})), (false, false)),
        ("a condition", eval(json!({"when": {"x": 1}})), (true, false)),
        ("groups", eval(json!({"groups": ["g"]})), (true, false)),
        ("another trigger", eval(json!({"trigger": "on_workflow_step"})), (true, false)),
        ("a skill's dir", ("/skills", json!([{"dir": "x"}])), (false, false)),
        (
            "a preloaded inline skill",
            ("/skills", json!([{"name": "n", "description": "d", "instructions": "i", "preload": true}])),
            (false, false),
        ),
        ("a tool's key with a dot", tool("a.b", "ab"), (true, true)),
        ("a tool's name with a dot", tool("ab", "a.b"), (false, false)),
        ("a vendor's step", steps(json!({"id": "s", "kind": "vendor"})), (false, false)),
        (
            "an agent without an end",
            steps(json!({"id": "s", "kind": "agent", "prompt_task": "chat"})),
            (false, false),
        ),
        (
            "one branch",
            steps(json!({"id": "s", "kind": "parallel", "reduce": {"strategy": "append", "into": "x"},
            "branches": [{"id": "t", "kind": "prompt", "prompt_task": "chat"}]})),
            (false, false),
        ),
        (
            "an extra field on a step",
            steps(json!({"id": "s", "kind": "prompt", "prompt_task": "chat", "x": 1})),
            (false, true),
        ),
        (
            "an agent's state",
            ("/agents", json!({"entry": "chat", "members": {"chat": {"state": "a"}}})),
            (false, true),
        ),
    ] {
        assert_eq!(verdicts(&[change]), expected, "{what}");
    }
}

#[test]
fn what_only_one_dialect_refuses_is_no_mistake_and_is_reported() {
    let pack = valid(&with(&[("/prompts/chat/validators", json!([{"type": "json_valid"}]))]));
    let compatibility = pack.compatibility();
    assert!(compatibility.accepts(Dialect::V1_4));
    let refusal = compatibility.refusals_of(Dialect::V1_5).next().unwrap();
    assert_eq!(refusal.path, "/prompts/chat/validators/0");
    let named = ("/$schema", json!("https://promptpack.org/schema/v1.5.0/promptpack.schema.json"));
    let pack = with(&[named, ("/prompts/chat/validators", json!([{"type": "json_valid"}]))]);
    assert_eq!(warnings(&pack), ["other-dialect"]);
}

#[test]
fn unknown_fields_are_kept_and_warned_about() {
    let text = r#"{"id":"x","name":"X","version":"1.0.0","zeta":1,"template_engine":{"version":"v1","syntax":"s"},
        "prompts":{"b":{"id":"b","name":"B","version":"1.0.0","system_template":"t","sytem":[1.5,null]},
        "a":{"id":"a","name":"A","version":"1.0.0","system_template":"t"}},"toolz":{}}"#;
    let (pack, findings) = read(text);
    let shown: Vec<_> = findings
        .iter()
        .map(|finding| (finding.code, finding.path.as_str(), finding.help.as_deref()))
        .collect();
    assert_eq!(
        shown,
        [
            ("unknown-field", "/zeta", Some("it is kept, and has no effect")),
            ("unknown-field", "/prompts/b/sytem", Some("it is kept, and has no effect")),
            ("unknown-field", "/toolz", Some("did you mean `tools`?")),
        ]
    );
    let again = serde_json::to_string(pack.unwrap().document()).unwrap();
    assert_eq!(again, text.split('\n').map(str::trim).collect::<String>());
}

#[test]
fn every_mistake_is_found_at_once_with_its_place() {
    let text = "id: Big\nname: 3\nversion: 1.0\nprompts:\n  chat:\n    id: chat\n    name: Chat\n    system_template: Hi\n    \
        parameters: {temperature: 5, top_p: x}\n    variables:\n      - {name: a-b, type: string, required: yes}\n";
    let (pack, findings) = read(text);
    assert!(pack.is_none());
    let shown: Vec<_> = findings
        .iter()
        .map(|finding| (finding.code, finding.path.as_str(), &text[finding.place.clone().unwrap()]))
        .collect();
    assert_eq!(
        shown,
        [
            ("missing-field", "", ""),
            ("bad-value", "/id", "Big"),
            ("wrong-type", "/name", "3"),
            ("wrong-type", "/version", "1.0"),
            ("missing-field", "/prompts/chat", "chat"),
            ("wrong-type", "/prompts/chat/parameters/temperature", "5"),
            ("wrong-type", "/prompts/chat/parameters/top_p", "x"),
            ("bad-value", "/prompts/chat/variables/0/name", "a-b"),
            ("wrong-type", "/prompts/chat/variables/0/required", "yes"),
        ]
    );
    assert_eq!(findings[3].help.as_deref(), Some("write \"1.0\", in quotes"));
}

#[test]
fn what_is_missing_does_not_hide_what_else_is_wrong() {
    let mut pack = with(&[
        ("/name", json!(3)),
        ("/prompts/chat/validators", json!([{"type": "max_lenght"}])),
        ("/workflow", json!({"version": 1, "states": {"s": {"prompt_task": "caht"}}})),
    ]);
    pack.as_object_mut().unwrap().remove("template_engine");
    let mut found = errors(&pack);
    found.sort_unstable();
    assert_eq!(
        found,
        ["missing-field", "missing-field", "unknown-prompt", "unknown-validator", "wrong-type"]
    );
}

#[test]
fn json_and_yaml_say_the_same() {
    let json = with(&[(
        "/prompts/chat/variables",
        json!([{"name": "n", "type": "number", "required": false, "default": 1.5}]),
    )]);
    let yaml = "id: small\nname: Small\nversion: 1.0.0\ntemplate_engine: {version: v1, syntax: '{{variable}}'}\nprompts:\n  chat:\n    \
        id: chat\n    name: Chat\n    version: 1.0.0\n    system_template: You talk.\n    variables:\n    - name: n\n      type: number\n      \
        required: false\n      default: 1.5\n";
    let (from_yaml, findings) = read(yaml);
    assert_eq!(findings, []);
    assert_eq!(from_yaml.unwrap().document().to_value(), json);
    assert_eq!(valid(&json).document().to_value(), json);
}

#[test]
fn texts_that_are_no_packs_are_refused_where_they_go_wrong() {
    for (text, place) in [
        ("", 0..0),
        ("{", 1..1),
        ("{\"a\": tru}", 6..7),
        ("{\"a\": 01}", 6..8),
        ("{\"a\": 1,}", 8..9),
        ("{\"a\": \"x\ny\"}", 6..11),
        ("{\"a\" 1}", 5..6),
        ("{} x", 3..4),
        ("a: [", 3..3),
    ] {
        let (pack, findings) = read(text);
        assert!(pack.is_none());
        let syntax = findings.iter().find(|finding| finding.code == "syntax");
        match syntax {
            Some(finding) => assert_eq!(finding.place, Some(place), "{text:?} {}", finding.message),
            None => assert_eq!(text, "", "{findings:?}"),
        }
    }
    for text in ["null", "[]", "3", "- a"] {
        assert!(findings_of(text).contains(&"wrong-type"), "{text}");
    }
    assert_eq!(findings_of("{\"id\": \"a\", \"id\": \"b\"}")[0], "duplicate-name");
}

fn findings_of(text: &str) -> Vec<&'static str> {
    let mut codes: Vec<_> = read(text).1.iter().map(|finding| finding.code).collect();
    codes.sort_by_key(|code| *code != "duplicate-name");
    codes
}

#[test]
fn what_is_too_deep_or_too_long_is_refused() {
    for text in [
        format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
        "{\"a\":".repeat(50_000),
        format!("a: {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        "- ".repeat(50_000),
        "x".repeat(9 * 1024 * 1024),
    ] {
        assert!(read(&text).1.iter().any(|finding| finding.code == "syntax"), "{}", &text[..20]);
    }
    let bomb = "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n\
        d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e]\n\
        g: [*f, *f, *f, *f, *f, *f, *f, *f, *f]\n";
    assert!(read(bomb).0.is_none());
}

#[test]
fn findings_come_in_the_order_of_the_text_and_never_differ() {
    let pack = with(&[
        ("/prompts/b", prompt("{{x}} {{y}}")),
        ("/prompts/a", prompt("{{z}}")),
        (
            "/workflow",
            json!({"version": 3, "entry": "q", "states": {"s": {"prompt_task": "zz", "on_event": {"go": "t"}}}}),
        ),
    ]);
    let first = findings(&pack);
    let places: Vec<_> = first.iter().map(|finding| finding.place.clone().unwrap().start).collect();
    assert!(places.is_sorted() && first.len() > 5, "{first:#?}");
    assert_eq!(findings(&pack), first);
}

#[test]
fn promptkit_106_a_template_that_uses_an_artifact_nobody_declares_is_warned_about() {
    let workflow = |artifacts: Value| {
        json!({"version": 2, "entry": "s", "states": {"s": {"prompt_task": "chat", "on_event": {"Done": "e"}, "artifacts": artifacts},
            "e": {"prompt_task": "end", "terminal": true}}})
    };
    let pack = |artifacts| {
        let changes = [
            ("/prompts/chat", prompt("So far: {{artifacts.log}}")),
            ("/prompts/end", prompt("Bye.")),
            ("/workflow", workflow(artifacts)),
        ];
        warnings(&with(&changes))
    };
    assert_eq!(pack(json!({})), ["undeclared-artifact"]);
    assert_eq!(pack(json!({"log": {"type": "text/plain"}})), [""; 0]);
}

const EXAMPLE: &str = include_str!("../../../examples/packs/support.pack.yaml");

proptest::proptest! {
    /// Whatever becomes of a pack's text, reading it ends, and what is said about it is about the text.
    #[test]
    fn no_text_breaks_the_reader(cuts in proptest::collection::vec((0usize..4000, 0usize..40, ".{0,6}"), 1..5), is_json: bool) {
        let mut text = if is_json {
            serde_json::to_string_pretty(read(EXAMPLE).0.unwrap().document()).unwrap()
        } else {
            EXAMPLE.to_owned()
        };
        for (start, length, instead) in cuts {
            let start = text.floor_char_boundary(start);
            let end = text.floor_char_boundary(start + length).max(start);
            text.replace_range(start..end, &instead);
        }
        let (pack, findings) = read(&text);
        assert_eq!(pack.is_none(), findings.iter().any(convoke_machine::finding::Finding::is_error));
        for finding in findings {
            let place = finding.place.unwrap();
            assert!(place.start <= place.end && place.start <= text.len(), "{} {:?}", finding.message, place);
        }
    }
}

#[test]
fn a_schema_names_a_dialect_by_its_version_only() {
    let address = |version: &str| format!("https://promptpack.org/schema/{version}/promptpack.schema.json");
    assert_eq!(Dialect::named_by(&address("v1.4.0")), Some(Dialect::V1_4));
    assert_eq!(Dialect::named_by(&address("v1.5")), Some(Dialect::V1_5));
    assert_eq!(Dialect::named_by(&address("v1")), None);
    assert_eq!(Dialect::named_by(&address("latest")), None);
}
