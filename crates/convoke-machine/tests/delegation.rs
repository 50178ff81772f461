//! Agents of a pack that turn to each other, in one run.
#![allow(clippy::unwrap_used, reason = "a test")]

mod packs;

use std::sync::Arc;

use convoke_core::{Fork, Message, ModelRequest, Role, Runtime, Store, Toolset};
use convoke_machine::conversation::{MachineState, Talk};
use convoke_machine::stage::PackStage;
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::MemoryStore;
use packs::{prompt, valid, with};
use serde_json::{Value, json};

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
