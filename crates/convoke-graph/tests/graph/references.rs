//! Cases 101 to 114: references in configurations.

use serde_json::{Value, json};

use super::{Home, graph};

/// What a configured value comes to, with these variables.
async fn resolved(value: Value, vars: Value) -> Result<Value, String> {
    let nodes = json!([{"id": "set", "type": "assigner", "config": {"assignments": [{"target": "out", "value": value}]}}]);
    let outcome = Home::new().run(graph(nodes, &[]), vars).await;
    let board = outcome.completed().map_err(|error| error.to_string())?;
    Ok(board.get("out").cloned().unwrap())
}

#[tokio::test]
async fn flowcraft_101_102_103_104_107_references_are_resolved_everywhere() {
    let vars = json!({"context": {"user": {"name": "Ada"}}, "t": 0.3, "n": 2048, "yes": true, "list": [1, "a"], "o": {"k": [{"x": 7}]}});
    for (value, expected) in [
        (json!("Hello ${board.context.user.name}"), json!("Hello Ada")),
        (json!("${board.t} and ${board.n}"), json!("0.3 and 2048")),
        (json!("plain"), json!("plain")),
        (json!(5), json!(5)),
        (json!(true), json!(true)),
        (json!("${board.t}"), json!(0.3)),
        (json!("${ board.n }"), json!(2048)),
        (json!("${board.yes}"), json!(true)),
        (json!("temp is ${board.t}"), json!("temp is 0.3")),
        (json!("list: ${board.list}"), json!("list: [1,\"a\"]")),
        (json!({"a": [{"b": "${board.n}"}]}), json!({"a": [{"b": 2048}]})),
        (json!("${board.o.k.0.x}"), json!(7)),
    ] {
        assert_eq!(resolved(value.clone(), vars.clone()).await.unwrap(), expected, "{value}");
    }
}

#[tokio::test]
async fn flowcraft_105_what_is_not_there_is_an_error_that_says_where() {
    let error = resolved(json!("Hello ${board.who}"), json!({})).await.unwrap_err();
    for part in ["`set`", "${board.who}", "/assignments/0/value"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(resolved(json!("${board.a.b}"), json!({"a": 1})).await.is_err());
    let error = resolved(json!("${board.a.b}"), json!({"a": {"b": null}})).await.unwrap_err();
    assert!(error.contains("`a.b` is null; write `${board.a.b:null}`"), "{error}");
    assert_eq!(resolved(json!("${board.a:null}"), json!({"a": null})).await.unwrap(), Value::Null);
}

#[test]
fn flowcraft_105_an_unknown_scope_is_an_error_also_with_a_default() {
    for text in ["${boord.x}", "${boord.x:1}"] {
        let nodes = json!([{"id": "t", "type": "template", "config": {"template": text}}]);
        let error = Home::new().compiled(graph(nodes, &[])).unwrap_err();
        let finding = &error.findings[0];
        assert_eq!(
            (finding.code, finding.path.as_str()),
            ("unknown-variable-scope", "/nodes/0/config/template")
        );
        assert!(finding.message.contains("boord"), "{}", finding.message);
    }
}

#[tokio::test]
async fn flowcraft_106_defaults_and_escapes() {
    for (value, expected) in [
        (json!("${board.limit:3}"), json!(3)),
        (json!("${board.who:anon}"), json!("anon")),
        (json!("Hi ${board.who:anon}!"), json!("Hi anon!")),
        (json!("${board.at:10:30}"), json!("10:30")),
        (json!("${board.none:}"), json!("")),
        (json!("\\${board.x}"), json!("${board.x}")),
        (json!("a \\${board.x} ${board.y}"), json!("a ${board.x} 1")),
    ] {
        assert_eq!(resolved(value.clone(), json!({"y": 1})).await.unwrap(), expected, "{value}");
    }
    for wrong in [json!({"${board.k}": 1}), json!("${board.${board.x}}"), json!("${board.x")] {
        let nodes = json!([{"id": "set", "type": "assigner", "config": {"assignments": [{"target": "out", "value": wrong}]}}]);
        let error = Home::new().compiled(graph(nodes, &[])).unwrap_err();
        assert_eq!(error.findings[0].code, "invalid-variable-ref", "{error}");
    }
}

#[tokio::test]
async fn a_value_is_never_read_as_a_reference_again() {
    let vars = json!({"x": "${board.secret} {{.secret}}", "secret": "s"});
    assert_eq!(resolved(json!("<${board.x}>"), vars).await.unwrap(), json!("<${board.secret} {{.secret}}>"));
}

#[tokio::test]
async fn flowcraft_109_every_call_resolves_anew() {
    let nodes = json!([
        {"id": "count", "type": "loopguard", "config": {"max_count": 3}},
        {"id": "keep", "type": "assigner", "config": {"assignments": [{"target": "seen_${board.loop_count}", "value": "${board.loop_count}"}]}},
    ]);
    let looping = graph(nodes, &[("count", "keep"), ("keep", "count if not loop_count_exceeded")]);
    let home = Home::new();
    let compiled = home.compiled(looping.clone()).unwrap();
    let before = compiled.definition().clone();
    let board = home.done(looping, json!({})).await;
    assert_eq!((board.get("seen_1"), board.get("seen_3")), (Some(&json!(1)), Some(&json!(3))));
    assert_eq!(compiled.definition(), &before);
}

#[tokio::test]
async fn flowcraft_110_111_texts_become_numbers_where_numbers_are_wanted() {
    let guard = json!([{"id": "g", "type": "loopguard", "config": {"max_count": "${board.limit}"}}]);
    let board = Home::new().done(graph(guard.clone(), &[]), json!({"limit": "1"})).await;
    assert_eq!(board.get("loop_count_exceeded"), Some(&json!(true)));
    let error = Home::new().failed(graph(guard, &[]), json!({"limit": "abc"})).await;
    assert!(error.contains("`g`") && error.contains("abc"), "{error}");
    let home = Home::new();
    let asks = json!([{"id": "llm", "type": "llm", "config": {"temperature": "${board.t}"}}]);
    home.done(graph(asks, &[]), json!({"query": "hi", "t": "0.7"})).await;
    assert_eq!(home.model.last_request().unwrap().params.temperature, Some(0.7));
}

#[tokio::test]
async fn flowcraft_112_what_is_no_reference_is_refused_when_it_is_compiled() {
    for text in ["${}", "${ }", "${a}", "${.a}", "${board.}", "${board}"] {
        let nodes = json!([{"id": "t", "type": "template", "config": {"template": text}}]);
        let error = Home::new().compiled(graph(nodes, &[])).unwrap_err();
        assert_eq!(error.findings[0].code, "invalid-variable-ref", "{text}: {error}");
    }
    let nodes = json!([{"id": "t", "type": "template", "config": {"template": "${a.b}"}}]);
    let error = Home::new().compiled(graph(nodes, &[])).unwrap_err();
    assert_eq!(error.findings[0].code, "unknown-variable-scope", "it is one, of another scope: {error}");
}

#[tokio::test]
async fn flowcraft_113_large_numbers_stay_what_they_are() {
    let value = json!({"big": 9_007_199_254_740_993_i64, "max": u64::MAX, "ref": "${board.x}"});
    let got = resolved(value, json!({"x": i64::MAX})).await.unwrap();
    assert_eq!(got, json!({"big": 9_007_199_254_740_993_i64, "max": u64::MAX, "ref": i64::MAX}));
}

#[test]
fn flowcraft_114_inputs_are_checked_against_what_they_may_be() {
    let begin = |input: Value, value: Value| {
        let mut made = graph(json!([super::passes("a")]), &[]);
        made["inputs"] = json!([input]);
        let compiled = Home::new().compiled(made).unwrap();
        compiled.begin(json!({"v": value}).as_object().unwrap().clone()).map(|board| board.get("v").cloned())
    };
    for (kind, fits, does_not) in [
        ("string", json!("a"), json!(1)),
        ("number", json!(1.5), json!("1")),
        ("integer", json!(3.0), json!(3.5)),
        ("boolean", json!(true), json!("true")),
        ("array", json!([1]), json!({})),
        ("object", json!({"a": 1}), json!([])),
        ("file", json!({"uri": "a"}), json!(1)),
    ] {
        assert!(begin(json!({"name": "v", "type": kind}), fits.clone()).is_ok(), "{kind} {fits}");
        let refused = begin(json!({"name": "v", "type": kind}), does_not.clone()).unwrap_err();
        assert!(refused.to_string().contains("`v`"), "{kind} {does_not}: {refused}");
    }
    assert!(
        begin(json!({"name": "v", "type": "file"}), json!("notes.txt")).is_ok(),
        "a file is named or given"
    );
    assert!(begin(json!({"name": "v", "type": "any"}), json!([1])).is_ok());
    let mut unknown = graph(json!([super::passes("a")]), &[]);
    unknown["inputs"] = json!([{"name": "v", "type": "strng"}]);
    let (_, findings) = convoke_graph::read(&unknown.to_string(), &convoke_graph::NodeTypes::standard());
    assert_eq!((findings[0].code, findings[0].path.as_str()), ("wrong-value", "/inputs/0/type"));
    assert!(begin(json!({"name": "v"}), Value::Null).is_err(), "it is required");
    assert_eq!(begin(json!({"name": "v", "required": false}), Value::Null).unwrap(), None);
    assert_eq!(
        begin(json!({"name": "v", "default": 7, "type": "any"}), Value::Null).unwrap(),
        Some(json!(7))
    );
    assert!(begin(json!({"name": "v", "max_length": 3}), json!("äöü")).is_ok());
    assert!(begin(json!({"name": "v", "max_length": 3}), json!("four")).is_err());
    assert!(begin(json!({"name": "v", "enum": ["a", "b"]}), json!("c")).is_err());
    assert!(begin(json!({"name": "v", "enum": ["a", "b"]}), json!("b")).is_ok());
    let numbers = json!({"name": "v", "type": "any", "enum": [1, 2]});
    assert!(begin(numbers.clone(), json!(2)).is_ok());
    assert!(begin(numbers, json!("2")).is_err(), "what is printed alike is not the same");
    assert!(begin(json!({"name": "v", "type": "array", "item_type": "integer"}), json!([1, "a"])).is_err());
    let nested = json!({"name": "v", "type": "object", "properties": [{"name": "a", "type": "integer"}]});
    assert!(begin(nested.clone(), json!({"a": 1})).is_ok());
    assert!(begin(nested, json!({})).is_err(), "what is required within is not lost");
}

#[tokio::test]
async fn what_is_made_of_copies_ends_before_memory_does() {
    let vars = json!({"v": "x".repeat(1 << 20)});
    let many = |piece: &str| piece.repeat(70);
    let assigned = |assignment: Value| ("assigner", json!({"assignments": [assignment]}));
    for (kind, config) in [
        assigned(json!({"target": "out", "value": many("${board.v}")})),
        assigned(json!({"target": "out", "value": vec!["${board.v}"; 70]})),
        assigned(json!({"target": "out", "expression": vec!["v"; 70].join("+")})),
        (
            "assigner",
            json!({"assignments": (0..70).map(|n| json!({"target": format!("v{n}"), "source": "v"})).collect::<Vec<_>>()}),
        ),
        ("template", json!({"template": many("{{.v}}")})),
        ("answer", json!({"template": many("{{.v}}")})),
        ("answer", json!({"keys": vec!["v"; 70]})),
        ("aggregator", json!({"input_keys": vec!["v"; 70]})),
    ] {
        let made = graph(json!([{"id": "n", "type": kind, "config": config}]), &[]);
        let error = Home::new().failed(made, vars.clone()).await;
        // An expression makes less all in all than a board holds twice.
        let is_bounded = error.contains("64 MiB") || error.contains("128 MiB of texts");
        assert!(error.contains("`n`") && is_bounded, "{kind}: {error}");
    }
}

#[tokio::test]
async fn what_is_nested_without_end_is_refused() {
    let target = format!("a{}", ".a".repeat(100_000));
    let nodes =
        json!([{"id": "n", "type": "assigner", "config": {"assignments": [{"target": target, "value": 1}]}}]);
    let error = Home::new().failed(graph(nodes, &[]), json!({})).await;
    assert!(error.contains("100 deep") && error.len() < 1000, "{}", error.len());

    let nodes = json!([{"id": "n", "type": "assigner", "config": {"assignments": [{"target": "v", "value": ["${board.v}"]}]}}]);
    let mut endless = graph(nodes, &[("n", "n")]);
    endless["max_nodes"] = json!(1000);
    let error = Home::new().failed(endless, json!({"v": 1})).await;
    assert!(error.contains("100 deep"), "{error}");
}
