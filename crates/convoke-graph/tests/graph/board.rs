//! Cases 1 to 26: the board.

use convoke_core::Message;
use convoke_graph::{Board, BoardError, MAIN_CHANNEL, TOOL_CALLS};
use serde_json::{Value, json};

use super::{Home, graph, passes};

#[test]
fn flowcraft_001_013_a_new_board_is_empty() {
    let board = Board::new();
    assert_eq!(board.get("anything"), None);
    assert!(board.channel(MAIN_CHANNEL).is_empty() && board.channel("nobody").is_empty());
}

#[test]
fn flowcraft_002_003_004_values_are_read_as_what_they_are() {
    let mut board = Board::new();
    board.set("k", 42).unwrap();
    board.set("name", "Ada").unwrap();
    board.set("nothing", Value::Null).unwrap();
    assert_eq!(board.get("k"), Some(&json!(42)));
    assert_eq!(board.get("nothing"), Some(&Value::Null), "a variable that holds null is there");
    assert_eq!(board.get("unknown"), None);
    assert_eq!((board.text("name"), board.text("k"), board.text("unknown")), ("Ada", "", ""));
    assert_eq!(board.typed::<u32>("k"), Some(42));
    assert_eq!(board.typed::<String>("k"), None);
    assert_eq!(board.typed::<u32>("unknown"), None);
}

#[test]
fn flowcraft_005_the_variables_as_an_object_are_a_copy() {
    let board = Board::new();
    board.to_object().insert("k".to_owned(), json!(1));
    assert_eq!(board.get("k"), None);
}

#[test]
fn flowcraft_006_007_009_010_lists_are_appended_to_and_updated() {
    let mut board = Board::new();
    board.append("list", "a").unwrap();
    board.append("list", "b").unwrap();
    assert_eq!(board.get("list"), Some(&json!(["a", "b"])));
    let copy = board.clone();
    board.append("list", "c").unwrap();
    assert_eq!(
        (copy.get("list"), board.get("list")),
        (Some(&json!(["a", "b"])), Some(&json!(["a", "b", "c"])))
    );
    board.set("text", "x").unwrap();
    let refused = board.append("text", 1).unwrap_err();
    assert_eq!(refused, BoardError::NotAList { key: "text".to_owned(), found: "a text" });
    assert_eq!(board.text("text"), "x");
    board.set("items", json!([{"id": "a"}, {"id": "b"}, {"id": "a"}])).unwrap();
    let is_a = |item: &Value| item["id"] == "a";
    board.update_item("items", is_a, |_| json!({"id": "a", "done": true})).unwrap();
    assert_eq!(board.get("items"), Some(&json!([{"id": "a", "done": true}, {"id": "b"}, {"id": "a"}])));
    board.update_item("text", |_| panic!("no list"), |_| panic!("no list")).unwrap();
    board.update_item("unknown", |_| panic!("nothing"), |_| panic!("nothing")).unwrap();
}

#[tokio::test]
async fn flowcraft_008_fifty_branches_append_to_one_list() {
    let home =
        Home::new().node("adds", |call| Box::pin(async move { Ok(call.board.append("all", call.id)?) }));
    let mut nodes = vec![passes("start")];
    nodes.extend((0..50).map(|n| json!({"id": format!("n{n}"), "type": "adds"})));
    nodes.push(passes("join"));
    let mut made = graph(Value::Array(nodes), &[]);
    let edges = (0..50).flat_map(|n| {
        [json!({"from": "start", "to": format!("n{n}")}), json!({"from": format!("n{n}"), "to": "join"})]
    });
    made["edges"] = edges.collect();
    made["max_branches"] = json!(50);
    made["merge"] = json!({"all": "append"});
    let board = home.done(made, json!({})).await;
    let expected: Vec<String> = (0..50).map(|n| format!("n{n}")).collect();
    assert_eq!(board.typed::<Vec<String>>("all"), Some(expected), "each once, in the order of the branches");
}

#[test]
fn flowcraft_011_012_what_is_read_of_a_channel_is_a_copy() {
    let mut board = Board::new();
    board.push("", Message::user("one")).unwrap();
    let mut copy = board.channel("");
    copy.push(Message::user("two"));
    let mut first = copy.iter().next().unwrap().clone();
    first.parts.clear();
    assert_eq!(board.channel("").len(), 1);
    assert_eq!(board.channel("").iter().next().unwrap().text(), "one");
}

#[test]
fn flowcraft_014_015_016_017_018_019_a_snapshot_is_a_copy_and_restoring_an_assignment() {
    let mut board = Board::new();
    let nested = json!({"a": [1, [2]], "m": {"n": {"x": 1}}});
    board.set("k", nested.clone()).unwrap();
    board.set("list", json!([[1], {"x": 1}])).unwrap();
    board.push("", Message::user("one")).unwrap();
    let snapshot = board.clone();
    board.set("k", json!({"a": [1, [3]], "m": {"n": {"x": 2}}})).unwrap();
    board.append("list", 1).unwrap();
    board.update_item("list", |item| item.is_object(), |_| json!({"x": 2})).unwrap();
    board.set("new", 1).unwrap();
    board.push("", Message::user("two")).unwrap();
    assert_eq!(snapshot.get("k"), Some(&nested));
    assert_eq!(snapshot.get("list"), Some(&json!([[1], {"x": 1}])));
    assert_eq!(snapshot.channel("").len(), 1);
    board = snapshot;
    assert_eq!((board.get("new"), board.channel("").len()), (None, 1));
    assert_eq!(board.get("k"), Some(&nested), "what was changed is as it was");
    let empty: Board = serde_json::from_value(json!({})).unwrap();
    assert_eq!(empty, Board::new());
    let without_channels: Board = serde_json::from_value(json!({"vars": {"a": 1}})).unwrap();
    assert!(without_channels.channel(MAIN_CHANNEL).is_empty());
}

#[test]
fn flowcraft_020_021_022_every_kind_of_value_survives_a_snapshot() {
    #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
    struct Opaque {
        when: String,
        inner: Vec<Option<u64>>,
    }
    let opaque = Opaque { when: "2026-01-02".to_owned(), inner: vec![None, Some(u64::MAX)] };
    let mut board = Board::new();
    for (key, value) in [
        ("n", Value::Null),
        ("b", json!(true)),
        ("i", json!(i64::MIN)),
        ("u", json!(u64::MAX)),
        ("f", json!(0.1)),
        ("t", json!("text")),
    ] {
        board.set(key, value).unwrap();
    }
    board.set("opaque", serde_json::to_value(&opaque).unwrap()).unwrap();
    let restored: Board = serde_json::from_str(&serde_json::to_string(&board).unwrap()).unwrap();
    assert_eq!(restored, board);
    assert_eq!(restored.typed::<Opaque>("opaque"), Some(opaque));
}

#[tokio::test]
async fn flowcraft_023_024_the_engines_own_entries_survive_json() {
    let model = convoke_models::ScriptedModel::replies([
        convoke_models::Reply::tool("echo", json!({"text": "a"})),
        "Done.".into(),
    ]);
    let home = Home::with_model(model).tool(super::echo());
    let asks = json!([{"id": "llm", "type": "llm", "config": {"tool_names": ["echo"]}}]);
    let board = home.done(graph(asks, &[("llm", "llm if tool_pending")]), json!({"query": "hi"})).await;
    let stored = serde_json::to_value(&board).unwrap();
    assert!(stored["vars"].is_object() && stored["channels"][""].is_array());
    let mut restored: Board = serde_json::from_value(stored).unwrap();
    assert_eq!(restored.usage(), board.usage());
    assert!(restored.usage().output_tokens > 0);
    assert_eq!(restored.get(TOOL_CALLS).unwrap()[0]["status"], "success");
    restored.mark_inherited("");
    restored.push("", Message::assistant("new")).unwrap();
    let again: Board = serde_json::from_str(&serde_json::to_string(&restored).unwrap()).unwrap();
    assert_eq!(again.new_messages("").len(), 1, "what is new is known after a restart");
}

#[test]
fn flowcraft_025_variables_are_removed() {
    let mut board = Board::new();
    board.set("k", 1).unwrap();
    assert!(board.remove("k").unwrap());
    assert!(!board.remove("k").unwrap());
    assert_eq!(board.get("k"), None);
    assert!(convoke_graph::Condition::new("k == nil").unwrap().holds(&board, 0).unwrap());
}

#[test]
fn flowcraft_026_names_of_the_engine_are_refused() {
    let mut board = Board::new();
    assert!(board.set("__usage", 1).is_err());
    assert!(board.append("__tool_calls", 1).is_err());
    assert!(board.remove("__usage").is_err());
    assert!(board.push("__mine", Message::user("x")).is_err());
    assert!(board.set_channel("__mine", []).is_err());
    let compiled = Home::new().compiled(graph(json!([passes("a")]), &[])).unwrap();
    let inputs = json!({"__usage": 1, "fine": 2}).as_object().unwrap().clone();
    let refused = compiled.begin(inputs).unwrap_err();
    assert!(refused.to_string().contains("`__usage` cannot be written"), "{refused}");
}

#[test]
fn flowcraft_048_a_channel_that_is_rewritten_knows_what_is_new() {
    let mut board = Board::new();
    for text in ["a", "b"] {
        board.push("", Message::user(text)).unwrap();
    }
    board.mark_inherited("");
    let whole = board.channel("");
    board.set_channel("", whole.iter().cloned().chain([Message::assistant("c")])).unwrap();
    assert_eq!(board.new_messages("").iter().map(Message::text).collect::<Vec<_>>(), ["c"]);
    board.set_channel("", [Message::system("s")].into_iter().chain(whole.iter().cloned())).unwrap();
    assert_eq!(board.new_messages("").len(), 1, "what was put before what was there is new, the rest is not");
}
