//! Packs that are talked to.

mod packs;

use std::sync::Arc;

use convoke_core::{EventKind, Message, ModelRequest, RunStatus, Runtime, Toolset};
use convoke_machine::conversation::{MachineState, Talk};
use convoke_machine::stage::{PackMachineError, PackStage, Skills, StateSkills};
use convoke_models::{Match, Reply, ScriptedModel};
use packs::{prompt, valid, with};
use serde_json::{Value, json};

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
        let talk = MachineState::saying("Hello").talk(Talk::Once).beginning_in(state);
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
    fn of_state(&self, has: &dyn Fn(&str, &str) -> bool) -> StateSkills {
        let own: Vec<&str> =
            self.0.iter().filter(|(name, path)| has(name, path)).map(|(name, _)| *name).collect();
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
