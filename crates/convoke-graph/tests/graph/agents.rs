//! Cases 27 to 77: agents, their requests and results, conversations and tasks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use convoke_core::{Answer, BoxFuture, Canceller, Error, EventKind, Limits, Message, Role, RunId, Runtime};
use convoke_graph::agents::{
    Agent, AgentError, Agents, Dependencies, DependencyError, GRAPH_EQUIPMENT, GraphStrategy, Request,
    Session, Sessions, Stage, Status, Strategy,
};
use convoke_graph::{Board, GraphDefinition, GraphEquipment};
use convoke_models::{Reply, ScriptedModel};
use serde_json::{Map, Value, json};

use super::{Home, echo, graph, passes, writes};

fn strategy(home: &Home, definition: Value) -> GraphStrategy {
    let definition: GraphDefinition = serde_json::from_value(definition).unwrap();
    GraphStrategy::new(definition, home.types.clone())
}

fn agents(home: &Home) -> Agents {
    let dependencies = Dependencies::default().with(GRAPH_EQUIPMENT, home.equipment.clone());
    Agents::new(home.builder().build()).dependencies(dependencies)
}

fn asks() -> Value {
    graph(json!([{"id": "llm", "type": "llm"}, {"id": "out", "type": "answer"}]), &[("llm", "out")])
}

#[test]
fn flowcraft_027_028_dependencies_are_typed() {
    let given = Dependencies::default().with("n", 1_u32).with("n", 2_u32);
    assert_eq!(*given.get::<u32>("n").unwrap(), 2);
    assert_eq!(given.get::<u32>("m").unwrap_err(), DependencyError::Missing { key: "m".to_owned() });
    let wrong = given.get::<String>("n").unwrap_err();
    assert!(wrong.to_string().contains("`n`") && wrong.to_string().contains("String"), "{wrong}");
    assert!(Dependencies::default().get::<u32>("n").is_err());
}

#[test]
fn flowcraft_029_030_031_agents_and_requests_say_what_they_are() {
    let home = Home::new();
    let mut custom = asks();
    custom["answer_key"] = json!("verdict");
    assert_eq!(strategy(&home, asks()).answer_key(), "answer");
    assert_eq!(
        (strategy(&home, custom.clone()).answer_key(), strategy(&home, custom).kind()),
        ("verdict", "graph")
    );
    let agent = Agent::new("test", strategy(&home, asks())).description("Tests.").tools(["echo"]);
    assert_eq!((agent.id(), agent.as_card().name.as_str()), ("test", "test"));
    assert_eq!(agent.allowed_tools(), Some(&["echo".to_owned()][..]));
    let card = serde_json::to_value(agent.as_card()).unwrap();
    assert_eq!(card, json!({"name": "test", "description": "Tests.", "capabilities": {"streaming": true}}));
    let request = Request::text("hi");
    assert_eq!((request.message.role, request.message.text()), (Role::User, "hi".to_owned()));
    let read: Request =
        serde_json::from_value(serde_json::to_value(request.clone().context("c")).unwrap()).unwrap();
    assert_eq!(read, request.context("c"));
}

#[tokio::test]
async fn flowcraft_032_033_035_043_066_069_a_request_completes() {
    let home = Home::new();
    let agent = Agent::new("a", strategy(&home, asks()));
    let result = agents(&home).run(&agent, Request::text("hi").task("t1")).await.unwrap();
    assert_eq!((result.status, result.task_id.as_deref()), (Status::Completed, Some("t1")));
    assert_eq!((result.answer(), result.text().as_str()), (Some(&json!("Hello.")), "Hello."));
    let roles: Vec<Role> = result.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant]);
    assert!(result.usage.total_tokens > 0 && result.error.is_none());
    let silent = Agent::new("b", strategy(&home, graph(json!([passes("a")]), &[])));
    let result = agents(&home).run(&silent, Request::text("hi")).await.unwrap();
    assert_eq!((result.text().as_str(), result.answer()), ("", None));
}

#[tokio::test]
async fn flowcraft_036_an_empty_request_is_refused() {
    let home = Home::new();
    let agent = Agent::new("a", strategy(&home, asks()));
    let mut nothing = Request::text("x");
    nothing.message.parts.clear();
    assert!(matches!(agents(&home).run(&agent, nothing).await, Err(AgentError::EmptyRequest)));
}

#[tokio::test]
async fn flowcraft_049_067_068_154_a_person_is_asked_and_everything_so_far_is_there() {
    let home = Home::new();
    let made = graph(
        json!([{"id": "llm", "type": "llm"}, {"id": "ok", "type": "approval"}, {"id": "out", "type": "answer"}]),
        &[("llm", "ok"), ("ok", "out")],
    );
    let agent = Agent::new("a", strategy(&home, made));
    let asked = agents(&home).run(&agent, Request::text("hi")).await.unwrap();
    assert_eq!((asked.status, asked.interrupted_node()), (Status::InputRequired, Some("ok")));
    assert!(asked.usage.total_tokens > 0, "what was used is known");
    assert_eq!(asked.board.text("approval_status"), "pending");
    let tasks = agents(&home).tasks().unwrap();
    assert_eq!(tasks.get(&asked.run_id).await.unwrap().unwrap().status, Status::InputRequired);
    home.answer(&asked.run_id, Answer::approve()).await;
    let done = agents(&home).resume(&agent, &asked.run_id).await.unwrap();
    assert_eq!((done.status, done.run_id), (Status::Completed, asked.run_id));
}

#[tokio::test]
async fn flowcraft_050_051_052_053_073_every_status_is_produced_at_its_source() {
    let canceller = Canceller::new();
    let stop = canceller.clone();
    let home = Home::new()
        .node("stops", move |_| {
            stop.cancel("enough");
            Box::pin(std::future::pending())
        })
        .node("fails", |_| Box::pin(async { Err(Error::permanent("broken")) }))
        .node("sleeps", |call| Box::pin(async move { call.scope.sleep(Duration::from_secs(3600)).await }));
    let of = |kind: &str| Agent::new("a", strategy(&home, graph(json!([{"id": "n", "type": kind}]), &[])));
    let (cancelled, failed, sleeps) = (of("stops"), of("fails"), of("sleeps"));
    let agents = agents(&home);
    let result = agents.run(&cancelled, Request::text("hi")).canceller(&canceller).await.unwrap();
    assert_eq!(result.status, Status::Canceled);
    let result = agents.run(&failed, Request::text("hi")).await.unwrap();
    assert_eq!(result.status, Status::Failed);
    assert!(result.error.unwrap().to_string().contains("broken"));
    let result = agents.run(&sleeps, Request::text("hi")).await.unwrap();
    assert_eq!(result.status, Status::Interrupted, "nobody is asked, and it can go on");
    let limited = Agents::new(home.builder().build()).dependencies(
        Dependencies::default()
            .with(GRAPH_EQUIPMENT, GraphEquipment::default().with_step("spend", Arc::new(Spend))),
    );
    let spends = graph(json!([{"id": "s", "type": "step", "config": {"step": "spend"}}]), &[]);
    let result = limited.run(&Agent::new("a", strategy(&home, spends)), Request::text("hi")).await.unwrap();
    assert_eq!(result.status, Status::Aborted);
}

/// A step whose budget is used up.
struct Spend;

impl convoke_core::Step<Board> for Spend {
    fn name(&self) -> &str {
        "spend"
    }

    fn run<'a>(
        &'a self,
        scope: &'a convoke_core::Scope,
        _: &'a mut Board,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let model = scope.default_model()?;
            let request = convoke_core::ModelRequest { messages: "hi".into(), ..Default::default() };
            scope.model(&model, request, convoke_core::Visibility::Hidden).await.map(drop)
        })
    }

    fn bounds(&self) -> Option<&convoke_core::Bounds> {
        static BOUNDS: std::sync::LazyLock<convoke_core::Bounds> = std::sync::LazyLock::new(|| {
            let mut bounds = convoke_core::Bounds::default();
            bounds.limits = Some(Limits::default().model_calls(0));
            bounds
        });
        Some(&BOUNDS)
    }
}

#[tokio::test]
async fn flowcraft_042_063_065_history_inputs_and_ids() {
    let home = Home::new();
    let agent = Agent::new("a", strategy(&home, asks()));
    let before = [Message::user("earlier"), Message::assistant("yes")];
    let id: RunId = "mine".parse().unwrap();
    let request = Request::text("hi").input("query", "other").input("k", 1).run(id.clone());
    let result = agents(&home).run(&agent, request).history(before).await.unwrap();
    assert_eq!(result.run_id, id);
    assert_eq!(result.messages.len(), 2, "what is new");
    assert_eq!(result.board.channel("").len(), 4);
    assert_eq!((result.board.text("query"), result.board.get("k")), ("hi", Some(&json!(1))));
    let reserved = agents(&home).run(&agent, Request::text("hi").input("__usage", 1)).await;
    assert!(matches!(reserved, Err(AgentError::Board(_))));
    let (one, other) = (
        agents(&home).run(&agent, Request::text("a")).await,
        agents(&home).run(&agent, Request::text("a")).await,
    );
    assert_ne!(one.unwrap().run_id, other.unwrap().run_id);
}

#[tokio::test]
async fn flowcraft_057_058_092_093_a_strategy_that_cannot_be_built_is_an_error_and_tried_again() {
    let home = Home::new();
    let wrong = Agent::new("a", strategy(&home, graph(json!([{"id": "x", "type": "nosuch"}]), &[])));
    for _ in 0..2 {
        let error = agents(&home).run(&wrong, Request::text("hi")).await.unwrap_err();
        assert!(
            matches!(&error, AgentError::Build { .. }) && error.to_string().contains("nosuch"),
            "{error}"
        );
    }
    let mistyped =
        Agents::new(home.builder().build()).dependencies(Dependencies::default().with(GRAPH_EQUIPMENT, 1));
    let agent = Agent::new("a", strategy(&home, asks()));
    assert!(matches!(mistyped.run(&agent, Request::text("hi")).await, Err(AgentError::Build { .. })));
}

#[tokio::test]
async fn flowcraft_070_140_whoever_listens_hears_everything() {
    let home = Home::new();
    let agent = Agent::new("a", strategy(&home, asks()));
    let mut said = String::new();
    let mut ends = 0;
    agents(&home)
        .run(&agent, Request::text("hi"))
        .on_event(|event| match &event.kind {
            EventKind::MessageDelta { text, .. } => said.push_str(text),
            EventKind::RunEnded(_) => ends += 1,
            _ => {}
        })
        .await
        .unwrap();
    assert_eq!((said.as_str(), ends), ("Hello.", 1));
    let observed = home.heard.all().into_iter().filter_map(|event| match event.kind {
        EventKind::MessageDelta { text, .. } => Some(text),
        _ => None,
    });
    assert_eq!(observed.collect::<String>(), "Hello.", "whoever observes the runtime hears it too");
}

#[tokio::test]
async fn flowcraft_074_artifacts_are_what_was_said_in_their_channels() {
    let home = Home::new().node("makes", |call| {
        Box::pin(async move {
            call.board.push("B", Message::assistant("b1"))?;
            call.board.push("A", Message::assistant("a1"))?;
            Ok(call.board.push("A", Message::assistant("a2"))?)
        })
    });
    let makes = graph(json!([{"id": "n", "type": "makes"}]), &[]);
    let agent = Agent::new("a", strategy(&home, makes.clone())).artifacts(["A", "B", "A", "", "empty"]);
    let result = agents(&home).run(&agent, Request::text("hi")).await.unwrap();
    let made: Vec<(&str, usize)> =
        result.artifacts.iter().map(|made| (made.name.as_str(), made.parts.len())).collect();
    assert_eq!(made, [("A", 2), ("B", 1)]);
    let none =
        agents(&home).run(&Agent::new("a", strategy(&home, makes)), Request::text("hi")).await.unwrap();
    assert!(none.artifacts.is_empty());
}

#[tokio::test]
async fn flowcraft_180_an_agent_has_its_tools_and_no_others() {
    let home =
        Home::with_model(ScriptedModel::replies([Reply::tool("echo", json!({"text": "x"}))])).tool(echo());
    let made = graph(json!([{"id": "llm", "type": "llm", "config": {"tool_names": ["echo"]}}]), &[]);
    let barred = Agent::new("a", strategy(&home, made)).tools(["other"]);
    let error = agents(&home).run(&barred, Request::text("hi")).await.unwrap_err();
    assert!(error.to_string().contains("there is no tool `echo`"), "{error}");
}

/// A conversation that says what is done with it.
#[derive(Clone, Default)]
struct Memory {
    log: Arc<Mutex<Vec<String>>>,
    fails: Option<&'static str>,
}

impl Memory {
    fn note(&self, what: String) -> Result<(), Error> {
        let fails = self.fails.is_some_and(|fails| what.starts_with(fails));
        self.log.lock().unwrap().push(what);
        if fails { Err(Error::permanent("broken")) } else { Ok(()) }
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

impl Sessions for Memory {
    fn open<'a>(
        &'a self,
        agent: &'a str,
        context: &'a str,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Session>>, Error>> {
        Box::pin(async move {
            self.note(format!("open {agent} {context}"))?;
            Ok((context != "none").then(|| Box::new(self.clone()) as Box<dyn Session>))
        })
    }
}

impl Session for Memory {
    fn load<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Vec<Message>, Error>> {
        Box::pin(async move {
            self.note(format!("load {}", request.message.text()))?;
            Ok(vec![Message::user("before"), Message::assistant("indeed")])
        })
    }

    fn vars(&self) -> BoxFuture<'_, Result<Map<String, Value>, Error>> {
        Box::pin(async {
            self.note("vars".to_owned())?;
            Ok(json!({"tone": "kind", "k": 0}).as_object().unwrap().clone())
        })
    }

    fn append<'a>(&'a self, new: &'a [Message]) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let texts: Vec<String> = new.iter().map(Message::text).collect();
            self.note(format!("append {}", texts.join("|")))
        })
    }

    fn close<'a>(&'a self, error: Option<&'a Error>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let _ = self.note(format!("close {}", error.map(ToString::to_string).unwrap_or_default()));
        })
    }
}

#[tokio::test]
async fn flowcraft_037_041_044_045_046_047_065_a_conversation_is_loaded_and_added_to() {
    let home = Home::new();
    let agent = Agent::new("a", strategy(&home, asks()));
    let memory = Memory::default();
    let agents = agents(&home).sessions(memory.clone());
    let request = Request::text("hi").context("c").input("k", 1);
    let result = agents.run(&agent, request).history([Message::user("ignored")]).await.unwrap();
    assert_eq!(memory.log(), ["open a c", "load hi", "vars", "append hi|Hello.", "close "]);
    assert_eq!((result.board.text("tone"), result.board.get("k")), ("kind", Some(&json!(1))));
    assert_eq!((result.messages.len(), result.board.channel("").len()), (2, 4));
    let without = Memory::default();
    super::agents::agents(&home).sessions(without.clone()).run(&agent, Request::text("hi")).await.unwrap();
    assert!(without.log().is_empty());
    let none = agents.run(&agent, Request::text("hi").context("none")).await.unwrap();
    assert_eq!(none.board.channel("").len(), 2, "nothing is remembered");
}

#[tokio::test]
async fn flowcraft_038_039_040_055_056_what_fails_about_a_conversation_is_an_error_and_it_is_closed_with_it()
{
    let home = Home::new();
    let agent = Agent::new("a", strategy(&home, asks()));
    for (fails, last, has_result) in [
        ("open", "open a c", false),
        ("load", "close broken", false),
        ("vars", "close broken", false),
        ("append", "close broken", true),
    ] {
        let memory = Memory { fails: Some(fails), ..Memory::default() };
        let run = agents(&home).sessions(memory.clone());
        let error = run.run(&agent, Request::text("hi").context("c")).await.unwrap_err();
        let AgentError::Session { result, .. } = error else { panic!("{fails}: {error}") };
        assert_eq!((result.is_some(), memory.log().last().unwrap().as_str()), (has_result, last), "{fails}");
    }
}

#[tokio::test]
async fn flowcraft_049_075_only_what_completed_is_kept_whenever_it_does() {
    let home = Home::new();
    let memory = Memory::default();
    let waits =
        graph(json!([{"id": "ok", "type": "approval"}, {"id": "llm", "type": "llm"}]), &[("ok", "llm")]);
    let agent = Agent::new("a", strategy(&home, waits));
    let agents = agents(&home).sessions(memory.clone());
    let asked = agents.run(&agent, Request::text("hi").context("c")).await.unwrap();
    assert_eq!(asked.status, Status::InputRequired);
    assert!(!memory.log().iter().any(|what| what.starts_with("append")), "{:?}", memory.log());
    home.answer(&asked.run_id, Answer::approve()).await;
    agents.resume(&agent, &asked.run_id).await.unwrap();
    assert!(memory.log().contains(&"append hi|Hello.".to_owned()), "{:?}", memory.log());
    agents.resume(&agent, &asked.run_id).await.unwrap();
    assert_eq!(memory.log().iter().filter(|what| what.starts_with("append")).count(), 1, "once");
}

#[tokio::test]
async fn flowcraft_203_tasks_are_listed_waited_for_and_cancelled() {
    let home = Home { patience: Duration::MAX, ..Home::new() }
        .node("waits", |call| Box::pin(async move { call.scope.sleep(Duration::from_secs(3600)).await }));
    let slow = Agent::new("slow", strategy(&home, graph(json!([{"id": "n", "type": "waits"}]), &[])));
    let quick =
        Agent::new("quick", strategy(&home, graph(json!([writes("w", json!({"answer": "done"}))]), &[])));
    let agents = agents(&home).tasks_at_once(1, 1);
    let tasks = agents.tasks().unwrap();
    let done = agents.submit(&quick, Request::text("hi").task("t")).await.unwrap();
    let ended = tasks.wait(&done).await.unwrap();
    assert_eq!(
        (ended.status, ended.stage, ended.task_id.as_deref()),
        (Status::Completed, Stage::Done, Some("t"))
    );
    assert_eq!(agents.resume(&quick, &done).await.unwrap().answer(), Some(&json!("done")));
    let first = agents.submit(&slow, Request::text("hi")).await.unwrap();
    while tasks.get(&first).await.unwrap().unwrap().stage == Stage::Pending {
        tokio::task::yield_now().await;
    }
    assert_eq!(tasks.get(&first).await.unwrap().unwrap().status, Status::Working);
    let second = agents.submit(&slow, Request::text("hi")).await.unwrap();
    assert_eq!(tasks.get(&second).await.unwrap().unwrap().stage, Stage::Pending, "one at a time");
    let third = agents.submit(&slow, Request::text("hi")).await;
    assert!(matches!(third, Err(AgentError::TooManyTasks { limit: 1 })));
    let columns = tasks.kanban(None).await.unwrap();
    let count = |stage| columns.get(&stage).map_or(0, Vec::len);
    assert_eq!((count(Stage::Pending), count(Stage::Claimed), count(Stage::Done)), (1, 1, 1));
    assert_eq!(tasks.list(Some("slow")).await.unwrap().len(), 2);
    tasks.cancel(&first, "enough").await.unwrap();
    assert_eq!(tasks.wait(&first).await.unwrap().status, Status::Canceled);
    assert!(tasks.cancel(&done, "too late").await.is_err());
    agents.stop().await;
    assert!(matches!(agents.submit(&quick, Request::text("hi")).await, Err(AgentError::Stopped)));
    assert_eq!(tasks.get(&"nobody".parse().unwrap()).await.unwrap(), None);
    assert!(Agents::new(Runtime::new()).tasks().is_err(), "tasks need a store");
}
