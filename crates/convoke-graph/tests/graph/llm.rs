//! Cases 172 to 187: the `llm` node.

use std::time::Duration;

use convoke_agent::FunctionTool;
use convoke_core::{
    Canceller, Error, Event, EventKind, FinishReason, Message, ModelError, ModelErrorKind, Observer, Outcome,
    Role, RunStatus, Usage,
};
use convoke_graph::Board;
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::{Value, json};

use super::{Home, echo, graph};

fn asks(config: Value) -> Value {
    graph(json!([{"id": "llm", "type": "llm", "config": config}]), &[("llm", "__end__")])
}

fn loops(config: Value) -> Value {
    graph(json!([{"id": "llm", "type": "llm", "config": config}]), &[("llm", "llm if tool_pending")])
}

#[tokio::test]
async fn flowcraft_172_181_the_configuration_becomes_the_request() {
    let home = Home::new().tool(echo());
    let config = json!({"system_prompt": "Be brief.", "temperature": "0", "max_tokens": "${board.most}",
        "tool_names": ["echo"], "output_key": "said", "thinking": "true"});
    let board = home.done(asks(config), json!({"query": "hi", "most": "20"})).await;
    let request = home.model.last_request().unwrap();
    assert_eq!((request.params.temperature, request.params.max_tokens), (Some(0.0), Some(20)));
    assert!(request.params.reasoning.is_some());
    assert_eq!(request.tools.len(), 1);
    assert_eq!(board.text("said"), "Hello.");
    let ports = home.types.get("llm").unwrap().ports(&json!({"output_key": "said"}));
    assert_eq!(ports.outputs[0].name, "said");
    Home::new().done(asks(json!({})), json!({"query": "hi"})).await;
    let (compiled, findings) =
        convoke_graph::read(&asks(json!({"temperature": "not-a-number"})).to_string(), &home.types);
    assert!(compiled.is_none());
    assert_eq!(findings[0].path, "/nodes/0/config/temperature");
    // As they are written: numbers of both kinds, and what nothing is said about is left to the model.
    let config = json!({"temperature": 0.7, "max_tokens": 20, "json_mode": "false", "thinking": false});
    home.done(asks(config), json!({"query": "hi"})).await;
    let params = home.model.last_request().unwrap().params;
    assert_eq!((params.temperature, params.max_tokens, params.reasoning), (Some(0.7), Some(20), None));
    let board = home.done(graph(json!([{"id": "llm", "type": "llm"}]), &[]), json!({"query": "hi"})).await;
    let request = home.model.last_request().unwrap();
    let params = request.params;
    assert_eq!((params.temperature, params.max_tokens, params.reasoning), (None, None, None));
    assert!(request.tools.is_empty() && request.messages.iter().all(|message| message.role == Role::User));
    assert_eq!(board.text("response"), "Hello.");
}

#[tokio::test]
async fn flowcraft_173_a_model_that_fails_fails_the_node() {
    let fault = |kind| Reply::error(ModelError::new(kind, "down"));
    let home = Home::with_model(ScriptedModel::replies([fault(ModelErrorKind::InvalidRequest)]));
    let error = home.failed(asks(json!({})), json!({"query": "hi"})).await;
    assert!(error.contains("`llm`") && error.contains("down"), "{error}");
    let cut = Reply::text("a b c").fail_after(1, ModelError::new(ModelErrorKind::InvalidRequest, "cut"));
    let home = Home::with_model(ScriptedModel::replies([cut]));
    assert!(home.failed(asks(json!({})), json!({"query": "hi"})).await.contains("cut"));
    let unknown = home.failed(asks(json!({"model": "nobody/none"})), json!({"query": "hi"})).await;
    assert!(unknown.contains("nobody/none"), "{unknown}");
    let compiled = home.compiled(asks(json!({}))).unwrap();
    let board = compiled.begin(serde_json::from_value(json!({"query": "hi"})).unwrap()).unwrap();
    let workflow = compiled.equip(home.equipment.clone()).unwrap().workflow();
    let outcome = convoke_core::Runtime::new().start(&workflow, board).await.unwrap();
    let error = outcome.error.unwrap().to_string();
    assert!(error.contains("`llm`") && error.contains("no model"), "there is none at all: {error}");
}

#[tokio::test]
async fn flowcraft_174_175_the_conversation_goes_on() {
    let home = Home::with_model(ScriptedModel::replies(["hello world"]));
    let board = home.done(asks(json!({"system_prompt": "Be kind."})), json!({"query": "hi"})).await;
    let roles: Vec<Role> = board.channel("").iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant], "the instructions are the node's, not the channel's");
    assert_eq!(board.text("response"), "hello world");
    let sent = home.model.last_request().unwrap();
    assert_eq!(sent.messages.iter().next().unwrap().text(), "Be kind.");
    let tokens: Vec<String> = home
        .heard
        .all()
        .into_iter()
        .filter_map(|event| match event.kind {
            convoke_core::EventKind::MessageDelta { text, .. } => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(tokens, ["hello ", "world"], "piece by piece, in order");
    let home = Home::new().node("system", |call| {
        Box::pin(
            async move { Ok(call.board.set_channel("", [Message::system("Mine."), Message::user("hi")])?) },
        )
    });
    let nodes = json!([{"id": "s", "type": "system"}, {"id": "llm", "type": "llm", "config": {"system_prompt": "Be kind."}}]);
    home.done(graph(nodes, &[("s", "llm")]), json!({})).await;
    let sent = home.model.last_request().unwrap();
    let system: Vec<String> =
        sent.messages.iter().filter(|message| message.role == Role::System).map(Message::text).collect();
    assert_eq!(system, ["Mine."]);
}

#[tokio::test]
async fn flowcraft_177_187_an_answer_in_json_becomes_a_value_or_a_typed_error() {
    for (said, expected) in [
        ("{\"intent\": \"qa\"}", json!({"intent": "qa"})),
        ("[1, 2]", json!([1, 2])),
        ("Sure: {\"intent\": \"qa\"} as asked", json!({"intent": "qa"})),
        ("```\n[9]\n```\n```json\n{\"intent\": \"qa\"}\n```", json!({"intent": "qa"})),
        ("```JSON\r\n{\"a\": 1}\r\n```", json!({"a": 1})),
        ("```text\nno\n```\n{\"b\": 2}", json!({"b": 2})),
        ("7 and null, then {\"c\": 3}", json!({"c": 3})),
        ("- item one\n{\"d\": [{}]}", json!({"d": [{}]})),
        ("a {broken} then {\"e\": 5}", json!({"e": 5})),
    ] {
        let home = Home::with_model(ScriptedModel::replies([said]));
        let board =
            home.done(asks(json!({"json_mode": true, "output_key": "intent"})), json!({"query": "hi"})).await;
        assert_eq!(board.get("intent"), Some(&expected), "{said}");
    }
    let home = Home::with_model(ScriptedModel::replies(["{\"intent\": \"qa\"}"]));
    let nodes = json!([{"id": "llm", "type": "llm", "config": {"json_mode": true, "output_key": "result"}},
        super::writes("qa", json!({"took": "qa"}))]);
    let board =
        home.done(graph(nodes, &[("llm", "qa if result.intent == 'qa'")]), json!({"query": "hi"})).await;
    assert_eq!(board.text("took"), "qa", "conditions read what is in it");
    for said in ["no json", "42", "\"text\"", "null", "{broken", " \n "] {
        let home = Home::with_model(ScriptedModel::replies([said]));
        let error = home.failed(asks(json!({"json_mode": true})), json!({"query": "hi"})).await;
        assert!(error.contains("JSON"), "{said}: {error}");
    }
}

#[tokio::test]
async fn a_json_answer_is_no_stale_one() {
    let home = Home::with_model(ScriptedModel::replies(["not json"]));
    let outcome = home
        .run(asks(json!({"json_mode": true, "output_key": "k"})), json!({"query": "hi", "k": {"old": 1}}))
        .await;
    assert!(outcome.error.is_some(), "an old value is not taken for a new one");
}

#[tokio::test]
async fn flowcraft_178_066_usage_adds_up() {
    let used = |input_tokens, output_tokens| Usage { input_tokens, output_tokens, ..Usage::default() };
    let model = ScriptedModel::replies([
        Reply::tool("echo", json!({"text": "x"})).usage(used(100, 50)),
        Reply::text("done").usage(used(10, 5)),
    ]);
    let home = Home::with_model(model).tool(echo());
    let board = home.done(loops(json!({"tool_names": ["echo"]})), json!({"query": "hi"})).await;
    assert_eq!((board.usage().input_tokens, board.usage().output_tokens), (110, 55));
    let each = home.heard.all().into_iter().filter_map(|event| match event.kind {
        EventKind::ModelCallEnded { usage, .. } => usage.map(|used| (used.input_tokens, used.output_tokens)),
        _ => None,
    });
    assert_eq!(each.collect::<Vec<_>>(), [(100, 50), (10, 5)], "each call says what it used");
    let home = Home::with_model(ScriptedModel::replies([Reply::text("so far").usage(Usage::default())]));
    let board = home.done(asks(json!({})), json!({"query": "hi"})).await;
    assert!(board.usage().output_tokens > 0 && board.usage().is_estimated, "{:?}", board.usage());
}

#[tokio::test]
async fn flowcraft_142_143_179_tools_are_called_and_their_calls_kept() {
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), "Both are known.")
        .otherwise(Reply::tool("echo", json!({"text": "a"})).and_tool("missing", json!({})))
        .build();
    let home = Home::with_model(model).tool(echo());
    let board = home.done(asks(json!({"tool_names": ["echo"]})), json!({"query": "hi"})).await;
    assert_eq!(board.get("tool_pending"), Some(&json!(true)));
    assert_eq!(board.channel("").iter().last().unwrap().role, Role::Tool);
    let calls = board.get(convoke_graph::TOOL_CALLS).unwrap();
    assert_eq!(
        (&calls[0]["name"], &calls[0]["args"], &calls[0]["result"], &calls[0]["status"]),
        (&json!("echo"), &json!({"text": "a"}), &json!("echo a"), &json!("success"))
    );
    assert_eq!(
        (&calls[1]["name"], &calls[1]["args"], &calls[1]["status"]),
        (&json!("missing"), &json!({}), &json!("error"))
    );
    assert!(calls[1]["result"].as_str().unwrap().contains("missing"));
    assert_eq!(calls.as_array().unwrap().len(), 2);
    let told = home.heard.all();
    let started: std::collections::BTreeSet<&str> = told
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolCallStarted { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(started.len(), 2, "both calls are told");
    let results: Vec<bool> = told
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolCallResult { is_error, .. } => Some(*is_error),
            _ => None,
        })
        .collect();
    assert_eq!((results.len(), results.contains(&true)), (2, true), "and both results");
    let quiet = Home::new().done(asks(json!({})), json!({"query": "hi"})).await;
    assert_eq!(quiet.get(convoke_graph::TOOL_CALLS), None);
    let compiled = home.compiled(asks(json!({"tool_names": ["echo"]}))).unwrap();
    let board = compiled.begin(serde_json::from_value(json!({"query": "hi"})).unwrap()).unwrap();
    let workflow = compiled.equip(home.equipment.clone()).unwrap().workflow();
    let unheard = convoke_core::Runtime::builder().model(home.model.clone()).build();
    let board = unheard.start(&workflow, board).await.unwrap().completed().unwrap();
    let calls = board.get(convoke_graph::TOOL_CALLS).unwrap();
    assert_eq!(
        (&calls[0]["status"], &calls[1]["status"]),
        (&json!("success"), &json!("error")),
        "nobody listens"
    );
}

#[tokio::test]
async fn flowcraft_180_a_tool_that_was_not_offered_is_not_called() {
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), "Fine.")
        .otherwise(Reply::tool("echo", json!({"text": "a"})))
        .build();
    let other = convoke_agent::FunctionTool::new(
        "other",
        "Does something.",
        |_: serde_json::Map<String, Value>| async { Ok::<_, convoke_core::Error>("done") },
    );
    let home = Home::with_model(model).tool(echo()).tool(other);
    let board = home.done(loops(json!({"tool_names": ["other"]})), json!({"query": "hi"})).await;
    let calls = board.get(convoke_graph::TOOL_CALLS).unwrap();
    assert_eq!(calls[0]["status"], "error");
    assert!(calls[0]["result"].as_str().unwrap().contains("not offered"));
}

#[tokio::test]
async fn flowcraft_182_183_steps_are_kept_and_the_query_is_asked_once() {
    let home = Home::new();
    let config = json!({"messages_key": "own", "query_fallback": true, "track_steps": true});
    let twice = graph(
        json!([{"id": "a", "type": "llm", "config": config}, {"id": "b", "type": "llm", "config": config}]),
        &[("a", "b")],
    );
    let board = home.done(twice, json!({"query": "hi"})).await;
    let said: Vec<String> = board.channel("own").iter().map(Message::text).collect();
    assert_eq!(said, ["hi", "Hello.", "Hello."], "it was the last thing that was asked");
    let other = Home::new().node("asks", |call| {
        Box::pin(async move { Ok(call.board.push("own", Message::user("something else"))?) })
    });
    let nodes = json!([{"id": "a", "type": "asks"}, {"id": "b", "type": "llm", "config": config}]);
    let asked = other.done(graph(nodes, &[("a", "b")]), json!({"query": "hi"})).await;
    let said: Vec<String> = asked.channel("own").iter().map(Message::text).collect();
    assert_eq!(said, ["something else", "hi", "Hello."]);
    let steps = board.typed::<Vec<Value>>("agent_steps").unwrap();
    assert_eq!(steps.len(), 2);
    assert_eq!((&steps[0]["response"], &steps[0]["tool_calls"]), (&json!("Hello."), &json!([])));
    assert!(steps[0]["usage"].is_object());
}

/// Asks a model whose reply somebody interrupts as soon as they have heard something of it.
async fn interrupted(home: &Home, made: Value, when: fn(&EventKind) -> bool) -> Outcome<Board> {
    struct Interrupts(Canceller, fn(&EventKind) -> bool);
    impl Observer for Interrupts {
        fn observe(&self, event: &Event) {
            if (self.1)(&event.kind) {
                self.0.cancel("the user has spoken");
            }
        }
    }
    let compiled = home.compiled(made).unwrap();
    let inputs = serde_json::from_value(json!({"query": "hi"})).unwrap();
    let (board, canceller) = (compiled.begin(inputs).unwrap(), Canceller::new());
    let workflow = compiled.equip(home.equipment.clone()).unwrap().workflow();
    let runtime = home.builder().observer(Interrupts(canceller.clone(), when)).build();
    runtime.start(&workflow, board).canceller(&canceller).await.unwrap()
}

fn said(board: &Board) -> Vec<(Role, String)> {
    board.channel("").iter().map(|message| (message.role, message.text())).collect()
}

#[tokio::test(start_paused = true)]
async fn flowcraft_185_what_was_said_before_an_interruption_is_kept() {
    let slow = || Reply::text("one two three").delay_per_chunk(Duration::from_secs(1));
    let home = Home::with_model(ScriptedModel::replies([slow(), Reply::text("all of it")]));
    let is_delta =
        |kind: &EventKind| matches!(kind, EventKind::MessageDelta { text, .. } if text.contains("two"));
    let outcome = interrupted(&home, asks(json!({})), is_delta).await;
    assert_eq!(outcome.status, RunStatus::Cancelled);
    let Some(Error::Cancelled(reason)) = outcome.error.as_ref().map(Error::root) else {
        panic!("{:?}", outcome.error)
    };
    assert_eq!(&**reason, "the user has spoken");
    let kept = said(&outcome.state);
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept[1].1.starts_with("one two") && !kept[1].1.contains("three"), "{kept:?}");
    assert_eq!(outcome.state.get("tool_pending"), Some(&json!(false)));
    assert_eq!(outcome.state.get("response"), None, "half an answer is no answer");
    // Gone on with, the model is asked anew, and nothing of the half is left.
    let board = home.resume(asks(json!({})), &outcome.run).await.completed().unwrap();
    assert_eq!(said(&board)[1..], [(Role::Assistant, "all of it".to_owned())]);

    // Before the first word there is nothing to keep; and who only lets go of a canceller interrupts nobody.
    let home = Home::with_model(ScriptedModel::replies([slow().delay(Duration::from_secs(1))]));
    let is_asked = |kind: &EventKind| matches!(kind, EventKind::ModelCallStarted(_));
    let outcome = interrupted(&home, asks(json!({})), is_asked).await;
    assert_eq!((outcome.status, said(&outcome.state).len()), (RunStatus::Cancelled, 1));
    let home = Home::with_model(ScriptedModel::replies([slow()]));
    let outcome = interrupted(&home, asks(json!({})), |_| false).await;
    assert_eq!(outcome.completed().unwrap().text("response"), "one two three");
}

#[tokio::test(start_paused = true)]
async fn flowcraft_185_every_call_that_is_open_when_somebody_interrupts_has_a_result() {
    let calls = || Reply::tool("echo", json!({"text": "a"})).and_tool("hangs", json!({}));
    let home = Home::with_model(ScriptedModel::replies([calls()])).tool(echo()).tool(
        FunctionTool::new("hangs", "Hangs.", |_: serde_json::Map<String, Value>| async {
            std::future::pending::<Result<String, Error>>().await
        })
        .pure(),
    );
    let is_result = |kind: &EventKind| matches!(kind, EventKind::ToolCallResult { .. });
    let config = json!({"tool_names": ["echo", "hangs"]});
    let outcome = interrupted(&home, asks(config.clone()), is_result).await;
    assert_eq!(outcome.status, RunStatus::Cancelled);
    let last = outcome.state.channel("").iter().last().cloned().unwrap();
    let results: Vec<(String, bool)> =
        last.results().map(|result| (result.content.clone(), result.is_error)).collect();
    assert_eq!(results, [("echo a".to_owned(), false), ("[cancelled by interrupt]".to_owned(), true)]);
    assert_eq!(outcome.state.get("tool_pending"), Some(&json!(false)));
    // While a reply with a call comes, the call is not made.
    let slow = Reply::text("Let me see.").and_tool("echo", json!({"text": "b"}));
    let home =
        Home::with_model(ScriptedModel::replies([slow.delay_per_chunk(Duration::from_secs(1))])).tool(echo());
    let is_whole =
        |kind: &EventKind| matches!(kind, EventKind::ToolCallArguments { delta, .. } if delta.ends_with('}'));
    let outcome = interrupted(&home, asks(json!({"tool_names": ["echo"]})), is_whole).await;
    let channel = outcome.state.channel("");
    let last = channel.iter().last().unwrap();
    assert_eq!(last.role, Role::Tool, "{:?}", said(&outcome.state));
    assert!(last.results().all(|result| result.is_error));
}

#[tokio::test(start_paused = true)]
async fn flowcraft_208_calls_keep_their_order_and_one_that_breaks_does_not_break_the_others() {
    let with = |name: &str, seconds: u64| {
        FunctionTool::new(name, "Works.", move |_: serde_json::Map<String, Value>| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok::<_, Error>(format!("after {seconds}"))
        })
    };
    let calls = Reply::tool("slow", json!({}))
        .and_tool("panics", json!({}))
        .and_tool("quick", json!({}))
        .and_tool("nobody", json!({}))
        .and_tool("endless", json!({}))
        .and_tool("own_time", json!({}));
    let panics = FunctionTool::new("panics", "Panics.", |_: serde_json::Map<String, Value>| async {
        if true {
            panic!("oh no");
        }
        Ok::<_, Error>(String::new())
    });
    let home = Home::with_model(ScriptedModel::replies([calls]))
        .tool(with("slow", 20))
        .tool(panics)
        .tool(with("quick", 1))
        .tool(with("endless", 3600))
        .tool(with("own_time", 90).unbounded());
    let names = json!({"tool_names": ["slow", "panics", "quick", "endless", "own_time"]});
    let board = home.done(asks(names), json!({"query": "hi"})).await;
    let last = board.channel("").iter().last().cloned().unwrap();
    let results: Vec<(&str, bool)> =
        last.results().map(|result| (result.name.as_str(), result.is_error)).collect();
    assert_eq!(
        results,
        [
            ("slow", false),
            ("panics", true),
            ("quick", false),
            ("nobody", true),
            ("endless", true),
            ("own_time", false)
        ]
    );
    let texts: Vec<&str> = last.results().map(|result| result.content.as_str()).collect();
    assert!(texts[0] == "after 20" && texts[2] == "after 1" && texts[5] == "after 90", "{texts:?}");
    assert!(texts[1].contains("oh no") && texts[3].contains("nobody"), "{texts:?}");
    assert!(texts[4].contains("30"), "it says how long it had: {texts:?}");
}

#[tokio::test]
async fn flowcraft_186_nothing_to_ask_is_an_error_and_nobody_is_asked() {
    let home = Home::new();
    let error = home.failed(asks(json!({})), json!({})).await;
    assert!(error.contains("nothing to ask"), "{error}");
    assert_eq!(home.model.calls(), 0);
}

#[tokio::test]
async fn a_reply_that_was_cut_off_is_no_answer() {
    let home =
        Home::with_model(ScriptedModel::replies([Reply::text("half of").finish(FinishReason::Length)]));
    assert!(!home.failed(asks(json!({})), json!({"query": "hi"})).await.is_empty());
}

#[test]
fn a_model_that_nobody_knows_is_found_before_the_run_begins() {
    let mut home = Home::new();
    home.equipment.models = Some(std::sync::Arc::new(|name| Err(format!("no model `{name}`"))));
    for kind in ["llm", "agent"] {
        let node = |model: &str| {
            let config = json!({"prompt": "x", "model": model});
            let made = graph(json!([{"id": "a", "type": kind, "config": config}]), &[]);
            home.compiled(made).unwrap().equip(home.equipment.clone())
        };
        assert_eq!(node("nope/none").err().unwrap(), ["node `a`: no model `nope/none`"]);
        assert!(node("${board.model}").is_ok(), "what it will be is not known yet");
    }
}
