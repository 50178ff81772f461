//! Cases 145, 169 and 170: what is told of branches, and branches that end others.

use std::sync::Arc;
use std::time::Duration;

use convoke_core::{Error, Event, EventKind, Observer, RunStatus};
use convoke_graph::Board;
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::executor::assert_paired;
use super::{Home, graph, passes, writes};

fn asks(id: &str) -> Value {
    json!({"id": id, "type": "llm", "config": {"prompt": format!("As {id}"), "output_key": id}})
}

/// The events of the graph's own, with where they stand: `at name value`.
fn told(home: &Home) -> Vec<(String, String, Value)> {
    let custom = |event: Event| match event.kind {
        EventKind::Custom { name, value } => Some((event.path.as_str().to_owned(), name, value)),
        _ => None,
    };
    home.heard.all().into_iter().filter_map(custom).collect()
}

#[tokio::test]
async fn flowcraft_170_what_branches_say_is_speculative_until_they_are_together() {
    let model = ScriptedModel::builder()
        .when(Match::last_contains("As a"), Reply::text("slow").delay(Duration::from_millis(20)))
        .otherwise("quick")
        .build();
    let home = Home::with_model(model);
    let nodes = json!([passes("start"), asks("a"), asks("b"), {"id": "join", "type": "loopguard", "config": {"max_count": 2}}]);
    let edges = [
        ("start", "a"),
        ("start", "b"),
        ("a", "join"),
        ("b", "join"),
        ("join", "start if not loop_count_exceeded"),
    ];
    home.done(graph(nodes, &edges), json!({})).await;
    let events = home.heard.all();
    let place = |wanted: &dyn Fn(&Event) -> bool| events.iter().position(wanted).unwrap();
    for (round, start, arms, join) in [
        (1, "test/start", ["test/a", "test/b"], "test/join"),
        (2, "test/start#2", ["test/a#2", "test/b#2"], "test/join#2"),
    ] {
        let joined = json!({"fork": start, "accepted": ["a", "b"], "cancelled": []});
        let verdicts: Vec<(String, Value)> = told(&home)
            .into_iter()
            .filter(|(_, name, value)| name == "graph.joined" && value["fork"] == start)
            .map(|(path, _, value)| (path, value))
            .collect();
        assert_eq!(verdicts, [(join.to_owned(), joined)], "round {round}: each once, in their order");
        let accepted = place(
            &|event| matches!(&event.kind, EventKind::Custom { name, value } if name == "graph.joined" && value["fork"] == start),
        );
        for (arm, name) in arms.into_iter().zip(["a", "b"]) {
            let marked = place(&|event| {
                event.path.as_str() == arm
                    && matches!(&event.kind, EventKind::Custom { name, .. } if name == "graph.branch")
            });
            let EventKind::Custom { value, .. } = &events[marked].kind else { unreachable!() };
            assert_eq!(*value, json!([{"fork": start, "branch": name}]));
            let delta = place(&|event| {
                event.path.as_str() == arm && matches!(event.kind, EventKind::MessageDelta { .. })
            });
            let ended =
                place(&|event| event.path.as_str() == arm && matches!(event.kind, EventKind::StepEnded(_)));
            assert!(marked < delta && delta < ended && ended < accepted, "{arm}");
        }
    }
}

#[tokio::test]
async fn a_node_that_is_passed_over_ends_no_branch() {
    let slow = Reply::text("Hello.").delay(Duration::from_millis(50));
    let home = Home::with_model(ScriptedModel::builder().otherwise(slow).build());
    let mut nodes = json!([passes("s"), asks("slow"), passes("fast"), passes("out")]);
    nodes[2]["cancels"] = json!(["slow"]);
    let edges = [("s", "slow"), ("s", "fast"), ("slow", "out"), ("fast", "out")];
    let board = home.done(graph(nodes.clone(), &edges), json!({})).await;
    assert_eq!(board.get("slow"), None);
    nodes[2]["skip_condition"] = json!("true");
    let board = home.done(graph(nodes, &edges), json!({})).await;
    assert_eq!(board.text("slow"), "Hello.");
}

#[tokio::test]
async fn flowcraft_170_forks_within_branches_are_accepted_first_and_what_fails_is_cancelled() {
    let home = Home::new();
    let nodes = json!([
        passes("start"),
        passes("a"),
        passes("a1"),
        passes("a2"),
        passes("inner"),
        passes("b"),
        passes("outer")
    ]);
    let edges = [
        ("start", "a"),
        ("start", "b"),
        ("a", "a1"),
        ("a", "a2"),
        ("a1", "inner"),
        ("a2", "inner"),
        ("inner", "outer"),
        ("b", "outer"),
    ];
    home.done(graph(nodes, &edges), json!({})).await;
    let joined: Vec<(String, Value)> = told(&home)
        .into_iter()
        .filter(|(_, name, _)| name == "graph.joined")
        .map(|(path, _, value)| (path, value["fork"].clone()))
        .collect();
    assert_eq!(
        joined,
        [("test/inner".to_owned(), json!("test/a")), ("test/outer".to_owned(), json!("test/start"))]
    );
    let within = told(&home).into_iter().find(|(path, name, _)| path == "test/a2" && name == "graph.branch");
    assert_eq!(
        within.unwrap().2,
        json!([{"fork": "test/start", "branch": "a"}, {"fork": "test/a", "branch": "a2"}])
    );

    let home = Home::new().node("fails", |_| Box::pin(async { Err(Error::permanent("broken")) }));
    let nodes = json!([passes("start"), {"id": "a", "type": "fails"}, passes("b"), passes("join")]);
    home.failed(graph(nodes, &[("start", "a"), ("start", "b"), ("a", "join"), ("b", "join")]), json!({}))
        .await;
    let joined = home.heard.custom("graph.joined");
    assert_eq!(joined.len(), 1);
    let reason = |branch: usize| joined[0]["cancelled"][branch]["reason"].as_str().unwrap();
    assert_eq!((&joined[0]["accepted"], joined[0]["cancelled"].as_array().unwrap().len()), (&json!([]), 2));
    assert_eq!((reason(0), reason(1)), ("broken", "another branch of the graph failed"));
    assert_paired(&home);

    // What cannot be put together is not accepted either.
    let home = Home::new();
    let nodes =
        json!([passes("start"), writes("a", json!({"k": 1})), writes("b", json!({"k": 2})), passes("join")]);
    let edges = [("start", "a"), ("start", "b"), ("a", "join"), ("b", "join")];
    home.failed(graph(nodes, &edges), json!({})).await;
    let joined = home.heard.custom("graph.joined");
    assert_eq!((joined.len(), &joined[0]["accepted"]), (1, &json!([])));
    assert_eq!(joined[0]["cancelled"].as_array().unwrap().len(), 2);
}

/// Two arms: one that ends the other, and a longer one that waits for ever after it has done something.
fn race() -> Value {
    let mut first = writes("first", json!({"won": "first"}));
    first["cancels"] = json!(["second", "third", "join"]);
    graph(
        json!([passes("start"), {"id": "early", "type": "waits_for_second"}, first, {"id": "join", "type": "loopguard"},
            passes("way"), passes("longer"), {"id": "second", "type": "hangs"}, passes("third")]),
        &[
            ("start", "early"),
            ("start", "way"),
            ("way", "longer"),
            ("longer", "second"),
            ("early", "first"),
            ("second", "third"),
            ("third", "join"),
            ("first", "join"),
            ("join", "__end__"),
        ],
    )
}

/// A home whose second arm has asked a model, and then hangs.
fn track() -> Home {
    let begun = Arc::new(Notify::new());
    let told = Arc::clone(&begun);
    Home::new()
        .node("hangs", move |call| {
            let told = Arc::clone(&told);
            Box::pin(async move {
                call.board.set("second", "has begun")?;
                let effect = call.scope.custom("look").request(&json!("once")).repeatable();
                effect.perform(|_| Box::pin(async { Ok::<_, Error>(1) })).await?;
                told.notify_one();
                std::future::pending().await
            })
        })
        .node("waits_for_second", move |call| {
            let begun = Arc::clone(&begun);
            Box::pin(async move {
                let effect = call.scope.custom("wait").request(&json!("for second")).repeatable();
                effect
                    .perform(move |_| {
                        Box::pin(async move {
                            begun.notified().await;
                            Ok::<_, Error>(())
                        })
                    })
                    .await
            })
        })
}

#[tokio::test]
async fn flowcraft_169_a_branch_that_is_done_ends_another_and_nothing_of_that_counts() {
    let home = track();
    let outcome = home.run(race(), json!({})).await;
    let (run, board) = (outcome.run.clone(), outcome.completed().unwrap());
    assert_eq!((board.text("won"), board.get("second")), ("first", None));
    assert_eq!(board.get("loop_count"), Some(&json!(1)), "the join ran once");
    assert!(!home.ran().contains(&"third".to_owned()));
    let cancelled = json!([{"branch": "way", "reason": "`first` was done first"}]);
    let joined = json!({"fork": "test/start", "accepted": ["early"], "cancelled": cancelled});
    assert_eq!(home.heard.custom("graph.joined"), [joined]);
    assert_paired(&home);

    // What timing decided stays decided, wherever it is killed: nobody waits for the branch that was ended.
    let entries = home.store.entries(&run, 1, usize::MAX).await.unwrap();
    let workflow = home.graph(race()).workflow();
    let replay = home.builder().build().replay(&workflow, &run).await.unwrap();
    assert!(replay.error.is_none() && replay.unused == 0, "{:?} {}", replay.error, replay.unused);
    assert_eq!(replay.state, board);
    let left_out = entries.iter().position(|entry| entry.path.as_str() == "test/second" && entry.ordinal > 9);
    let cut = entries[left_out.unwrap()].seq + 1;
    let killed = convoke_core::Fork::new(run, cut).create(&home.store).await.unwrap();
    assert_eq!(home.resume(race(), &killed).await.completed().unwrap(), board);
}

#[tokio::test]
async fn flowcraft_169_a_branch_that_waits_for_a_person_can_be_ended_and_its_question_is_withdrawn() {
    let home = Home { patience: Duration::ZERO, ..Home::new() }.node("slow", |call| {
        Box::pin(async move {
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            Ok(call.board.set("slow", 1)?)
        })
    });
    let nodes = json!([passes("start"), {"id": "ask", "type": "approval"},
        {"id": "slow", "type": "slow", "cancels": ["ask"]}, passes("join")]);
    let made = graph(nodes, &[("start", "ask"), ("start", "slow"), ("ask", "join"), ("slow", "join")]);
    let outcome = home.run(made, json!({})).await;
    assert_eq!(outcome.status, RunStatus::Completed, "{:?}", outcome.error);
    assert_eq!((outcome.state.get("slow"), outcome.state.get("approval_status")), (Some(&json!(1)), None));
    assert!(home.store.questions(Some(&outcome.run)).await.unwrap().is_empty());
}

#[tokio::test]
async fn flowcraft_169_only_branches_beside_it_are_ended_once_and_the_first_reason_is_kept() {
    // What is done already stays; whoever comes second ends nothing more; outside of branches nobody ends anybody.
    let ends = |id: &str, others: Value| {
        let mut node = writes(id, json!({id: true}));
        node["cancels"] = others;
        node
    };
    let home = track();
    let nodes = json!([passes("start"), {"id": "early", "type": "waits_for_second"}, ends("x", json!(["second", "done"])),
        ends("y", json!(["second", "x"])), writes("done", json!({"done": true})), {"id": "second", "type": "hangs"},
        ends("join", json!(["x", "second"]))]);
    let edges = [
        ("start", "early"),
        ("start", "done"),
        ("start", "second"),
        ("early", "x"),
        ("x", "y"),
        ("y", "join"),
        ("done", "join"),
        ("second", "join"),
    ];
    let board = home.done(graph(nodes, &edges), json!({})).await;
    for key in ["x", "y", "done", "join"] {
        assert_eq!(board.get(key), Some(&json!(true)), "{key}");
    }
    let joined = home.heard.custom("graph.joined");
    assert_eq!(joined[0]["accepted"], json!(["early", "done"]));
    assert_eq!(joined[0]["cancelled"], json!([{"branch": "second", "reason": "`x` was done first"}]));
    assert_eq!(joined.len(), 1);
}

#[test]
fn a_node_can_cancel_other_nodes_of_the_graph_only() {
    let mut made = graph(json!([passes("a"), passes("b")]), &[("a", "b")]);
    made["nodes"][0]["cancels"] = json!(["a", "bb"]);
    let (compiled, findings) = convoke_graph::read(&made.to_string(), &convoke_graph::NodeTypes::standard());
    assert!(compiled.is_none());
    let found: Vec<(&str, &str)> =
        findings.iter().map(|finding| (finding.code, finding.path.as_str())).collect();
    assert_eq!(found, [("cancels-itself", "/nodes/0/cancels/0"), ("unknown-node", "/nodes/0/cancels/1")]);
}

/// An observer that fails at everything it is told.
struct Fails;

impl Observer for Fails {
    fn observe(&self, event: &Event) {
        panic!("cannot publish {}", event.seq);
    }
}

#[tokio::test]
async fn flowcraft_145_whoever_cannot_publish_what_happens_does_not_change_what_happens() {
    let model = || ScriptedModel::builder().otherwise("Hello.").build();
    let made = || {
        let nodes = json!([passes("start"), asks("a"), asks("b"), {"id": "out", "type": "answer", "config": {"keys": ["a", "b"]}}]);
        graph(nodes, &[("start", "a"), ("start", "b"), ("a", "out"), ("b", "out")])
    };
    let heard = Home::with_model(model()).done(made(), json!({})).await;
    let home = Home::with_model(model());
    let workflow = home.graph(made()).workflow();
    let outcome = home.builder().observer(Fails).build().start(&workflow, Board::new()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(outcome.state, heard);
    // Those who are told besides hear everything.
    assert_paired(&home);
}
