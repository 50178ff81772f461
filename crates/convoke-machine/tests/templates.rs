//! Templates, variables, validators, evals and agents of packs.

mod packs;

use convoke_machine::pack::model::Eval;
use convoke_machine::pack::template::Template;
use convoke_machine::pack::{
    Bound, CompiledPack, CompiledPrompt, Moment, RenderError, Validator, Wrong, merged, read,
};
use packs::{errors, findings, prompt, valid, warnings, with};
use serde_json::{Map, Value, json};

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

fn pack_of(template: &str, more: &[(&str, Value)]) -> CompiledPack {
    let mut changes = vec![("/prompts/chat", prompt(template))];
    changes.extend(more.iter().cloned());
    valid(&with(&changes))
}

/// The system message of a template with these values.
fn written(template: &str, values: Value) -> Result<String, RenderError> {
    system(&pack_of(template, &[]), values)
}

fn chat(pack: &CompiledPack) -> &CompiledPrompt {
    pack.prompt("chat").expect("the prompt of every pack here")
}

fn bound(pack: &CompiledPack, values: Value) -> Bound {
    chat(pack).bind(&object(values)).expect("values that fit")
}

fn system(pack: &CompiledPack, values: Value) -> Result<String, RenderError> {
    chat(pack).system("any", &bound(pack, values), &Moment::default())
}

fn unresolved(result: Result<String, RenderError>) -> Vec<String> {
    match result {
        Err(RenderError::Unresolved(unresolved)) => unresolved.0,
        other => panic!("{other:?}"),
    }
}

#[test]
fn promptkit_168_values_are_put_into_places() {
    assert_eq!(written("Hello, {{name}}!", json!({"name": "Alice"})).unwrap(), "Hello, Alice!");
    assert_eq!(written("{{a}}{{b}}{{a}}", json!({"a": "x", "b": "y"})).unwrap(), "xyx");
    assert_eq!(written("plain {text} }} {{", json!({})).unwrap(), "plain {text} }} {{");
    assert_eq!(Template::parse("").render(&mut |_| None), Ok(String::new()));
}

#[test]
fn promptkit_169_values_are_never_looked_at_again() {
    let values = json!({"var1": "{{var2}}", "var2": "{{var3}}", "var3": "x"});
    assert_eq!(written("{{var1}}", values).unwrap(), "{{var2}}");
}

#[test]
fn promptkit_170_all_places_without_values_are_named() {
    assert_eq!(unresolved(written("{{a}} {{b}} {{c}}", json!({"b": 1}))), ["{{a}}", "{{c}}"]);
    assert_eq!(unresolved(written("{{ name }}", json!({"name": "x"}))), ["{{ name }}"]);
    assert_eq!(unresolved(written("{{outer{{inner}}}}", json!({"inner": "x"}))), ["{{outer{{inner}}"]);
    let pack = with(&[("/prompts/chat", prompt("{{ name }}"))]);
    assert_eq!(warnings(&pack), ["bad-placeholder"]);
    let found = &findings(&pack)[0];
    assert!(found.message.starts_with("`{{ name }}` names no value"), "{}", found.message);
}

#[test]
fn a_default_that_breaks_its_own_rule_is_told_before_a_run_lacks_a_value() {
    let variable = |default: &str| json!([{"name": "a", "type": "string", "required": false, "default": default, "validation": {"max_length": 3}}]);
    let pack = |default: &str| {
        with(&[("/prompts/chat", prompt("{{a}}")), ("/prompts/chat/variables", variable(default))])
    };
    assert_eq!(warnings(&pack("fit")), [""; 0]);
    assert_eq!(warnings(&pack("too long")), ["bad-default"]);
    let found = &findings(&pack("too long"))[0];
    assert_eq!(found.path, "/prompts/chat/variables/0/default");
    assert!(found.message.contains("has 8 characters, at most 3 are allowed"), "{}", found.message);
}

#[test]
fn promptkit_171_an_empty_value_is_a_value_unless_it_must_be_given() {
    assert_eq!(written("[{{a}}]", json!({"a": ""})).unwrap(), "[]");
    let variables = ("/prompts/chat/variables", json!([{"name": "a", "type": "string", "required": true}]));
    let pack = pack_of("[{{a}}]", &[variables]);
    for values in [json!({}), json!({"a": ""})] {
        let violations = pack.prompt("chat").unwrap().bind(&object(values)).unwrap_err();
        assert_eq!((violations[0].variable.as_str(), &violations[0].wrong), ("a", &Wrong::Missing));
    }
}

#[test]
fn promptkit_172_paths_lead_into_values() {
    let values = json!({"user": {"profile": {"name": "Ada"}}, "items": [{"title": "One"}], "n": 2.0, "big": 1e21, "t": true, "none": null});
    let template = "{{user.profile.name}} {{items[0].title}} {{items}} {{n}} {{big}} {{t}}{{none}}";
    let expected = r#"Ada One [{"title":"One"}] 2 1000000000000000000000 true"#;
    assert_eq!(written(template, values).unwrap(), expected);
    assert_eq!(
        unresolved(written("{{items[1]}}{{user.age}}", json!({"items": [], "user": {}}))),
        ["{{items[1]}}", "{{user.age}}"]
    );
    assert_eq!(written("{{a.b}}", json!({"a.b": "whole"})).unwrap(), "whole");
}

#[test]
fn promptkit_173_every_broken_rule_is_listed_before_anything_is_asked() {
    let variables = json!([
        {"name": "code", "type": "string", "required": true, "validation": {"pattern": "^[A-Z]+$", "min_length": 3, "max_length": 4}},
        {"name": "tier", "type": "string", "required": false, "validation": {"enum": ["gold", "silver"]}},
        {"name": "count", "type": "number", "required": false, "validation": {"minimum": 1, "maximum": 5}},
        {"name": "flag", "type": "boolean", "required": false},
        {"name": "list", "type": "array", "required": false, "default": [1]},
    ]);
    let pack =
        pack_of("{{code}}{{tier}}{{count}}{{flag}}{{list}}", &[("/prompts/chat/variables", variables)]);
    let wrong = json!({"code": "ab", "tier": "tin", "count": 9, "flag": "perhaps"});
    let said: Vec<String> =
        pack.check_values(&object(wrong), "").unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "`code` does not match `^[A-Z]+$`",
            "`code` has 2 characters, at least 3 are needed",
            "`tier` must be one of \"gold\", \"silver\"",
            "`count` is 9, at most 5 is allowed",
            "`flag` must be of type boolean",
        ]
    );
    let right = json!({"code": "ABC", "count": "3", "flag": "true"});
    pack.check_values(&object(right.clone()), "").unwrap();
    assert_eq!(system(&pack, right).unwrap(), "ABC3true[1]");
    let unknown = pack.check_values(&object(json!({"code": "ABC", "teir": "gold"})), "").unwrap_err();
    assert_eq!(unknown[0].to_string(), "`teir` is not a variable of the pack; did you mean `tier`?");
}

#[test]
fn defaults_are_for_what_is_absent_and_have_the_type_of_their_variable() {
    let variable = |extra: Value| {
        let mut variable = json!({"name": "v", "type": "string", "required": false});
        variable.as_object_mut().unwrap().extend(object(extra));
        ("/prompts/chat/variables", json!([variable]))
    };
    let pack = pack_of("[{{v}}]", &[variable(json!({"default": "d"}))]);
    assert_eq!(system(&pack, json!({})).unwrap(), "[d]");
    assert_eq!(system(&pack, json!({"v": ""})).unwrap(), "[]");
    assert_eq!(system(&pack, json!({"v": null})).unwrap(), "[]");
    assert_eq!(system(&pack_of("[{{v}}]", &[variable(json!({}))]), json!({})).unwrap(), "[]");
    assert_eq!(errors(&with(&[variable(json!({"default": 3}))])), ["bad-default"]);
    assert_eq!(errors(&with(&[variable(json!({"validation": {"pattern": "("}}))])), ["bad-pattern"]);
    let needless = with(&[variable(json!({"required": true, "default": "d"}))]);
    assert_eq!(warnings(&needless), ["required-default"]);
    assert_eq!(findings(&needless)[0].message, "`v` has a default, so it need not be given");
    let pack = pack_of("[{{v}}]", &[variable(json!({"required": true, "default": "d"}))]);
    assert_eq!(system(&pack, json!({})).unwrap(), "[d]");
}

#[test]
fn promptkit_174_names_of_fragments_may_have_values_in_them() {
    let fragments = ("/fragments", json!({"persona_us": "Be brief.", "persona_uk": "Be kind."}));
    let uses = |required: bool| {
        ("/prompts/chat/fragments", json!([{"name": "persona_{{region}}", "required": required}]))
    };
    let pack = pack_of("{{persona_us}}", &[fragments.clone(), uses(true)]);
    assert_eq!(system(&pack, json!({"region": "us"})).unwrap(), "Be brief.");
    let missing = RenderError::MissingFragment { name: "persona_fr".to_owned() };
    assert_eq!(system(&pack, json!({"region": "fr"})).unwrap_err(), missing);
    let pack = pack_of("{{persona_us}}", &[fragments, uses(false)]);
    assert_eq!(system(&pack, json!({"region": "fr"})).unwrap(), "Be brief.");
}

#[test]
fn promptkit_175_fragments_are_put_in_with_their_variables() {
    let fragments = json!({"greeting": "Hello {{name}}, {{fragments.wish}}", "wish": "good {{time}}"});
    let pack = pack_of("{{fragments.greeting}}! {{wish}}", &[("/fragments", fragments)]);
    let values = json!({"name": "Ada", "time": "day", "wish": "not this"});
    assert_eq!(system(&pack, values).unwrap(), "Hello Ada, good day! good day");
    let unknown = with(&[("/prompts/chat", prompt("{{fragments.gone}}"))]);
    assert_eq!(errors(&unknown), ["unknown-fragment"]);
    let circle = with(&[("/fragments", json!({"a": "{{fragments.b}}", "b": "{{a}}"}))]);
    assert_eq!(errors(&circle), ["fragment-cycle"]);
}

#[test]
fn fragments_that_grow_without_end_are_refused() {
    let fragments: Map<String, Value> = (0..30)
        .map(|level| {
            (format!("f{level}"), json!(format!("{0}{0}{0}{0}", format!("{{{{fragments.f{}}}}}", level + 1))))
        })
        .chain([("f30".to_owned(), json!("x"))])
        .collect();
    assert!(errors(&with(&[("/fragments", fragments.into())])).contains(&"fragment-too-long"));
}

#[test]
fn fragments_that_are_deep_in_each_other_are_no_circle() {
    let chain = |length: usize| {
        let inner = |level: usize| format!("{{{{fragments.f{level:03}}}}}");
        let fragments = (0..length).map(|level| (format!("f{level:03}"), json!(inner(level + 1))));
        let fragments: Map<String, Value> =
            fragments.chain([(format!("f{length:03}"), json!("x"))]).collect();
        errors(&with(&[("/fragments", fragments.into())]))
    };
    assert_eq!(chain(31), [""; 0]);
    assert_eq!(chain(34), ["fragment-too-deep"]);
}

#[test]
fn promptkit_176_only_the_pack_is_a_template() {
    // A user's text is a value like any other: it is put in as it is.
    let pack = pack_of("Asked: {{question}}", &[]);
    let values = json!({"question": "What is {{secret}}?", "secret": "s3cret"});
    assert_eq!(system(&pack, values).unwrap(), "Asked: What is {{secret}}?");
}

#[test]
fn promptkit_084_artifacts_that_are_not_filled_are_empty() {
    let pack = pack_of("[{{artifacts.sha}}][{{workflow_context}}]", &[]);
    let chat = pack.prompt("chat").unwrap();
    let none = bound(&pack, json!({}));
    assert_eq!(chat.system("m", &none, &Moment::default()).unwrap(), "[][]");
    let mut moment = Moment { workflow_context: "brief".to_owned(), ..Moment::default() };
    moment.artifacts.insert("sha".to_owned(), "{{x}}".to_owned());
    assert_eq!(chat.system("m", &none, &moment).unwrap(), "[{{x}}][brief]");
}

fn evals(value: Value) -> Vec<Eval> {
    serde_json::from_value(value).expect("evals")
}

#[test]
fn promptkit_179_evals_of_a_prompt_replace_those_of_the_pack() {
    let eval = |id: &str, kind: &str| json!({"id": id, "type": kind, "trigger": "every_turn"});
    let pack = evals(json!([eval("a", "pack"), eval("b", "pack")]));
    let prompt = evals(json!([eval("c", "prompt"), eval("b", "prompt")]));
    let order: Vec<_> = merged(&pack, &prompt).into_iter().map(|eval| (eval.id, eval.kind)).collect();
    let expected =
        [("a", "pack"), ("b", "prompt"), ("c", "prompt")].map(|(id, kind)| (id.to_owned(), kind.to_owned()));
    assert_eq!(order, expected);
}

#[test]
fn promptkit_180_samples_depend_on_session_and_turn_only() {
    let eval = |trigger: &str, percentage: f64| {
        let eval = json!([{"id": "e", "type": "t", "trigger": trigger, "sample_percentage": percentage}]);
        evals(eval).remove(0)
    };
    let turns = eval("sample_turns", 30.0);
    let decided: Vec<bool> = (0..1000).map(|turn| turns.is_due_after_turn("s-1", turn)).collect();
    let again: Vec<bool> = (0..1000).map(|turn| turns.is_due_after_turn("s-1", turn)).collect();
    assert_eq!(decided, again);
    let share = decided.iter().filter(|due| **due).count();
    assert!((200..400).contains(&share), "{share}");
    let sessions = eval("sample_sessions", 50.0);
    assert!((0..100).any(|id| sessions.is_due_at_end(&format!("s{id}"))));
    assert!((0..100).any(|id| !sessions.is_due_at_end(&format!("s{id}"))));
    assert!(!sessions.is_due_after_turn("s-1", 0) && !turns.is_due_at_end("s-1"));
    assert!(
        eval("sample_turns", 100.0).is_due_after_turn("s", 7)
            && !eval("sample_turns", 0.0).is_due_after_turn("s", 7)
    );
    // FNV-1a of "a0" is 0x89be207b544f1e4 mod 2^64; kept so that samples are those of the original.
    let of_a0 = "a0".bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    #[allow(clippy::cast_precision_loss)]
    let exact = (of_a0 % 10_000) as f64 / 100.0;
    assert!(
        !eval("sample_sessions", exact).is_due_at_end("a")
            && eval("sample_sessions", exact + 0.01).is_due_at_end("a")
    );
}

#[test]
fn evals_are_checked() {
    let eval = |extra: Value| {
        let mut eval = json!({"id": "e", "type": "t", "trigger": "every_turn"});
        eval.as_object_mut().unwrap().extend(object(extra));
        eval
    };
    assert_eq!(errors(&with(&[("/evals", json!([eval(json!({})), eval(json!({}))]))])), ["duplicate-name"]);
    for (extra, code) in [
        (json!({"trigger": "every_trun"}), "bad-value"),
        (json!({"sample_percentage": 101}), "wrong-type"),
        (json!({"metric": {"name": "1x", "type": "gauge"}}), "bad-value"),
        (json!({"metric": {"name": "x", "type": "dial"}}), "bad-value"),
        (json!({"metric": {"name": "x", "type": "gauge", "range": {"min": 2, "max": 1}}}), "bad-value"),
        (json!({"metric": {"name": "x", "type": "gauge", "labels": {"__a": "b"}}}), "bad-value"),
    ] {
        assert_eq!(errors(&with(&[("/evals", json!([eval(extra.clone())]))])), [code], "{extra}");
    }
}

#[test]
fn promptkit_181_unknown_validators_are_mistakes_and_useless_ones_are_left_out() {
    let validators = |list: Value| with(&[("/prompts/chat/validators", list)]);
    let unknown = validators(json!([{"type": "max_lenght", "enabled": true, "params": {"max": 3}}]));
    assert_eq!(errors(&unknown), ["unknown-validator"]);
    assert!(read(&unknown.to_string()).0.is_none());
    let useless = validators(
        json!([{"type": "length", "enabled": true}, {"type": "max_length", "enabled": true, "params": {"max_characters": 4}}]),
    );
    assert_eq!(warnings(&useless), ["bad-validator"]);
    let pack = valid(&useless);
    let kinds: Vec<_> = pack.prompt("chat").unwrap().validators.iter().map(|rule| rule.kind()).collect();
    assert_eq!(kinds, ["max_length"]);
}

#[test]
fn settings_that_make_no_sense_are_not_taken_for_others() {
    let cases = [
        (
            "regex",
            json!({"pattern": "x", "expect_match": "no"}),
            "`expect_match` is \"no\"; write true or false",
        ),
        ("regex", json!({"pattern": "x", "expect_match": 0}), "true or false"),
        ("banned_words", json!({"words": []}), "none of them empty"),
        ("banned_words", json!({"words": ["bad", ""]}), "none of them empty"),
        ("required_fields", json!({"fields": [""]}), "none of them empty"),
        ("json_valid", json!({"message": 5}), "`message` is 5; write a text"),
        ("json_valid", json!({"direction": 5}), "write a text"),
        ("json_valid", json!({"min_score": "1"}), "a number from 0 to 1"),
        ("json_valid", json!({"min_score": 0.8, "max_score": 0.2}), "`min_score` is above `max_score`"),
        ("length", json!({"min": 5, "max": 2}), "at least 5 and at most 2"),
        ("length", json!({"min": "5", "max": 9}), "`min` is \"5\"; write a whole number from 0 on"),
        ("json_schema", json!({"schema": false}), "something fits"),
    ];
    for (kind, params, why) in cases {
        let list = json!([{"type": kind, "enabled": true, "params": params}]);
        let pack = with(&[("/prompts/chat/validators", list)]);
        assert_eq!(warnings(&pack), ["bad-validator"], "{kind} {params}");
        let found = findings(&pack);
        assert!(found[0].message.contains(why), "{}", found[0].message);
        let prompt = valid(&pack);
        let holds = |rule: &&Validator| rule.makes_sense();
        assert_eq!(prompt.prompt("chat").unwrap().validators.iter().filter(holds).count(), 0);
    }
}

#[test]
fn promptkit_182_a_validator_holds_unless_it_is_disabled() {
    let list = json!([{"type": "json_valid"}, {"type": "json_valid", "enabled": true}, {"type": "json_valid", "enabled": false}]);
    let pack = valid(&with(&[("/prompts/chat/validators", list)]));
    assert_eq!(pack.prompt("chat").unwrap().validators.len(), 2);
}

#[test]
fn validators_judge_texts() {
    let judge = |validator: Value, text: &str| {
        let pack = valid(&with(&[("/prompts/chat/validators", json!([validator]))]));
        pack.prompt("chat").unwrap().validators[0].instead_of(text)
    };
    let refused = |validator: Value, text: &str| judge(validator, text).is_some();
    let banned =
        json!({"type": "banned_words", "params": {"words": ["can't help", "no"], "message": "Sorry."}});
    assert_eq!(judge(banned.clone(), "I CAN'T HELP you"), Some("Sorry.".to_owned()));
    assert_eq!(judge(banned, "I know"), None);
    let long = json!({"type": "max_length", "params": {"max_characters": 3}});
    assert_eq!(judge(long, "häuser"), Some("häu".to_owned()));
    let failing = json!({"type": "max_length", "fail_on_violation": true, "params": {"max": 1}});
    assert!(judge(failing, "ab").unwrap().ends_with("(max_length)"));
    let contains =
        |least: Value| json!({"type": "contains", "params": {"patterns": ["a", "b"], "min_score": least}});
    assert!(!refused(contains(json!(0.5)), "a c") && refused(contains(json!(0.6)), "a c"));
    let pattern = json!({"type": "regex", "params": {"pattern": "secret", "expect_match": false}});
    assert!(refused(pattern.clone(), "the secret") && !refused(pattern, "nothing"));
    let sentences = json!({"type": "max_sentences", "params": {"max": 2}});
    assert!(refused(sentences.clone(), "A. B! C?") && !refused(sentences, "A... B."));
    let fields = json!({"type": "required_fields", "params": {"fields": ["a"]}});
    assert!(refused(fields.clone(), "{\"b\": 1}") && !refused(fields, "{\"a\": 1}"));
    let schema = json!({"type": "json_schema", "params": {"schema": {"type": "object", "required": ["a"]}}});
    assert!(refused(schema.clone(), "{}") && refused(schema.clone(), "no") && !refused(schema, "{\"a\": 1}"));
    let personal = json!({"type": "pii_detection"});
    for text in [
        "write to ada@example.org",
        "call 555-123-4567",
        "4111 1111 1111 1111",
        "078-05-1120",
        "+44 20 7946 0958",
    ] {
        assert!(refused(personal.clone(), text), "{text}");
    }
    for text in ["order 12345 of 2026-11-18", "room 101", "a @ b", "total 1,234.56"] {
        assert!(!refused(personal.clone(), text), "{text}");
    }
}

#[test]
fn promptkit_183_what_holds_for_a_model_changes_the_prompt() {
    let overrides = json!({
        "gpt": {"system_template_prefix": "P {{v}} ", "system_template_suffix": " S", "parameters": {"top_p": 0.5}},
        "other": {"system_template_prefix": "P ", "system_template": "instead", "parameters": {"temperature": 1}},
    });
    let parameters = ("/prompts/chat/parameters", json!({"temperature": 0.2, "max_tokens": 5}));
    let pack = pack_of("main", &[("/prompts/chat/model_overrides", overrides), parameters]);
    let chat = pack.prompt("chat").unwrap();
    let values = bound(&pack, json!({"v": "x"}));
    let system = |model: &str| chat.system(model, &values, &Moment::default()).unwrap();
    assert_eq!(system("gpt"), "P x main S");
    assert_eq!(system("openai/gpt"), "P x main S");
    assert_eq!(system("other"), "P instead");
    assert_eq!(system("third"), "main");
    let of = |model: &str| {
        let parameters = chat.parameters(model);
        (parameters.temperature, parameters.max_tokens, parameters.top_p)
    };
    assert_eq!(of("gpt"), (Some(0.2), Some(5), Some(0.5)));
    assert_eq!(of("other"), (Some(1.0), Some(5), None));
}

#[test]
fn a_prompt_has_the_tools_it_names_that_are_there_and_not_blocked() {
    let more = [
        ("/prompts/chat/tools", json!(["look_up", "mcp__files__*", "gone"])),
        ("/prompts/chat/tool_policy", json!({"blocklist": ["mcp__files__rm"]})),
        ("/tools", json!({"look_up": {"name": "look_up", "description": "Looks"}})),
    ];
    let pack = pack_of("x", &more);
    let available = ["mcp__files__rm", "mcp__files__ls", "look_up", "bash"];
    assert_eq!(pack.allowed_tools("chat", available), ["look_up", "mcp__files__ls"]);
    let mut changes = vec![("/prompts/chat", prompt("x"))];
    changes.extend(more);
    assert_eq!(warnings(&with(&changes)), ["unknown-tool"]);
    changes.push(("/prompts/chat/tool_policy/tool_choice", json!("none")));
    assert_eq!(valid(&with(&changes)).allowed_tools("chat", available), [""; 0]);
}

#[test]
fn promptkit_208_agents_present_themselves() {
    let members = json!({"chat": {"tags": ["t"], "description": "Own words"}, "second": {"output_modes": ["application/json"]}});
    let mut second = prompt("Hi");
    second["name"] = json!("Second");
    second["description"] = json!("The prompt's words");
    let pack = valid(&with(&[
        ("/prompts/second", second),
        ("/agents", json!({"entry": "chat", "members": members})),
    ]));
    let cards = pack.agent_cards();
    let (first, second) = (&cards["chat"], &cards["second"]);
    assert_eq!(
        (first.name.as_str(), first.description.as_str(), first.version.as_str()),
        ("Chat", "Own words", "1.0.0")
    );
    assert_eq!(
        (&first.default_input_modes, &first.skills[0].tags),
        (&vec!["text/plain".to_owned()], &vec!["t".to_owned()])
    );
    assert_eq!((second.name.as_str(), second.description.as_str()), ("Second", "The prompt's words"));
    assert_eq!(second.skills[0].output_modes, ["application/json"]);
    let json = serde_json::to_value(second).unwrap();
    assert_eq!(json["defaultInputModes"], json!(["text/plain"]));
}

#[test]
fn promptkit_210_212_agents_name_prompts_and_states_that_there_are() {
    let agents = |entry: &str, members: Value| ("/agents", json!({"entry": entry, "members": members}));
    assert_eq!(errors(&with(&[agents("chta", json!({"chat": {}}))])), ["unknown-entry"]);
    assert_eq!(errors(&with(&[agents("gone", json!({"gone": {}}))])), ["unknown-prompt"]);
    assert_eq!(errors(&with(&[agents("chat", json!({}))])), ["unknown-entry", "too-few"]);
    assert_eq!(errors(&with(&[agents("chat", json!({"chat": {"state": "s"}}))])), ["no-workflow"]);
    let workflow =
        ("/workflow", json!({"version": 1, "entry": "s", "states": {"s": {"prompt_task": "chat"}}}));
    valid(&with(&[agents("chat", json!({"chat": {"state": "s"}})), workflow.clone()]));
    assert_eq!(
        errors(&with(&[agents("chat", json!({"chat": {"state": "t"}})), workflow])),
        ["unknown-state"]
    );
    assert_eq!(
        warnings(&with(&[agents("chat", json!({"chat": {"input_modes": ["text"]}}))])),
        ["bad-media-type"]
    );
}

#[test]
fn places_that_would_stay_empty_are_named_before_anything_is_written() {
    let variables = json!([
        {"name": "user", "type": "object", "required": true},
        {"name": "code", "type": "string", "required": true, "validation": {"pattern": "^[A-Z]+$"}}]);
    let template = "{{user.name}} {{ mood }} {{code}} {{plan}}";
    let pack = pack_of(template, &[("/prompts/chat/variables", variables)]);
    let wrong = |values: Value| {
        let wrong = pack.check_values(&object(values), "").err().unwrap_or_default();
        wrong.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let nothing = "has no value, so the prompt cannot be written";
    let spaces = format!("`{{{{ mood }}}}` {nothing}");
    assert_eq!(
        wrong(json!({"user": {}, "code": "a"})),
        [
            "`code` does not match `^[A-Z]+$`".to_owned(),
            "`plan` must be given".to_owned(),
            format!("`{{{{user.name}}}}` {nothing}"),
            spaces.clone(),
        ]
    );
    assert_eq!(wrong(json!({"user": {"name": "Ada"}, "code": "A", "plan": "b"})), [spaces]);
}

#[test]
fn a_regular_expression_that_is_none_is_explained_in_one_line() {
    let validators = json!([{"type": "regex", "enabled": true, "params": {"pattern": "("}}]);
    let found = findings(&with(&[("/prompts/chat/validators", validators)]));
    assert_eq!(found[0].message, "`pattern` is not a regular expression: unclosed group");
}

/// A pack whose workflow has two prompts, with these variables.
fn two_prompts(first: Value, second: Value) -> Value {
    let states = json!({"a": {"prompt_task": "chat", "on_event": {"Go": "b"}},
                        "b": {"prompt_task": "other", "terminal": true}});
    with(&[
        ("/prompts/chat", prompt("{{who}}")),
        ("/prompts/chat/variables", first),
        ("/prompts/other", prompt("{{who}}")),
        ("/prompts/other/variables", second),
        ("/workflow", json!({"version": 1, "entry": "a", "states": states})),
    ])
}

fn who(ty: &str, more: Value) -> Value {
    let mut variable = json!({"name": "who", "type": ty, "required": false});
    variable.as_object_mut().expect("an object").extend(object(more));
    json!([variable])
}

#[test]
fn what_one_prompt_must_be_given_must_be_given_whatever_others_say() {
    let input = |first: Value, second: Value| {
        let pack = valid(&two_prompts(first, second));
        json!(pack.inputs())
    };
    let required = |ty: &str| json!([{"name": "who", "type": ty, "required": true}]);
    let with_default = |ty: &str| who(ty, json!({"default": "dflt"}));
    assert_eq!(input(with_default("string"), json!([])), required("string"));
    assert_eq!(input(json!([]), with_default("string")), required("string"));
    assert_eq!(input(with_default("string"), required("string")), required("string"));
    // A type is that of those who declare one, and of all of them.
    assert_eq!(input(json!([]), required("boolean")), required("boolean"));
    assert_eq!(input(required("number"), required("integer")), required("integer"));
    let optional =
        |default: Value| json!([{"name": "who", "type": "string", "required": false, "default": default}]);
    assert_eq!(input(who("string", json!({})), with_default("string")), optional(json!("dflt")));
    // A run checks the same.
    let pack = valid(&two_prompts(with_default("string"), json!([])));
    let wrong = pack.check_values(&Map::new(), "").err().unwrap_or_default();
    assert_eq!(wrong.iter().map(ToString::to_string).collect::<Vec<_>>(), ["`who` must be given"]);
}

#[test]
fn types_and_defaults_of_a_variable_that_contradict_each_other_are_told_with_both_places() {
    let pack = two_prompts(who("number", json!({})), who("string", json!({})));
    assert_eq!(errors(&pack), ["conflicting-types"]);
    let found = findings(&pack);
    let found = found.iter().find(|finding| finding.code == "conflicting-types").expect("it is found");
    assert_eq!(found.path, "/prompts/other/variables/0/type");
    assert!(
        found.message.contains("string here and of type number at /prompts/chat/variables/0"),
        "{}",
        found.message
    );
    let defaults =
        two_prompts(who("string", json!({"default": "a"})), who("string", json!({"default": "b"})));
    assert_eq!(warnings(&defaults), ["conflicting-defaults"]);
    assert!(warnings(&two_prompts(who("number", json!({})), who("integer", json!({})))).is_empty());
    // Where only one of them is talked with, each has what it wants.
    let mut either = pack;
    either.as_object_mut().expect("an object").remove("workflow");
    assert_eq!(json!(valid(&either).inputs())[0]["type"], "string");
}
