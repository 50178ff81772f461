//! Errors for bad input: they say what to do; nothing is lost and nothing hangs.

use std::sync::Arc;
use std::time::Duration;

use convoke::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

fn step(name: &str) -> impl Step<u64> + 'static {
    func(name, |number: &mut u64| {
        *number += 1;
        Ok::<_, Error>(())
    })
}

fn assert_says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "the error does not say {word:?}: {text}");
    }
}

#[tokio::test]
async fn a_registry_given_the_wrong_type_of_state_says_so_and_ends_with_one_event() {
    #[derive(Default, Serialize, Deserialize)]
    struct Search {
        query: String,
    }
    let registry = Registry::new();
    registry.register(Runner::new(&Workflow::new(func("search", |_: &mut Search| Ok::<_, Error>(())))));
    let stream =
        registry.stream(&Runtime::new(), "search", Some(json!({"query": 5})), None, Default::default());
    let (events, outcome) = stream.collect().await;
    assert_says(&outcome.unwrap_err(), &["cannot be unmarshalled", "Search", "invalid type: integer"]);
    assert!(matches!(&events[..], [Event { kind: EventKind::RunEnded(_), .. }]), "{events:?}");
    let error = registry.get("serach").unwrap_err();
    assert_says(&error, &["workflow not found: serach", "known: search"]);
}

#[tokio::test]
async fn a_corrupt_database_is_refused_and_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let content = b"this is not a database, but somebody's notes".repeat(100);
    std::fs::write(&path, &content).unwrap();
    let error = Error::from(SqliteStore::open(&path).map(drop).unwrap_err());
    assert_says(&error, &["runs.db", "not touched"]);
    assert_eq!(std::fs::read(&path).unwrap(), content);
}

#[tokio::test]
async fn a_number_json_cannot_hold_is_refused_before_anything_is_stored() {
    #[derive(Serialize, Deserialize)]
    struct Reading {
        level: f64,
    }
    let store = Arc::new(MemoryStore::new());
    let runtime = Runtime::builder().shared_store(store.clone()).build();
    let workflow = Workflow::new(func("read", |_: &mut Reading| Ok::<_, Error>(())));
    let error = runtime.start(&workflow, Reading { level: f64::NAN }).await.map(drop).unwrap_err();
    assert_says(&error, &["level: NaN is not a JSON number", "make the field an Option"]);
    assert!(store.runs(&Default::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_state_that_becomes_unwritable_fails_the_run_and_is_still_returned() {
    let runtime = Runtime::builder().store(MemoryStore::new()).build();
    let workflow = Workflow::new(func("divide", |number: &mut f64| {
        *number /= 0.0;
        Ok::<_, Error>(())
    }));
    let outcome = runtime.start(&workflow, 1.0).await.unwrap();
    assert_eq!((outcome.status, outcome.state), (RunStatus::Failed, f64::INFINITY));
    assert_says(&outcome.error.unwrap(), &["inf is not a JSON number"]);
}

#[tokio::test]
async fn a_tool_result_of_100_megabytes_is_an_error_for_the_model_to_read() {
    #[derive(Deserialize, schemars::JsonSchema)]
    struct Nothing {}
    let flood = FunctionTool::new("flood", "Says a lot.", |_: Nothing| async {
        Ok::<_, Error>("x".repeat(100 << 20))
    });
    let tools = Toolset::new().with(flood).unwrap();
    let step = ToolStep::new("call", &tools, "flood", |_: &u64| Ok::<_, Error>(json!({}))).discard();
    let runtime = Runtime::builder().store(MemoryStore::new()).build();
    let outcome = runtime.start(&Workflow::new(step), 0).await.unwrap();
    assert_says(&outcome.error.unwrap(), &["104857600 bytes", "ask for less", "max_output"]);
}

#[tokio::test]
async fn a_step_that_panics_fails_alone() {
    let panics = func("panics", |_: &mut u64| -> Result<(), Error> { panic!("the shuttle broke") });
    let chain =
        Chain::new("main").then(step("before")).then_or(panics, OnError::Continue).then(step("after"));
    let runtime = Runtime::new();
    assert_eq!(runtime.start(&Workflow::new(chain), 0).await.unwrap().completed().unwrap(), 2);
    let alone =
        Workflow::new(func("panics", |_: &mut u64| -> Result<(), Error> { panic!("the shuttle broke") }));
    let error = runtime.start(&alone, 0).await.unwrap().completed().unwrap_err();
    assert_says(&error, &["`panics` panicked", "the shuttle broke"]);
}

/// A function that blocks its thread until the sender is dropped, however long it takes to notice that.
fn blocking() -> (std::sync::mpsc::Sender<()>, impl Fn() + Send + Sync) {
    let (end, ended) = std::sync::mpsc::channel();
    let ended = std::sync::Mutex::new(ended);
    (end, move || assert!(ended.lock().expect("nobody panics with it").recv().is_err()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_blocks_its_thread_is_given_up_and_named() {
    let (_end, block) = blocking();
    let blocks = func("blocks", move |_: &mut u64| {
        block();
        Ok::<_, Error>(())
    });
    let workflow = Workflow::new(Chain::new("main").then(step("before")).then(blocks));
    let store = Arc::new(MemoryStore::new());
    let runtime =
        Runtime::builder().shared_store(store.clone()).leaf_timeout(Some(Duration::from_millis(100))).build();
    let run: RunId = "blocked".parse().unwrap();
    let (events, outcome) = runtime.start(&workflow, 0).id(run.clone()).stream().collect().await;
    assert_says(&outcome.unwrap_err(), &["`main/blocks` blocks its thread", "spawn_blocking"]);
    assert!(matches!(events.last().unwrap().kind, EventKind::RunEnded(_)));
    let error = runtime.start(&workflow, 0).id(run).await.map(drop).unwrap_err();
    assert_says(&error, &["blocks its thread"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_blocks_after_it_has_waited_is_noticed_too() {
    let (_end, block) = blocking();
    let block = Arc::new(block);
    let naps_then_blocks = task_boxed("naps", move |_, _: &mut u64| {
        let block = Arc::clone(&block);
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            block();
            Ok(())
        })
    });
    let runtime = Runtime::builder().leaf_timeout(Some(Duration::from_millis(200))).build();
    let error = runtime.start(&Workflow::new(naps_then_blocks), 0).await.map(drop).unwrap_err();
    assert_says(&error, &["`naps` blocks its thread"]);
}

#[tokio::test]
async fn a_real_model_is_refused_where_real_models_are_forbidden() {
    struct Real;
    impl Model for Real {
        fn name(&self) -> &str {
            "expensive"
        }
        fn reply<'a>(
            &'a self,
            _: convoke::core::ModelRequest,
            _: convoke::core::CallContext,
        ) -> convoke::core::ReplyStream<'a> {
            unreachable!("it must not be called")
        }
    }
    let runtime = Runtime::builder().model(Real).forbid_live_models().build();
    let workflow = Workflow::new(prompt("ask", |_: &String| "hello").text(|answer| answer));
    let error = runtime.start(&workflow, String::new()).await.unwrap().completed().unwrap_err();
    assert_says(&error, &["`expensive` is a real model", "scripted model"]);
}

#[tokio::test]
async fn a_run_without_a_model_says_where_to_give_it_one() {
    let workflow = Workflow::new(prompt("ask", |_: &String| "hello").text(|answer| answer));
    let error = Runtime::new().start(&workflow, String::new()).await.unwrap().completed().unwrap_err();
    assert_says(&error, &["no model is configured", "give the step a model, or the runtime a default one"]);
}

#[tokio::test]
async fn invalid_tool_arguments_are_told_to_the_model_in_words_it_can_act_on() {
    #[derive(Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct City {
        city: String,
    }
    let tool =
        FunctionTool::new("weather", "Looks up the weather.", |_: City| async { Ok::<_, Error>("sunny") });
    let agent = Agent::builder("agent").tool(tool).build().unwrap();
    let step = AgentStep::new("agent", agent, |_: &String| "weather?".to_owned())
        .store(|answer: &mut String, result| *answer = result.text());
    let model = ScriptedModel::builder()
        .when(Match::tool_result_contains("city"), Reply::text("I see: the city is missing."))
        .otherwise(Reply::tool("weather", json!({"town": "Oslo"})))
        .build();
    let runtime = Runtime::builder().model(model).build();
    let answer = runtime.start(&Workflow::new(step), String::new()).await.unwrap().completed().unwrap();
    assert_eq!(answer, "I see: the city is missing.");
}
