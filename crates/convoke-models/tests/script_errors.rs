//! Tests of errors about scripts.

use convoke_models::ScriptedModel;

fn complaint(toml: &str) -> String {
    ScriptedModel::from_toml_str(toml).unwrap_err().to_string()
}

#[test]
fn unknown_keys_are_errors_with_a_hint() {
    let cases = [
        ("nam = 'x'\n[[rule]]\nreply = 'x'", "the script: unknown key `nam`; did you mean `name`?"),
        ("[[rules]]\nreply = 'x'", "the script: unknown key `rules`; did you mean `rule`?"),
        (
            "[[rule]]\nreply = 'x'\nwhen.call = 1\n[[rule]]\nreply = 'y'\nwhen.last_contians = 'z'",
            "the script, rule 2: unknown key `when.last_contians`; did you mean `when.last_contains`?",
        ),
        (
            "[[rule]]\nreply = ['x', { text = 'y', dealy = '1s' }]",
            "the script, rule 1, reply 2: unknown key `dealy`; did you mean `delay`?",
        ),
        (
            "[[rule]]\ntool_calls = [{ nmae = 'y' }]",
            "the script, rule 1: unknown key `tool_calls.1.nmae`; did you mean `tool_calls.1.name`?",
        ),
        (
            "[[rule]]\nreply = { error = { code = 429 } }",
            "the script, rule 1: unknown key `reply.error.code`; known keys are `reply.error.status`, \
             `reply.error.kind`, `reply.error.message`, `reply.error.retry_after`",
        ),
    ];
    for (script, expected) in cases {
        assert_eq!(complaint(script), expected);
    }
}

#[test]
fn wrong_values_say_what_to_write() {
    let cases = [
        ("[[rule]]\nreply = 3", "rule 1: `reply` is 3; write a text in quotes or a table"),
        ("[[rule]]\nreply = ['x', 3]", "rule 1, reply 2: `reply` is 3; write a text in quotes or a table"),
        ("rule = [3]", "rule 1: `rule` is 3; write a table"),
        (
            "[[rule]]\nreply = 'x'\ndelay = 2",
            "rule 1: `delay` is 2; write a time in quotes, such as \"250ms\"",
        ),
        (
            "[[rule]]\nreply = 'x'\ndelay = '5x'",
            "rule 1: `delay`: invalid duration `5x`: write `30s`, `5m`, `1h30m`",
        ),
        ("[[rule]]\nreply = 'x'\nwhen.call = 0", "rule 1: `when.call` is 0; write a whole number, 1 or more"),
        (
            "[[rule]]\nreply = 'x'\nonce = false",
            "rule 1: `once` is false; write `true`, or leave the key out",
        ),
        ("[[rule]]\nreply = 'x'\nfinish = 'end'", "rule 1: `finish` is \"end\"; write \"stop\""),
        ("[[rule]]\nreply = 'x'\nchunks = 0", "rule 1: `chunks` is 0; write \"words\""),
        (
            "[[rule]]\nerror = { kind = 'bad' }",
            "rule 1: `error.kind` is \"bad\"; write one of \"authentication\"",
        ),
        ("[[rule]]\nerror = { status = 9 }", "rule 1: `error.status` is 9; write an HTTP status"),
        ("[[rule]]\nerror = {}", "rule 1: `error.status` is missing"),
        ("[[rule]]\nreply = 'x'\nfail_after = 1", "rule 1: `error` is missing"),
        ("[[rule]]\ntool_calls = [{ arguments = {} }]", "rule 1: `tool_calls.1.name` is missing"),
        (
            "[[rule]]\ntool_calls = [{ name = 'x', arguments = 3 }]",
            "`tool_calls.1.arguments` is 3; write a table",
        ),
        ("price = { input = -1, output = 1 }\n[[rule]]\nreply = 'x'", "`price.input` is -1; write dollars"),
        ("price = { input = 1 }\n[[rule]]\nreply = 'x'", "`price.output` is missing; write dollars"),
    ];
    for (script, expected) in cases {
        let said = complaint(script);
        assert!(said.contains(expected), "{said}\nshould contain\n{expected}");
    }
}

#[test]
fn what_cannot_take_effect_is_an_error() {
    let cases = [
        ("", "the script has no rules; add a `[[rule]]`"),
        ("[[rule]]\nwhen.call = 1", "rule 1 says nothing; give it `reply`"),
        ("[[rule]]\nreply = []", "rule 1 says nothing"),
        ("[[rule]]\nreply = 'x'\njson = {}", "`reply` and `json` exclude each other"),
        ("[[rule]]\nreply = { text = 'x', json = {} }", "`text` and `json` exclude each other"),
        ("[[rule]]\nreply = 'x'\nonce = true\ntimes = 2", "`once` and `times` exclude each other"),
        ("[[rule]]\nhangs = true\ncut_after = 1", "`cut_after` and `hangs` exclude each other"),
        ("[[rule]]\nreply = 'x'\nerror = { status = 500 }", "`reply` and `error` exclude each other"),
        (
            "[[rule]]\nreply = 'x'\n[[rule]]\nwhen.call = 1\nreply = 'y'",
            "rule 2 can never answer: rule 1 before it has neither `when` nor a limit; move rule 1 to the end",
        ),
    ];
    for (script, expected) in cases {
        let said = complaint(script);
        assert!(said.contains(expected), "{said}\nshould contain\n{expected}");
    }
}

#[test]
fn a_file_is_named_in_every_error_about_it() {
    let folder = tempfile::tempdir().unwrap();
    let complaint = |name: &str, content: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, content).unwrap();
        let said = ScriptedModel::from_file(&file).unwrap_err().to_string();
        assert!(said.contains(&format!("script `{}`", file.display())), "{said}");
        said
    };
    assert!(complaint("a.toml", "[[rule]]\nreplyy = 'x'").contains("rule 1: unknown key"));
    assert!(complaint("b.toml", "[[rule]").contains("is not valid TOML: TOML parse error at line 1"));
    assert!(complaint("c.json", "{\"rule\": [").contains("is not valid JSON: EOF while parsing"));
    assert!(complaint("d.json", "[]").contains("`document` is a list; write a table"));
    assert!(complaint("e.yaml", "rule: []").contains("Let it end in `.toml` or `.json`"));

    let missing = ScriptedModel::from_file(folder.path().join("none.toml")).unwrap_err().to_string();
    assert!(missing.contains("none.toml") && missing.contains("Check the path"), "{missing}");
}
