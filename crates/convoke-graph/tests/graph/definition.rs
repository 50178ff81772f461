//! Cases 78 to 91: definitions, what is wrong with them, and what looks wrong.

use convoke_graph::{CompiledGraph, NodeTypes, lint, read, schema};
use serde_json::{Value, json};

use super::{Home, graph, passes};

fn codes(graph: Value) -> Vec<&'static str> {
    let (_, findings) = read(&graph.to_string(), &NodeTypes::standard());
    findings.iter().map(|finding| finding.code).collect()
}

fn compiled(graph: Value) -> CompiledGraph {
    Home::new().compiled(graph).unwrap()
}

#[test]
fn flowcraft_078_120_what_is_wrong_is_said_all_at_once() {
    for (wrong, code) in [
        (json!({"name": "", "entry": "a", "nodes": [passes("a")]}), "missing-name"),
        (json!({"name": "g", "entry": "", "nodes": [passes("a")]}), "missing-entry"),
        (json!({"name": "g", "entry": "a", "nodes": []}), "no-nodes"),
        (json!({"name": "g", "entry": "a", "nodes": [passes("a"), passes("")]}), "missing-id"),
        (json!({"name": "g", "entry": "a", "nodes": [passes("a"), passes("a")]}), "duplicate-id"),
        (json!({"name": "g", "entry": "b", "nodes": [passes("a")]}), "unknown-entry"),
        (
            json!({"name": "g", "entry": "a", "nodes": [passes("a")], "edges": [{"from": "x", "to": "a"}]}),
            "unknown-node",
        ),
        (
            json!({"name": "g", "entry": "a", "nodes": [passes("a")], "edges": [{"from": "a", "to": "x"}]}),
            "unknown-node",
        ),
        (json!({"name": "g", "entry": "a", "nodes": [passes("a"), passes("__end__")]}), "reserved-id"),
        (json!({"entry": "a", "nodes": [passes("a")]}), "missing-field"),
    ] {
        assert!(codes(wrong.clone()).contains(&code), "{code}: {wrong} has {:?}", codes(wrong.clone()));
    }
    let many = json!({"name": "g", "entry": "b", "nodes": [passes("a"), {"id": "c", "type": "nosuch"}],
        "edges": [{"from": "a", "to": "x", "condition": "1 +"}]});
    assert_eq!(
        codes(many),
        ["invalid-condition", "unknown-node", "unknown-entry", "unknown-type"],
        "in the order of the text"
    );
    let misspelt = graph(json!([passes("a")]), &[("a", "__ned__")]);
    let (_, findings) = read(&misspelt.to_string(), &NodeTypes::standard());
    let help = findings.iter().find(|one| one.code == "unknown-node").unwrap().help.as_deref();
    assert_eq!(help, Some("did you mean `__end__`?"));
}

#[test]
fn a_reference_stands_in_the_configuration_of_nodes_and_nowhere_else() {
    for field in ["max_nodes", "max_branches", "merge", "graphs", "inputs", "edges"] {
        let mut wrong = graph(json!([passes("a")]), &[]);
        wrong[field] = json!("${board.x}");
        let (_, findings) = read(&wrong.to_string(), &NodeTypes::standard());
        assert_eq!((findings[0].code, findings[0].path.clone()), ("wrong-value", format!("/{field}")));
        assert!(findings[0].help.as_deref().unwrap().contains("`config`"), "{findings:?}");
    }
    for field in ["retries", "cancels", "config"] {
        let mut wrong = passes("a");
        wrong[field] = json!("${board.x}");
        assert_eq!(codes(graph(json!([wrong]), &[])), ["wrong-value"], "{field}");
    }
    let mut merged = graph(json!([passes("a")]), &[]);
    merged["merge"] = json!({"x": "${board.x}"});
    assert_eq!(codes(merged), ["wrong-value"]);
}

#[test]
fn a_reference_that_nothing_resolves_is_an_error_of_a_file_that_is_new() {
    let mut made = graph(json!([passes("a")]), &[]);
    made["description"] = json!("about ${board.q}");
    made["inputs"] = json!([{"name": "q", "type": "any", "default": {"to": ["Hello ${board.other}"]}}]);
    made["answer_key"] = json!("${board.k}");
    made["merge"] = json!({"${board.m}": "last", "__usage": "last"});
    made["graphs"] = json!({"g": {"name": "g", "entry": "${board.q}", "nodes": [{"id": "${board.q}", "type": "passthrough"}]}});
    let text = made.to_string();
    let found: Vec<_> = lint(&text).into_iter().map(|finding| (finding.code, finding.path)).collect();
    let mut places: Vec<&str> = found.iter().map(|(_, path)| path.as_str()).collect();
    places.sort_unstable();
    let expected = [
        "/answer_key",
        "/graphs/g/entry",
        "/graphs/g/nodes/0/id",
        "/inputs/0/default/to/0",
        "/merge/${board.m}",
        "/merge/__usage",
    ];
    assert_eq!(places, expected, "{found:?}");
    assert!(read(&text, &NodeTypes::standard()).0.is_some(), "a run that was begun with it goes on");
}

#[test]
fn null_is_a_default_of_what_may_be_anything() {
    let begun = |kind: &str| {
        let mut made = graph(json!([passes("a")]), &[]);
        made["inputs"] = json!([{"name": "q", "type": kind, "default": null}]);
        compiled(made).begin(serde_json::Map::new()).map(|board| board.get("q").cloned())
    };
    assert_eq!(begun("any"), Ok(None));
    assert!(begun("string").unwrap_err().to_string().contains("`q` is missing"));
}

#[test]
fn a_condition_with_a_reference_is_told_to_name_the_variable() {
    let made = graph(json!([passes("a"), passes("b")]), &[("a", "b if ${board.q} == 1")]);
    let (_, findings) = read(&made.to_string(), &NodeTypes::standard());
    assert!(findings[0].help.as_deref().unwrap().contains("`q` instead of `${board.q}`"), "{findings:?}");
}

#[test]
fn what_a_node_reads_as_something_else_than_is_written_is_noticed() {
    let text = json!({"id": "text", "type": "template", "config": {"template": "x", "output_key": "v"}});
    let inner = |kind: &str| json!({"name": "g", "entry": "o", "inputs": [{"name": "x", "type": kind}], "nodes": [passes("o")]});
    for (reader, fits) in [
        (json!({"type": "iteration", "config": {"input_key": "v", "graph": "any"}}), false),
        (json!({"type": "loopguard", "config": {"counter_key": "v"}}), false),
        (json!({"type": "graph", "config": {"graph": "list", "inputs": {"x": "${board.v}"}}}), false),
        (json!({"type": "graph", "config": {"graph": "text", "inputs": {"x": "${board.v}"}}}), true),
        (json!({"type": "aggregator", "config": {"input_keys": ["v"], "mode": "concat"}}), true),
    ] {
        let mut reader = reader;
        reader["id"] = json!("reads");
        let mut made = graph(json!([text, reader]), &[("text", "reads")]);
        let any = json!({"name": "g", "entry": "o", "nodes": [passes("o")]});
        made["graphs"] = json!({"any": any, "list": inner("array"), "text": inner("string")});
        let (read, findings) = read(&made.to_string(), &NodeTypes::standard());
        assert!(read.is_some(), "{findings:?}");
        let found = findings.iter().find(|finding| finding.code == "port-incompatible");
        assert_eq!(found.is_none(), fits, "{reader}: {findings:?}");
        let told = found.is_none_or(|found| found.message.ends_with("and `text` writes a text"));
        assert!(told, "{findings:?}");
    }
}

#[test]
fn what_a_graph_for_items_cannot_take_is_noticed() {
    let inner = json!({"name": "g", "entry": "o", "inputs": [{"name": "item"}, {"name": "index"}], "nodes": [passes("o")]});
    let mut made = graph(json!([{"id": "n", "type": "iteration", "config": {"graph": "g"}}]), &[]);
    made["graphs"] = json!({"g": inner});
    let (_, findings) = read(&made.to_string(), &NodeTypes::standard());
    let found: Vec<_> = findings.iter().filter(|finding| finding.code == "wrong-input").collect();
    assert_eq!(found.len(), 1, "{findings:?}");
    assert!(!found[0].is_error() && found[0].message.contains("a whole number: `index`"), "{findings:?}");
}

#[test]
fn a_graph_within_a_graph_is_told_that_it_has_graphs_of_its_own() {
    let runs = |name: &str| json!([{"id": "n", "type": "graph", "config": {"graph": name}}]);
    let mut made = graph(runs("outer"), &[]);
    made["graphs"] = json!({
        "inner": graph(json!([passes("o")]), &[]),
        "outer": {"name": "outer", "entry": "n", "nodes": runs("inner")},
    });
    let (_, findings) = read(&made.to_string(), &NodeTypes::standard());
    let found = findings.iter().find(|finding| finding.code == "unknown-graph").unwrap();
    assert!(found.message.contains("has its own"), "{found:?}");
}

#[test]
fn a_channel_of_the_engine_is_refused_before_anything_runs() {
    let made =
        graph(json!([{"id": "n", "type": "llm", "config": {"messages_key": "__x", "prompt": "q"}}]), &[]);
    assert!(codes(made).contains(&"reserved-name"));
}

#[test]
fn what_takes_no_configuration_says_which_field_it_does_not_know() {
    let wrong = graph(json!([{"id": "a", "type": "passthrough", "config": {"bar": {}, "foo": 1}}]), &[]);
    let (_, findings) = read(&wrong.to_string(), &NodeTypes::standard());
    let said: Vec<_> = findings.iter().map(|finding| (&*finding.path, &*finding.message)).collect();
    let field = |name: &str| (format!("/nodes/0/config/{name}"), format!("there is no field `{name}` here"));
    let expected = [field("bar"), field("foo")];
    assert_eq!(said, expected.each_ref().map(|(path, message)| (&**path, &**message)));
}

#[test]
fn an_answer_that_was_named_and_nobody_writes_is_warned_of() {
    let mut named = graph(json!([{"id": "a", "type": "answer", "config": {"template": "x"}}]), &[]);
    for (key, help) in [("answr", Some("did you mean `answer`?")), ("other", None)] {
        named["answer_key"] = json!(key);
        let (read, findings) = read(&named.to_string(), &NodeTypes::standard());
        let found: Vec<_> = findings.iter().map(|one| (one.code, &*one.path, one.help.as_deref())).collect();
        assert_eq!((found, read.is_some()), (vec![("unwritten-answer", "/answer_key", help)], true));
    }
    for key in ["answer", "query"] {
        named["answer_key"] = json!(key);
        assert!(codes(named.clone()).is_empty(), "{key}");
    }
}

#[test]
fn an_iteration_names_a_graph_that_there_is() {
    let wrong = json!([{"id": "a", "type": "iteration", "config": {"graph": "nope"}}]);
    assert_eq!(codes(graph(wrong, &[])), ["unknown-graph"]);
}

#[test]
fn flowcraft_079_080_083_084_the_shape_of_a_graph_is_known() {
    let one = compiled(graph(json!([passes("a")]), &[("a", "__end__")])).metadata();
    assert_eq!((one.node_count, one.edge_count, one.max_depth, one.has_cycles), (1, 1, 1, false));
    let two = compiled(graph(json!([passes("a"), passes("b")]), &[("a", "b"), ("b", "__end__")])).metadata();
    assert_eq!(two.max_depth, 2);
    let three = json!([passes("a"), passes("b"), passes("c")]);
    assert!(compiled(graph(three.clone(), &[("a", "b"), ("a", "c")])).metadata().has_parallel);
    assert!(!compiled(graph(three, &[("a", "b if x"), ("a", "c")])).metadata().has_parallel);
    let looped = graph(json!([passes("a"), passes("b")]), &[("a", "b"), ("b", "a if x"), ("b", "__end__")]);
    assert!(compiled(looped).metadata().has_cycles);
}

#[test]
fn flowcraft_081_082_conditions_are_checked_where_they_stand() {
    let (graph, findings) = read(
        "name: g\nentry: a\nnodes:\n  - {id: a, type: passthrough, skip_condition: 'x >>>> 3'}\nedges:\n  - {from: a, to: a, condition: 1 + 2}\n",
        &NodeTypes::standard(),
    );
    assert!(graph.is_none());
    let found: Vec<_> = findings.iter().map(|finding| (finding.code, finding.path.as_str())).collect();
    assert_eq!(
        found,
        [("invalid-condition", "/nodes/0/skip_condition"), ("invalid-condition", "/edges/0/condition")]
    );
    assert!(findings.iter().all(|finding| finding.place.is_some()));
    let skipped = super::graph(json!([{"id": "a", "type": "passthrough", "skip_condition": "x == 1"}]), &[]);
    assert_eq!(compiled(skipped).definition().nodes[0].skip_condition.as_deref(), Some("x == 1"));
}

#[test]
fn flowcraft_085_a_channel_of_its_own_without_a_question_is_noticed() {
    let warns = |config: Value| {
        codes(graph(json!([{"id": "a", "type": "llm", "config": config}]), &[("a", "__end__")]))
            .contains(&"llm-isolated-messages-no-fallback")
    };
    assert!(warns(json!({"messages_key": "own"})));
    assert!(!warns(json!({"messages_key": "own", "query_fallback": true})));
    assert!(!warns(json!({"messages_key": "messages"})));
    assert!(!warns(json!({})));
}

#[test]
fn flowcraft_086_087_branches_without_a_default_or_a_join_are_noticed() {
    let three = json!([passes("a"), passes("b"), passes("c")]);
    let choices = [("a", "b if x"), ("a", "c if y"), ("b", "__end__"), ("c", "__end__")];
    assert!(codes(graph(three.clone(), &choices)).contains(&"missing-default-branch"));
    let with_default = [&choices[..], &[("a", "__end__")]].concat();
    assert!(!codes(graph(three.clone(), &with_default)).contains(&"missing-default-branch"));
    let fork = [("a", "b"), ("a", "c"), ("b", "__end__"), ("c", "__end__")];
    assert!(codes(graph(three, &fork)).contains(&"parallel-no-join"));
    let four = json!([passes("a"), passes("b"), passes("c"), passes("d")]);
    let joined = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "__end__")];
    assert_eq!(codes(graph(four, &joined)), [""; 0]);
}

#[test]
fn flowcraft_088_references_are_checked() {
    let of = |text: &str| {
        codes(graph(
            json!([{"id": "t", "type": "template", "config": {"template": text}}]),
            &[("t", "__end__")],
        ))
    };
    assert_eq!(of("${foo.bar}"), ["unknown-variable-scope"]);
    assert_eq!(of("${foo}"), ["invalid-variable-ref"]);
    assert_eq!(of("${board.query}"), [""; 0]);
}

#[test]
fn flowcraft_089_090_what_is_never_reached_and_loops_without_an_end_are_noticed() {
    let nodes = json!([passes("a"), passes("z"), passes("m")]);
    let (_, findings) = read(
        &graph(nodes, &[("a", "__end__"), ("z", "m"), ("m", "__end__")]).to_string(),
        &NodeTypes::standard(),
    );
    let found: Vec<_> = findings.iter().map(|finding| (finding.code, finding.path.as_str())).collect();
    assert_eq!(
        found,
        [("unreachable-node", "/nodes/1/id"), ("unreachable-node", "/nodes/2/id")],
        "in the order of the text"
    );
    let two = json!([passes("a"), passes("b")]);
    assert!(codes(graph(two.clone(), &[("a", "b"), ("b", "a")])).contains(&"unguarded-cycle"));
    for way_out in ["a if x", "__end__"] {
        assert!(
            !codes(graph(two.clone(), &[("a", "b"), ("b", "a if y"), ("b", way_out)]))
                .contains(&"unguarded-cycle")
        );
    }
}

#[test]
fn a_node_that_ends_nowhere_is_fine_and_an_unreachable_end_is_noticed() {
    let two = json!([passes("a"), passes("b")]);
    assert_eq!(codes(graph(two.clone(), &[("a", "b")])), [""; 0], "a node without edges is an end");
    let endless = codes(graph(two, &[("a", "b"), ("b", "a")]));
    assert!(endless.contains(&"unreachable-end"), "{endless:?}");
}

#[test]
fn flowcraft_091_unknown_fields_and_types_are_mistakes_with_what_was_meant() {
    let (_, findings) = read(
        &graph(json!([{"id": "a", "type": "template", "config": {"tempalte": "x"}}, {"id": "b", "type": "lllm"}]), &[]).to_string(),
        &NodeTypes::standard(),
    );
    let told: Vec<_> =
        findings.iter().map(|finding| (finding.code, finding.help.clone().unwrap_or_default())).collect();
    assert!(
        told.iter().any(|(code, help)| *code == "unknown-field" && help.contains("template")),
        "{told:?}"
    );
    assert!(told.iter().any(|(code, help)| *code == "unknown-type" && help.contains("llm")), "{told:?}");
    assert!(codes(json!({"name": "g", "entry": "a", "nodes": [{"id": "a"}]})).contains(&"missing-field"));
}

#[test]
fn json_and_yaml_are_the_same_graph() {
    let yaml = "name: g\nentry: a\ninputs: [{name: name}]\nnodes:\n  - id: a\n    type: template\n    config: {template: 'Hi {{.name}}'}\nedges:\n  - {from: a, to: __end__}\n";
    let json = r#"{"name":"g","entry":"a","inputs":[{"name":"name"}],"nodes":[{"id":"a","type":"template","config":{"template":"Hi {{.name}}"}}],"edges":[{"from":"a","to":"__end__"}]}"#;
    let (one, other) = (read(yaml, &NodeTypes::standard()), read(json, &NodeTypes::standard()));
    assert_eq!(one.0.unwrap().definition(), other.0.unwrap().definition());
    assert!(one.1.is_empty() && other.1.is_empty());
}

#[test]
fn what_can_never_run_is_found_before_it_does() {
    let node = |kind: &str, config: Value| graph(json!([{"id": "a", "type": kind, "config": config}]), &[]);
    let mut hasty = graph(json!([passes("a")]), &[]);
    hasty["nodes"][0]["timeout"] = json!("0s");
    let mut given = graph(json!([passes("a")]), &[]);
    given["inputs"] = json!([{"name": "n", "type": "integer", "default": "many"}, {"name": "c", "enum": ["red"], "default": "blue"}]);
    let within = |config: Value| {
        let mut graph = node("iteration", config);
        graph["graphs"] = json!({"one": super::graph(json!([passes("a")]), &[])});
        graph
    };
    for (wrong, places) in [
        (within(json!({})), vec!["/nodes/0/config"]),
        (within(json!({"graph": "one", "body_script": "1"})), vec!["/nodes/0/config"]),
        (node("llm", json!({"prompt": "x", "tool_names": ["ls"]})), vec!["/nodes/0/config/tool_names"]),
        (node("llm", json!({"temperature": 99})), vec!["/nodes/0/config/temperature"]),
        (node("llm", json!({"max_tokens": 0})), vec!["/nodes/0/config/max_tokens"]),
        (node("template", json!({"template": "x", "output_key": "__x"})), vec!["/nodes/0/config/output_key"]),
        (
            node(
                "assigner",
                json!({"assignments": [{"target": "x", "value": 1}, {"target": "__x.y", "value": 1}]}),
            ),
            vec!["/nodes/0/config/assignments/1/target"],
        ),
        (
            node("context", json!({"commands": [{"command": "ls", "state_key": "__x"}]})),
            vec!["/nodes/0/config/commands/0/state_key"],
        ),
        (hasty, vec!["/nodes/0/timeout"]),
        (given, vec!["/inputs/0/default", "/inputs/1/default"]),
    ] {
        let (graph, findings) = read(&wrong.to_string(), &NodeTypes::standard());
        let errors = findings.iter().filter(|finding| finding.is_error());
        let found: Vec<&str> = errors.map(|finding| finding.path.as_str()).collect();
        assert!(graph.is_none());
        assert_eq!(found, places, "{findings:?}");
    }
    assert!(codes(node("loopguard", json!({"counter_key": "__loop_count"}))).is_empty());
    assert!(
        codes(node("llm", json!({"temperature": 0, "max_tokens": "${board.query}", "output_key": "answer"})))
            .is_empty()
    );
}

/// A graph that gives this to `greet`, which declares what it takes.
fn greeting(inputs: &Value) -> Value {
    let mut made = graph(
        json!([{"id": "a", "type": "graph", "config": {"graph": "greet", "inputs": inputs, "output_key": "answer"}}]),
        &[],
    );
    let text = "Hello {{.who}}! {{.n}} {{.colour}}";
    let mut greet = graph(json!([{"id": "t", "type": "answer", "config": {"template": text}}]), &[]);
    greet["inputs"] = json!([{"name": "who", "default": "world"}, {"name": "n", "type": "integer"},
        {"name": "colour", "enum": ["red", "green"], "max_length": 5, "default": "red"}]);
    made["graphs"] = json!({"greet": greet});
    made["inputs"] = json!([{"name": "number", "type": "any", "default": 1}]);
    made
}

#[tokio::test]
async fn a_graph_within_is_given_what_it_declares() {
    let wrong = greeting(&json!({"n": "many", "colour": "purple", "nosuch": 1}));
    let (_, findings) = read(&wrong.to_string(), &NodeTypes::standard());
    let found: Vec<&str> = findings.iter().map(|finding| finding.path.as_str()).collect();
    let at = |name: &str| format!("/nodes/0/config/inputs/{name}");
    assert_eq!(found, [at("colour"), at("colour"), at("n"), at("nosuch")], "{findings:?}");
    let (_, findings) = read(&greeting(&json!({})).to_string(), &NodeTypes::standard());
    assert_eq!(findings[0].message, "`n` is missing");
    let fits = greeting(&json!({"n": "${board.number}"}));
    assert_eq!(codes(fits.clone()), Vec::<&str>::new());
    let board = Home::new().done(fits.clone(), json!({"number": 7})).await;
    assert_eq!(board.text("answer"), "Hello world! 7 red", "defaults count");
    let told = Home::new().failed(fits, json!({"number": "many"})).await;
    assert!(told.contains("of graph `test`: `n`: \"many\" is not of type \"integer\""), "{told}");
}

#[tokio::test]
async fn a_graph_for_items_is_given_them_whatever_it_declares() {
    let made = |inputs: Value| {
        let mut made = graph(json!([{"id": "a", "type": "iteration", "config": {"graph": "one"}}]), &[]);
        let mut one = graph(
            json!([{"id": "t", "type": "answer", "config": {"template": "{{.item}}-{{.index}}{{.more}}"}}]),
            &[],
        );
        one["inputs"] = inputs;
        made["graphs"] = json!({"one": one});
        made["inputs"] = json!([{"name": "items", "type": "array"}]);
        made
    };
    let declared = made(json!([{"name": "item", "type": "integer"}, {"name": "more", "default": "!"}]));
    assert_eq!(codes(declared.clone()), Vec::<&str>::new(), "the number is given too");
    let board = Home::new().done(declared.clone(), json!({"items": [7, 8]})).await;
    assert_eq!(board.get("iteration_results"), Some(&json!(["7-0!", "8-1!"])));
    let told = Home::new().failed(declared, json!({"items": ["x"]})).await;
    assert!(told.contains("`item`: \"x\" is not of type \"integer\""), "{told}");
    let any = made(json!([{"name": "item", "type": "any"}, {"name": "more", "default": "!"}]));
    let board = Home::new().done(any, json!({"items": [null]})).await;
    assert_eq!(board.get("iteration_results"), Some(&json!(["-0!"])));
}

#[test]
fn the_schema_knows_every_type_of_node() {
    let schema = schema(&NodeTypes::standard());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let good =
        graph(json!([{"id": "a", "type": "template", "config": {"template": "x"}}]), &[("a", "__end__")]);
    assert!(validator.is_valid(&good));
    let bad = graph(json!([{"id": "a", "type": "template", "config": {"tempalte": "x"}}]), &[]);
    assert!(!validator.is_valid(&bad));
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/graph.schema.json"), text).unwrap();
    }
    let published: Value = serde_json::from_str(
        &std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/graph.schema.json")).unwrap(),
    )
    .unwrap();
    assert_eq!(published, schema, "write it anew: UPDATE_SCHEMA=1 cargo test -p convoke-graph schema");
}

#[test]
fn a_reference_may_stand_for_any_value_of_a_configuration_in_the_schema_too() {
    let validator = jsonschema::validator_for(&schema(&NodeTypes::standard())).unwrap();
    for (kind, config, is_valid) in [
        ("loopguard", json!({"max_count": "${board.rounds}"}), true),
        ("loopguard", json!({"max_count": "often"}), false),
        (
            "llm",
            json!({"json_mode": "${board.json:false}", "tool_names": "${board.tools}", "temperature": 0.5}),
            true,
        ),
        ("llm", json!({"json_mode": "yes"}), false),
        ("aggregator", json!({"input_keys": ["a", "${board.b}"], "mode": "${board.mode}"}), true),
        ("aggregator", json!({"input_keys": ["a"], "mode": "map"}), true),
        ("aggregator", json!({"input_keys": ["a"], "mode": "pile"}), false),
        ("context", json!({"files": ["${board.file}"], "commands": [{"command": "ls"}]}), true),
        ("context", json!({"files": ["a.txt"]}), false),
        ("passthrough", json!({"more": "${board.x}"}), false),
    ] {
        let made = graph(json!([{"id": "a", "type": kind, "config": config}]), &[("a", "__end__")]);
        assert_eq!(validator.is_valid(&made), is_valid, "{kind} {config}");
    }
}

#[test]
fn the_examples_fit_the_schema() {
    let validator = jsonschema::validator_for(&schema(&NodeTypes::standard())).unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/graphs");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let graphs: Vec<_> = files.filter(|file| file.to_string_lossy().contains(".graph.")).collect();
    assert!(graphs.len() > 2, "{graphs:?}");
    for file in graphs {
        let text = std::fs::read_to_string(&file).unwrap();
        let graph = convoke_text::document::parse(&text, &mut Vec::new()).unwrap().to_value();
        let wrong: Vec<String> = validator.iter_errors(&graph).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", file.display());
    }
}

#[test]
fn a_diagram_says_which_nodes_leave_no_trace_of_a_run() {
    let nodes = json!([
        {"id": "ask", "type": "llm", "config": {"prompt": "Hello"}},
        {"id": "out", "type": "answer"}
    ]);
    let diagram = Home::new().compiled(graph(nodes, &[("ask", "out")])).unwrap().to_diagram();
    let traceless = diagram.items().filter(|(_, item)| item.leaves_no_trace);
    let names: Vec<String> = traceless.map(|(_, item)| item.lines[0].clone()).collect();
    assert_eq!(names, ["out"]);
}

/// What is said of a graph: codes and paths, in the order of the text.
fn said(graph: &str) -> Vec<(&'static str, String)> {
    let (_, findings) = read(graph, &NodeTypes::standard());
    findings.into_iter().map(|finding| (finding.code, finding.path)).collect()
}

#[test]
fn a_field_of_the_wrong_shape_does_not_hide_what_else_is_wrong() {
    let text = "
name: g
entry: nobody
colour: red
inputs: [{name: q, type: strnig}]
nodes:
  - {id: a, type: llm, retries: often, config: {modle: x}}
  - {id: b, type: nosuch, timeout: 5 parsecs}
  - {id: c, type: answer, skip_condition: '1 +'}
edges:
  - {from: a, to: x, condition: 'q =='}
  - {from: a}
graphs:
  inner: {name: i, entry: z, nodes: [{id: y, type: passthrough, colour: red}]}
";
    let (graph, findings) = read(text, &NodeTypes::standard());
    assert!(graph.is_none());
    let found: Vec<_> = findings.iter().map(|finding| (finding.code, finding.path.as_str())).collect();
    for wanted in [
        ("unknown-entry", "/entry"),
        ("unknown-field", "/colour"),
        ("wrong-value", "/inputs/0/type"),
        ("wrong-value", "/nodes/0/retries"),
        ("unknown-field", "/nodes/0/config/modle"),
        ("unknown-type", "/nodes/1/type"),
        ("invalid-duration", "/nodes/1/timeout"),
        ("invalid-condition", "/nodes/2/skip_condition"),
        ("unknown-node", "/edges/0/to"),
        ("invalid-condition", "/edges/0/condition"),
        ("missing-field", "/edges/1"),
        ("unknown-entry", "/graphs/inner/entry"),
        ("unknown-field", "/graphs/inner/nodes/0/colour"),
    ] {
        assert!(found.contains(&wanted), "{wanted:?}: {found:#?}");
    }
    assert_eq!(found.len(), 13, "{found:#?}");
    let lines: Vec<usize> = findings
        .iter()
        .map(|finding| text[..finding.place.clone().unwrap().start].matches('\n').count())
        .collect();
    assert!(lines.is_sorted() && lines[0] == 2, "{lines:?}");
}

#[test]
fn nodes_that_cannot_be_read_are_not_reported_as_missing() {
    let rest = "edges: [{from: a, to: b}, {from: b, to: __end__}]";
    for (nodes, wanted) in [
        ("nodes: 5", [("wrong-value", "/nodes")].as_slice()),
        ("nodes: [{id: a, type: passthrough}, 5]", &[("wrong-value", "/nodes/1")]),
        ("nodes: [{id: a, type: passthrough}, {type: passthrough}]", &[("missing-field", "/nodes/1")]),
        (
            "nodes: [{id: a, type: passthrough}, {id: 5, type: passthrough}]",
            &[("wrong-value", "/nodes/1/id")],
        ),
        ("nodes: [{id: a, type: passthrough}, {id: b, type: 5}]", &[("wrong-value", "/nodes/1/type")]),
        (
            "nodes: [{id: a, type: passthrough}, {id: b, type: graph, config: {graph: g, output_key: answer}}]\ngraphs: 5",
            &[("wrong-value", "/graphs")],
        ),
    ] {
        let found = said(&format!("name: g\nentry: a\n{nodes}\n{rest}\n"));
        let wanted: Vec<_> = wanted.iter().map(|(code, path)| (*code, (*path).to_owned())).collect();
        assert_eq!(found, wanted, "{nodes}");
    }
}

#[test]
fn what_looks_wrong_is_said_beside_what_is_wrong_with_a_node() {
    let text = "name: g\nentry: a\nnodes:\n  - {id: a, type: llm, config: {modle: x}}\n  - {id: b, type: passthrough}\n";
    let wanted = [("unknown-field", "/nodes/0/config/modle"), ("unreachable-node", "/nodes/1/id")];
    assert_eq!(said(text), wanted.map(|(code, path)| (code, path.to_owned())));
}

#[test]
fn a_number_that_is_too_large_is_told_its_limit() {
    let text = |retries: &str, config: &str| {
        format!(
            "name: g\nentry: a\nnodes:\n  - {{id: a, type: llm, retries: {retries}, config: {{{config}}}}}\n"
        )
    };
    let (_, findings) =
        read(&text("4294967296", "prompt: p, max_tokens: 5000000000"), &NodeTypes::standard());
    let errors: Vec<_> = findings.iter().filter(|finding| finding.is_error()).collect();
    assert_eq!(errors.len(), 2, "{findings:#?}");
    for (finding, path) in errors.iter().zip(["/nodes/0/retries", "/nodes/0/config/max_tokens"]) {
        assert_eq!((finding.code, finding.path.as_str()), ("wrong-value", path));
        assert!(finding.message.ends_with(": 4294967295"), "{}", finding.message);
        assert_eq!(finding.help.as_deref(), Some("write 4294967295 or less"));
    }
    let (graph, _) = read(&text("4294967295", "prompt: p"), &NodeTypes::standard());
    assert!(graph.is_some());

    for large in ["99999999999999999999", "18446744073709551616"] {
        let text = format!(
            "name: g\nentry: a\nmax_nodes: {large}\nmax_branches: {large}\ninputs: [{{name: x, max_length: {large}}}]\nnodes:\n  \
            - {{id: a, type: loopguard, config: {{max_count: {large}}}}}\n  - {{id: b, type: knowledge, config: {{top_k: {large}}}}}\n"
        );
        let (_, findings) = read(&text, &NodeTypes::standard());
        let paths: Vec<_> = findings
            .iter()
            .filter(|finding| finding.is_error())
            .map(|finding| finding.path.as_str())
            .collect();
        let wanted = [
            "/max_nodes",
            "/max_branches",
            "/inputs/0/max_length",
            "/nodes/0/config/max_count",
            "/nodes/1/config/top_k",
        ];
        assert_eq!(paths, wanted, "{findings:#?}");
        assert!(findings[0].message.ends_with(": 18446744073709551615"), "{}", findings[0].message);
    }
    let text = "name: g\nentry: a\nmax_nodes: 18446744073709551615\nnodes:\n  - {id: a, type: passthrough}\n";
    assert!(read(text, &NodeTypes::standard()).0.is_some());
}

#[cfg(feature = "script")]
#[test]
fn a_syntax_error_in_a_script_is_found_before_anything_runs_with_its_line() {
    let block = "name: g\nentry: a\nnodes:\n  - id: a\n    type: script\n    config:\n      source: |\n        const a = 1;\n        \
        board.setVar('x', a +);\n        board.setVar('y', 1);\n";
    let (graph, findings) = read(block, &NodeTypes::standard());
    assert!(graph.is_none());
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert_eq!((finding.code, finding.path.as_str()), ("invalid-script", "/nodes/0/config/source"));
    assert!(finding.message.contains("(line 2 of the script)"), "{}", finding.message);
    assert_eq!(&block[finding.place.clone().unwrap()], "board.setVar('x', a +);");

    let json = json!({"name": "g", "entry": "a", "nodes": [{"id": "a", "type": "script",
        "config": {"source": "const a = 1;\nboard.setVar('x', a +);"}},
        {"id": "b", "type": "iteration", "config": {"body_script": "let {"}}]})
    .to_string();
    let (_, findings) = read(&json, &NodeTypes::standard());
    let errors: Vec<_> = findings.iter().filter(|finding| finding.is_error()).collect();
    assert_eq!(errors.len(), 2, "{findings:#?}");
    assert!(errors[0].message.contains("(line 2 of the script)"), "{}", errors[0].message);
    assert_eq!(&json[errors[0].place.clone().unwrap()], "\"const a = 1;\\nboard.setVar('x', a +);\"");
    assert_eq!(errors[1].path, "/nodes/1/config/body_script");
    assert!(!errors.iter().any(|finding| finding.message.contains("<input>")));
}

#[cfg(feature = "script")]
#[test]
fn a_script_that_ends_its_own_function_is_refused_and_nothing_of_it_is_run() {
    let message = |source: &str| {
        let text = json!({"name": "g", "entry": "a", "nodes": [{"id": "a", "type": "script", "config": {"source": source}}]});
        let (_, findings) = read(&text.to_string(), &NodeTypes::standard());
        findings.first().map(|finding| finding.message.clone())
    };
    let begun = std::time::Instant::now();
    for source in [
        "}); throw new Error('I ran ' + (6*7)); (function(){",
        "}); for(;;){} (function(){",
        "} : 0; for(;;){} 0 ? function () {",
        "} }); for(;;){} ({ script() {",
        "}, other() {",
        "}), (function () { while (true) {} })(), (function () {",
        "} + function () {",
        "}\nfor(;;){}\nfunction f() {",
    ] {
        let said = message(source).unwrap_or_else(|| panic!("{source} is let pass"));
        assert!(said.starts_with("this script cannot be read: "), "{said}");
        assert!(!said.contains("I ran"), "{said}");
    }
    assert!(begun.elapsed().as_secs() < 4, "nothing of them was run");
    for source in [
        "010",
        "with ({}) {}",
        "return;",
        "let script = 1; // ends with a comment",
        "var Object; if (1) { function f() {} }",
    ] {
        assert_eq!(message(source), None, "{source}");
    }
}

#[cfg(feature = "script")]
#[test]
fn a_script_that_is_not_complete_is_told_so_without_signs_and_lines_that_it_does_not_have() {
    for (source, said) in [
        ("foo(", "it ends before it is complete (line 1 of the script)"),
        ("function f(){", "it ends before it is complete (line 1 of the script)"),
        ("if (1) {\n  foo()\n", "it ends before it is complete (line 2 of the script)"),
        ("break", "break must be inside loop or switch (line 1 of the script)"),
        ("foo();\n}", "it has a `}` that no `{` belongs to (line 2 of the script)"),
    ] {
        let text = json!({"name": "g", "entry": "a", "nodes": [{"id": "a", "type": "script", "config": {"source": source}}]});
        let (_, findings) = read(&text.to_string(), &NodeTypes::standard());
        let [finding] = &findings[..] else { panic!("{source}: {findings:#?}") };
        assert_eq!(finding.message, format!("this script cannot be read: {said}"), "{source}");
    }
}

#[cfg(feature = "script")]
#[test]
fn a_script_is_only_read_before_it_runs() {
    let graph = |source: &str| {
        let node = json!({"id": "a", "type": "script", "config": {"source": source}});
        read(&json!({"name": "g", "entry": "a", "nodes": [node]}).to_string(), &NodeTypes::standard())
    };
    for source in [
        "return;",
        "while (true) {}",
        "throw new Error('no')",
        "with (config) { x = 010; }",
        "const s = `\\${config.x}`;",
        "board.setVar('a', '${board.query}');",
        "this is ${board.query} of which nothing is known",
    ] {
        let (graph, findings) = graph(source);
        assert!(graph.is_some(), "{source}: {findings:#?}");
    }
}
