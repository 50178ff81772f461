//! Cases 136, 156 to 171: branches, joins, and what they come to together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use convoke_core::{Error, Message, ModelError, Part, RunStatus, ToolCall, Usage};
use convoke_graph::{INTERRUPTED_NODE, MergeConflict};
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::{Value, json};

use super::executor::assert_paired;
use super::{Home, graph, passes, writes};

fn fork(a: Value, b: Value) -> Value {
    graph(
        json!([passes("start"), a, b, passes("join")]),
        &[("start", "a"), ("start", "b"), ("a", "join"), ("b", "join"), ("join", "__end__")],
    )
}

fn count(home: &Home, id: &str) -> usize {
    home.ran().iter().filter(|ran| ran.split('#').next() == Some(id)).count()
}

#[tokio::test]
async fn flowcraft_156_both_branches_are_kept_and_the_join_runs_once() {
    let home = Home::new();
    let sets = |id: &str, key: &str| json!({"id": id, "type": "assigner", "config": {"assignments": [{"target": key, "value": "${board.given} by ${board.who:nobody}"}]}});
    let board = home.done(fork(sets("a", "x"), sets("b", "y")), json!({"given": "this"})).await;
    assert_eq!((board.text("x"), board.text("y")), ("this by nobody", "this by nobody"));
    assert_eq!(count(&home, "join"), 1);
}

#[tokio::test]
async fn flowcraft_136_arms_of_different_length_join_once() {
    let home = Home::new();
    let nodes = json!([passes("start"), passes("a"), passes("b"), passes("b2"), passes("b3"),
        {"id": "join", "type": "loopguard"}]);
    let edges = [
        ("start", "a"),
        ("start", "b"),
        ("b", "b2"),
        ("b2", "b3"),
        ("a", "join"),
        ("b3", "join"),
        ("join", "__end__"),
    ];
    let board = home.done(graph(nodes, &edges), json!({})).await;
    assert_eq!((count(&home, "join"), board.get("loop_count")), (1, Some(&json!(1))));
}

#[tokio::test]
async fn a_join_waits_for_activated_paths_only() {
    let home = Home::new();
    let nodes = json!([passes("start"), passes("a"), passes("b"), passes("join")]);
    let edges = [("start", "a if x"), ("start", "b if not x"), ("a", "join"), ("b", "join")];
    home.done(graph(nodes, &edges), json!({"x": true})).await;
    assert_eq!((count(&home, "a"), count(&home, "b"), count(&home, "join")), (1, 0, 1));
}

#[tokio::test]
async fn flowcraft_157_158_what_one_branch_changed_stays_changed() {
    for reducer in ["error", "first", "last"] {
        let home = Home::new().node("says", |call| {
            Box::pin(async move { Ok(call.board.push("", Message::assistant(call.id))?) })
        });
        let mut one = fork(writes("a", json!({"k": "new"})), json!({"id": "b", "type": "says"}));
        one["merge"] = json!({"*": reducer});
        let board = home.done(one, json!({"k": "old", "query": "hi"})).await;
        assert_eq!(board.text("k"), "new", "{reducer}");
        assert_eq!(board.channel("").len(), 2);
        let both = fork(json!({"id": "a", "type": "says"}), json!({"id": "b", "type": "says"}));
        let board = home.done(both, json!({"query": "hi"})).await;
        let said: Vec<String> = board.channel("").iter().map(Message::text).collect();
        assert_eq!(said, ["hi", "a", "b"]);
    }
}

#[tokio::test]
async fn flowcraft_159_two_branches_that_write_one_key_need_a_rule() {
    let home = Home::new();
    let with = |merge: Value| {
        let mut made = fork(writes("a", json!({"k": "a"})), writes("b", json!({"k": "b"})));
        made["merge"] = merge;
        made
    };
    assert_eq!(home.done(with(json!({"k": "last"})), json!({})).await.text("k"), "b");
    assert_eq!(home.done(with(json!({"k": "first"})), json!({})).await.text("k"), "a");
    assert_eq!(home.done(with(json!({"*": "last"})), json!({})).await.text("k"), "b");
    let outcome = home.run(with(json!({})), json!({})).await;
    let error = outcome.error.unwrap();
    let conflict = error.downcast_ref::<MergeConflict>().unwrap();
    assert_eq!((conflict.key.as_str(), conflict.first.as_str(), conflict.second.as_str()), ("k", "a", "b"));
    assert_eq!(outcome.state.get("k"), None, "nothing is merged");
}

#[tokio::test]
async fn flowcraft_160_the_same_value_is_no_conflict_and_every_difference_is_one() {
    let home = Home::new();
    let both = |a: Value, b: Value| fork(writes("a", json!({"k": a})), writes("b", json!({"k": b})));
    assert_eq!(home.done(both(json!([1]), json!([1])), json!({})).await.get("k"), Some(&json!([1])));
    home.failed(both(json!(1), json!("1")), json!({})).await;
    let home = Home::new().node("rewrites", |call| {
        Box::pin(async move {
            let mut calls = Message::assistant("");
            let wanted = ToolCall { id: call.id.to_owned(), name: "t".to_owned(), arguments: json!({}) };
            calls.parts = vec![Part::ToolCall(wanted)];
            Ok(call.board.set_channel("", [calls])?)
        })
    });
    let rewritten = fork(json!({"id": "a", "type": "rewrites"}), json!({"id": "b", "type": "rewrites"}));
    let error = home.failed(rewritten, json!({"query": "hi"})).await;
    assert!(error.contains("conflict over channel"), "{error}");
}

#[tokio::test]
async fn reducers_put_values_together() {
    let home = Home::new();
    for (reducer, before, a, b, expected) in [
        ("append", json!([0]), json!([0, 1]), json!([0, 2]), json!([0, 1, 2])),
        ("sum", json!(10), json!(11), json!(15), json!(16)),
        ("sum", json!({"x": 1}), json!({"x": 3}), json!({"x": 2, "y": 5}), json!({"x": 4, "y": 5})),
        ("min", json!(9), json!(3), json!(4), json!(3)),
        ("max", json!(9), json!(3), json!(4), json!(4)),
        ("any", json!(false), json!(true), json!(false), json!(true)),
        ("all", json!(true), json!(false), json!(true), json!(false)),
        ("union", json!([]), json!([1, 2]), json!([2, 3]), json!([1, 2, 3])),
        (
            "object",
            json!({"o": 1}),
            json!({"o": 1, "a": 1}),
            json!({"o": 1, "b": 2}),
            json!({"o": 1, "a": 1, "b": 2}),
        ),
    ] {
        let mut made = fork(writes("a", json!({"k": a})), writes("b", json!({"k": b})));
        made["merge"] = json!({"k": reducer});
        let board = home.done(made, json!({"k": before})).await;
        assert_eq!(board.get("k"), Some(&expected), "{reducer}");
    }
    let mut unfit = fork(writes("a", json!({"k": "text"})), writes("b", json!({"k": 2})));
    unfit["merge"] = json!({"k": "sum"});
    let outcome = home.run(unfit, json!({})).await;
    let error = outcome.error.unwrap();
    assert!(error.to_string().contains("conflict over variable `k`"), "{error}");
    assert!(error.to_string().contains("The rule `sum` under `merge` puts numbers"), "{error}");
    let failed: Vec<String> = error.failed_paths().iter().map(|path| path.as_str().to_owned()).collect();
    assert_eq!(failed, ["test/join"], "where it could not be put together");
}

#[tokio::test]
async fn a_rule_hears_a_branch_that_wrote_what_was_there_before() {
    let start = json!({"ok": false, "some": true, "best": 5, "least": 1, "pick": 1, "late": 1, "each": [1], "names": {"o": 1}, "plain": 1, "total": 3});
    let yes = json!({"ok": true, "some": false, "best": 2, "least": 4, "pick": 1, "late": 2, "each": [2], "names": {"n": 2}, "plain": 7, "total": 5});
    let no = json!({"ok": false, "some": true, "best": 5, "least": 1, "pick": 3, "late": 1, "each": [1], "names": {"o": 1}, "plain": 1, "total": 3});
    let mut made = fork(writes("a", yes), writes("b", no));
    made["nodes"][0] = writes("start", start);
    made["merge"] = json!({"ok": "all", "some": "any", "best": "max", "least": "min", "pick": "first", "late": "last",
        "each": "union", "names": "object", "total": "sum"});
    let board = Home::new().done(made, json!({})).await;
    let expected = json!({"ok": false, "some": true, "best": 5, "least": 1, "pick": 1, "late": 1, "each": [2, 1],
        "names": {"n": 2, "o": 1}, "plain": 7, "total": 5});
    assert_eq!(
        Value::Object(board.to_object()),
        expected,
        "without a rule, what changes nothing is no conflict"
    );
}

#[tokio::test]
async fn numbers_that_branches_wrote_are_compared_exactly_and_not_rounded_where_they_are_added() {
    let merged = |rule: &str, a: Value, b: Value| {
        let mut made = fork(writes("a", json!({"k": a})), writes("b", json!({"k": b})));
        made["merge"] = json!({"k": rule});
        async move { Home::new().run(made, json!({})).await.completed() }
    };
    let (exact, rounded) = (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0));
    for (rule, a, b, expected) in [
        ("max", &exact, &rounded, &exact),
        ("max", &rounded, &exact, &exact),
        ("min", &exact, &rounded, &rounded),
        ("min", &json!(u64::MAX), &json!(-1.5), &json!(-1.5)),
        ("max", &json!(-1), &json!(-1.5), &json!(-1)),
        ("sum", &json!(i64::MAX), &json!(1), &json!(1_u64 << 63)),
    ] {
        let board = merged(rule, a.clone(), b.clone()).await.unwrap();
        assert_eq!(board.get("k"), Some(expected), "{rule} of {a} and {b}");
    }
    for [a, b] in [[json!(u64::MAX), json!(1)], [json!({"x": u64::MAX}), json!({"x": 1})]] {
        let error = merged("sum", a, b).await.unwrap_err().to_string();
        assert!(error.contains("more than whole numbers reach to"), "{error}");
    }
}

#[tokio::test]
async fn lists_that_do_not_go_on_from_what_was_there_are_told_apart_from_what_is_no_list() {
    let mut made = fork(writes("a", json!({"k": [1, 2]})), writes("b", json!({"k": [3]})));
    made["merge"] = json!({"k": "append"});
    let error = Home::new().failed(made, json!({"k": [1]})).await;
    assert!(
        error.contains("go on from what was there before, and one of theirs does not: have them add to `k`"),
        "{error}"
    );
}

/// `s` forks into `a` and `b`; `b` goes on to `k`, and meets `a` in `j`. `j` and `k` meet in `out`.
fn meeting_in_part(nodes: [Value; 4], order: [usize; 3]) -> Value {
    let mut pairs = [[("s", "a"), ("s", "b")], [("b", "j"), ("b", "k")], [("j", "out"), ("k", "out")]];
    for (pair, turned) in pairs.iter_mut().zip(order) {
        pair.rotate_left(turned);
    }
    let edges: Vec<_> = pairs.concat().into_iter().chain([("a", "j")]).collect();
    let [a, b, j, k] = nodes;
    let mut made = graph(json!([writes("s", json!({"n": ["s"]})), a, b, j, k, passes("out")]), &edges);
    made["merge"] = json!({"n": "append"});
    made
}

#[tokio::test]
async fn every_item_comes_once_in_whatever_order_branches_that_only_add_meet() {
    let adds = |id: &str| {
        let expression = format!("concat(n, [\"{id}\"])");
        json!({"id": id, "type": "assigner", "config": {"assignments": [{"target": "n", "expression": expression}]}})
    };
    for turned in 0..8 {
        let order = [turned & 1, turned >> 1 & 1, turned >> 2];
        for (j, expected) in
            [(adds("j"), vec!["a", "b", "j", "k", "s"]), (passes("j"), vec!["a", "b", "k", "s"])]
        {
            let made = meeting_in_part([adds("a"), adds("b"), j, adds("k")], order);
            let mut items: Vec<String> = Home::new().done(made, json!({})).await.typed("n").unwrap();
            assert_eq!(items.remove(0), "s");
            items.push("s".to_owned());
            items.sort();
            assert_eq!(items, expected, "{order:?}");
        }
        let unfit =
            meeting_in_part([adds("a"), adds("b"), passes("j"), writes("k", json!({"n": ["k"]}))], order);
        let error = Home::new().run(unfit, json!({})).await.error.unwrap();
        let conflict = error.downcast_ref::<MergeConflict>().unwrap();
        let nodes = [conflict.first.as_str(), conflict.second.as_str()];
        assert!(nodes.contains(&"k") && !nodes.contains(&""), "{order:?}: {error}");
    }
}

#[tokio::test]
async fn a_union_of_long_lists_has_each_item_once() {
    let list = |from: u32| (from..from + 20_000).map(|n| json!({"n": n})).collect::<Vec<_>>();
    let mut made = fork(writes("a", json!({"k": list(0)})), writes("b", json!({"k": list(10_000)})));
    made["merge"] = json!({"k": "union"});
    let board = Home::new().done(made, json!({})).await;
    assert_eq!(board.get("k").unwrap().as_array().unwrap().len(), 30_000);
    assert_eq!(board.get("k").unwrap()[29_999], json!({"n": 29_999}));
}

/// Both arms lead to both joins, which are put together in turn: what the arms did must count once.
#[tokio::test]
async fn branches_that_meet_twice_count_once() {
    let counts = |id: &str| {
        let assignments = json!([{"target": "total", "expression": "(total ?? 0) + 1"},
            {"target": "all", "expression": format!("concat(all ?? [], ['{id}'])")}]);
        json!({"id": id, "type": "assigner", "config": {"assignments": assignments}})
    };
    let nodes = json!([
        counts("start"),
        counts("a"),
        counts("b"),
        counts("c"),
        counts("j1"),
        counts("j2"),
        counts("k")
    ]);
    let edges = [
        ("start", "a"),
        ("start", "b"),
        ("start", "c"),
        ("a", "j1"),
        ("a", "j2"),
        ("b", "j1"),
        ("b", "j2"),
        ("c", "j2"),
        ("j1", "k"),
        ("j2", "k"),
    ];
    let mut made = graph(nodes, &edges);
    made["merge"] = json!({"total": "sum", "all": "append"});
    let board = Home::new().done(made, json!({})).await;
    assert_eq!(board.get("total"), Some(&json!(7)));
    let mut all: Vec<String> = board.typed("all").unwrap();
    all.sort();
    assert_eq!(all, ["a", "b", "c", "j1", "j2", "k", "start"]);
}

#[tokio::test]
async fn flowcraft_162_the_failure_of_a_branch_ends_the_others_and_nothing_is_merged() {
    let dropped = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&dropped);
    let home = Home::new()
        .node("fails", |call| {
            Box::pin(async move {
                call.board.set("half", 1)?;
                Err(Error::permanent("broken"))
            })
        })
        .node("waits", move |call| {
            let counter = Arc::clone(&counter);
            Box::pin(async move {
                let ended = call.scope.sleep(std::time::Duration::from_secs(3600)).await;
                counter.fetch_add(1, Ordering::Relaxed);
                ended
            })
        });
    let outcome = home
        .run(fork(json!({"id": "a", "type": "fails"}), json!({"id": "b", "type": "waits"})), json!({}))
        .await;
    let error = outcome.error.unwrap().to_string();
    assert!(error.contains("`a`") && error.contains("broken"), "{error}");
    assert_eq!((outcome.status, outcome.state.get("half")), (RunStatus::Failed, None));
    assert_eq!(dropped.load(Ordering::Relaxed), 1, "the other branch was ended");
    assert!(!error.contains("`b`") && !error.contains("cancel"), "it is what really failed: {error}");
    assert_paired(&home);
    // Further along a branch it is the node that is named; of which branch it is a part is told with `graph.branch`.
    let nodes =
        json!([passes("start"), passes("a"), {"id": "a2", "type": "fails"}, {"id": "b", "type": "waits"}]);
    let edges = [("start", "a"), ("start", "b"), ("a", "a2")];
    let error = home.failed(graph(nodes, &edges), json!({})).await;
    assert!(error.contains("`a2`") && error.contains("broken"), "{error}");
    let told = home.heard.all().into_iter().find_map(|event| match event.kind {
        convoke_core::EventKind::Custom { name, value }
            if name == "graph.branch" && event.path.as_str() == "test/a2" =>
        {
            Some(value)
        }
        _ => None,
    });
    assert_eq!(told, Some(json!([{"fork": "test/start", "branch": "a"}])));
}

#[tokio::test]
async fn flowcraft_163_154_153_a_branch_that_waits_keeps_what_was_done() {
    let home = Home::new();
    let waits = json!({"id": "a", "type": "approval", "config": {"prompt": "May I?"}});
    let made = fork(waits, writes("b", json!({"b": "done"})));
    let outcome = home.run(made.clone(), json!({})).await;
    assert_eq!(outcome.status, RunStatus::Suspended);
    assert_eq!(outcome.state.get("b"), Some(&json!("done")));
    assert_eq!(outcome.state.get(INTERRUPTED_NODE), Some(&json!("a")));
    assert_eq!(outcome.state.get("approval_request").unwrap()["node_id"], "a");
    home.answer(&outcome.run, convoke_core::Answer::approve()).await;
    let board = home.resume(made, &outcome.run).await.completed().unwrap();
    assert_eq!((board.text("approval_status"), board.text("b")), ("approved", "done"));
}

#[tokio::test]
async fn flowcraft_163_what_was_said_before_a_branch_waits_is_kept() {
    let home = Home::new()
        .node("says", |call| Box::pin(async move { Ok(call.board.push("", Message::assistant(call.id))?) }));
    let says = |id: &str| json!({"id": id, "type": "says"});
    let nodes = json!([passes("start"), says("before"), {"id": "ask", "type": "approval"}, says("beside"), passes("join")]);
    let edges =
        [("start", "before"), ("start", "beside"), ("before", "ask"), ("ask", "join"), ("beside", "join")];
    let made = graph(nodes, &edges);
    let outcome = home.run(made.clone(), json!({"query": "hi"})).await;
    let said = |board: &convoke_graph::Board| board.channel("").iter().map(Message::text).collect::<Vec<_>>();
    assert_eq!((outcome.status, outcome.state.text(INTERRUPTED_NODE)), (RunStatus::Suspended, "ask"));
    assert_eq!(said(&outcome.state), ["hi", "before", "beside"]);
    home.answer(&outcome.run, convoke_core::Answer::approve()).await;
    let board = home.resume(made, &outcome.run).await.completed().unwrap();
    assert_eq!(said(&board), ["hi", "before", "beside"], "and once");
}

#[tokio::test]
async fn flowcraft_164_more_branches_than_allowed_are_an_error() {
    let mut made = fork(passes("a"), passes("b"));
    made["max_branches"] = json!(1);
    let error = Home::new().failed(made, json!({})).await;
    assert!(error.contains("`start`") && error.contains("max_branches"), "{error}");
}

#[tokio::test]
async fn flowcraft_165_167_forks_within_branches_join_where_they_meet() {
    let home = Home::new();
    let nodes = json!([passes("start"), passes("a"), writes("a1", json!({"a1": 1})), writes("a2", json!({"a2": 1})),
        writes("b", json!({"b": 1})), {"id": "inner", "type": "loopguard", "config": {"counter_key": "inner"}},
        {"id": "outer", "type": "loopguard", "config": {"counter_key": "outer"}}]);
    let edges = [
        ("start", "a"),
        ("start", "b"),
        ("a", "a1"),
        ("a", "a2"),
        ("a1", "inner"),
        ("a2", "inner"),
        ("inner", "outer"),
        ("b", "outer"),
        ("outer", "__end__"),
    ];
    let board = home.done(graph(nodes, &edges), json!({})).await;
    for key in ["a1", "a2", "b", "inner", "outer"] {
        assert_eq!(board.get(key), Some(&json!(1)), "{key}");
    }
    assert_paired(&home);
    assert_eq!((count(&home, "a1"), count(&home, "inner"), count(&home, "outer")), (1, 1, 1));
}

#[test]
fn flowcraft_168_an_unknown_rule_is_a_mistake() {
    let mut made = fork(passes("a"), passes("b"));
    made["merge"] = json!({"k": "lastt"});
    let (compiled, findings) = convoke_graph::read(&made.to_string(), &convoke_graph::NodeTypes::standard());
    assert!(compiled.is_none());
    assert_eq!(findings[0].path, "/merge/k");
    assert!(findings[0].message.starts_with("`lastt` is none of: error, first, last"), "{findings:?}");
    assert_eq!(findings[0].help.as_deref(), Some("did you mean `last`?"));
}

#[tokio::test]
async fn flowcraft_171_what_branches_use_is_added_up() {
    let used = |input_tokens, output_tokens| Usage { input_tokens, output_tokens, ..Usage::default() };
    let model = ScriptedModel::builder()
        .when(Match::last_contains("first"), Reply::text("one").usage(used(100, 50)))
        .when(Match::last_contains("second"), Reply::text("two").usage(used(10, 5)))
        .build();
    let home = Home::with_model(model);
    let asks = |id: &str, prompt: &str| json!({"id": id, "type": "llm", "config": {"prompt": prompt, "output_key": id}});
    let board = home.done(fork(asks("a", "first"), asks("b", "second")), json!({})).await;
    assert_eq!((board.usage().input_tokens, board.usage().output_tokens), (110, 55));
    assert_eq!(board.get("usage").unwrap()["total_tokens"], 165);
}

#[tokio::test]
async fn flowcraft_072_the_same_stop_has_the_same_status_alone_and_in_a_branch() {
    let statuses = |made: Value| async move {
        let canceller = convoke_core::Canceller::new();
        let stop = canceller.clone();
        let home = Home::new().node("stops", move |_| {
            stop.cancel("enough");
            Box::pin(std::future::pending())
        });
        let workflow = home.graph(made).workflow();
        let run = home.builder().build().start(&workflow, Default::default()).canceller(&canceller).await;
        run.unwrap().status
    };
    let alone = graph(json!([{"id": "a", "type": "stops"}]), &[]);
    let beside = fork(json!({"id": "a", "type": "stops"}), passes("b"));
    assert_eq!(statuses(alone).await, RunStatus::Cancelled);
    assert_eq!(statuses(beside).await, RunStatus::Cancelled);
    let slow = json!({"id": "a", "type": "slow", "timeout": "10ms"});
    for made in [graph(json!([slow]), &[]), fork(slow.clone(), passes("b"))] {
        let home = Home::new().node("slow", |_| Box::pin(std::future::pending()));
        assert_eq!(home.run(made, json!({})).await.status, RunStatus::TimedOut);
    }
}

#[tokio::test]
async fn one_resume_runs_all_nodes_anew_that_failed_side_by_side() {
    let asks = |id: &str| json!({"id": id, "type": "llm", "config": {"prompt": id, "output_key": id}});
    let forked = |ids: [Value; 2], edges: [(&str, &str); 2]| {
        let [one, other] = ids;
        graph(json!([passes("start"), one, other]), &edges)
    };
    let within = json!({"id": "within", "type": "graph", "config": {"graph": "inner"}});
    let mut made = forked([asks("a"), within], [("start", "a"), ("start", "within")]);
    made["graphs"] = json!({"inner": forked([asks("b"), asks("c")], [("start", "b"), ("start", "c")])});
    let mut model = ScriptedModel::builder();
    for id in ["a", "b", "c"] {
        let replies = [Reply::error(ModelError::of_status(500, "down")), Reply::text("fine")];
        model = model.when(Match::last_equals(id), replies);
    }
    let home = Home::with_model(model.build());
    let failed = home.run(made.clone(), json!({})).await;
    assert_eq!((failed.status, home.model.calls()), (RunStatus::Failed, 3));
    let error = failed.error.unwrap();
    assert_eq!(error.failed_paths().len(), 1, "one ended the graph: {error}");
    home.resume(made, &failed.run).await.completed().unwrap();
    assert_eq!(home.model.calls(), 6);
}
