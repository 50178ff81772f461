//! Cases 188 to 197: the other nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use convoke_core::{Answer, RunStatus};
use convoke_graph::{NodeTypes, read};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::{Value, json};

use super::{Home, echo, graph, passes, writes};

fn one(kind: &str, config: Value) -> Value {
    graph(json!([{"id": "n", "type": kind, "config": config}]), &[("n", "__end__")])
}

#[tokio::test]
async fn flowcraft_188_router_and_ifelse_say_where_to_go() {
    let home = Home::new();
    let routes = json!({"routes": [{"condition": "x == 1", "target": "one"}, {"condition": "x > 1", "target": "more"}, {"target": "rest"}]});
    for (x, target) in [(1, "one"), (5, "more"), (0, "rest")] {
        assert_eq!(
            home.done(one("router", routes.clone()), json!({"x": x})).await.text("route_target"),
            target
        );
    }
    let none = json!({"routes": [{"condition": "x == 1", "target": "one"}]});
    assert_eq!(home.done(one("router", none), json!({"x": 2})).await.get("route_target"), Some(&json!("")));
    let conditions = json!({"conditions": [{"expression": "x == 1"}, {"expression": "x == 2"}]});
    for (x, result) in [(1, "if"), (2, "elif_1"), (3, "else")] {
        assert_eq!(
            home.done(one("ifelse", conditions.clone()), json!({"x": x})).await.text("branch_result"),
            result
        );
    }
    let wrong = home.compiled(one("ifelse", json!({"conditions": [{"expression": "x >>> 1"}]}))).unwrap_err();
    assert_eq!(wrong.findings[0].path, "/nodes/0/config/conditions/0/expression");
}

#[tokio::test]
async fn flowcraft_189_templates_are_filled_in_once() {
    let home = Home::new();
    let template = json!({"template": "{{.name}}|{{.none}}|{{.unknown}}|{{.object}}|{{.trap}}|{{ .name }}"});
    let vars = json!({"name": "Ada", "object": {"a": [1]}, "trap": "{{.name}}"});
    let nodes =
        json!([writes("w", json!({"none": null})), {"id": "t", "type": "template", "config": template}]);
    let board = home.done(graph(nodes, &[("w", "t")]), vars).await;
    assert_eq!(board.text("template_output"), "Ada||{{.unknown}}|{\"a\":[1]}|{{.name}}|Ada");
    let unfilled = home.heard.custom("graph.template_unfilled");
    assert_eq!(unfilled, [json!({"node": "t", "left": ["{{.unknown}}"]})], "what stays is said");
    let template = json!({"template": "{{ .user.name }} {{.user.x}} {{{{.user.name}} {{name}} {{.}} {{"});
    let board = home.done(one("template", template), json!({"user": {"name": "Ada"}})).await;
    assert_eq!(board.text("template_output"), "Ada {{.user.x}} {{Ada {{name}} {{.}} {{");
}

#[tokio::test]
async fn flowcraft_141_190_answers_are_told_and_kept() {
    let home = Home::new();
    let vars = json!({"a": "one", "b": "", "d": {"x": 1}});
    let board = home.done(one("answer", json!({"keys": ["a", "b", "c", "d"]})), vars.clone()).await;
    assert_eq!(board.text("answer"), "one\n{\"x\":1}");
    assert_eq!(home.heard.custom("graph.answer"), [json!("one\n{\"x\":1}")]);
    let home = Home::new();
    let board = home.done(one("answer", json!({"template": "{{.a}}!", "stream": false})), vars).await;
    assert_eq!(board.text("answer"), "one!");
    assert!(home.heard.custom("graph.answer").is_empty());
    let board = home.done(one("answer", json!({"keys": ["b", "c"]})), json!({"b": ""})).await;
    assert_eq!(board.get("answer"), Some(&json!("")), "it is there also if there is nothing to say");
}

#[tokio::test]
async fn flowcraft_191_the_assigner_writes() {
    let assignments = json!({"assignments": [
        {"target": "copy", "source": "a.b", "value": 0, "expression": "1"},
        {"target": "fixed", "value": [1], "expression": "1"},
        {"target": "sum", "expression": "n + 1"},
        {"target": "a.c.d", "value": true},
    ]});
    let board = Home::new().done(one("assigner", assignments), json!({"a": {"b": "x"}, "n": 2})).await;
    assert_eq!(
        (board.text("copy"), board.get("fixed"), board.get("sum")),
        ("x", Some(&json!([1])), Some(&json!(3)))
    );
    assert_eq!(board.get("a"), Some(&json!({"b": "x", "c": {"d": true}})));
    let reserved = one("assigner", json!({"assignments": [{"target": "__usage", "value": 1}]}));
    let wrong = Home::new().compiled(reserved).unwrap_err();
    assert!(wrong.findings[0].message.contains("`__usage` cannot be written"), "{wrong}");
    let named = one("assigner", json!({"assignments": [{"target": "${board.name}", "value": 1}]}));
    let told = Home::new().failed(named, json!({"name": "__usage"})).await;
    assert!(told.contains("`__usage` cannot be written"), "{told}");
}

#[tokio::test]
async fn an_assigner_loses_nothing_and_takes_nothing_for_null() {
    let board = |assignments: Value, vars: Value| async move {
        Home::new().done(one("assigner", json!({"assignments": assignments})), vars).await
    };
    let vars = json!({"list": [10, {"a": 1}], "text": "x"});
    let set = json!([{"target": "list.0", "value": 99}, {"target": "list.1.b", "value": 2}, {"target": "list.2", "value": 3},
        {"target": "nothing", "value": null}, {"target": "both", "source": "missing", "value": 5}]);
    let made = board(set, vars.clone()).await;
    assert_eq!(made.get("list"), Some(&json!([99, {"a": 1, "b": 2}, 3])));
    assert_eq!((made.get("nothing"), made.get("both")), (Some(&Value::Null), Some(&json!(5))));
    for (wrong, why) in [
        (json!({"target": "list.4", "value": 1}), "there is no 4 in a list of 2"),
        (json!({"target": "list.x", "value": 1}), "a list has numbers, and no `x`"),
        (json!({"target": "text.x", "value": 1}), "a text has no `x`"),
        (json!({"target": "gone", "source": "mispelt"}), "the value of `mispelt`, which is not on the board"),
        (json!({"target": "a.${board.text}.", "value": 1}), "names no variable"),
    ] {
        let told = Home::new().failed(one("assigner", json!({"assignments": [wrong]})), vars.clone()).await;
        assert!(told.contains(why), "{told}");
    }
    let wrong = json!([{"target": "nothing"}, {"target": "", "value": 1}, {"target": "a..b", "value": 1}]);
    let wrong = Home::new().compiled(one("assigner", json!({"assignments": wrong}))).unwrap_err();
    let places: Vec<&str> = wrong.findings.iter().map(|finding| finding.path.as_str()).collect();
    let at = |rest: &str| format!("/nodes/0/config/assignments/{rest}");
    assert_eq!(places, [at("0"), at("1/target"), at("2/target")]);
}

#[tokio::test]
async fn flowcraft_192_a_loopguard_counts() {
    let looping = |config: Value| {
        graph(
            json!([{"id": "g", "type": "loopguard", "config": config}]),
            &[("g", "g if not loop_count_exceeded")],
        )
    };
    let board = Home::new().done(looping(json!({"max_count": 3})), json!({})).await;
    assert_eq!(
        (board.get("loop_count"), board.get("loop_count_exceeded")),
        (Some(&json!(3)), Some(&json!(true)))
    );
    let board = Home::new().done(looping(json!({"max_count": 2, "counter_key": "mine"})), json!({})).await;
    assert_eq!(board.get("mine"), Some(&json!(2)));
}

#[tokio::test]
async fn the_guard_of_a_loop_within_a_loop_begins_anew_with_every_round() {
    let nested = |config: Value| {
        graph(
            json!([
                {"id": "outer", "type": "loopguard", "config": {"max_count": 4}},
                {"id": "inner", "type": "loopguard", "config": config},
                {"id": "work", "type": "assigner", "config": {"assignments": [{"target": "worked", "expression": "(worked ?? 0) + 1"}]}},
                passes("out"),
            ]),
            &[
                ("outer", "out if loop_count_exceeded"),
                ("outer", "inner"),
                ("inner", "outer if loop_count_exceeded"),
                ("inner", "work"),
                ("work", "inner"),
            ],
        )
    };
    let board = Home::new().done(nested(json!({"max_count": 3})), json!({})).await;
    assert_eq!(board.get("worked"), Some(&json!(6)), "twice in each of three rounds");
    let board = Home::new().done(nested(json!({"max_count": 3, "counter_key": "all"})), json!({})).await;
    assert_eq!(board.get("worked"), Some(&json!(2)), "a variable counts on");
}

/// Thinks until its guard has enough, and begins again three times.
fn rounds_without_a_guard() -> Value {
    let counts = |id: &str, target: &str| {
        let adds = format!("({target} ?? 0) + 1");
        json!({"id": id, "type": "assigner", "config": {"assignments": [{"target": target, "expression": adds}]}})
    };
    graph(
        json!([
            passes("start"),
            counts("think", "thought"),
            {"id": "guard", "type": "loopguard", "config": {"max_count": 3}},
            counts("again", "rounds"),
        ]),
        &[
            ("start", "think"),
            ("think", "guard"),
            ("guard", "again if loop_count_exceeded"),
            ("guard", "think"),
            ("again", "start if rounds < 3"),
        ],
    )
}

#[tokio::test]
async fn a_guard_begins_anew_where_the_way_back_of_the_loop_around_has_none() {
    let board = Home::new().done(rounds_without_a_guard(), json!({})).await;
    assert_eq!(board.get("thought"), Some(&json!(9)), "three times in each of three rounds");
    let mut said = rounds_without_a_guard();
    said["edges"][2]["condition"] = Value::Null;
    said["edges"][3]["condition"] = json!("!loop_count_exceeded");
    assert_eq!(Home::new().done(said, json!({})).await.get("thought"), Some(&json!(9)));
    // Both loops begin at the same node: the guard knows which it is, since it has sent one out of its own.
    let mut same = rounds_without_a_guard();
    same["entry"] = json!("think");
    same["edges"][4]["to"] = json!("think");
    assert_eq!(Home::new().done(same, json!({})).await.get("thought"), Some(&json!(9)));
}

/// A loop of three rounds within one of two that also leads around it: past it, in an arm beside it, and from the join into its arm
/// alone.
#[tokio::test]
async fn a_loop_within_a_loop_has_all_its_rounds_also_if_a_path_leads_around_it() {
    let worked = async |edges: &[(&str, &str)], start: &str| {
        let logs = |id: &str| {
            let adds = format!("concat(log ?? [], ['{id}'])");
            json!({"id": id, "type": "assigner", "config": {"assignments": [{"target": "log", "expression": adds}]}})
        };
        let guard =
            |id: &str, count: u64| json!({"id": id, "type": "loopguard", "config": {"max_count": count}});
        let nodes = json!([
            passes("begin"),
            logs("s"),
            logs("a"),
            guard("ag", 3),
            passes("b"),
            guard("og", 2),
            passes("o")
        ]);
        let inner = [("a", "ag"), ("ag", "a if !loop_count_exceeded"), ("ag", "og"), ("og", "o")];
        let mut made = graph(nodes, &[edges, &inner].concat());
        made["entry"] = json!(start);
        Home::new().done(made, json!({})).await.typed::<Vec<String>>("log").unwrap().concat()
    };
    let past = [("s", "a if len(log) > 0"), ("s", "og"), ("og", "s if !loop_count_exceeded")];
    assert_eq!(worked(&past, "s").await, "saaasaaa");
    let beside = [("s", "a"), ("s", "b"), ("b", "og"), ("og", "s if !loop_count_exceeded")];
    assert_eq!(worked(&beside, "s").await, "saaasaaa");
    let into_the_arm = [("s", "a"), ("s", "b"), ("b", "og"), ("og", "a if !loop_count_exceeded")];
    assert_eq!(worked(&into_the_arm, "s").await, "saaaaaa");
}

#[tokio::test]
async fn a_guard_that_every_round_passes_by_counts_on() {
    let made = |minor: &str| {
        graph(
            json!([
                passes("plan"),
                {"id": "act", "type": "assigner", "config": {"assignments": [{"target": "acted", "expression": "(acted ?? 0) + 1"}]}},
                {"id": "check", "type": "loopguard", "config": {"max_count": 5}},
                passes("out"),
            ]),
            &[
                ("plan", "act"),
                ("act", "check"),
                ("check", "out if loop_count_exceeded"),
                ("check", &format!("act if {minor}")),
                ("check", "plan"),
            ],
        )
    };
    for minor in ["acted % 2 == 0", "false", "!loop_count_exceeded and acted % 2 == 0"] {
        let board = Home::new().done(made(&format!("({minor}) and !loop_count_exceeded")), json!({})).await;
        assert_eq!(board.get("acted"), Some(&json!(5)), "{minor}");
    }
}

#[tokio::test]
async fn a_counter_that_holds_something_else_is_not_overwritten() {
    let guard = one("loopguard", json!({"counter_key": "mine"}));
    let told = Home::new().failed(guard, json!({"mine": "precious"})).await;
    assert!(told.contains("counts in `mine`, which holds a text"), "{told}");
    let both = json!([{"id": "a", "type": "loopguard", "config": {"counter_key": "n"}},
        {"id": "b", "type": "loopguard", "config": {"counter_key": "n"}}]);
    let (_, findings) = read(&graph(both, &[("a", "b")]).to_string(), &NodeTypes::standard());
    let shared = findings.iter().find(|finding| finding.code == "shared-counter").unwrap();
    assert_eq!(shared.message, "`a` and `b` count together, in `n`");
}

#[tokio::test]
async fn flowcraft_193_the_aggregator_leaves_out_what_is_not_there() {
    let vars = json!({"a": 1, "c": "x"});
    for (mode, expected) in [
        ("array", json!([1, "x"])),
        ("concat", json!("1\nx")),
        ("map", json!({"a": 1, "b": null, "c": "x"})),
        ("last", json!("x")),
    ] {
        let config = json!({"input_keys": ["a", "b", "c"], "mode": mode});
        assert_eq!(
            Home::new().done(one("aggregator", config), vars.clone()).await.get("aggregated"),
            Some(&expected),
            "{mode}"
        );
    }
    let last = json!({"input_keys": ["a", "b"], "mode": "last"});
    let board = Home::new().done(one("aggregator", last), vars).await;
    assert_eq!(board.get("aggregated"), Some(&json!(1)), "the last of those that are there");
    let unknown =
        Home::new().compiled(one("aggregator", json!({"input_keys": [], "mode": "sum"}))).unwrap_err();
    assert_eq!(unknown.findings[0].path, "/nodes/0/config/mode");
}

/// A shell whose commands succeed unless they are called `false`.
fn shell() -> convoke_agent::FunctionTool {
    convoke_agent::FunctionTool::new(
        "bash",
        "Runs it.",
        |arguments: serde_json::Map<String, Value>| async move {
            let command = arguments["command"].as_str().unwrap_or_default().to_owned();
            if command == "false" {
                Err(convoke_core::Error::permanent("exit status 1"))
            } else {
                Ok(format!("ran {command};"))
            }
        },
    )
}

#[tokio::test]
async fn flowcraft_194_a_gate_stops_at_the_first_command_that_fails() {
    let home = Home::new().tool(shell());
    let board = home.done(one("gate", json!({"commands": ["one", "false", "two"]})), json!({})).await;
    assert_eq!((board.text("gate_result"), board.text("gate_result_failed_command")), ("fail", "false"));
    assert_eq!(board.text("gate_result_output"), "ran one;\nexit status 1");
    let board = home.done(one("gate", json!({"commands": ["one", "two"]})), json!({})).await;
    assert_eq!((board.text("gate_result"), board.text("gate_result_output")), ("pass", "ran one;\nran two;"));
    // The graph goes on either way, as the documentation says; edges decide.
    let nodes = json!([{"id": "g", "type": "gate", "config": {"commands": ["false"]}}, writes("after", json!({"after": 1}))]);
    let board = home.done(graph(nodes, &[("g", "after if gate_result == 'fail'")]), json!({})).await;
    assert_eq!(board.get("after"), Some(&json!(1)));
    let lacking = Home::new().compiled(one("gate", json!({"commands": ["x"]}))).unwrap();
    let problems = lacking.equip(Default::default()).err().unwrap();
    assert!(problems[0].contains("`n`") && problems[0].contains("bash"), "{problems:?}");
}

/// A shell as the built-in one is: to a step a result is data; `busy` fails the first time, for a reason that passes.
pub(super) fn careful_shell() -> convoke_agent::FunctionTool {
    let calls = Arc::new(AtomicU32::new(0));
    convoke_agent::FunctionTool::with_context(
        "bash",
        "Runs it.",
        move |context: convoke_agent::ToolContext, arguments: serde_json::Map<String, Value>| {
            let calls = Arc::clone(&calls);
            async move {
                let command = arguments["command"].as_str().unwrap_or_default().to_owned();
                match command.as_str() {
                    _ if !context.scope.is_for_step() => Ok(format!("{command}\nExit code: 0")),
                    "busy" if calls.fetch_add(1, Ordering::Relaxed) == 0 => {
                        Err(convoke_core::Error::transient("`log.txt` was not taken over"))
                    }
                    "false" => Err(convoke_core::Error::permanent("Exit code: 1")),
                    _ => Ok(command),
                }
            }
        },
    )
}

#[tokio::test]
async fn what_earlier_builds_kept_of_commands_comes_to_the_same_as_then() {
    let earlier = convoke_agent::FunctionTool::new(
        "bash",
        "Runs it.",
        |arguments: serde_json::Map<String, Value>| async move {
            let command = arguments["command"].as_str().unwrap_or_default();
            Ok::<_, convoke_core::Error>(format!("{command}\nExit code: 1"))
        },
    );
    let board =
        Home::new().tool(earlier).done(one("gate", json!({"commands": ["one", "two"]})), json!({})).await;
    assert_eq!(board.text("gate_result_output"), "one\nExit code: 1two\nExit code: 1");
    assert_eq!(board.text("gate_result"), "pass");
}

#[tokio::test]
async fn a_node_is_given_the_bare_result_of_a_command_and_fails_with_it() {
    let home = Home::new().tool(careful_shell());
    let tool = |command: &str, json: bool| {
        let config = json!({"tool": "bash", "json": json, "arguments": {"command": command}});
        one("tool", config)
    };
    assert_eq!(home.done(tool("v1", false), json!({})).await.text("tool_output"), "v1");
    assert_eq!(
        home.done(tool("{\"a\": 1}", true), json!({})).await.get("tool_output"),
        Some(&json!({"a": 1}))
    );
    let told = home.failed(tool("a: 1", true), json!({})).await;
    assert!(
        told.contains("the result of `bash` is not JSON") && told.contains("begins with \"a: 1\""),
        "{told}"
    );
    let told = home.failed(tool("false", false), json!({})).await;
    assert!(told.contains("tool `bash` execution failed: Exit code: 1"), "{told}");
    let context = json!({"commands": [{"command": "v1", "state_key": "version"}]});
    assert_eq!(home.done(one("context", context), json!({})).await.text("version"), "v1");
    let told = home.failed(one("context", json!({"commands": [{"command": "false"}]})), json!({})).await;
    assert!(told.contains("Exit code: 1"), "{told}");
}

#[tokio::test]
async fn a_command_whose_changes_were_overtaken_is_run_anew_by_retries_and_decides_no_gate() {
    for (kind, config) in [
        ("tool", json!({"tool": "bash", "arguments": {"command": "busy"}})),
        ("gate", json!({"commands": ["busy"]})),
    ] {
        let home = Home::new().tool(careful_shell());
        let mut graph = one(kind, config);
        let told = home.failed(graph.clone(), json!({})).await;
        assert!(told.contains("`log.txt` was not taken over"), "{told}");
        let mut home = Home::new().tool(careful_shell());
        home.patience = std::time::Duration::from_secs(5);
        graph["nodes"][0]["retries"] = json!(1);
        let board = home.done(graph, json!({})).await;
        assert!(board.text("tool_output") == "busy" || board.text("gate_result") == "pass", "{kind}");
    }
}

#[tokio::test]
async fn flowcraft_195_125_049_an_approval_belongs_to_its_node() {
    let home = Home::new();
    let two = graph(
        json!([{"id": "first", "type": "approval", "config": {"prompt": "One?"}},
            {"id": "second", "type": "approval", "config": {"prompt": "Two?"}}, passes("out")]),
        &[("first", "second"), ("second", "out")],
    );
    let outcome = home.run(two.clone(), json!({})).await;
    assert_eq!(outcome.status, RunStatus::Suspended);
    assert_eq!(outcome.state.get("approval_request"), Some(&json!({"prompt": "One?", "node_id": "first"})));
    assert_eq!(outcome.state.text(convoke_graph::INTERRUPTED_NODE), "first");
    let again = home.resume(two.clone(), &outcome.run).await;
    assert_eq!(again.status, RunStatus::Suspended, "nobody has answered");
    assert_eq!(again.state.get("approval_request"), outcome.state.get("approval_request"));
    home.answer(&outcome.run, Answer::approve()).await;
    let next = home.resume(two.clone(), &outcome.run).await;
    assert_eq!(next.status, RunStatus::Suspended, "the first decision is not the second");
    assert_eq!(next.state.text(convoke_graph::INTERRUPTED_NODE), "second");
    home.answer(&outcome.run, Answer::reject("no")).await;
    let board = home.resume(two, &outcome.run).await.completed().unwrap();
    assert_eq!((board.text("approval_status"), board.text("approval_comment")), ("rejected", "no"));
    assert_eq!(board.get(convoke_graph::INTERRUPTED_NODE), None);
}

#[tokio::test]
async fn flowcraft_196_an_iteration_goes_through_a_list() {
    let mut made = one("iteration", json!({"input_key": "words", "graph": "shout"}));
    made["graphs"] = json!({"shout": graph(
        json!([{"id": "t", "type": "template", "config": {"template": "{{.index}}:{{.item}}", "output_key": "answer"}}]), &[])});
    let board = Home::new().done(made.clone(), json!({"words": ["a", "b"]})).await;
    assert_eq!(board.get("iteration_results"), Some(&json!(["0:a", "1:b"])));
    assert!(Home::new().failed(made, json!({"words": "a"})).await.contains("`words`"));
}

#[tokio::test]
async fn an_item_that_cannot_be_worked_on_is_named() {
    let mut typed = one("iteration", json!({"graph": "shout"}));
    typed["graphs"] = json!({"shout": graph(json!([passes("t")]), &[])});
    typed["graphs"]["shout"]["inputs"] = json!([{"name": "item", "type": "integer"}]);
    assert!(Home::new().failed(typed, json!({"items": [1, "a"]})).await.contains("at index 1"));
}

#[tokio::test]
async fn where_a_text_is_wanted_a_value_is_written_as_within_a_text() {
    for (value, text) in
        [(json!(5), "5"), (json!([1, {"a": null}]), r#"[1,{"a":null}]"#), (json!(true), "true")]
    {
        let board =
            Home::new().done(one("answer", json!({"template": "${board.x}"})), json!({"x": value})).await;
        assert_eq!(board.text("answer"), text);
    }
    let empty = one("template", json!({"template": "${board.x:null}"}));
    assert_eq!(Home::new().done(empty, json!({})).await.text("template_output"), "");
    let wrong = one("aggregator", json!({"input_keys": "${board.x}"}));
    let problem = Home::new().failed(wrong, json!({"x": 5})).await;
    assert!(problem.contains("`/input_keys`: 5 is not of type \"array\""), "{problem}");
}

#[tokio::test]
async fn flowcraft_196_an_iteration_that_waits_keeps_what_it_has_and_goes_on_there() {
    let model = ScriptedModel::replies(["one", "two"]);
    let home = Home::with_model(model);
    let mut made = one("iteration", json!({"graph": "each"}));
    let nodes = json!([{"id": "say", "type": "llm", "config": {"prompt": "${board.item}"}},
        {"id": "ok", "type": "approval", "skip_condition": "index == 0"}, {"id": "out", "type": "answer"}]);
    made["graphs"] = json!({"each": graph(nodes, &[("say", "ok"), ("ok", "out")])});
    let outcome = home.run(made.clone(), json!({"items": ["a", "b"]})).await;
    assert_eq!(outcome.status, RunStatus::Suspended);
    assert_eq!(outcome.state.get("iteration_results"), Some(&json!(["one"])));
    home.answer(&outcome.run, Answer::approve()).await;
    let board = home.resume(made, &outcome.run).await.completed().unwrap();
    assert_eq!(board.get("iteration_results"), Some(&json!(["one", "two"])));
    assert_eq!(home.model.calls(), 2, "nothing is asked twice");
}

#[cfg(feature = "script")]
#[tokio::test]
async fn flowcraft_196_197_199_scripts_are_functions_of_the_board() {
    let run = |source: &str, vars: Value| {
        let made = one("script", json!({"source": source, "config": {"step": 2}}));
        async move { Home::new().run(made, vars).await.completed() }
    };
    let board = run("board.setVar('n', board.getVar('n') + config.step)", json!({"n": 1})).await.unwrap();
    assert_eq!(board.get("n"), Some(&json!(3)));
    let board =
        run("board.setVar('m', board.getVar('missing')); signal.done(); board.setVar('n', 0)", json!({}))
            .await
            .unwrap();
    assert_eq!((board.get("m"), board.get("n")), (Some(&Value::Null), None));
    run("globalThis.leaked = 1; config.leaked = 1", json!({})).await.unwrap();
    let asks = "board.setVar('seen', typeof leaked + typeof config.leaked)";
    let twenty = futures_util::future::join_all((0..20).map(|_| run(asks, json!({})))).await;
    assert!(twenty.into_iter().all(|board| board.unwrap().text("seen") == "undefinedundefined"));
    let error = run("throw new Error('bad')", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("`n`") && error.contains("bad"), "{error}");
    let error = run("signal.error('not good')", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("`n`") && error.contains("not good"), "{error}");
    let lacking = Home::new().compiled(one("script", json!({}))).unwrap_err();
    assert!(lacking.findings[0].message.contains("`source`"), "{lacking}");
    assert!(run("board.setVar('__usage', 1)", json!({})).await.is_err());
    assert!(run("Math.random()", json!({})).await.is_err());
    assert!(run("new Date()", json!({})).await.is_err());
    assert!(run("performance.now()", json!({})).await.is_err());
    assert!(
        run("let a = []; while (true) { a.push(new Array(100000).fill('x')) }", json!({})).await.is_err()
    );
    assert!(run("while (true) {}", json!({})).await.unwrap_err().to_string().contains("longer than"));
    let odd = "Object.prototype.toJSON = () => 'odd'; board.setVar('r', {a: 1})";
    assert!(run(odd, json!({})).await.unwrap_err().to_string().contains("another `toJSON`"));
    let throwing = json!({"body_script": "if (board.getVar('__iteration_index') === 1) throw 'x'"});
    let problem = Home::new().failed(one("iteration", throwing), json!({"items": [1, 2]})).await;
    assert!(problem.contains("at index 1: the script failed: x"), "{problem}");
    let each = one(
        "iteration",
        json!({"input_key": "items",
        "body_script": "if (board.getVar('__iteration_index') !== 1) board.setVar('__iteration_result', board.getVar('__iteration_item') * 2)"}),
    );
    let board = Home::new().done(each, json!({"items": [1, 2, 3]})).await;
    assert_eq!(
        board.get("iteration_results"),
        Some(&json!([2, null, 6])),
        "a result is not left over from the item before"
    );
}

#[cfg(feature = "script")]
#[tokio::test]
async fn a_script_ends_in_time_within_functions_of_the_engine_too() {
    let begun = std::time::Instant::now();
    let sources = [
        "const a = []; a.length = 4294967295; a.sort()",
        "new Array(2 ** 31).join('ab')",
        "const again = () => { Promise.resolve().then(again) }; again()",
    ];
    let runs = sources.map(|source| async move {
        Home::new().failed(one("script", json!({"source": source})), json!({})).await
    });
    for error in futures_util::future::join_all(runs).await {
        assert!(error.contains("`n`") && error.contains("longer than 5 seconds: have it do less"), "{error}");
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[cfg(feature = "script")]
#[tokio::test]
async fn what_a_script_cannot_write_is_an_error_and_what_promises_write_is_kept() {
    let run = |source: &str| {
        let made = one("script", json!({"source": source}));
        async move { Home::new().run(made, json!({"list": []})).await.completed() }
    };
    for (source, said) in [
        ("board.setVar('f', () => 1)", "variable `f` cannot be kept: there is a function"),
        ("board.setVar('f', {deep: [Symbol('x')]})", "variable `f` cannot be kept: there is a symbol"),
        ("board.setVar('f', 0 / 0)", "there is NaN, which is no number"),
        ("board.setVar('f', new Map([[1, 2]]))", "there is a Map; write Array.from"),
        ("board.setVar('f', 12n)", "there is a BigInt"),
        ("board.setVar('f', Promise.resolve(1))", "there is a promise; write to the variable in its `then`"),
        ("board.setVar('f', {found: /x/})", "variable `f` cannot be kept: there is a RegExp"),
        ("board.setVar('f', [new RangeError('far')])", "there is an Error; write String"),
        ("board.setVar('f', new WeakRef({}))", "there is a WeakRef"),
        ("board.setVar('f', new Uint8Array(2))", "there is a Uint8Array; write Array.from"),
        ("const f = board.getVar('list'); f.push(/x/)", "variable `list` cannot be kept: there is a RegExp"),
        (
            "let f = 1; for (let n = 0; n < 101; n++) f = [f]; board.setVar('f', f)",
            "lists and objects in it stand more than 100 deep",
        ),
        (
            "let f = 1; for (let n = 0; n < 2000; n++) f = [f]; board.setVar('f', f)",
            "lists and objects in it stand more than 100 deep",
        ),
        ("Promise.resolve().then(() => { throw new Error('late') })", "a promise failed: Error: late"),
        ("(async () => { await null; throw 'later' })()", "a promise failed: later"),
    ] {
        let error = run(source).await.unwrap_err().to_string();
        assert!(error.contains(said), "{source}: {error}");
    }
    let board = run("Promise.resolve(1).then((one) => board.setVar('n', one + 1))").await.unwrap();
    assert_eq!(board.get("n"), Some(&json!(2)));
    let board = run("(async () => { await null; board.setVar('n', 3); signal.done() })()").await.unwrap();
    assert_eq!(board.get("n"), Some(&json!(3)));
    let board =
        run("board.setVar('n', Object.assign(Object.create(null), {a: [1, null, 'x', new String('y')]}))")
            .await
            .unwrap();
    assert_eq!(board.get("n"), Some(&json!({"a": [1, null, "x", "y"]})));
    let handled =
        "const p = Promise.reject(new Error('x')); p.catch((error) => board.setVar('n', error.message))";
    assert_eq!(run(handled).await.unwrap().text("n"), "x");
}

#[cfg(feature = "script")]
#[tokio::test]
async fn half_a_character_in_a_variable_is_said_with_where_it_is() {
    for (source, place) in [
        (
            "board.setVar('face', '\\u{1f600}'[0])",
            "variable `face` cannot be kept: there is a text with half a character",
        ),
        ("board.setVar('list', ['a', '\\ud800'])", ") at `1`"),
        ("board.setVar('map', {b: {c: '\\udc00'}})", ") at `c`"),
        ("board.setVar('map', {'\\ud800': 1})", ") at `\u{fffd}`"),
        ("board.setVar('\\ud800', 1)", "variable `\u{fffd}` cannot be kept: there is a text with half"),
        ("signal.error('no \\ud800')", "the script says: no \u{fffd}"),
        ("throw new Error('no \\ud800')", "Error: no \u{fffd}"),
    ] {
        let error = Home::new().failed(one("script", json!({"source": source})), json!({})).await;
        assert!(error.contains(place), "{source}: {error}");
    }
    let whole = one("script", json!({"source": "board.setVar('face', [...'a\u{1f600}'][1])"}));
    let board = Home::new().done(whole, json!({})).await;
    assert_eq!(board.get("face"), Some(&json!("\u{1f600}")));
}

#[cfg(feature = "script")]
#[tokio::test]
async fn a_script_writes_what_it_sets_and_leaves_everything_else_as_it_is() {
    let vars = json!({"id": 9_007_199_254_740_993_u64, "least": i64::MIN, "point": 1.0, "list": [1, {"in": [2.0]}], "gone": 1});
    let run = |source: &str| {
        let (made, vars) = (one("script", json!({"source": source})), vars.clone());
        async move { Home::new().run(made, vars).await.completed() }
    };
    let source = "board.setVar('q', board.getVar('point') + 1); board.getVar('list')[1].in.push(3); board.deleteVar('gone'); \
        board.setVar('had', [board.hasVar('gone'), board.hasVar('q'), board.hasVar('nope'), board.getVar('gone')])";
    let board = run(source).await.unwrap();
    for (name, value) in [
        ("id", Some(&vars["id"])),
        ("least", Some(&vars["least"])),
        ("point", Some(&vars["point"])),
        ("q", Some(&json!(2))),
        ("list", Some(&json!([1, {"in": [2, 3]}]))),
        ("gone", None),
        ("had", Some(&json!([false, true, false, null]))),
    ] {
        assert_eq!(board.get(name), value, "{name}");
    }
    let board = run("board.getVar('list').map((one) => one)").await.unwrap();
    assert_eq!(board.get("list"), Some(&vars["list"]), "what is only read stays what it was");
    for source in ["board.setVar('q', board.getVar('id'))", "board.getVars()", "board.getVar('least')"] {
        let error = run(source).await.unwrap_err().to_string();
        assert!(
            error.contains("whole number") && error.contains("JavaScript cannot hold exactly"),
            "{source}: {error}"
        );
    }
    let mut made = graph(
        json!([passes("z"), {"id": "s", "type": "script", "config": {"source": "board.setVar('q', 1)"}}, writes("b", json!({"id": 5})), passes("join")]),
        &[("z", "s"), ("z", "b"), ("s", "join"), ("b", "join")],
    );
    let board = Home::new().done(made.clone(), json!({"id": vars["id"]})).await;
    assert_eq!(board.get("id"), Some(&json!(5)), "what a script does not touch is no conflict");
    made["merge"] = json!({"id": "max"});
    made["nodes"][1]["config"]["source"] = json!("board.setVar('id', board.getVar('id'))");
    let board = Home::new().done(made, json!({"id": 7})).await;
    assert_eq!(board.get("id"), Some(&json!(7)), "what it sets counts, whatever it was before");
    let each = one("iteration", json!({"body_script": "board.setVar('__iteration_result', 1)"}));
    let board = Home::new().done(each, json!({"items": [vars["id"]]})).await;
    assert_eq!(board.get("items"), Some(&json!([vars["id"]])));
}

#[cfg(feature = "script")]
#[tokio::test]
async fn what_a_script_changes_of_a_variable_counts_however_it_was_given_it() {
    let source = "board.getVar('a').k = 7; const vars = board.getVars(); vars.b.k = vars.a.k; vars.c = 1";
    let made = one("script", json!({"source": source}));
    let board = Home::new().done(made, json!({"a": {"k": 1}, "b": {"k": 1}})).await;
    assert_eq!((board.get("a"), board.get("b")), (Some(&json!({"k": 7})), Some(&json!({"k": 7}))));
    assert_eq!(board.get("c"), None, "only `setVar` makes new ones");
}

#[cfg(feature = "script")]
#[tokio::test]
async fn a_script_sets_no_name_of_the_engine_but_what_comes_of_an_item() {
    for name in ["__iteration_result", "__iteration_item", "__mine"] {
        for (kind, field) in [("script", "source"), ("iteration", "body_script")] {
            let made = one(kind, json!({field: format!("board.setVar('{name}', 1)")}));
            let outcome = Home::new().run(made, json!({"items": [{}]})).await;
            let told = outcome.error.map(|error| error.to_string());
            match (name, kind) {
                ("__iteration_result", "iteration") => assert_eq!(told, None),
                _ => assert!(told.unwrap().contains("belong to the engine"), "{name} in {kind}"),
            }
        }
    }
    let changes =
        "const item = board.getVar('__iteration_item'); item.n = 1; board.setVar('__iteration_result', item)";
    let board =
        Home::new().done(one("iteration", json!({"body_script": changes})), json!({"items": [{}]})).await;
    assert_eq!(board.get("iteration_results"), Some(&json!([{"n": 1}])));
}

#[cfg(feature = "script")]
#[tokio::test]
async fn a_script_is_given_only_the_variables_that_it_asks_for() {
    let large = "x".repeat(8 << 20);
    let vars = json!({"a": large, "b": large, "c": large, "d": large, "n": 1});
    let made = one("script", json!({"source": "board.setVar('n', board.getVar('n') + 1)"}));
    let board = Home::new().done(made, vars).await;
    assert_eq!(board.get("n"), Some(&json!(2)), "all of them are more than it may hold");
}

#[cfg(feature = "script")]
#[tokio::test]
async fn what_fails_in_a_script_is_said_with_its_line_and_without_internals() {
    let source = "const x = 1;\nfunction f() { return board.getVar('nope').length }\nboard.setVar('r', f())";
    let error = Home::new().failed(one("script", json!({"source": source})), json!({})).await;
    assert!(
        error.contains("TypeError: cannot read property 'length' of null (line 2 of the script)"),
        "{error}"
    );
    assert!(!error.contains("eval_script") && !error.contains("<input>"), "{error}");
    let out = "board.setVar('r', 1) }); for(;;){} (function(){";
    let given = one("script", json!({"source": "${board.code}"}));
    let error = Home::new().failed(given, json!({"code": out})).await;
    assert!(
        error.contains("the script failed: SyntaxError: ") && error.contains("(line 1 of the script)"),
        "{error}"
    );
    let error = Home::new().failed(one("script", json!({"source": "throw {code: 1}"})), json!({})).await;
    assert!(error.contains("the script failed: {\"code\":1}"), "{error}");
    let all = "const a = []; for (;;) { a.push(new Array(10000).fill('x')) }";
    let error = Home::new().failed(one("script", json!({"source": all})), json!({})).await;
    assert!(
        error.contains("needs more than 64 MiB, with the variables that it asks the board for"),
        "{error}"
    );
    let none_left = "board.setVar('n', 'a'.repeat(1e6).split('').map(() => 1).length)";
    let error = Home::new().failed(one("script", json!({"source": none_left})), json!({})).await;
    assert!(error.contains("needs more than 64 MiB"), "there is no memory left to say so: {error}");
}

#[tokio::test]
async fn a_script_without_memory_for_an_error_is_told_what_it_needs() {
    for (source, told) in [
        (
            "let m = new ArrayBuffer(6e7), l = null; for (;;) l = {l}",
            "the script failed: it needs more than 64 MiB",
        ),
        (
            "/* throw */ let m = new ArrayBuffer(6e7), l = null; for (;;) l = {l}",
            "null, or it needs more than 64 MiB",
        ),
        ("throw null", "the script failed: null, or it needs more than 64 MiB"),
        ("Promise.reject(null)", "a promise failed: null, or the script needs more than 64 MiB"),
    ] {
        let error = Home::new().failed(one("script", json!({"source": source})), json!({})).await;
        assert!(error.contains(told), "{source}: {error}");
    }
}

#[tokio::test]
async fn what_a_script_says_of_itself_is_bounded() {
    for source in [
        "throw new Error('x'.repeat(1e7))",
        "signal.error('ä'.repeat(5e6))",
        "Promise.reject('x'.repeat(1e7))",
        "board.setVar('x'.repeat(1e6), () => 1)",
        "throw {text: 'x'.repeat(1e7)}",
    ] {
        let error = Home::new().failed(one("script", json!({"source": source})), json!({})).await;
        assert!(error.len() < 5_000 && error.contains("bytes left out"), "{source}: {}", error.len());
    }
    let error = Home::new()
        .failed(one("script", json!({"source": "\nthrow new Error('x'.repeat(1e7))"})), json!({}))
        .await;
    assert!(error.contains("[… 9996") && error.contains("x (line 2 of the script)"), "{error}");
}

#[tokio::test]
async fn approvals_side_by_side_belong_to_their_nodes_and_meet_without_a_conflict() {
    let made = graph(
        json!([passes("fork"), {"id": "first", "type": "approval"}, {"id": "second", "type": "approval"}, passes("join")]),
        &[("fork", "first"), ("fork", "second"), ("first", "join"), ("second", "join")],
    );
    for (first, second, together) in [
        (Answer::approve(), Answer::approve(), "approved"),
        (Answer::reject("no"), Answer::approve(), "rejected"),
        (Answer::approve(), Answer::reject("no"), "rejected"),
    ] {
        let home = Home::new();
        let outcome = home.run(made.clone(), json!({})).await;
        home.answer_at(&outcome.run, "test/first", first).await;
        home.answer_at(&outcome.run, "test/second", second).await;
        let board = home.resume(made.clone(), &outcome.run).await.completed().unwrap();
        assert_eq!(board.text("approval_status"), together);
        let comment = if together == "rejected" { "no" } else { "" };
        assert_eq!(board.text("approval_comment"), comment, "that of the decision that counts");
        let decided = board.get("approvals").unwrap();
        assert!(
            decided["first"]["status"].is_string() && decided["second"]["status"].is_string(),
            "{decided}"
        );
        assert_eq!(board.get("approval_decision"), None, "no document names it");
    }
}

#[tokio::test]
async fn gates_side_by_side_are_kept_by_node_and_one_that_failed_is_what_counts() {
    let gate = |id: &str, command: &str| json!({"id": id, "type": "gate", "config": {"commands": [command]}});
    let edges = [("fork", "first"), ("fork", "second"), ("first", "join"), ("second", "join")];
    for (commands, result, failed, output) in [
        (["ok", "fine"], "pass", json!(null), "fine"),
        (["false", "ok"], "fail", json!("false"), "Exit code: 1"),
        (["ok", "false"], "fail", json!("false"), "Exit code: 1"),
    ] {
        // What it was before does not count, and who comes to the same again is heard.
        for (before, merge) in
            [(json!({}), json!({})), (json!({"gate_result": "fail"}), json!({"*": "last"}))]
        {
            let [first, second] = commands;
            let nodes =
                json!([writes("fork", before), gate("first", first), gate("second", second), passes("join")]);
            let mut made = graph(nodes, &edges);
            made["merge"] = merge;
            let board = Home::new().tool(careful_shell()).done(made, json!({})).await;
            assert_eq!((board.text("gate_result"), board.text("gate_result_output")), (result, output));
            assert_eq!(board.get("gate_result_failed_command"), Some(&failed));
            let gates = board.get("gate_results").unwrap();
            let results = [&gates["first"], &gates["second"]].map(|gate| gate["result"] == "fail");
            assert_eq!(results, commands.map(|command| command == "false"), "{gates}");
            assert!(gates["first"]["output"].is_string() && gates["first"].get("failed_command").is_some());
        }
    }
}

#[tokio::test]
async fn which_way_a_branch_went_is_its_own_affair_unless_somebody_names_it() {
    let way = |id: &str, condition: &str| json!({"id": id, "type": "ifelse", "config": {"conditions": [{"expression": condition}]}});
    let route = |id: &str, target: &str| json!({"id": id, "type": "router", "config": {"routes": [{"target": target}]}});
    let guard = |id: &str, most: u64| json!({"id": id, "type": "loopguard", "config": {"max_count": most}});
    let nodes = json!([
        way("outer", "true"),
        way("a", "false"),
        route("a2", "x"),
        guard("a3", 1),
        way("b", "true"),
        route("b2", "y"),
        guard("b3", 2),
        passes("join"),
    ]);
    let edges = [
        ("outer", "a"),
        ("outer", "b"),
        ("a", "a2"),
        ("a2", "a3"),
        ("a3", "join"),
        ("b", "b2"),
        ("b2", "b3"),
        ("b3", "join"),
    ];
    let mut made = graph(nodes, &edges);
    let board = Home::new().done(made.clone(), json!({})).await;
    assert_eq!(board.text("branch_result"), "if", "what it was before the fork");
    assert_eq!((board.get("route_target"), board.get("loop_count_exceeded")), (None, None));
    assert_eq!(board.get("loop_count"), Some(&json!(1)), "they agree");
    made["merge"] = json!({"route_target": "first", "*": "last"});
    let board = Home::new().done(made.clone(), json!({})).await;
    assert_eq!((board.text("route_target"), board.get("loop_count_exceeded")), ("x", Some(&json!(false))));
    made["merge"] = json!({"route_target": "error"});
    let told = Home::new().failed(made, json!({})).await;
    assert!(
        told.contains("They write to no other name: say under `merge` what becomes of `route_target`"),
        "{told}"
    );
}

#[tokio::test]
async fn who_rejects_again_what_they_rejected_before_is_not_passed_over() {
    for (answers, comment) in
        [([Answer::approve(), Answer::reject("no")], "no"), ([Answer::reject("no"), Answer::approve()], "no")]
    {
        let before = writes("fork", json!({"approval_status": "rejected", "approval_comment": "no"}));
        let made = graph(
            json!([before, {"id": "first", "type": "approval"}, {"id": "second", "type": "approval"}, passes("join")]),
            &[("fork", "first"), ("fork", "second"), ("first", "join"), ("second", "join")],
        );
        let home = Home::new();
        let outcome = home.run(made.clone(), json!({})).await;
        for (answer, path) in answers.into_iter().zip(["test/first", "test/second"]) {
            home.answer_at(&outcome.run, path, answer).await;
        }
        let board = home.resume(made, &outcome.run).await.completed().unwrap();
        assert_eq!((board.text("approval_status"), board.text("approval_comment")), ("rejected", comment));
    }
}

#[test]
fn what_a_template_asks_for_and_nobody_writes_is_warned_of() {
    let warned = |template: &str| {
        let mut made = graph(
            json!([{"id": "t", "type": "template", "config": {"template": template, "output_key": "answer"}}]),
            &[],
        );
        made["inputs"] = json!([{"name": "amount", "type": "number"}, {"name": "user", "type": "object"}]);
        let (_, findings) = convoke_graph::read(&made.to_string(), &convoke_graph::NodeTypes::standard());
        findings
            .into_iter()
            .map(|finding| format!("{} {:?}", finding.message, finding.help))
            .collect::<Vec<_>>()
    };
    assert_eq!(warned("{{.amount}} {{ .amount }} {{.user.name}} {{x}}"), Vec::<String>::new());
    let typo = warned("{{.amuont}}");
    assert!(
        typo[0].contains("`{{.amuont}}` stays as it is") && typo[0].contains("did you mean `amount`?"),
        "{typo:?}"
    );
    let deep = warned("{{.amount.x}}");
    assert!(deep[0].contains("`amount` is neither a list nor an object"), "{deep:?}");
}

#[tokio::test]
async fn a_tool_node_calls_a_tool() {
    let home = Home::new().tool(echo());
    let board = home
        .done(
            one("tool", json!({"tool": "echo", "arguments": {"text": "${board.query}"}})),
            json!({"query": "hi"}),
        )
        .await;
    assert_eq!(board.text("tool_output"), "echo hi");
}

#[tokio::test]
async fn an_agent_node_works_until_it_has_an_answer() {
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), "It said: echo a")
        .otherwise(Reply::tool("echo", json!({"text": "a"})))
        .build();
    let home = Home::with_model(model).tool(echo());
    let board =
        home.done(one("agent", json!({"prompt": "Try it.", "tool_names": ["echo"]})), json!({})).await;
    assert_eq!(board.text("response"), "It said: echo a");
    assert!(board.usage().output_tokens > 0);
}

#[tokio::test]
async fn a_graph_within_a_graph_has_a_board_of_its_own() {
    let mut made =
        one("graph", json!({"graph": "inner", "inputs": {"x": "${board.given}"}, "output_key": "got"}));
    made["graphs"] = json!({"inner": graph(json!([writes("w", json!({"leak": 1})),
        {"id": "a", "type": "answer", "config": {"template": "<{{.x}}>"}}]), &[("w", "a")])});
    let board = Home::new().done(made, json!({"given": "g"})).await;
    assert_eq!((board.text("got"), board.get("leak")), ("<g>", None));
    let unknown = Home::new().compiled(one("graph", json!({"graph": "nosuch"}))).unwrap_err();
    assert_eq!(unknown.findings[0].code, "unknown-graph");
}

#[tokio::test]
async fn flowcraft_132_133_134_ports_are_checked_before_and_after() {
    use convoke_graph::{Port, PortType, Ports};
    use std::sync::Arc;

    struct Ported;

    impl convoke_graph::NodeType for Ported {
        fn name(&self) -> &str {
            "ported"
        }

        fn schema(&self) -> Value {
            json!({"type": "object"})
        }

        fn ports(&self, _: &Value) -> Ports {
            let mut ports = Ports::writing([("out", PortType::String)]);
            ports.inputs =
                vec![Port::required("in", PortType::Integer), Port::optional("more", PortType::Any)];
            ports
        }

        fn build(&self, _: &convoke_graph::NodeSite<'_>) -> Result<Arc<dyn convoke_graph::Node>, String> {
            Ok(Arc::new(super::ProbeNode(Arc::new(|call| {
                Box::pin(async move {
                    if call.board.get("silent").is_none() {
                        call.board.set("out", "x")?;
                    }
                    Ok(())
                })
            }))))
        }
    }

    let mut home = Home::new();
    home.types = home.types.with(Ported);
    let missing = home.failed(one("ported", json!({})), json!({})).await;
    assert!(missing.contains("needs `in`"), "{missing}");
    home.done(one("ported", json!({})), json!({"in": 1})).await;
    home.done(one("ported", json!({"in": 1})), json!({})).await;
    let silent = home.failed(one("ported", json!({})), json!({"in": 1, "silent": true})).await;
    assert!(silent.contains("was to write `out`"), "{silent}");
    let beside = graph(
        json!([passes("start"), {"id": "a", "type": "ported"}, passes("b"), passes("join")]),
        &[("start", "a"), ("start", "b"), ("a", "join"), ("b", "join")],
    );
    let missing = home.failed(beside.clone(), json!({})).await;
    assert!(missing.contains("node `a` needs `in`"), "in a branch as anywhere: {missing}");
    let silent = home.failed(beside, json!({"in": 1, "silent": true})).await;
    assert!(silent.contains("node `a` was to write `out`"), "{silent}");

    let fed = graph(
        json!([{"id": "t", "type": "template", "config": {"template": "x", "output_key": "in"}},
        {"id": "p", "type": "ported"}]),
        &[("t", "p")],
    );
    let (_, findings) = convoke_graph::read(&fed.to_string(), &home.types);
    assert!(findings.iter().any(|finding| finding.code == "port-incompatible"), "{findings:?}");

    use PortType as Type;
    let (any, decimal, whole) = (Type::Any, Type::Float, Type::Integer);
    let others = [Type::String, Type::Bool, Type::Array, Type::Object, Type::Messages, Type::Usage];
    let all: Vec<Type> = others.into_iter().chain([any, decimal, whole]).collect();
    for (takes, given) in all.iter().flat_map(|takes| all.iter().map(|given| (*takes, *given))) {
        let fits = takes == given || takes == any || given == any || (takes, given) == (decimal, whole);
        assert_eq!(takes.accepts(given), fits, "{takes:?} of {given:?}");
    }
}

#[tokio::test]
async fn flowcraft_132_133_ports_of_messages_are_checked_on_channels() {
    use convoke_graph::{Port, PortType, Ports};

    /// Reads messages, and says something unless it is to be silent.
    struct Replies;

    impl convoke_graph::NodeType for Replies {
        fn name(&self) -> &str {
            "replies"
        }

        fn schema(&self) -> Value {
            json!({"type": "object"})
        }

        fn ports(&self, _: &Value) -> Ports {
            let mut ports = Ports::writing([("messages", PortType::Messages)]);
            ports.inputs = vec![Port::required("messages", PortType::Messages)];
            ports
        }

        fn build(&self, _: &convoke_graph::NodeSite<'_>) -> Result<Arc<dyn convoke_graph::Node>, String> {
            Ok(Arc::new(super::ProbeNode(Arc::new(|call| {
                Box::pin(async move {
                    if call.board.get("silent").is_none() {
                        call.board.push("", convoke_core::Message::assistant("yes"))?;
                    }
                    Ok(())
                })
            }))))
        }
    }

    let mut home = Home::new();
    home.types = home.types.with(Replies);
    let unasked = home.failed(one("replies", json!({})), json!({})).await;
    assert!(unasked.contains("needs `messages`"), "{unasked}");
    let board = home.done(one("replies", json!({})), json!({"query": "hi"})).await;
    assert_eq!(board.channel("").len(), 2);
    let silent = home.failed(one("replies", json!({})), json!({"query": "hi", "silent": true})).await;
    assert!(silent.contains("was to write `messages`"), "{silent}");
}

#[tokio::test]
async fn what_nobody_writes_is_noticed_with_what_was_meant() {
    let codes = |template: &str| {
        let made = one("template", json!({"template": template}));
        let (_, findings) = convoke_graph::read(&made.to_string(), &Home::new().types);
        findings
            .iter()
            .map(|finding| (finding.code, finding.help.clone().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    assert_eq!(codes("${board.qeury}"), [("unwritten-variable", "did you mean `query`?".to_owned())]);
    assert!(codes("${board.other:1} ${board.query} ${board.__usage}").is_empty());
    let silent = one("llm", json!({"prompt": "hi"}));
    let (_, findings) = convoke_graph::read(&silent.to_string(), &Home::new().types);
    assert_eq!(
        findings[0].help.as_deref(),
        Some("add a node of type `answer`, or write `answer_key: response`")
    );
}

#[tokio::test]
async fn knowledge_is_searched_and_cited() {
    use convoke_core::{BoxFuture, Error, Passage, PassageSource, Retriever};
    struct Shelf;
    impl Retriever for Shelf {
        fn retrieve<'a>(
            &'a self,
            query: &'a str,
            limit: usize,
        ) -> BoxFuture<'a, Result<Vec<Passage>, Error>> {
            Box::pin(async move {
                let source = PassageSource { document: "looms.md".to_owned(), ..PassageSource::default() };
                Ok(vec![Passage { text: format!("about {query}"), source, score: 1.0 }; limit])
            })
        }
    }
    let mut home = Home::new();
    home.equipment.knowledge = Some(std::sync::Arc::new(|name| match name {
        "" | "shelf" => Ok(std::sync::Arc::new(Shelf) as std::sync::Arc<dyn Retriever>),
        other => Err(format!("there is no knowledge `{other}`")),
    }));
    let board =
        home.done(one("knowledge", json!({"dataset": "shelf", "top_k": 2})), json!({"query": "cloth"})).await;
    let found = board.get("results").unwrap();
    assert_eq!((&found[1]["text"], &found[1]["document"]), (&json!("about cloth"), &json!("looms.md")));
    let unknown = home.compiled(one("knowledge", json!({"dataset": "nosuch"}))).unwrap();
    assert!(unknown.equip(home.equipment.clone()).err().unwrap()[0].contains("nosuch"));
}

#[tokio::test]
async fn flowcraft_126_waiting_for_a_person_is_not_tried_again() {
    let home = Home::new();
    let waits = graph(json!([{"id": "ok", "type": "approval", "retries": 3}]), &[]);
    let outcome = home.run(waits, json!({})).await;
    assert_eq!((outcome.status, outcome.questions().len()), (RunStatus::Suspended, 1));
    assert_eq!(home.store.questions(Some(&outcome.run)).await.unwrap().len(), 1);
    let mut within =
        graph(json!([{"id": "g", "type": "graph", "retries": 3, "config": {"graph": "asks"}}]), &[]);
    within["graphs"] = json!({"asks": graph(json!([{"id": "ok", "type": "approval"}]), &[])});
    let outcome = home.run(within, json!({})).await;
    assert_eq!(
        (outcome.status, outcome.questions().len()),
        (RunStatus::Suspended, 1),
        "nor is what is around it"
    );
}
