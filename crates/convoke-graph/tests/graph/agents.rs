//! Cases 27 to 77: agents, their requests and results, conversations and tasks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use convoke_agent::memory::{Memories, MemorySession, Recollection};
use convoke_core::store::RunQuery;
use convoke_core::{
    Answer, BoxFuture, Canceller, Error, Event, EventKind, IdempotencyKey, Limits, Message, Observer, Part,
    Role, RunId, RunStatus, Runtime, Scope, SharedStep,
};
use convoke_graph::agents::{
    Agent, AgentError, Agents, Dependencies, DependencyError, GRAPH_EQUIPMENT, GraphStrategy, Job, Referee,
    Request, Stage, Status, Strategy, Verdict, When,
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

/// A strategy that answers with the greeting it is given, under a name of its own.
struct Greets;

impl Strategy for Greets {
    fn kind(&self) -> &str {
        "greets"
    }

    fn answer_key(&self) -> &str {
        "greeting"
    }

    fn build(&self, _: &Agent, given: &Dependencies) -> Result<SharedStep<Board>, Error> {
        let greeting = given.get::<String>("greeting").map_err(Error::permanent)?;
        let greets = move |board: &mut Board| board.set("greeting", greeting.as_str()).map_err(Error::from);
        Ok(Arc::new(convoke_steps::func("greet", greets)))
    }
}

#[tokio::test]
async fn flowcraft_057_069_a_strategy_is_given_what_it_needs_and_its_own_answer_is_read() {
    let home = Home::new();
    let agent = Agent::new("a", Greets);
    let without = Agents::new(home.builder().build());
    let given = without.clone().dependencies(Dependencies::default().with("greeting", "Welcome!".to_owned()));
    let result = given.run(&agent, Request::text("hi")).await.unwrap();
    assert_eq!((result.answer(), result.board.get("answer")), (Some(&json!("Welcome!")), None));
    let error = without.run(&agent, Request::text("hi")).await.unwrap_err();
    assert!(error.to_string().contains("`greeting` is not there"), "{error}");
    let mut other = asks();
    other["answer_key"] = json!("verdict");
    let result = given.run(&Agent::new("b", strategy(&home, other)), Request::text("hi")).await.unwrap();
    assert_eq!(
        (result.answer(), result.board.text("answer")),
        (None, "Hello."),
        "another variable is no answer"
    );
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
    let home = home.node("says", |call| {
        Box::pin(async move {
            call.board.push("", Message::assistant("one"))?;
            call.board.push("", Message::assistant("two"))?;
            Ok(call.board.push("", Message::assistant(""))?)
        })
    });
    let says = Agent::new("c", strategy(&home, graph(json!([{"id": "n", "type": "says"}]), &[])));
    let result = agents(&home).run(&says, Request::text("hi")).await.unwrap();
    assert_eq!(
        (result.messages.len(), result.text().as_str()),
        (4, "two"),
        "silence is not what was said last"
    );
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
async fn flowcraft_050_051_052_053_067_068_073_every_status_is_produced_at_its_source() {
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
    assert!(matches!(result.error.as_ref().map(Error::root), Some(Error::Cancelled(_))));
    // Ended before it began, it asks nobody.
    let asking = Agent::new("b", strategy(&home, asks()));
    let result = agents.run(&asking, Request::text("hi")).canceller(&canceller).await.unwrap();
    assert_eq!(result.status, Status::Canceled);
    assert_eq!(home.model.calls(), 0);
    let result = agents.run(&failed, Request::text("hi")).await.unwrap();
    assert_eq!(result.status, Status::Failed);
    assert!(result.error.unwrap().to_string().contains("broken"));
    let nodes = json!([{"id": "llm", "type": "llm"}, {"id": "n", "type": "fails"}]);
    let late = Agent::new("late", strategy(&home, graph(nodes, &[("llm", "n")])));
    let id: RunId = "mine".parse().unwrap();
    let result = agents.run(&late, Request::text("hi").run(id.clone())).await.unwrap();
    assert_eq!((result.status, result.text().as_str()), (Status::Failed, "Hello."));
    assert_eq!(result.run_id, id);
    assert!(result.usage.total_tokens > 0, "what was used before it failed is known");
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
async fn flowcraft_031_042_063_065_history_inputs_and_ids() {
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
    let said = Request::new(Message::assistant("I am here.")).input("query", "other");
    let silent = Agent::new("b", strategy(&home, graph(json!([passes("a")]), &[])));
    let result = agents(&home).run(&silent, said).await.unwrap();
    assert_eq!(result.board.text("query"), "other", "what no user says is no query");
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
    let memory = Memory::default();
    let remembers = agents(&home).memories(memory.clone());
    assert!(remembers.run(&wrong, Request::text("hi").context("c")).await.is_err());
    assert_eq!((memory.log().len(), home.model.calls()), (0, 0), "nothing is opened, and nobody is asked");
    let mistyped =
        Agents::new(home.builder().build()).dependencies(Dependencies::default().with(GRAPH_EQUIPMENT, 1));
    let agent = Agent::new("a", strategy(&home, asks()));
    assert!(matches!(mistyped.run(&agent, Request::text("hi")).await, Err(AgentError::Build { .. })));
}

#[test]
fn flowcraft_092_a_graph_is_compiled_once_for_all_requests() {
    use convoke_graph::{Node, NodeSite, NodeType};

    /// A type of nodes that counts how often a graph with one is compiled.
    struct Counted(Arc<Mutex<u32>>);

    impl NodeType for Counted {
        fn name(&self) -> &str {
            "counted"
        }

        fn schema(&self) -> Value {
            *self.0.lock().unwrap() += 1;
            json!({"type": "object"})
        }

        fn build(&self, _: &NodeSite<'_>) -> Result<Arc<dyn Node>, String> {
            Ok(Arc::new(super::ProbeNode(Arc::new(|_| Box::pin(async { Ok(()) })))))
        }
    }

    let (mut home, compiled) = (Home::new(), Arc::new(Mutex::new(0)));
    home.types = home.types.with(Counted(Arc::clone(&compiled)));
    let counted = strategy(&home, graph(json!([{"id": "n", "type": "counted"}]), &[]));
    let agent = Agent::new("a", Greets);
    let build = || counted.build(&agent, &Dependencies::default()).map(drop);
    build().unwrap();
    let once = *compiled.lock().unwrap();
    build().unwrap();
    assert!(once > 0 && *compiled.lock().unwrap() == once, "{once}");
}

#[tokio::test]
async fn flowcraft_070_140_whoever_listens_hears_everything() {
    let home = Home::new();
    let agent = Agent::new("a", strategy(&home, asks()));
    let mut said = String::new();
    let (mut replaced, mut ends) = (0, 0);
    agents(&home)
        .run(&agent, Request::text("hi"))
        .on_event(|_| replaced += 1)
        .on_event(|event| match &event.kind {
            EventKind::MessageDelta { text, .. } => said.push_str(text),
            EventKind::RunEnded(_) => ends += 1,
            _ => {}
        })
        .await
        .unwrap();
    assert_eq!((said.as_str(), ends), ("Hello.", 1));
    assert_eq!(replaced, 0, "whoever is named last takes the place of others");
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
    let text = |part: &Part| match part {
        Part::Text { text } => text.clone(),
        other => panic!("{other:?}"),
    };
    let made: Vec<(&str, Vec<String>)> = result
        .artifacts
        .iter()
        .map(|made| (made.name.as_str(), made.parts.iter().map(text).collect()))
        .collect();
    assert_eq!(made, [("A", vec!["a1".to_owned(), "a2".to_owned()]), ("B", vec!["b1".to_owned()])]);
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

/// A memory that says what is done with it.
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

impl Memories for Memory {
    fn open<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn MemorySession>>, Error>> {
        Box::pin(async move {
            self.note(format!("open {name}"))?;
            Ok((name != "none").then(|| Arc::new(self.clone()) as Arc<dyn MemorySession>))
        })
    }
}

impl MemorySession for Memory {
    fn assemble<'a>(
        &'a self,
        words: &'a Message,
        _: &'a RunId,
    ) -> BoxFuture<'a, Result<Recollection, Error>> {
        Box::pin(async move {
            self.note(format!("load {}", words.text()))?;
            let said = [Message::user("before"), Message::assistant("indeed")];
            Ok(Recollection { summary: Some("They met.".to_owned()), ..Recollection::of(&said) })
        })
    }

    fn vars(&self) -> BoxFuture<'_, Result<Map<String, Value>, Error>> {
        Box::pin(async {
            self.note("vars".to_owned())?;
            Ok(json!({"tone": "kind", "k": 0}).as_object().unwrap().clone())
        })
    }

    fn append<'a>(
        &'a self,
        new: &'a [Message],
        _: (&'a RunId, &'a IdempotencyKey),
    ) -> BoxFuture<'a, Result<(), Error>> {
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
    let agents = agents(&home).memories(memory.clone());
    let request = Request::text("hi").context("c").input("k", 1);
    let result = agents.run(&agent, request).history([Message::user("ignored")]).await.unwrap();
    assert_eq!(memory.log(), ["open c", "load hi", "vars", "append hi|Hello.", "close "]);
    assert_eq!((result.board.text("tone"), result.board.get("k")), ("kind", Some(&json!(1))));
    let new: Vec<(Role, String)> = result.messages.iter().map(|said| (said.role, said.text())).collect();
    assert_eq!(new, [(Role::User, "hi".to_owned()), (Role::Assistant, "Hello.".to_owned())], "what is new");
    let told: Vec<String> = home.model.requests()[0].messages.iter().map(Message::text).collect();
    assert!(told[0].contains("They met.") && !told.concat().contains("ignored"), "{told:?}");
    assert_eq!(told[1..], ["before", "indeed", "hi"]);
    let without = Memory::default();
    let run = super::agents::agents(&home).memories(without.clone());
    assert_eq!(run.run(&agent, Request::text("hi")).await.unwrap().status, Status::Completed);
    assert!(without.log().is_empty());
    let none = agents.run(&agent, Request::text("hi").context("none")).await.unwrap();
    assert_eq!(none.board.channel("").len(), 2, "nothing is remembered");
}

#[tokio::test]
async fn flowcraft_048_what_a_graph_puts_before_what_was_said_repeats_nothing_of_it() {
    let home = Home::new().node("fronts", |call| {
        Box::pin(async move {
            let said = call.board.channel("");
            let front = [Message::system("Be kind.")].into_iter().chain(said.iter().cloned());
            Ok(call.board.set_channel("", front)?)
        })
    });
    let nodes = json!([{"id": "f", "type": "fronts"}, {"id": "llm", "type": "llm"}]);
    let agent = Agent::new("a", strategy(&home, graph(nodes, &[("f", "llm")])));
    let memory = Memory::default();
    let run = agents(&home).memories(memory.clone());
    let result = run.run(&agent, Request::text("hi").context("c")).await.unwrap();
    assert!(result.board.channel("").iter().any(|said| said.text() == "before"), "it is there");
    let added: Vec<String> = memory.log().into_iter().filter(|what| what.starts_with("append")).collect();
    assert_eq!(added, ["append Be kind.|hi|Hello."]);
}

#[tokio::test]
async fn flowcraft_050_a_conversation_that_somebody_ends_is_not_remembered_and_closes_with_that() {
    let canceller = Canceller::new();
    let stop = canceller.clone();
    let home = Home::new().node("stops", move |_| {
        stop.cancel("enough");
        Box::pin(std::future::pending())
    });
    let agent = Agent::new("a", strategy(&home, graph(json!([{"id": "n", "type": "stops"}]), &[])));
    let memory = Memory::default();
    let run = agents(&home).memories(memory.clone());
    let result = run.run(&agent, Request::text("hi").context("c")).canceller(&canceller).await.unwrap();
    assert_eq!(result.status, Status::Canceled);
    let log = memory.log();
    assert_eq!(log[..3], ["open c", "load hi", "vars"]);
    assert!(
        log.len() == 4 && log[3].starts_with("close ") && log[3].contains("cancelled: enough"),
        "{log:?}"
    );
}

#[tokio::test]
async fn flowcraft_038_039_040_055_056_a_conversation_that_fails_fails_the_run_which_can_go_on_when_it_is_mended()
 {
    let home = Home::new();
    let agent = Agent::new("a", strategy(&home, asks()));
    for (fails, told, last) in [
        ("open", "broken", "open c"),
        ("load", "memory load: ", "close memory load: "),
        ("vars", "memory vars: ", "close memory vars: "),
        ("append", "memory append: ", "close memory append: "),
    ] {
        let memory = Memory { fails: Some(fails), ..Memory::default() };
        let run = agents(&home).memories(memory.clone());
        let result = run.run(&agent, Request::text("hi").context("c")).await.unwrap();
        let error = result.error.as_ref().unwrap().to_string();
        assert!(result.status == Status::Failed && error.contains(told), "{fails}: {error}");
        assert!(memory.log().last().unwrap().starts_with(last), "{fails}: {:?}", memory.log());
        let mended = Memory::default();
        let agents = agents(&home).memories(mended.clone());
        assert_eq!(agents.resume(&agent, &result.run_id).await.unwrap().status, Status::Completed, "{fails}");
        assert!(mended.log().contains(&"append hi|Hello.".to_owned()), "{fails}: {:?}", mended.log());
        let without = super::agents::agents(&home).resume(&agent, &result.run_id).await.unwrap();
        assert_eq!(without.status, Status::Completed, "what is over needs no memory");
    }
}

#[tokio::test]
async fn flowcraft_049_075_only_what_completed_is_kept_whenever_it_does() {
    let home = Home::new();
    let memory = Memory::default();
    let waits =
        graph(json!([{"id": "ok", "type": "approval"}, {"id": "llm", "type": "llm"}]), &[("ok", "llm")]);
    let agent = Agent::new("a", strategy(&home, waits));
    let agents = agents(&home).memories(memory.clone());
    let asked = agents.run(&agent, Request::text("hi").context("c")).await.unwrap();
    assert!(asked.status == Status::InputRequired && !asked.is_committed());
    let Some(Error::Suspended(_)) = asked.error.as_ref().map(Error::root) else {
        panic!("{:?}", asked.error)
    };
    let log = memory.log();
    assert_eq!(log[..3], ["open c", "load hi", "vars"]);
    let why = asked.error.unwrap().root().to_string();
    assert!(log.len() == 4 && log[3].starts_with("close ") && log[3].contains(&why), "{why}: {log:?}");
    home.answer(&asked.run_id, Answer::approve()).await;
    let nowhere = super::agents::agents(&home).resume(&agent, &asked.run_id).await.unwrap();
    assert!(nowhere.error.unwrap().to_string().contains("no place for the memory `c`"));
    assert!(agents.resume(&agent, &asked.run_id).await.unwrap().is_committed());
    assert!(memory.log().contains(&"append hi|Hello.".to_owned()), "{:?}", memory.log());
    agents.resume(&agent, &asked.run_id).await.unwrap();
    assert_eq!(memory.log().iter().filter(|what| what.starts_with("append")).count(), 1, "once");
}

/// Gives the verdicts it has, in order, and accepts from then on.
struct Says(Mutex<Vec<Verdict>>);

impl Says {
    fn these(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        Self(Mutex::new(verdicts.into_iter().collect()))
    }
}

impl Referee for Says {
    fn judge<'a>(&'a self, scope: &'a Scope, _: &'a Board) -> BoxFuture<'a, Result<Verdict, Error>> {
        Box::pin(async move {
            let verdict = scope.custom("verdict").repeatable();
            let next = || self.0.lock().unwrap().pop().unwrap_or_default();
            verdict.perform(|_| std::future::ready(Ok::<_, Error>(next()))).await
        })
    }
}

fn revise(reason: &str) -> Verdict {
    Verdict::Revise(reason.to_owned())
}

fn discard(reason: &str) -> Verdict {
    Verdict::Discard(reason.to_owned())
}

#[tokio::test]
async fn flowcraft_075_one_referee_that_discards_wins_and_the_first_reason_is_kept() {
    let home = Home::new();
    let memory = Memory::default();
    let agents = agents(&home).memories(memory.clone());
    for (verdicts, last) in [
        ([Verdict::Accept, discard("rude"), Verdict::Accept], discard("rude")),
        ([discard(""), discard("wrong"), discard("late")], discard("wrong")),
        ([revise("longer"), discard("rude"), revise("")], discard("rude")),
        ([Verdict::Accept, Verdict::Accept, Verdict::Accept], Verdict::Accept),
    ] {
        let agent = Agent::new("a", strategy(&home, asks())).attempts(1);
        let agent = verdicts.into_iter().fold(agent, |agent, one| agent.referee(Says::these([one])));
        let result = agents.run(&agent, Request::text("hi").context("c")).await.unwrap();
        assert_eq!((result.status, &result.verdict), (Status::Completed, &last));
        assert_eq!(result.is_committed(), last == Verdict::Accept);
        let kept = if result.is_committed() { "append hi|Hello." } else { "append " };
        assert_eq!(memory.log()[memory.log().len() - 2], kept, "what is discarded is not remembered");
    }
}

#[tokio::test]
async fn flowcraft_076_a_revision_begins_anew_within_its_budget_and_only_of_what_completed() {
    let counted = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&counted);
    let home = Home::new().node("counts", move |call| {
        let (seen, board) = (Arc::clone(&seen), &mut *call.board);
        Box::pin(async move {
            let found = (board.get("made").cloned(), board.text("revision").to_owned());
            seen.lock().unwrap().push((call.scope.run_id().clone(), found));
            Ok(board.set("made", true)?)
        })
    });
    let counts = || strategy(&home, graph(json!([{"id": "n", "type": "counts"}]), &[]));
    let twice = Agent::new("a", counts()).attempts(2).referee(Says::these([revise("no"), revise("longer")]));
    let result = agents(&home).run(&twice, Request::text("hi")).await.unwrap();
    assert_eq!((result.attempts, result.verdict.clone()), (2, revise("no")), "the last attempt counts");
    let run = result.run_id.clone();
    let fresh = |revision: &str| (run.clone(), (None, revision.to_owned()));
    assert_eq!(*counted.lock().unwrap(), [fresh(""), fresh("longer")], "on fresh boards, with one run id");
    assert_eq!(agents(&home).resume(&twice, &run).await.unwrap().attempts, 2, "and so it is on record");
    counted.lock().unwrap().clear();
    let once = Agent::new("a", counts()).attempts(1).referee(Says::these([revise("longer")]));
    let result = agents(&home).run(&once, Request::text("hi")).await.unwrap();
    assert_eq!((result.attempts, result.verdict, counted.lock().unwrap().len()), (1, revise("longer"), 1));
    let home = home.node("fails", |_| Box::pin(async { Err(Error::permanent("broken")) }));
    let says = Says::these([revise("again"), revise("again")]);
    let failing = strategy(&home, graph(json!([{"id": "n", "type": "fails"}]), &[]));
    let result =
        agents(&home).run(&Agent::new("a", failing).referee(says), Request::text("hi")).await.unwrap();
    assert_eq!((result.status, result.attempts), (Status::Failed, 1));
}

/// Counts beginnings and ends of runs, and panics at every event.
#[derive(Clone, Default)]
struct Panics(Arc<Mutex<[u32; 2]>>);

impl Panics {
    fn count(&self, event: &Event) -> ! {
        let mut counts = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        counts[0] += u32::from(matches!(event.kind, EventKind::RunStarted { .. }));
        counts[1] += u32::from(matches!(event.kind, EventKind::RunEnded(_)));
        drop(counts);
        panic!("not today")
    }
}

impl Observer for Panics {
    fn observe(&self, event: &Event) {
        self.count(event)
    }
}

#[tokio::test]
async fn flowcraft_077_whoever_watches_may_panic_and_hears_of_the_beginning_and_the_end_once_each() {
    let home = Home::new();
    let agent = Agent::new("a", strategy(&home, asks()));
    let (observer, listener) = (Panics::default(), Panics::default());
    let agents = Agents::new(home.builder().observer(observer.clone()).build());
    let heard = listener.clone();
    let result = agents.run(&agent, Request::text("hi")).on_event(move |event| heard.count(event)).await;
    let result = result.unwrap();
    assert_eq!((result.status, result.text().as_str()), (Status::Completed, "Hello."));
    assert_eq!((*observer.0.lock().unwrap(), *listener.0.lock().unwrap()), ([1, 1], [1, 1]));
}

/// Says when it is dropped.
struct Gone(Arc<Mutex<bool>>);

impl Drop for Gone {
    fn drop(&mut self) {
        // Whoever does not wait for it is too early.
        std::thread::sleep(Duration::from_millis(100));
        *self.0.lock().unwrap() = true;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn flowcraft_204_a_task_that_fails_says_why_and_stopping_waits_for_those_under_way() {
    let (gone, began) = (Arc::new(Mutex::new(false)), Arc::new(tokio::sync::Notify::new()));
    let (dropped, begin) = (Arc::clone(&gone), Arc::clone(&began));
    let home = Home::new().node("fails", |_| Box::pin(async { Err(Error::permanent("broken")) })).node(
        "hangs",
        move |_| {
            let (gone, begin) = (Gone(Arc::clone(&dropped)), Arc::clone(&begin));
            Box::pin(async move {
                begin.notify_one();
                std::future::pending::<()>().await;
                drop(gone);
                Ok(())
            })
        },
    );
    let of = |kind: &str| Agent::new(kind, strategy(&home, graph(json!([{"id": "n", "type": kind}]), &[])));
    let (fails, hangs) = (of("fails"), of("hangs"));
    let agents = agents(&home);
    let tasks = agents.tasks().unwrap();
    let failed = agents.submit(&fails, Request::text("hi")).await.unwrap();
    let failed = tasks.wait(&failed).await.unwrap();
    assert_eq!((failed.status, failed.stage), (Status::Failed, Stage::Failed));
    assert!(failed.error.unwrap().contains("broken"));
    let told = |event: &Event| {
        event.run == failed.run
            && matches!(&event.kind, EventKind::RunEnded(end) if end.status == RunStatus::Failed)
    };
    // Whoever waits for a task looks into the store, which knows of an end before it is told.
    until(async || home.heard.all().iter().any(told)).await;
    let hanging = agents.submit(&hangs, Request::text("hi")).await.unwrap();
    began.notified().await;
    assert_eq!(tasks.get(&hanging).await.unwrap().unwrap().status, Status::Working);
    agents.stop().await;
    assert!(*gone.lock().unwrap(), "it was ended, and waited for");
    let left = tasks.get(&hanging).await.unwrap().unwrap();
    assert_eq!((left.status, left.stage, left.error), (Status::Interrupted, Stage::Claimed, None));
    tasks.cancel(&hanging, "enough").await.unwrap();
    assert_eq!(tasks.get(&hanging).await.unwrap().unwrap().error.unwrap(), "cancelled: enough");
}

/// Waits until something is so.
async fn until<F: Future<Output = bool>>(is_so: impl Fn() -> F) {
    while !is_so().await {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn flowcraft_206_a_task_is_begun_later_and_a_repeated_one_once_at_a_time() {
    let home = Home::new();
    let waits = graph(json!([{"id": "ok", "type": "approval"}]), &[]);
    let (quick, slow) =
        (Agent::new("quick", strategy(&home, asks())), Agent::new("slow", strategy(&home, waits)));
    let agents = agents(&home).team([quick.clone(), slow.clone()]);
    let tasks = agents.tasks().unwrap();
    let far = agents.schedule(&quick, Request::text("hi"), When::after("1h").unwrap()).await.unwrap();
    let soon = agents.schedule(&quick, Request::text("hi"), When::after("1ms").unwrap()).await.unwrap();
    assert_eq!(tasks.wait(&soon).await.unwrap().status, Status::Completed);
    assert_eq!(tasks.get(&far).await.unwrap().unwrap().stage, Stage::Pending, "it is not begun at once");
    assert!(When::after("5x").unwrap_err().to_string().contains("5x"));

    let every = || When::cron("@every 1ms", None).unwrap();
    let repeats = agents.schedule(&slow, Request::text("hi").task("t"), every()).await.unwrap();
    let fired = |times| {
        let (store, repeats) = (&home.store, &repeats);
        move || async move {
            let run = store.run(repeats).await.unwrap().unwrap();
            assert!(!run.status.is_final(), "{run:?}");
            run.generation.number >= times
        }
    };
    // Whoever does not know an agent leaves its tasks to others.
    let others = super::agents::agents(&home).team([quick.clone()]);
    tokio::select! {
        ended = others.attend() => ended.unwrap(),
        () = until(fired(6)) => {}
    }
    let begun = tasks.list(Some("slow")).await.unwrap();
    assert_eq!((begun.len(), begun[0].task_id.as_deref()), (1, Some("t")), "one at a time");
    until(|| async { tasks.get(&begun[0].run).await.unwrap().unwrap().status == Status::InputRequired })
        .await;
    home.answer(&begun[0].run, Answer::approve()).await;
    until(|| async { tasks.list(Some("slow")).await.unwrap().len() == 2 }).await;
    assert_eq!(tasks.get(&begun[0].run).await.unwrap().unwrap().status, Status::Completed);
    agents.stop().await;
    assert_eq!(tasks.get(&far).await.unwrap().unwrap().stage, Stage::Pending, "it waits for another process");
    let refused = agents.schedule(&quick, Request::text("hi"), every()).await;
    assert!(matches!(refused, Err(AgentError::Stopped)));
}

#[tokio::test]
async fn flowcraft_206_jobs_are_as_configured_and_what_was_scheduled_otherwise_stays() {
    let home = Home::new();
    let agent = Agent::new("a", strategy(&home, asks()));
    let agents = agents(&home).team([agent.clone()]);
    let dynamic = agents.schedule(&agent, Request::text("hi"), When::cron("@daily", None).unwrap());
    let dynamic = dynamic.await.unwrap();
    let job = |name: &str, cron: &str| json!({"name": name, "cron": cron, "request": {"message": Message::user(name)}});
    let jobs = |jobs: &[Value]| -> Vec<Job> {
        jobs.iter().map(|job| serde_json::from_value(job.clone()).unwrap()).collect()
    };
    let mut disabled = job("off", "@daily");
    disabled["disabled"] = json!(true);
    let (daily, empty, wrong) = (job("daily", "0 9 * * *"), job("empty", ""), job("wrong", "99 * * * *"));
    let left_out = agents.sync(&agent, &jobs(&[daily.clone(), empty, wrong, disabled])).await.unwrap();
    assert_eq!(left_out.keys().collect::<Vec<_>>(), ["empty", "off", "wrong"]);
    assert!(left_out["wrong"].contains("minute `99`"), "{left_out:?}");
    let active = || async {
        let query = RunQuery { workflow: Some("convoke.repeats".to_owned()), ..RunQuery::default() };
        let runs = home.store.runs(&query).await.unwrap();
        let runs = runs.into_iter().filter(|run| !run.status.is_final());
        let mut runs: Vec<_> = runs.map(|run| (run.launch.labels.get("job").cloned(), run.id)).collect();
        runs.sort();
        runs
    };
    let before = active().await;
    let jobs_of = |active: &[(Option<String>, RunId)]| -> Vec<String> {
        active.iter().filter_map(|(job, _)| job.clone()).collect()
    };
    assert_eq!((jobs_of(&before), &before[0]), (vec!["daily".to_owned()], &(None, dynamic.clone())));
    agents.sync(&agent, &jobs(&[daily, job("weekly", "@weekly")])).await.unwrap();
    let after = active().await;
    assert_eq!(jobs_of(&after), ["daily", "weekly"]);
    assert_eq!(after[..2], before, "what is as it was stays");
    agents.sync(&agent, &jobs(&[job("daily", "0 10 * * *")])).await.unwrap();
    until(|| async { active().await.len() == 2 }).await;
    let changed = active().await;
    assert_eq!((jobs_of(&changed), &changed[0].1), (vec!["daily".to_owned()], &dynamic));
    assert_ne!(changed[1], before[1], "what is other begins anew");
}

#[tokio::test]
async fn flowcraft_207_without_somebody_to_begin_it_nothing_is_scheduled() {
    let home = Home::new();
    let agent = Agent::new("a", strategy(&home, asks()));
    for when in [When::after("1m").unwrap(), When::cron("@daily", None).unwrap()] {
        let error = agents(&home).schedule(&agent, Request::text("hi"), when.clone()).await.unwrap_err();
        assert!(matches!(error, AgentError::NotOfTheTeam { .. }), "{error}");
        let homeless = Agents::new(Runtime::new()).team([agent.clone()]);
        assert!(homeless.schedule(&agent, Request::text("hi"), when).await.is_err(), "it takes a store");
    }
    assert!(agents(&home).tasks().unwrap().list(None).await.unwrap().is_empty(), "nothing is begun at once");
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
    let known = tasks.list(None).await.unwrap().len();
    let mut nothing = Request::text("");
    nothing.message.parts.clear();
    assert!(matches!(agents.submit(&quick, nothing).await, Err(AgentError::EmptyRequest)));
    let reserved = agents.submit(&quick, Request::text("hi").input("__usage", 1)).await;
    assert!(matches!(reserved, Err(AgentError::Board(_))));
    assert_eq!(tasks.list(None).await.unwrap().len(), known, "what is refused is no task");
    agents.stop().await;
    assert!(matches!(agents.submit(&quick, Request::text("hi")).await, Err(AgentError::Stopped)));
    assert_eq!(tasks.get(&"nobody".parse().unwrap()).await.unwrap(), None);
    assert!(Agents::new(Runtime::new()).tasks().is_err(), "tasks need a store");
}
