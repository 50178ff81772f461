//! Tests of agentcore's events and sinks: conformance cases 195 to 200.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier, Mutex};

use convoke_core::{BoxFuture, Error, EventKind, RunId, Runtime, Scope, Step, Workflow};
use convoke_telemetry::agentcore_events::{
    AgentcoreEventView, ConvergenceCapReached, Counter, GoalEnded, GoalStarted, Handlers, Level, Logger,
    Notice, PreflightFailed, Sink, SubagentCompleted, SubagentSpawned, Tee, WorkflowEnded, WorkflowStarted,
};
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use serde_json::{Value, json};
use tokio::sync::Notify;

fn all() -> Vec<Arc<dyn Notice>> {
    let failure = || Some("it broke".to_owned());
    vec![
        Arc::new(WorkflowStarted { workflow: "w".into() }),
        Arc::new(WorkflowEnded { workflow: "w".into(), failure: None }),
        Arc::new(WorkflowEnded { workflow: "w".into(), failure: failure() }),
        Arc::new(GoalStarted { goal: "g".into(), description: "find out".into() }),
        Arc::new(GoalEnded { goal: "g".into(), output_bytes: 5 }),
        Arc::new(SubagentSpawned { goal: "g".into(), agent: "a".into() }),
        Arc::new(SubagentCompleted { goal: "g".into(), agent: "a".into(), output_bytes: 5, failure: None }),
        Arc::new(SubagentCompleted {
            goal: "g".into(),
            agent: "a".into(),
            output_bytes: 0,
            failure: failure(),
        }),
        Arc::new(ConvergenceCapReached { convergence: "c".into(), cap: 3 }),
        Arc::new(PreflightFailed { workflow: "w".into(), failure: "it broke".into() }),
    ]
}

#[test]
fn agentcore_195_196_names_levels_attributes_and_errors_are_the_originals() {
    let expected = [
        ("workflow.started", Level::Info, vec![("workflow", json!("w"))], None),
        ("workflow.ended", Level::Info, vec![("workflow", json!("w"))], None),
        ("workflow.ended", Level::Error, vec![("workflow", json!("w"))], Some("it broke")),
        ("goal.started", Level::Info, vec![("goal", json!("g")), ("description", json!("find out"))], None),
        ("goal.ended", Level::Info, vec![("goal", json!("g")), ("output_len", json!(5))], None),
        ("subagent.spawned", Level::Info, vec![("goal", json!("g")), ("agent", json!("a"))], None),
        (
            "subagent.completed",
            Level::Info,
            vec![("goal", json!("g")), ("agent", json!("a")), ("output_len", json!(5))],
            None,
        ),
        (
            "subagent.completed",
            Level::Error,
            vec![("goal", json!("g")), ("agent", json!("a")), ("output_len", json!(0))],
            Some("it broke"),
        ),
        ("convergence.cap_reached", Level::Warn, vec![("convergence", json!("c")), ("cap", json!(3))], None),
        ("preflight.failed", Level::Error, vec![("workflow", json!("w"))], Some("it broke")),
    ];
    assert_eq!(all().len(), expected.len());
    for (notice, (name, level, attributes, error)) in all().iter().zip(expected) {
        assert_eq!((notice.name(), notice.level(), notice.error()), (name, level, error));
        assert_eq!(notice.attributes(), attributes, "{name}");
    }
}

/// Collects what is written.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Mine;

impl Notice for Mine {
    fn name(&self) -> &str {
        "mine"
    }

    fn level(&self) -> Level {
        Level::Debug
    }

    fn attributes(&self) -> Vec<(&'static str, Value)> {
        vec![("colour", json!("red")), ("goal", json!("g"))]
    }
}

#[test]
fn agentcore_197_the_logger_writes_one_record_per_event() {
    let paper = Paper::default();
    let writer = paper.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_max_level(tracing::Level::DEBUG)
        .with_writer(move || writer.clone())
        .finish();
    let logger = Logger::to(tracing::Dispatch::new(subscriber));
    let mut notices = all();
    notices.push(Arc::new(Mine));
    notices.iter().for_each(|notice| logger.fire(notice));
    let text = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), notices.len());
    for (line, notice) in lines.iter().zip(&notices) {
        assert_eq!(line["message"], notice.name());
        assert_eq!(line["level"], notice.level().name().to_uppercase());
        assert_eq!(line.get("err").and_then(Value::as_str), notice.error());
    }
    let levels: Vec<&str> = lines.iter().map(|line| line["level"].as_str().unwrap()).collect();
    let expected =
        ["INFO", "INFO", "ERROR", "INFO", "INFO", "INFO", "INFO", "ERROR", "WARN", "ERROR", "DEBUG"];
    assert_eq!(levels, expected);
    let failed: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].get("err").is_some()).collect();
    assert_eq!(failed, [2, 7, 9], "the others have no such word at all");
    assert_eq!(lines[3]["description"], "find out");
    assert_eq!(lines[4]["output_len"], 5);
    assert_eq!(lines[8]["cap"], 3);
    let custom = &lines[10];
    assert_eq!((&custom["goal"], &custom["attributes"]), (&json!("g"), &json!(r#"{"colour":"red"}"#)));
    // Without a log of its own, and without any log at all.
    Logger::new().fire(&notices[0]);
}

/// The points of a counter: level, errored, count.
fn points(exporter: &InMemoryMetricExporter, name: &str) -> Vec<(String, bool, u64)> {
    let metrics = exporter.get_finished_metrics().unwrap();
    let mut points = Vec::new();
    for metric in metrics.iter().flat_map(|group| group.scope_metrics()).flat_map(|scope| scope.metrics()) {
        let AggregatedMetrics::U64(MetricData::Sum(sum)) = metric.data() else { continue };
        if metric.name() != name {
            continue;
        }
        for point in sum.data_points() {
            let mut found = (String::new(), false, point.value());
            for attribute in point.attributes() {
                match attribute.key.as_str() {
                    "level" => found.0 = attribute.value.to_string(),
                    "errored" => found.1 = attribute.value == opentelemetry::Value::Bool(true),
                    other => panic!("{other}"),
                }
            }
            points.push(found);
        }
    }
    points.sort();
    points
}

#[test]
fn agentcore_198_the_counter_counts_by_name_level_and_error() {
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
    let counter = Counter::new(Some(provider.meter("test")));
    for notice in all() {
        for _ in 0..100 {
            counter.fire(&notice);
        }
    }
    provider.force_flush().unwrap();
    assert_eq!(points(&exporter, "agentcore.workflow.started"), [("info".to_owned(), false, 100)]);
    assert_eq!(
        points(&exporter, "agentcore.workflow.ended"),
        [("error".to_owned(), true, 100), ("info".to_owned(), false, 100)]
    );
    assert_eq!(points(&exporter, "agentcore.convergence.cap_reached"), [("warn".to_owned(), false, 100)]);
    assert_eq!(points(&exporter, "agentcore.preflight.failed"), [("error".to_owned(), true, 100)]);
    for (name, points_of_it) in [
        ("agentcore.goal.started", vec![("info".to_owned(), false, 100)]),
        ("agentcore.goal.ended", vec![("info".to_owned(), false, 100)]),
        ("agentcore.subagent.spawned", vec![("info".to_owned(), false, 100)]),
        (
            "agentcore.subagent.completed",
            vec![("error".to_owned(), true, 100), ("info".to_owned(), false, 100)],
        ),
    ] {
        assert_eq!(points(&exporter, name), points_of_it, "{name}");
    }
    // One instrument per name, however often: eight names, eight counters.
    let metrics = exporter.get_finished_metrics().unwrap();
    let names = metrics.iter().flat_map(|group| group.scope_metrics()).flat_map(|scope| scope.metrics());
    assert_eq!(names.count(), 8);
    Counter::new(None).fire(&all()[0]);

    // Events of others are counted like agentcore's.
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
    Counter::new(Some(provider.meter("test"))).fire(&(Arc::new(Mine) as Arc<dyn Notice>));
    provider.force_flush().unwrap();
    assert_eq!(points(&exporter, "agentcore.mine"), [("debug".to_owned(), false, 1)]);
}

fn ended(goal: &str) -> Arc<dyn Notice> {
    Arc::new(GoalEnded { goal: goal.into(), output_bytes: 0 })
}

#[test]
fn agentcore_199_handlers_get_events_by_type_and_nobody_waits_for_them() {
    let (tell, told) = channel();
    let handlers = Handlers::new(0);
    handlers.fire(&ended("before anybody asked"));
    for name in ["first", "second"] {
        let tell = tell.clone();
        handlers.on(move |event: &GoalEnded| tell.send(format!("{name} {}", event.goal)).unwrap());
    }
    for number in 0..10 {
        handlers.fire(&ended(&number.to_string()));
        handlers.fire(&(Arc::new(WorkflowStarted { workflow: "w".into() }) as Arc<dyn Notice>));
    }
    handlers.close();
    handlers.close();
    drop(tell);
    drop_handlers_and_check(handlers, &told);
}

fn drop_handlers_and_check(handlers: Handlers, told: &Receiver<String>) {
    assert_eq!(handlers.dropped(), 0, "what nobody asked for is not dropped either");
    drop(handlers);
    let told: Vec<_> = told.iter().collect();
    let expected: Vec<_> = (0..10).flat_map(|n| [format!("first {n}"), format!("second {n}")]).collect();
    assert_eq!(told, expected);
}

#[test]
fn agentcore_199_a_full_queue_drops_and_counts() {
    let handlers = Arc::new(Handlers::new(1));
    let (begun, wait) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let handled = Arc::new(AtomicUsize::new(0));
    let (at_begin, at_end, count) = (Arc::clone(&begun), Arc::clone(&wait), Arc::clone(&handled));
    handlers.on(move |_: &GoalEnded| {
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            at_begin.wait();
            at_end.wait();
        }
    });
    handlers.fire(&ended("blocks"));
    begun.wait();
    let threads: Vec<_> = (0..50)
        .map(|_| {
            let handlers = Arc::clone(&handlers);
            std::thread::spawn(move || handlers.fire(&ended("more")))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let dropped = handlers.dropped();
    wait.wait();
    handlers.close();
    assert_eq!(dropped, 49, "one waits, and there is no room for more");
    assert_eq!(handled.load(Ordering::SeqCst) as u64 + handlers.dropped(), 51);
    handlers.fire(&ended("too late"));
    assert_eq!(handlers.dropped(), 50);
}

#[test]
fn agentcore_199_a_handler_that_panics_harms_nobody_and_zero_is_room_for_1024() {
    let handlers = Handlers::new(0);
    let (begun, gate) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let count = Arc::new(AtomicUsize::new(0));
    let (beginning, waiting, counting) = (Arc::clone(&begun), Arc::clone(&gate), Arc::clone(&count));
    handlers.on(move |event: &GoalEnded| {
        if event.goal == "gate" {
            beginning.wait();
            waiting.wait();
        }
    });
    handlers.on(|event: &GoalEnded| assert_ne!(event.goal, "panic", "as it should"));
    handlers.on(move |_: &GoalEnded| {
        counting.fetch_add(1, Ordering::SeqCst);
    });
    handlers.fire(&ended("gate"));
    begun.wait();
    handlers.fire(&ended("panic"));
    for _ in 0..1_100 {
        handlers.fire(&ended("x"));
    }
    let dropped = handlers.dropped();
    gate.wait();
    handlers.close();
    assert_eq!(dropped, 77, "1,024 of 1,101 fit");
    assert_eq!(count.load(Ordering::SeqCst), 1_025);
}

struct Names(&'static str, Arc<Mutex<Vec<String>>>);

impl Sink for Names {
    fn fire(&self, notice: &Arc<dyn Notice>) {
        self.1.lock().unwrap().push(format!("{} {}", self.0, notice.name()));
    }
}

#[test]
fn agentcore_200_a_tee_tells_everybody_in_order() {
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let sink = |name| Arc::new(Names(name, Arc::clone(&heard))) as Arc<dyn Sink>;
    let tee = Tee::new([sink("one"), sink("two")]);
    all()[..2].iter().for_each(|notice| tee.fire(notice));
    let expected =
        ["one workflow.started", "two workflow.started", "one workflow.ended", "two workflow.ended"];
    assert_eq!(*heard.lock().unwrap(), expected);
    Tee::new([]).fire(&all()[0]);
}

/// Tells what a goal workflow tells.
struct Goal(bool);

impl Step<u8> for Goal {
    fn name(&self) -> &str {
        "story"
    }

    fn run<'a>(&'a self, scope: &'a Scope, _: &'a mut u8) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            for (name, value) in [
                ("goal_started", json!({"goal": "g", "kind": "goal", "description": "find out"})),
                ("subagent_spawned", json!({"goal": "g", "agent": "a", "dynamic": false})),
                ("subagent_completed", json!({"goal": "g", "agent": "a", "output_bytes": 3, "error": "no"})),
                ("convergence_cap_reached", json!({"convergence": "c", "cap": 4})),
                ("goal_ended", json!({"goal": "g", "output_bytes": 12})),
                ("supervision", json!({"step": "g", "phase": "commit"})),
            ] {
                scope.emit(EventKind::Custom { name: name.to_owned(), value }).await;
            }
            if self.0 { Ok(()) } else { Err(Error::failed("it broke")) }
        })
    }
}

/// Everything about an event, in a line.
struct Lines(Arc<Mutex<Vec<String>>>);

impl Sink for Lines {
    fn fire(&self, notice: &Arc<dyn Notice>) {
        let attributes = notice.attributes().into_iter().map(|(key, value)| format!("{key}={value}"));
        let attributes = attributes.collect::<Vec<_>>().join(" ");
        let error = notice.error().map(|error| format!(" err={error}")).unwrap_or_default();
        self.0.lock().unwrap().push(format!("{} {attributes}{error}", notice.name()));
    }
}

#[tokio::test]
async fn agentcore_105_runs_tell_the_originals_events_and_one_that_is_refused_says_why() {
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let runtime = Runtime::builder().observer(AgentcoreEventView::new(Lines(Arc::clone(&heard)))).build();
    let _ = runtime.start(&Workflow::new(Goal(true)), 0).await.unwrap();
    let expected = [
        r#"workflow.started workflow="story""#,
        r#"goal.started goal="g" description="find out""#,
        r#"subagent.spawned goal="g" agent="a""#,
        r#"subagent.completed goal="g" agent="a" output_len=3 err=no"#,
        r#"convergence.cap_reached convergence="c" cap=4"#,
        r#"goal.ended goal="g" output_len=12"#,
        r#"workflow.ended workflow="story""#,
    ];
    assert_eq!(std::mem::take(&mut *heard.lock().unwrap()), expected);

    let _ = runtime.start(&Workflow::new(Goal(false)), 0).await.unwrap();
    assert_eq!(heard.lock().unwrap().last().unwrap(), r#"workflow.ended workflow="story" err=it broke"#);
    heard.lock().unwrap().clear();
    // There is no store to have it from.
    let _ = runtime.resume(&Workflow::new(Goal(true)), "nowhere".parse().unwrap()).await.unwrap_err();
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 1);
    assert!(heard[0].starts_with(r#"preflight.failed workflow="story" err="#), "{heard:?}");
}

/// Waits until somebody lets it go on.
struct Waits {
    begun: Arc<Notify>,
    go_on: Arc<Notify>,
}

impl Step<u8> for Waits {
    fn name(&self) -> &str {
        "waits"
    }

    fn run<'a>(&'a self, _: &'a Scope, _: &'a mut u8) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            self.begun.notify_one();
            self.go_on.notified().await;
            Ok(())
        })
    }
}

#[tokio::test]
async fn a_run_that_is_refused_to_somebody_else_goes_on() {
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let runtime = Runtime::builder()
        .store(convoke_store::MemoryStore::new())
        .observer(AgentcoreEventView::new(Lines(Arc::clone(&heard))))
        .build();
    let (begun, go_on) = (Arc::<Notify>::default(), Arc::<Notify>::default());
    let workflow = Workflow::new(Waits { begun: Arc::clone(&begun), go_on: Arc::clone(&go_on) });
    let id: RunId = "busy".parse().unwrap();
    let first = runtime.start(&workflow, 0).id(id.clone());
    let second = async {
        begun.notified().await;
        let refused = runtime.resume(&workflow, id.clone()).await.unwrap_err();
        go_on.notify_one();
        refused
    };
    let (first, _) = tokio::join!(first, second);
    assert!(first.unwrap().completed().is_ok());
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 3, "{heard:?}");
    assert!(heard[1].starts_with(r#"preflight.failed workflow="waits" err="#), "{heard:?}");
    assert_eq!(heard[2], r#"workflow.ended workflow="waits""#);
}
