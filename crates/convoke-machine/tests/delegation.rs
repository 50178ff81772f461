//! Agents of a pack that turn to each other, in one run.
#![allow(clippy::unwrap_used, reason = "a test")]

mod packs;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use convoke_agent::FunctionTool;
use convoke_core::{Answer, Entry, Error, Fork, Message, ModelRequest, Role, Runtime, Store, Toolset};
use convoke_machine::conversation::{MachineState, Talk};
use convoke_machine::stage::PackStage;
use convoke_machine::workflow::Status;
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::MemoryStore;
use packs::{prompt, valid, with};
use serde_json::{Map, Value, json};

fn with_tools(template: &str, tools: Value) -> Value {
    let mut prompt = prompt(template);
    prompt["tools"] = tools;
    prompt["description"] = json!("Does its work");
    prompt
}

/// A desk that turns to a summariser, which turns to the desk.
fn desk() -> Value {
    with(&[
        ("/prompts/chat", with_tools("You are the desk for {{customer}}.", json!(["summarizer", "lookup"]))),
        ("/prompts/summarizer", with_tools("You sum up for {{customer}}.", json!(["chat"]))),
        ("/tools", json!({"lookup": {"name": "lookup", "description": "Looks"}})),
        (
            "/agents",
            json!({"entry": "chat", "members": {"chat": {}, "summarizer": {"description": "Sums things up"}}}),
        ),
    ])
}

fn stage(pack: &Value, model: &ScriptedModel) -> PackStage {
    PackStage::new(Arc::new(valid(pack)), Toolset::new(), Some(Arc::new(model.clone())))
}

fn ada(words: &str) -> MachineState {
    MachineState::saying(words).talk(Talk::Once).variable("customer", "Ada")
}

async fn said(pack: &Value, model: &ScriptedModel, words: &str) -> String {
    let machine = stage(pack, model).machine().unwrap();
    let ended = Runtime::new().start(&machine.workflow(), ada(words)).await.unwrap();
    ended.completed().unwrap().last.unwrap()
}

fn tools(request: &ModelRequest) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn system(request: &ModelRequest) -> String {
    let system = request.messages.iter().find(|message| message.role == Role::System);
    system.map(Message::text).unwrap_or_default()
}

fn delegating() -> ScriptedModel {
    ScriptedModel::builder()
        .when(Match::system_contains("You sum up"), "In short: late.")
        .when(Match::has_tool_result(), "They say it is late.")
        .otherwise(Reply::tool("a2a__summarizer", json!({"query": "sum this up"})))
        .build()
}

#[tokio::test]
async fn promptkit_209_tools_that_name_agents_become_tools_that_ask_them() {
    let model = delegating();
    assert_eq!(said(&desk(), &model, "Where is it?").await, "They say it is late.");
    let requests = model.requests();
    assert_eq!(tools(&requests[0]), ["lookup", "a2a__summarizer"], "and not `summarizer`");
    let delegate = &requests[0].tools[1];
    assert_eq!(delegate.description, "Sums things up");
    assert_eq!(delegate.parameters["required"], json!(["query"]));
    assert_eq!(system(&requests[1]), "You sum up for Ada.");
    assert_eq!(requests[1].messages.last().unwrap().text(), "sum this up");
    let results = requests[2].messages.last().unwrap().results().cloned().collect::<Vec<_>>();
    assert_eq!(results[0].content, r#"{"response":"In short: late."}"#);
    // The qualified name means the same, and a blocked agent is not asked.
    let mut pack = desk();
    pack["prompts"]["chat"]["tools"] = json!(["a2a__summarizer"]);
    assert_eq!(valid(&pack).delegates_of("chat"), ["summarizer"]);
    pack["prompts"]["chat"]["tool_policy"] = json!({"blocklist": ["a2a__*"]});
    assert_eq!(valid(&pack).delegates_of("chat"), [""; 0]);
}

#[tokio::test]
async fn a_tool_with_the_name_of_an_agent_is_that_agent() {
    let mut pack = desk();
    pack["tools"]["summarizer"] = json!({"name": "summarizer", "description": "Delegates"});
    let model = delegating();
    assert_eq!(said(&pack, &model, "Where is it?").await, "They say it is late.");
    assert_eq!(tools(&model.requests()[0]), ["lookup", "a2a__summarizer"]);
    assert!(packs::warnings(&pack).contains(&"hidden-tool"));
}

#[tokio::test]
async fn promptkit_213_agents_turn_to_each_other_and_circles_come_to_an_end() {
    // Everybody asks the other one, as long as there is another one to ask.
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), "Done.")
        .when(Match::offers_tool("a2a__summarizer"), Reply::tool("a2a__summarizer", json!({"query": "you"})))
        .when(Match::offers_tool("a2a__chat"), Reply::tool("a2a__chat", json!({"query": "no, you"})))
        .otherwise("Nobody is left to ask.")
        .build();
    assert_eq!(said(&desk(), &model, "hello").await, "Done.");
    let requests = model.requests();
    let first: Vec<&str> = requests
        .iter()
        .filter(|request| !request.messages.iter().any(|message| message.results().next().is_some()))
        .map(|request| if system(request).contains("desk") { "chat" } else { "summarizer" })
        .collect();
    assert_eq!(first, ["chat", "summarizer", "chat", "summarizer", "chat"], "four deep and no further");
    assert_eq!(tools(&requests[4]), ["lookup"]);
}

#[tokio::test]
async fn promptkit_211_an_agent_with_a_state_begins_there() {
    let mut pack = desk();
    pack["agents"]["members"]["summarizer"]["state"] = json!("short");
    pack["prompts"]["intake"] = prompt("You take things in.");
    pack["prompts"]["intake"]["tools"] = json!(["summarizer"]);
    pack["workflow"] = json!({"version": 2, "entry": "intake", "states": {
        "intake": {"prompt_task": "intake", "on_event": {"Go": "short"}},
        "short": {"prompt_task": "summarizer", "on_event": {"Done": "end"}},
        "end": {"prompt_task": "chat", "terminal": true}}});
    let model = ScriptedModel::builder()
        .when(Match::system_contains("You are the desk"), "Closed.")
        .when(
            Match::system_contains("You sum up"),
            Reply::tool("workflow__transition", json!({"event": "Done", "context": "short"})),
        )
        .when(Match::has_tool_result(), "Thanks.")
        .otherwise(Reply::tool("a2a__summarizer", json!({"query": "sum up"})))
        .build();
    let machine = stage(&pack, &model).machine().unwrap();
    let ended = Runtime::builder().patience(std::time::Duration::ZERO).build();
    let ended = ended.start(&machine.workflow(), ada("hello")).await.unwrap();
    assert_eq!(ended.state.last.as_deref(), Some("Thanks."));
    let systems: Vec<String> = model.requests().iter().map(system).collect();
    assert!(systems[1].starts_with("You sum up"), "it begins in its state: {systems:?}");
    assert!(systems[2].starts_with("You are the desk"), "and moves on from there: {systems:?}");
    let context = ended.state.context.unwrap();
    assert_eq!(
        (context.current_state(), context.transition_count()),
        ("intake", 0),
        "the caller stays where it is"
    );
}

#[tokio::test]
async fn a_delegation_that_is_killed_anywhere_comes_to_the_same_end_and_asks_nobody_twice() {
    let model = delegating();
    let workflow = stage(&desk(), &model).machine().unwrap().workflow();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = || Runtime::builder().shared_store(Arc::clone(&store)).build();
    let whole = runtime().start(&workflow, ada("Where?")).await.unwrap();
    let (run, whole) = (whole.run.clone(), whole.completed().unwrap());
    let entries = store.entries(&run, 1, usize::MAX).await.unwrap();
    for cut in 1..=entries.len() as u64 {
        let before = model.requests().len();
        let answered = |entry: &&convoke_core::Entry| {
            let is_reply = entry.effect == convoke_core::EffectKind::Model;
            is_reply && entry.phase == convoke_core::Phase::Finished && entry.seq < cut
        };
        let killed = Fork::new(run.clone(), cut).create(&store).await.unwrap();
        let ended = runtime().resume(&workflow, killed).await.unwrap().completed().unwrap();
        assert_eq!(ended.last, whole.last, "killed before entry {cut}");
        let asked = model.requests().len() - before + entries.iter().filter(answered).count();
        assert_eq!(asked, 3, "killed before entry {cut}");
    }
}

/// In the Go program members keep their conversations; here what they know follows from what the other one knows.
#[tokio::test]
async fn an_agent_knows_what_it_was_asked_before_and_what_it_answered() {
    let asks = |words: &str| Reply::tool("a2a__summarizer", json!({"query": words}));
    let model = ScriptedModel::builder()
        .when(Match::system_contains("You sum up").and(Match::last_contains("shorter")), "Late.")
        .when(Match::system_contains("You sum up"), "In short: late.")
        .when(Match::tool_result_contains("\"Late.\""), "They say: late.")
        .when(Match::tool_result_contains("In short"), asks("shorter"))
        .otherwise(asks("sum this up"))
        .build();
    assert_eq!(said(&desk(), &model, "Where is it?").await, "They say: late.");
    let requests = model.requests();
    let asked = requests.iter().filter(|request| system(request).contains("You sum up"));
    let known: Vec<Vec<String>> =
        asked.map(|request| request.messages.iter().skip(1).map(Message::text).collect()).collect();
    assert_eq!(
        known,
        [
            vec!["sum this up".to_owned()],
            vec!["sum this up".into(), "In short: late.".into(), "shorter".into()]
        ]
    );
}

/// A desk with so many calls, whose summariser looks as long as it may.
fn limited(max: u64) -> (Value, ScriptedModel, Toolset, Arc<AtomicU32>) {
    let mut pack = desk();
    pack["prompts"]["summarizer"]["tools"] = json!(["look"]);
    pack["tools"]["look"] = json!({"name": "look", "description": "Looks"});
    pack["workflow"] = json!({
        "version": 2, "entry": "s", "engine": {"budget": {"max_tool_calls": max}},
        "states": {"s": {"prompt_task": "chat", "on_event": {"Go": "e"}}, "e": {"prompt_task": "chat", "terminal": true}},
    });
    let look = |request: &ModelRequest| Reply::tool("look", json!({"after": request.messages.len()}));
    let model = ScriptedModel::builder()
        .when(Match::system_contains("You sum up").and(Match::offers_tool("look")), Reply::with(look))
        .when(Match::system_contains("You sum up"), "In short: late.")
        .when(Match::has_tool_result(), "They say it is late.")
        .otherwise(Reply::tool("a2a__summarizer", json!({"query": "sum this up"})))
        .build();
    let looked = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&looked);
    let look = FunctionTool::new("look", "Looks", move |_: Map<String, Value>| {
        counter.fetch_add(1, Ordering::Relaxed);
        async { Ok::<_, Error>("seen".to_owned()) }
    });
    (pack, model, Toolset::new().with(look).unwrap(), looked)
}

#[tokio::test]
async fn what_agents_call_counts_against_the_budget_of_the_workflow_also_if_it_is_killed_anywhere() {
    let (pack, model, tools, looked) = limited(3);
    let stage = PackStage::new(Arc::new(valid(&pack)), tools, Some(Arc::new(model)));
    let workflow = stage.machine().unwrap().workflow();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let patience = std::time::Duration::ZERO;
    let runtime = || Runtime::builder().shared_store(Arc::clone(&store)).patience(patience).build();
    let whole = runtime().start(&workflow, ada("Where?")).await.unwrap();
    let (run, whole) = (whole.run.clone(), whole.completed().unwrap());
    let calls = |state: &MachineState| state.context.as_ref().unwrap().total_tool_calls();
    assert_eq!(whole.last.as_deref(), Some("They say it is late."));
    assert_eq!((looked.load(Ordering::Relaxed), calls(&whole)), (2, 3));
    let entries: Vec<Entry> = store.entries(&run, 1, usize::MAX).await.unwrap();
    for cut in 1..=entries.len() as u64 {
        let killed = Fork::new(run.clone(), cut).create(&store).await.unwrap();
        let ended = runtime().resume(&workflow, killed).await.unwrap().completed().unwrap();
        assert_eq!((&ended.last, calls(&ended)), (&whole.last, 3), "killed before entry {cut}");
    }
    // Nothing is left for what is said next.
    let talk = runtime().start(&workflow, ada("Where?").talk(Talk::Ongoing)).await.unwrap();
    let open = store.questions(Some(&talk.run)).await.unwrap();
    store.answer(&talk.run, &open[0].id, Answer::text("And now?")).await.unwrap();
    let talk = runtime().resume(&workflow, talk.run).await.unwrap().completed().unwrap();
    assert_eq!((talk.status, calls(&talk)), (Status::BudgetExhausted, 3));
}

#[tokio::test]
async fn what_a_workflow_calls_that_is_a_tool_counts_in_a_state_and_in_a_composition() {
    let (inner, _, tools, looked) = limited(9);
    let looks = ScriptedModel::builder()
        .when(Match::has_tool_result(), "Seen.")
        .otherwise(Reply::tool("look", json!({})))
        .build();
    let mut inner = inner;
    inner.as_object_mut().unwrap().remove("workflow");
    inner["id"] = json!("helper");
    inner["agents"]["entry"] = json!("summarizer");
    inner["prompts"]["summarizer"]["system_template"] = json!("You look.");
    let helper = PackStage::new(Arc::new(valid(&inner)), tools, Some(Arc::new(looks)));
    let helper = || Toolset::new().with(helper.clone().machine().unwrap().tool("Helps")).unwrap();
    let steps = json!([{"id": "one", "kind": "tool", "tool": "helper", "args": {"opening": "look"}}]);
    let states = |first: Value| {
        with(&[
            ("/prompts/chat", with_tools("You are the desk.", json!(["helper"]))),
            ("/tools", json!({"helper": {"name": "helper", "description": "Helps"}})),
            ("/compositions", json!({"work": {"version": 1, "steps": steps}})),
            (
                "/workflow",
                json!({
                    "version": 2, "entry": "s", "engine": {"budget": {"max_tool_calls": 9}},
                    "states": {"s": first, "e": {"prompt_task": "chat", "terminal": true}},
                }),
            ),
        ])
    };
    let spoken = json!({"prompt_task": "chat", "on_event": {"Go": "e"}});
    let composed = json!({"orchestration": "composition", "composition": "work", "terminal": true});
    for (number, first) in (1..).zip([spoken, composed]) {
        let model = ScriptedModel::builder()
            .when(Match::has_tool_result(), "Done.")
            .otherwise(Reply::tool("helper", json!({"opening": "look"})))
            .build();
        let stage = PackStage::new(Arc::new(valid(&states(first))), helper(), Some(Arc::new(model)));
        let workflow = stage.machine().unwrap().workflow();
        let state = MachineState::saying("go").talk(Talk::Once);
        let ended = Runtime::new().start(&workflow, state).await.unwrap().completed().unwrap();
        assert_eq!(ended.context.unwrap().total_tool_calls(), 2, "{:?}", ended.last);
        assert_eq!(looked.load(Ordering::Relaxed), number);
    }
}
