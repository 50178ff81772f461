//! Tests of the tree of spans: complete, nested, ended on every way out.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::sync::Arc;

use common::work::{ARGUMENT, Notes, PROMPT, REPLY, RESULT, fan_out, model, notes, search};
use common::{Collector, attribute, is_error};
use convoke_agent::{Agent, Approval};
use convoke_core::{
    Answer, Canceller, Error, EventKind, Model, ModelError, ModelErrorKind, ModelRequest, RunId, RunStatus,
    Runtime, Store, Visibility, Workflow,
};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_steps::{AgentStep, Chain, func, task_boxed};
use convoke_store::MemoryStore;
use convoke_telemetry::{Telemetry, TelemetryConfig, TraceParent};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_fan_out_over_agents_with_tools_arrives_whole_and_nested() {
    let collector = Collector::start();
    let telemetry = Telemetry::start(&collector.config()).unwrap();
    let runtime = telemetry.watch(Runtime::builder()).model(model()).build();
    let outcome = runtime.start(&fan_out(), notes()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    let delivery = telemetry.shutdown_async().await;

    let spans = collector.spans();
    assert_eq!((delivery.delivered, delivery.dropped), (spans.0.len() as u64, 0));
    spans.assert_one_tree();
    let root = spans.named("invoke_workflow research");
    assert_eq!(attribute(root, "convoke.run.status").as_deref(), Some("completed"));
    assert_eq!(attribute(root, "convoke.run.id").as_deref(), Some(outcome.run.as_str()));
    assert_eq!(attribute(root, "convoke.resumed").as_deref(), Some("false"));
    let top = ["invoke_workflow research", "chain research"];
    assert_eq!(spans.lineage(spans.named("func tidy")), [top[0], top[1], "func tidy"]);

    // Two agents with two calls of the model and two of the tool each; one whose tool is an agent, three calls.
    assert_eq!(spans.all_named("chat claude-test").count(), 7);
    assert_eq!(spans.all_named("execute_tool search").count(), 4);
    for name in ["left", "right"] {
        let agent = format!("invoke_agent {name}");
        let tools = spans.all_named("execute_tool search").filter(|tool| {
            attribute(tool, "gen_ai.agent.name").as_deref() == Some(name)
                && spans.lineage(tool)
                    == [top[0], top[1], "parallel fan", &agent, "turn", "execute_tool search"]
        });
        assert_eq!(tools.count(), 2, "{name}");
    }
    let inner: Vec<_> = spans
        .all_named("chat claude-test")
        .filter(|chat| attribute(chat, "gen_ai.agent.name").as_deref() == Some("inner"))
        .collect();
    assert_eq!(inner.len(), 1);
    assert_eq!(
        spans.lineage(inner[0])[3..],
        [
            "invoke_agent manager",
            "turn",
            "execute_tool inner",
            "invoke_agent inner",
            "turn",
            "chat claude-test"
        ]
    );
    assert!(
        spans.0.iter().all(|span| attribute(span, "gen_ai.workflow.name").as_deref() == Some("research"))
    );
    assert!(spans.0.iter().all(|span| !is_error(span)));

    let chat = spans.all_named("chat claude-test").find(|chat| {
        attribute(chat, "gen_ai.response.finish_reasons").as_deref() == Some("stop")
            && attribute(chat, "gen_ai.agent.name").as_deref() == Some("left")
    });
    let chat = chat.unwrap();
    for (key, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "anthropic"),
        ("gen_ai.request.model", "claude-test"),
        ("gen_ai.response.model", "claude-test"),
        ("gen_ai.usage.input_tokens", "100"),
        ("gen_ai.usage.output_tokens", "20"),
        ("gen_ai.usage.cache_read.input_tokens", "40"),
        ("gen_ai.conversation.id", outcome.run.as_str()),
        ("convoke.cost.usd", "0.0006"),
    ] {
        assert_eq!(attribute(chat, key).as_deref(), Some(value), "{key}");
    }
    assert_eq!(chat.kind, 3, "a client's");
    let tool = spans.named("execute_tool search");
    assert_eq!(attribute(tool, "gen_ai.operation.name").as_deref(), Some("execute_tool"));
    assert!(attribute(tool, "gen_ai.tool.call.id").is_some());
    assert_eq!(collector.resource()["service.name"], "convoke");
}

#[tokio::test]
async fn agent_150_what_is_said_is_recorded_only_when_asked_for() {
    for record_content in [false, true] {
        let collector = Collector::start();
        let config = TelemetryConfig { record_content, ..collector.config() };
        let telemetry = Telemetry::start(&config).unwrap();
        let runtime = telemetry.watch(Runtime::builder()).model(model()).build();
        let _ = runtime.start(&fan_out(), notes()).await.unwrap();
        telemetry.shutdown_async().await;
        for text in [PROMPT, REPLY, ARGUMENT, RESULT, "You look things up."] {
            assert_eq!(collector.has_seen(text), record_content, "{text}");
        }
        let spans = collector.spans();
        let chat = spans.named("chat claude-test");
        let messages = attribute(chat, "gen_ai.output.messages");
        assert_eq!(messages.is_some(), record_content);
        if let Some(messages) = messages {
            let messages: serde_json::Value = serde_json::from_str(&messages).unwrap();
            assert_eq!(messages[0]["role"], "assistant");
            let tool = spans.named("execute_tool search");
            let arguments = attribute(tool, "gen_ai.tool.call.arguments").unwrap();
            assert!(serde_json::from_str::<serde_json::Value>(&arguments).unwrap()["query"].is_string());
            assert!(attribute(tool, "gen_ai.tool.call.result").unwrap().contains(RESULT));
        }
    }
}

#[tokio::test]
async fn long_conversations_are_recorded_from_their_end() {
    let collector = Collector::start();
    let config = TelemetryConfig { record_content: true, content_limit: 200, ..collector.config() };
    let telemetry = Telemetry::start(&config).unwrap();
    let runtime = telemetry.watch(Runtime::builder()).model(model()).build();
    let long = Notes { topic: "x".repeat(5_000), ..Notes::default() };
    let _ = runtime.start(&fan_out(), long).await.unwrap();
    telemetry.shutdown_async().await;
    assert!(!collector.has_seen(&"x".repeat(201)));
    let spans = collector.spans();
    for chat in spans.all_named("chat claude-test") {
        let messages = attribute(chat, "gen_ai.input.messages").unwrap();
        let messages: serde_json::Value = serde_json::from_str(&messages).unwrap();
        assert!(!messages.as_array().unwrap().is_empty());
    }
    assert!(spans.0.iter().any(|span| attribute(span, "convoke.content.messages_left_out").is_some()));
}

#[tokio::test]
async fn hidden_calls_and_failed_ones_have_spans_too() {
    let collector = Collector::start();
    let telemetry = Telemetry::start(&collector.config()).unwrap();
    let fault = ModelError::of_status(401, "no such key");
    let model = ScriptedModel::builder()
        .name("openai/gpt-test")
        .when(Match::call(1), "fine")
        .otherwise(Reply::error(fault))
        .build();
    let shared: Arc<dyn Model> = Arc::new(model);
    let workflow = Workflow::new(task_boxed("ask", move |scope, _: &mut u8| {
        let model = Arc::clone(&shared);
        Box::pin(async move {
            scope.model(&model, ModelRequest::new("one"), Visibility::Hidden).await?;
            scope.model(&model, ModelRequest::new("two"), Visibility::Hidden).await?;
            Ok(())
        })
    }));
    let outcome = telemetry.watch(Runtime::builder()).build().start(&workflow, 0).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Failed);
    telemetry.shutdown_async().await;

    let spans = collector.spans();
    spans.assert_one_tree();
    let chats: Vec<_> = spans.all_named("chat gpt-test").collect();
    assert_eq!(chats.iter().filter(|chat| is_error(chat)).count(), 1);
    let failed = chats.iter().find(|chat| is_error(chat)).unwrap();
    assert_eq!(attribute(failed, "error.type").as_deref(), Some("401"));
    assert!(failed.status.as_ref().unwrap().message.contains("no such key"));
    for name in ["task ask", "invoke_workflow ask"] {
        assert!(is_error(spans.named(name)));
        assert_eq!(attribute(spans.named(name), "error.type").as_deref(), Some("failed"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_ends_all_its_spans() {
    let collector = Collector::start();
    let telemetry = Telemetry::start(&collector.config()).unwrap();
    let canceller = Canceller::new();
    // The model itself cancels: its call has begun by then, whatever the machine is busy with.
    let inside = canceller.clone();
    let hanging = Reply::with(move |_| {
        inside.cancel("enough");
        Reply::text("never").hangs()
    });
    let model = ScriptedModel::builder().name("scripted").otherwise(hanging).build();
    let agent = Agent::builder("sleeper").build().unwrap();
    let step = AgentStep::new("sleeper", agent, |_: &u8| "hello").discard();
    let runtime = telemetry.watch(Runtime::builder()).model(model).build();
    let outcome = runtime.start(&Workflow::new(step), 0).canceller(&canceller).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Cancelled);
    telemetry.shutdown_async().await;

    let spans = collector.spans();
    spans.assert_one_tree();
    assert_eq!(spans.names(), ["chat scripted", "invoke_agent sleeper", "invoke_workflow sleeper", "turn"]);
    assert!(spans.0.iter().all(is_error), "{spans:?}");
    assert_eq!(attribute(spans.named("invoke_workflow sleeper"), "error.type").as_deref(), Some("cancelled"));
    assert_eq!(attribute(spans.named("invoke_agent sleeper"), "error.type").as_deref(), Some("interrupted"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_goes_on_is_a_trace_of_what_is_new_and_links_to_the_first() {
    let collector = Collector::start();
    let telemetry = Telemetry::start(&collector.config()).unwrap();
    let model = ScriptedModel::builder()
        .name("scripted")
        .when(Match::has_tool_result(), "done")
        .otherwise(Reply::tool("search", json!({"query": "x"})))
        .build();
    let approving = Agent::builder("careful").tool(search()).approval(Approval::Always).build().unwrap();
    let free = Agent::builder("free").tool(search()).build().unwrap();
    let steps = Chain::new("main")
        .then(func("first", |_: &mut u8| Ok::<_, Error>(())))
        .then(AgentStep::new("free", free, |_: &u8| "go").discard())
        .then(AgentStep::new("careful", approving, |_: &u8| "go").discard())
        .then(func("last", |_: &mut u8| Ok::<_, Error>(())));
    let workflow = Workflow::new(steps);
    let store = Arc::new(MemoryStore::new());
    let shared: Arc<dyn Store> = Arc::<MemoryStore>::clone(&store);
    let runtime = telemetry.watch(Runtime::builder()).shared_store(shared).model(model).build();
    let outcome = runtime.start(&workflow, 0).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Suspended);
    for pending in outcome.questions() {
        store.answer(&outcome.run, &pending.id, Answer::approve()).await.unwrap();
    }
    let resumed = runtime.resume(&workflow, outcome.run.clone()).await.unwrap();
    assert_eq!(resumed.status, RunStatus::Completed);
    // Completed already: nothing happens, and nothing is sent.
    let _ = runtime.resume(&workflow, outcome.run.clone()).await.unwrap();
    telemetry.shutdown_async().await;

    let all = collector.spans();
    let is_resumed = |span: &opentelemetry_proto::tonic::trace::v1::Span| attribute(span, "convoke.resumed");
    let second = all.0.iter().find(|span| is_resumed(span).as_deref() == Some("true")).unwrap();
    let (after, before): (Vec<_>, Vec<_>) =
        all.0.iter().cloned().partition(|span| span.trace_id == second.trace_id);
    let (before, after) = (common::Spans(before), common::Spans(after));
    before.assert_one_tree();
    after.assert_one_tree();

    let first = before.named("invoke_workflow main");
    assert_eq!(attribute(first, "convoke.run.status").as_deref(), Some("suspended"));
    assert!(!is_error(first));
    assert_eq!(before.all_named("chat scripted").count(), 3);
    let question = before.named("question");
    assert_eq!(attribute(question, "convoke.question.answered").as_deref(), Some("false"));
    assert!(!before.names().contains(&"func last"));

    assert_eq!(second.links.len(), 1);
    assert_eq!((&second.links[0].trace_id, &second.links[0].span_id), (&first.trace_id, &first.span_id));
    assert_eq!(attribute(second, "convoke.run.id"), attribute(first, "convoke.run.id"));
    // Only what had not been done before: the approved call, and the reply to it.
    let mut names = after.names();
    names.dedup();
    let expected = [
        "chain main",
        "chat scripted",
        "execute_tool search",
        "func last",
        "invoke_agent careful",
        "invoke_workflow main",
        "question",
        "turn",
    ];
    assert_eq!(names, expected);
    assert_eq!(after.all_named("chat scripted").count(), 1);
    assert_eq!(attribute(after.named("question"), "convoke.question.decision").as_deref(), Some("approve"));
}

#[tokio::test]
async fn the_callers_span_is_continued() {
    let collector = Collector::start();
    let parent: TraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().unwrap();
    let whole = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse().unwrap();
    let config = TelemetryConfig { parent: Some(whole), sample_ratio: 0.0, ..collector.config() };
    let telemetry = Telemetry::start(&config).unwrap();
    let runtime = telemetry.watch(Runtime::builder()).model(model()).build();
    let run: RunId = "mine".parse().unwrap();
    telemetry.continues(&run, parent.with_state("vendor=1"));
    let _ = runtime.start(&fan_out(), notes()).id(run).await.unwrap();
    let _ = runtime.start(&fan_out(), notes()).id("theirs".parse().unwrap()).await.unwrap();
    let unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00".parse().unwrap();
    let quiet: RunId = "quiet".parse().unwrap();
    telemetry.continues(&quiet, unsampled);
    let _ = runtime.start(&fan_out(), notes()).id(quiet).await.unwrap();
    telemetry.shutdown_async().await;

    let spans = collector.spans();
    let roots: Vec<_> = spans.all_named("invoke_workflow research").collect();
    assert_eq!(roots.len(), 2, "the caller of the third does not send its trace");
    let mine =
        roots.iter().find(|root| attribute(root, "convoke.run.id").as_deref() == Some("mine")).unwrap();
    assert_eq!(mine.trace_id, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes());
    assert_eq!(mine.parent_span_id, 0x00f0_67aa_0ba9_02b7_u64.to_be_bytes());
    assert_eq!(mine.trace_state, "vendor=1");
    assert_eq!(mine.flags & 0x300, 0x300, "the parent is elsewhere");
    let theirs =
        roots.iter().find(|root| attribute(root, "convoke.run.id").as_deref() == Some("theirs")).unwrap();
    assert_eq!(theirs.parent_span_id, 0xb7ad_6b71_6920_3331_u64.to_be_bytes());
}

#[tokio::test]
async fn a_share_of_nothing_sends_no_traces() {
    let collector = Collector::start();
    let telemetry = Telemetry::start(&TelemetryConfig { sample_ratio: 0.0, ..collector.config() }).unwrap();
    let runtime = telemetry.watch(Runtime::builder()).model(model()).build();
    let _ = runtime.start(&fan_out(), notes()).await.unwrap();
    telemetry.shutdown_async().await;
    assert!(collector.spans().0.is_empty());
    assert!(collector.metrics().contains_key("convoke.runs"), "metrics count all runs");
}

#[tokio::test]
async fn a_tool_that_fails_and_one_that_is_cut_short_are_errors() {
    let collector = Collector::start();
    let telemetry = Telemetry::start(&collector.config()).unwrap();
    let broken = convoke_agent::FunctionTool::new("broken", "Fails", |_: common::work::Query| async move {
        Err::<String, _>(Error::failed("the secret reason"))
    });
    let model = ScriptedModel::builder()
        .name("scripted")
        .when(Match::has_tool_result(), Reply::error(ModelError::new(ModelErrorKind::Overloaded, "busy")))
        .otherwise(Reply::tool("broken", json!({"query": "x"})))
        .build();
    let agent = Agent::builder("a").tool(broken).build().unwrap();
    let runtime = telemetry.watch(Runtime::builder()).model(model).build();
    let step = AgentStep::new("a", agent, |_: &u8| "go").discard();
    let _ = runtime.start(&Workflow::new(step), 0).await.unwrap();
    telemetry.shutdown_async().await;
    let spans = collector.spans();
    spans.assert_one_tree();
    let tool = spans.named("execute_tool broken");
    assert!(is_error(tool));
    assert_eq!(attribute(tool, "error.type").as_deref(), Some("tool_error"));
    assert!(!collector.has_seen("the secret reason"), "what a tool gives back is content");
    let chat = spans.0.iter().find(|span| span.name == "chat scripted" && is_error(span)).unwrap();
    assert_eq!(attribute(chat, "error.type").as_deref(), Some("overloaded"));
}

#[tokio::test]
async fn what_waits_for_a_person_deep_within_a_tool_is_no_error() {
    let collector = Collector::start();
    let telemetry = Telemetry::start(&collector.config()).unwrap();
    let inner = Agent::builder("inner").tool(search()).approval(Approval::Always).build().unwrap();
    let outer = Agent::builder("outer").tool(convoke_agent::AgentTool::new(inner)).build().unwrap();
    let model = ScriptedModel::builder()
        .name("scripted")
        .when(Match::offers_tool("search"), Reply::tool("search", json!({"query": "x"})))
        .otherwise(Reply::tool("inner", json!({"query": "x"})))
        .build();
    let workflow = Workflow::new(AgentStep::new("outer", outer, |_: &u8| "go").discard());
    let store = MemoryStore::new();
    let runtime = telemetry.watch(Runtime::builder()).store(store).model(model).build();
    let outcome = runtime.start(&workflow, 0).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Suspended);
    telemetry.shutdown_async().await;
    let spans = collector.spans();
    spans.assert_one_tree();
    assert!(!spans.0.iter().any(is_error), "{:?}", spans.names());
    let lineage = [
        "invoke_workflow outer",
        "invoke_agent outer",
        "turn",
        "execute_tool inner",
        "invoke_agent inner",
        "turn",
        "question",
    ];
    assert_eq!(spans.lineage(spans.named("question")), lineage);
    let tool = spans.named("execute_tool inner");
    assert_eq!(attribute(tool, "convoke.step.end").as_deref(), Some("suspended"));
}

#[tokio::test]
async fn a_run_that_is_dropped_in_the_middle_ends_all_its_spans() {
    let collector = Collector::start();
    let telemetry = Telemetry::start(&collector.config()).unwrap();
    let called = Arc::new(tokio::sync::Notify::new());
    let calling = Arc::clone(&called);
    let hanging = Reply::with(move |_| {
        calling.notify_one();
        Reply::text("never").hangs()
    });
    let model = ScriptedModel::builder().name("scripted").otherwise(hanging).build();
    let runtime = telemetry.watch(Runtime::builder()).model(model).build();
    let agent = Agent::builder("sleeper").build().unwrap();
    let workflow = Workflow::new(AgentStep::new("sleeper", agent, |_: &u8| "hello").discard());
    let run = tokio::spawn(async move { runtime.start(&workflow, 0).await });
    called.notified().await;
    run.abort();
    assert!(run.await.unwrap_err().is_cancelled());
    telemetry.shutdown_async().await;
    let spans = collector.spans();
    spans.assert_one_tree();
    assert!(spans.0.iter().all(is_error), "{spans:?}");
    assert_eq!(attribute(spans.named("chat scripted"), "error.type").as_deref(), Some("interrupted"));
    assert_eq!(attribute(spans.named("invoke_workflow sleeper"), "error.type").as_deref(), Some("cancelled"));
}

#[tokio::test]
async fn events_of_goals_are_events_of_spans_without_what_is_said_in_them() {
    for record_content in [false, true] {
        let collector = Collector::start();
        let config = TelemetryConfig { record_content, ..collector.config() };
        let telemetry = Telemetry::start(&config).unwrap();
        let step = task_boxed("goal", |scope, _: &mut u8| {
            Box::pin(async move {
                let goal = json!({"goal": "find", "kind": "goal", "description": "the hidden thing"});
                scope.emit(EventKind::Custom { name: "goal_started".to_owned(), value: goal }).await;
                let own = json!({"whatever": "of my own"});
                scope.emit(EventKind::Custom { name: "mine".to_owned(), value: own }).await;
                Ok(())
            })
        });
        let _ = telemetry.watch(Runtime::builder()).build().start(&Workflow::new(step), 0).await.unwrap();
        telemetry.shutdown_async().await;
        let spans = collector.spans();
        let events: Vec<(&str, Vec<String>)> = spans
            .named("task goal")
            .events
            .iter()
            .map(|event| {
                let mut told: Vec<_> = event.attributes.iter().map(common::shown).collect();
                told.sort();
                (event.name.as_str(), told)
            })
            .collect();
        let told = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        if record_content {
            assert_eq!(events[0], ("goal_started", told(&["find", "goal", "the hidden thing"])));
            assert_eq!(events[1], ("mine", told(&["of my own"])));
        } else {
            assert_eq!(events[0], ("goal_started", told(&["find", "goal"])));
            assert_eq!(events[1], ("mine", told(&[])));
            assert!(!collector.has_seen("the hidden thing"));
        }
    }
}
