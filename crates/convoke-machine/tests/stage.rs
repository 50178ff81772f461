//! Packs that are talked to.

mod packs;

use std::sync::Arc;

use convoke_agent::FunctionTool;
use convoke_core::store::{Batch, NewMail, NewRun};
use convoke_core::{
    Entry, Error, EventKind, Message, ModelRequest, RunStatus, Runtime, Store, ToolCall, Toolset,
};
use convoke_machine::conversation::{MachineState, TOOL_RESULTS, Talk};
use convoke_machine::stage::{PackMachineError, PackStage, Skills, StateSkills};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::MemoryStore;
use packs::{prompt, valid, with};
use serde_json::{Map, Value, json};

fn stage(pack: &Value, model: &ScriptedModel) -> PackStage {
    PackStage::new(Arc::new(valid(pack)), Toolset::new(), Some(Arc::new(model.clone())))
}

/// The system messages that a model was given.
fn systems(model: &ScriptedModel) -> Vec<String> {
    let first =
        |request: &ModelRequest| request.messages.iter().next().map(Message::text).unwrap_or_default();
    model.requests().iter().map(first).collect()
}

async fn said(pack: &Value, model: &ScriptedModel, state: MachineState) -> String {
    let machine = stage(pack, model).machine().expect("a machine");
    let talk = Runtime::new().start(&machine.workflow(), state.talk(Talk::Once)).await.expect("a run");
    talk.completed().expect("an end").last.unwrap_or_default()
}

#[tokio::test]
async fn promptkit_143_146_176_every_state_has_the_callers_values_and_its_own_rules() {
    let validators = json!([{"type": "max_length", "params": {"max_characters": 9}}]);
    let pack = with(&[
        ("/prompts/first", prompt("First for {{customer}}.")),
        ("/prompts/second", prompt("Second for {{customer}}: {{workflow_context}}.")),
        ("/prompts/second/validators", validators),
        (
            "/workflow",
            json!({"version": 2, "entry": "a", "states": {
            "a": {"prompt_task": "first", "on_event": {"Go": "b"}}, "b": {"prompt_task": "second", "terminal": true}}}),
        ),
    ]);
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result(), "Far too long for the second state.")
        .otherwise(Reply::tool("workflow__transition", json!({"event": "Go", "context": "a refund"})))
        .build();
    let words = "Hello, who is {{customer}}?";
    let last = said(&pack, &model, MachineState::saying(words).variable("customer", "Ada")).await;
    assert_eq!(last, "Far too l");
    let sent = |request: &ModelRequest| request.messages.iter().nth(1).map(Message::text);
    assert_eq!(
        model.requests().iter().map(sent).collect::<Vec<_>>(),
        [Some(words.to_owned()), Some(words.to_owned())]
    );
    let systems = systems(&model);
    assert_eq!(systems.len(), 2);
    assert!(
        systems[0].contains("First for Ada.") && systems[1].contains("Second for Ada: a refund."),
        "{systems:?}"
    );
}

#[tokio::test]
async fn a_conversation_begins_where_it_is_told_and_tells_which_rules_are_broken() {
    let banned = json!([{"type": "banned_words", "params": {"words": ["lawsuit"], "message": "No."}}]);
    let pack = with(&[
        ("/prompts/first", prompt("First.")),
        ("/prompts/second", prompt("Second.")),
        ("/prompts/second/validators", banned),
        (
            "/workflow",
            json!({"version": 2, "entry": "a", "states": {
            "a": {"prompt_task": "first", "on_event": {"Go": "b"}}, "b": {"prompt_task": "second", "terminal": true}}}),
        ),
    ]);
    let model = ScriptedModel::builder().otherwise("A lawsuit it is.").build();
    let run = async |state: &str| {
        let machine = stage(&pack, &model).machine().expect("a machine");
        let mut talk = MachineState::saying("Hello").talk(Talk::Once);
        talk.entry = Some(state.to_owned());
        let mut events = Runtime::new().start(&machine.workflow(), talk).stream();
        let mut told = Vec::new();
        while let Some(event) = events.next().await {
            if let EventKind::Custom { name, value } = event.kind {
                told.push((name, value));
            }
        }
        told
    };
    let told = run("b").await;
    let broken = told.iter().find(|(name, _)| name == "validation.failed").expect("a broken rule");
    assert_eq!(broken.1, json!({"validator": "banned_words", "direction": "output", "instead": "No."}));
    assert!(told.iter().any(|(name, value)| name == "workflow.state_entered" && value["state"] == "b"));
    assert!(matches!(&systems(&model)[..], [only] if only.contains("Second.")));
    assert!(run("c").await.is_empty(), "there is no such state to begin in");
}

#[tokio::test]
async fn a_pack_without_a_workflow_is_talked_to() {
    let skills =
        json!([{"name": "tone", "description": "Tone", "instructions": "Be kind.", "preload": true}]);
    let model = ScriptedModel::replies(["Hi Ada.", "Hi Ada."]);
    let pack = with(&[("/prompts/chat", prompt("Greet {{name}}.")), ("/skills", skills)]);
    let state = MachineState::saying("Hello").variable("name", "Ada");
    assert_eq!(said(&pack, &model, state.clone()).await, "Hi Ada.");
    // With somebody who has more to say it is not over.
    let machine = stage(&pack, &model).machine().unwrap();
    let outcome = Runtime::new().start(&machine.workflow(), state).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Suspended);
    let system = &systems(&model)[0];
    assert!(system.starts_with("Greet Ada.") && system.ends_with("Be kind."), "{system}");
}

#[test]
fn several_prompts_need_somebody_who_says_which_comes_first() {
    let pack = with(&[("/prompts/other", prompt("x"))]);
    let refused = stage(&pack, &ScriptedModel::replies(["x"])).machine().unwrap_err();
    assert!(matches!(refused, PackMachineError::NoEntry));
}

/// Skills that say in the prompt which of them a state has.
struct Shelf(Vec<(&'static str, &'static str)>);

impl Skills for Shelf {
    fn of_state(&self, has: &dyn Fn(&str, &str) -> Option<usize>) -> StateSkills {
        let own: Vec<&str> =
            self.0.iter().filter(|(name, path)| has(name, path).is_some()).map(|(name, _)| *name).collect();
        StateSkills { text: format!(" Skills: {}.", own.join(" ")), ..StateSkills::default() }
    }
}

#[tokio::test]
async fn a_state_has_the_skills_that_its_filter_names() {
    let cases = [
        ("", "refunds invoices filing tone"),
        ("none", ""),
        ("NONE", ""),
        ("./skills/billing", "refunds invoices"),
        ("skills/billing/", "refunds invoices"),
        ("skills/bill", ""),
        ("skills/*/refunds", "refunds"),
        ("skills/*", ""),
        ("skills/*/f*g", "filing"),
        ("t*", "tone"),
        ("invoices", "invoices"),
    ];
    for (filter, expected) in cases {
        let mut state = json!({"prompt_task": "chat", "terminal": true});
        if !filter.is_empty() {
            state["skills"] = filter.into();
        }
        let workflow = json!({"version": 2, "entry": "a", "states": {"a": state}});
        let pack = with(&[("/prompts/chat", prompt("Talk.")), ("/workflow", workflow)]);
        let model = ScriptedModel::replies(["Hi."]);
        let shelf = Shelf(vec![
            ("refunds", "./skills/billing/refunds"),
            ("invoices", "skills/billing/invoices"),
            ("filing", "skills/office/filing"),
            ("tone", "tone"),
        ]);
        let machine = stage(&pack, &model).with_skills(Arc::new(shelf)).machine().unwrap();
        let talk = MachineState::saying("hi").talk(Talk::Once);
        Runtime::new().start(&machine.workflow(), talk).await.unwrap().completed().unwrap();
        assert_eq!(systems(&model), [format!("Talk. Skills: {expected}.")], "{filter}");
    }
}

/// The number of messages from which on taking up a skill counts, as prompts of states have it.
struct Since;

impl Skills for Since {
    fn of_state(&self, has: &dyn Fn(&str, &str) -> Option<usize>) -> StateSkills {
        StateSkills { text: format!(" Since: {:?}.", has("tone", "tone")), ..StateSkills::default() }
    }
}

/// A state with skills, one without, and the first again, each entered by an event.
fn there_and_back() -> Value {
    let workflow = json!({"version": 2, "entry": "a", "states": {
        "a": {"prompt_task": "chat", "orchestration": "hybrid", "on_event": {"Go": "b"}},
        "b": {"prompt_task": "chat", "skills": "none", "orchestration": "hybrid", "on_event": {"Back": "a"}}}});
    let skills = json!([{"name": "tone", "description": "Tone", "instructions": "Be kind."}]);
    with(&[("/prompts/chat", prompt("Talk.")), ("/workflow", workflow), ("/skills", skills)])
}

#[tokio::test]
async fn a_skill_that_was_put_away_with_a_transition_is_not_taken_up_by_coming_back() {
    let model = ScriptedModel::builder().otherwise("Hm.").build();
    let machine = stage(&there_and_back(), &model).with_skills(Arc::new(Since)).machine().expect("a machine");
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = || {
        let patience = std::time::Duration::ZERO;
        Runtime::builder().shared_store(Arc::clone(&store)).patience(patience).build()
    };
    let workflow = machine.workflow();
    let mut talk = runtime().start(&workflow, MachineState::saying("hello")).await.expect("a run");
    for event in ["Go", "Back"] {
        store.post(&talk.run, NewMail::json(event, &()).expect("mail")).await.expect("posted");
        talk = runtime().resume(&workflow, talk.run).await.expect("a run");
    }
    let told: Vec<String> =
        systems(&model).iter().map(|system| system.replace("Talk. Since: ", "")).collect();
    // What was known when `b` was entered: the greeting and its answer.
    assert_eq!(told, ["Some(0).", "None.", "Some(2)."]);
}

/// Looks three times, twice in the first reply, and says something that must not be said.
fn looking() -> (Value, ScriptedModel) {
    let look = |numbers: &[u32]| {
        numbers.iter().fold(Reply::empty(), |reply, number| {
            let (id, name) = (format!("c{number}"), "look".to_owned());
            reply.and_call(ToolCall { id, name, arguments: json!({"n": number}) })
        })
    };
    let replies = [look(&[1, 2]), look(&[3]), Reply::from("A lawsuit.")];
    let pack = with(&[
        ("/tools", json!({"look": {"name": "look", "description": "looks"}})),
        ("/prompts/chat", prompt("Talk.")),
        ("/prompts/chat/tools", json!(["look"])),
        ("/prompts/chat/tool_policy", json!({"max_rounds": 3, "max_tool_calls_per_turn": 2})),
        (
            "/prompts/chat/validators",
            json!([
                {"type": "banned_words", "params": {"words": ["lawsuit"], "message": "No."}},
                {"type": "regex", "params": {"pattern": "No", "expect_match": "no", "message": "Nonsense"}},
                {"type": "regex", "params": {"pattern": "None", "expect_match": "no", "message": "Turned round"}},
            ]),
        ),
    ]);
    (pack, ScriptedModel::replies(replies))
}

fn look() -> Toolset {
    let look = FunctionTool::new("look", "Looks", |_: Map<String, Value>| async {
        Ok::<_, Error>("seen".to_owned())
    });
    Toolset::new().with(look).expect("a tool")
}

fn refused(talk: &MachineState) -> Vec<String> {
    let results = talk.said.iter().flat_map(|message| message.results().cloned().collect::<Vec<_>>());
    results.filter(|result| result.is_error).map(|result| result.content).collect()
}

#[tokio::test]
async fn calls_are_limited_in_a_turn_and_a_limit_is_told_also_if_the_last_words_are_replaced() {
    let (pack, model) = looking();
    let stage = PackStage::new(Arc::new(valid(&pack)), look(), Some(Arc::new(model)));
    let machine = stage.machine().expect("a machine");
    let state = MachineState::saying("go").talk(Talk::Once);
    let talk = Runtime::new().start(&machine.workflow(), state).await.expect("a run");
    let talk = talk.completed().expect("an end");
    let refused = refused(&talk);
    assert!(matches!(&refused[..], [why] if why.contains("one turn may ask for 2 calls")), "{refused:?}");
    assert_eq!(talk.last.as_deref(), Some("No."));
    assert_eq!(talk.cut_short.values().collect::<Vec<_>>(), ["it reached its limit of 3 turns"]);
}

#[tokio::test]
async fn a_run_of_an_earlier_build_keeps_its_limits_and_its_validators() {
    let (pack, model) = looking();
    let stage = PackStage::new(Arc::new(valid(&pack)), look(), Some(Arc::new(model)));
    let workflow = stage.machine().expect("a machine").workflow();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = || Runtime::builder().shared_store(Arc::clone(&store)).build();
    let state = MachineState::saying("go").talk(Talk::Once);
    let run = runtime().start(&workflow, state).await.expect("a run").run;
    // As an earlier build would have begun it.
    let record = store.run(&run).await.expect("a store").expect("a run");
    let entries = store.entries(&run, 1, usize::MAX).await.expect("entries");
    let kept = entries.into_iter().filter(|entry| !entry.path.as_str().contains("version of")).take(1);
    let kept = kept.zip(1..).map(|(entry, seq)| Entry { seq, ..entry });
    let past = Batch { entries: kept.collect(), ..Batch::default() };
    let new = NewRun {
        id: "earlier".parse().expect("an id"),
        workflow: record.workflow,
        version: record.version,
        input: record.input,
        outline: record.outline,
        launch: record.launch,
        seed: record.seed,
        forked_from: None,
        past,
    };
    let lease = store.create(new).await.expect("a run");
    store.release(&lease);
    let (_, model) = looking();
    let stage = PackStage::new(Arc::new(valid(&pack)), look(), Some(Arc::new(model)));
    let workflow = stage.machine().expect("a machine").workflow();
    let talk = runtime().resume(&workflow, lease.run).await.expect("a run").completed().expect("an end");
    assert_eq!(refused(&talk), [""; 0]);
    assert_eq!(talk.last.as_deref(), Some("Turned round"), "`\"no\"` was taken for true");
}

/// A pack without a workflow whose client is asked for this many calls in every reply, and the model of it.
fn with_client(calls: usize) -> (Value, ScriptedModel) {
    let pack = with(&[
        ("/tools", json!({"ext": {"name": "ext", "description": "a client's"}})),
        ("/prompts/chat", prompt("Hello.")),
        ("/prompts/chat/tools", json!(["ext"])),
        ("/prompts/chat/tool_policy", json!({"max_rounds": 2, "max_tool_calls_per_turn": 2})),
    ]);
    let asks = (0..calls).fold(Reply::empty(), |reply, number| {
        let (id, name) = (format!("c{number}"), "ext".to_owned());
        reply.and_call(ToolCall { id, name, arguments: json!({"n": number}) })
    });
    let model = ScriptedModel::builder().when(Match::offers_tools(), asks).otherwise("Done.").build();
    (pack, model)
}

#[tokio::test]
async fn rounds_and_calls_of_a_turn_are_limited_where_a_client_executes_them_and_nothing_else_is_there() {
    let (pack, model) = with_client(4);
    let machine = stage(&pack, &model).machine().expect("a machine");
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runtime = || {
        let patience = std::time::Duration::ZERO;
        Runtime::builder().shared_store(Arc::clone(&store)).patience(patience).build()
    };
    let state = MachineState::saying("go").talk(Talk::Once);
    let mut talk = runtime().start(&machine.clone().workflow(), state).await.expect("a run");
    let mut sent = 0;
    while talk.status == RunStatus::Suspended && sent < 9 {
        let payload = json!({"call_id": format!("c{}", sent % 2), "content": "r"});
        let mail = NewMail::json(TOOL_RESULTS, &payload).expect("mail");
        store.post(&talk.run, mail).await.expect("posted");
        sent += 1;
        talk = runtime().resume(&machine.clone().workflow(), talk.run).await.expect("a run");
    }
    assert_eq!((sent, model.calls()), (2, 2));
    let said = talk.completed().expect("an end").said;
    let refused: Vec<String> = said
        .iter()
        .flat_map(|message| message.results().filter(|result| result.is_error).cloned().collect::<Vec<_>>())
        .map(|result| result.content)
        .collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(refused[0].contains("one turn may ask for 2 calls"), "{refused:?}");
}
