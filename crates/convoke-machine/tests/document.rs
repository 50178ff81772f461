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
    assert_eq!(findings[2].help.as_deref(), Some("write \"3\", in quotes"));
    assert!(findings[3].message.contains("write three numbers: 1.0.0"), "{}", findings[3].message);
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

/// What is said of a pack: the code and the path of everything, in the order of the text.
fn said(pack: &Value) -> Vec<(&'static str, String)> {
    findings(pack).into_iter().map(|finding| (finding.code, finding.path)).collect()
}

#[test]
fn a_skill_of_the_wrong_shape_does_not_hide_what_else_is_wrong() {
    let pack = with(&[
        ("/skills", json!([5])),
        ("/prompts/chat/validators", json!([{"type": "max_lenght", "enabled": true}])),
        ("/prompts/chat/system_template", json!("{{fragments.gone}}")),
        ("/agents", json!({"entry": "nobody", "members": {"chat": {}, "chta": {}}})),
        ("/workflow", json!({"version": 2, "entry": "s", "states": {"s": {"prompt_task": "caht"}}})),
    ]);
    let found = said(&pack);
    for wanted in [
        ("wrong-type", "/skills/0"),
        ("unknown-validator", "/prompts/chat/validators/0/type"),
        ("unknown-fragment", "/prompts/chat/system_template"),
        ("unknown-entry", "/agents/entry"),
        ("unknown-prompt", "/agents/members/chta"),
        ("unknown-prompt", "/workflow/states/s/prompt_task"),
    ] {
        assert!(found.iter().any(|(code, path)| (*code, path.as_str()) == wanted), "{wanted:?}: {found:#?}");
    }
    assert!(findings(&pack).iter().all(|finding| finding.place.is_some()));
}

#[test]
fn a_step_that_lacks_something_does_not_hide_what_else_is_wrong() {
    let steps = json!([
        {"id": "a", "kind": "prompt"},
        {"id": "b", "kind": "vendor", "depends_on": ["a"]},
        {"id": "c", "kind": "parallel", "depends_on": ["b"]},
        {"id": "d", "kind": "branch", "depends_on": ["a"], "predicate": 5, "then": "a"},
        {"id": "e", "kind": "prompt", "prompt_task": "caht", "depends_on": ["d"]},
        7
    ]);
    let pack = with(&[("/compositions", json!({"flow": {"version": 1, "steps": steps, "output": "z"}}))]);
    let at = |place: &str| format!("/compositions/flow/steps/{place}");
    let mut found = said(&pack);
    found.retain(|(code, _)| *code != "unused-composition");
    assert_eq!(
        found,
        [
            ("missing-field", at("0")),
            ("bad-value", at("1/kind")),
            ("missing-field", at("2")),
            ("missing-field", at("2")),
            ("wrong-type", at("3/predicate")),
            ("unknown-name", at("4/prompt_task")),
            ("wrong-type", at("5")),
        ],
        "the output may be the step that cannot be read"
    );
}

#[test]
fn what_cannot_be_read_is_not_reported_as_missing() {
    let workflow = json!({"version": 2, "entry": "s", "states": {
        "s": {"prompt_task": "chat", "on_event": {"Go": "t"}}, "t": {"prompt_task": "chat", "terminal": true}}});
    let composition =
        json!({"flow": {"version": 1, "steps": [{"id": "a", "kind": "tool", "tool": "look_up"}]}});
    let agents = json!({"entry": "chat", "members": {"chat": {"state": "s"}}});
    let whole = [
        (
            "/prompts/chat",
            json!({"id": "chat", "name": "Chat", "version": "1.0.0", "system_template": "{{a}} {{fragments.f}}",
            "variables": [{"name": "a", "type": "string", "required": true}], "tools": ["look_up"]}),
        ),
        ("/fragments", json!({"f": "F"})),
        ("/tools", json!({"look_up": {"name": "look_up", "description": "Looks up"}})),
        ("/workflow", workflow),
        ("/compositions", composition),
        ("/agents", agents),
    ];
    let known: Vec<&str> = said(&with(&whole)).into_iter().map(|(code, _)| code).collect();
    assert_eq!(known, ["unused-composition"]);
    for (broken, code, path) in [
        ("/prompts", "wrong-type", "/prompts"),
        ("/fragments", "wrong-type", "/fragments"),
        ("/tools", "wrong-type", "/tools"),
        ("/workflow", "wrong-type", "/workflow"),
        ("/workflow/states", "wrong-type", "/workflow/states"),
        ("/workflow/states/s", "wrong-type", "/workflow/states/s"),
        ("/workflow/states/s/on_event", "wrong-type", "/workflow/states/s/on_event"),
        ("/compositions", "wrong-type", "/compositions"),
        ("/agents/members", "wrong-type", "/agents/members"),
        ("/prompts/chat/variables", "wrong-type", "/prompts/chat/variables"),
        ("/prompts/chat/variables/0", "wrong-type", "/prompts/chat/variables/0"),
        ("/prompts/chat/variables/0/name", "wrong-type", "/prompts/chat/variables/0/name"),
    ] {
        let mut pack = with(&whole);
        *pack.pointer_mut(broken).unwrap() = json!(5);
        let mut found = said(&pack);
        found.retain(|(code, _)| *code != "unused-composition");
        assert_eq!(found, [(code, path.to_owned())], "{broken}");
    }
}

#[test]
fn a_name_that_stands_twice_does_not_hide_what_else_is_wrong() {
    for text in [
        "id: x\nid: y\nname: X\nversion: 1.0.0\ntemplate_engine: {version: v1, syntax: s}\nagents: {entry: b, members: {a: {}}}\n\
         prompts:\n  a: {id: a, name: A, version: 1.0.0, system_template: t}\n",
        r#"{"id": "x", "id": "y", "name": "X", "version": "1.0.0", "template_engine": {"version": "v1", "syntax": "s"},
         "agents": {"entry": "b", "members": {"a": {}}},
         "prompts": {"a": {"id": "a", "name": "A", "version": "1.0.0", "system_template": "t"}}}"#,
    ] {
        let found: Vec<_> = read(text).1.into_iter().map(|finding| (finding.code, finding.path)).collect();
        let wanted = [("duplicate-name", "/id".to_owned()), ("unknown-entry", "/agents/entry".to_owned())];
        assert_eq!(found, wanted);
    }
}

#[test]
fn a_number_that_is_too_large_is_told_its_limit() {
    let pack = with(&[("/prompts/chat/parameters", json!({"max_tokens": 5_000_000_000_u64}))]);
    let found = findings(&pack);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "`max_tokens` must be at most 4294967295, not 5000000000");
}

#[test]
fn names_keep_their_rules() {
    let metric = |name: &str| json!([{"id": "e", "type": "contains", "trigger": "every_turn", "metric": {"name": name, "type": "gauge"}}]);
    let tool = |name: &str| json!({"t": {"name": name, "description": "d"}});
    let media = |kind: &str| json!({"enabled": true, "supported_types": [kind]});
    type Change<'a> = (&'a str, Box<dyn Fn(&str) -> Value>);
    let plain = || Box::new(|name: &str| json!(name));
    let changes: [(Change<'_>, &[&str], &[&str]); 6] = [
        (("/id", plain()), &["customer-support", "a1"], &["Big", "1a", "a_b", "", "a\n", &"a".repeat(101)]),
        (("/prompts/chat/id", plain()), &["first_reply", "a-1"], &["First", "_a", ""]),
        (("/tools", Box::new(tool)), &["look_up_order", "_x1"], &["a-b", "1a", "a.b", ""]),
        (("/evals", Box::new(metric)), &["reply_tone_score", ":a"], &["1a", "a-b", ""]),
        (("/metadata/language", plain()), &["en"], &["EN", "eng", ""]),
        (("/prompts/chat/media", Box::new(media)), &["image", "3d_model"], &["Image", "a-b", ""]),
    ];
    for ((path, value), good, bad) in &changes {
        for name in *good {
            valid(&with(&[(path, value(name))]));
        }
        for name in *bad {
            assert_eq!(errors(&with(&[(path, value(name))])), ["bad-value"], "{path} {name:?}");
        }
    }
    assert_eq!(errors(&with(&[("/name", json!("x".repeat(201)))])), ["bad-value"]);
    assert_eq!(errors(&with(&[("/name", json!(""))])), ["bad-value"]);
    valid(&with(&[("/name", json!("ü".repeat(200)))]));
}

#[test]
fn a_field_that_is_misspelt_far_inside_a_pack_is_warned_about() {
    let prompt = |id: &str| json!({"id": id, "kind": "prompt", "prompt_task": "chat"});
    let steps = json!([
        {"id": "a", "kind": "agent", "prompt_task": "chat", "termination": {"max_steps": 2, "max_step": 3},
            "modifiers": {"retries": {}, "retry": {"max_attempt": 3}}},
        {"id": "p", "kind": "parallel", "branches": [prompt("x"), prompt("y")],
            "reduce": {"strategy": "append", "into": "all", "in_to": "all"}},
        {"id": "b", "kind": "branch", "depends_on": ["p"], "then": "c",
            "predicate": {"any_of": [{"path": "${input}", "exists": true, "valu": 1}]}},
        {"id": "c", "kind": "prompt", "prompt_task": "chat", "depends_on": ["b"]},
    ]);
    let rule = json!({"event": "Done", "predicat": {}});
    let composition =
        json!({"version": 1, "steps": steps, "engine": {"on_outputs": [], "on_output": [rule]}});
    let state = json!({"orchestration": "composition", "composition": "c", "on_event": {"Done": "s"}, "max_visits": 3});
    let pack = with(&[
        ("/compositions", json!({"c": composition})),
        ("/workflow", json!({"version": 1, "entry": "s", "states": {"s": state}, "engine": {"budgets": {}}})),
        ("/metadata", json!({"owner": "us", "convoke": {"workflow": {}}})),
        (
            "/prompts/chat/validators",
            json!([{"type": "max_length", "enabled": true, "params": {"max": 9, "mesage": "no", "direktion": "input"}}]),
        ),
    ]);
    let found = findings(&pack);
    let of_code = found.iter().filter(|finding| finding.code == "unknown-field");
    let mut shown: Vec<(&str, &str)> = of_code
        .map(|finding| {
            let name = finding.path.rsplit('/').next().unwrap();
            (name, finding.help.as_deref().unwrap())
        })
        .collect();
    shown.sort_unstable();
    assert_eq!(
        shown,
        [
            ("budgets", "did you mean `budget`?"),
            ("direktion", "did you mean `direction`?"),
            ("in_to", "did you mean `into`?"),
            ("max_attempt", "did you mean `max_attempts`?"),
            ("max_step", "did you mean `max_steps`?"),
            ("mesage", "did you mean `message`?"),
            ("on_outputs", "did you mean `on_output`?"),
            ("predicat", "did you mean `predicate`?"),
            ("retries", "it is kept, and has no effect"),
            ("valu", "did you mean `value`?"),
            ("workflow", "did you mean `workflows`?"),
        ],
        "{found:#?}"
    );
    assert!(!found.iter().any(|finding| finding.is_error()), "{found:#?}");
}
