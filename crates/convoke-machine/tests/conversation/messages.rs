//! Cases 147 to 150: what a state knows of those before it.

use convoke_core::{Media, MediaSource, Message, Part, Role};
use convoke_machine::conversation::{MachineState, MessagePolicy, Talk, summary};
use convoke_models::ScriptedModel;
use serde_json::json;

use super::{Home, in_state, machine, support, transition};

#[test]
fn promptkit_147_a_summary_has_a_header_and_no_instructions() {
    assert_eq!(summary("intake", []), "");
    let messages = [Message::system("Be kind."), Message::user("Hello"), Message::assistant("Hi")];
    assert_eq!(
        summary("intake", &messages),
        "[Previous state: intake, 3 messages]\nuser: Hello\nassistant: Hi"
    );
}

#[test]
fn promptkit_148_a_summary_has_the_last_ten_in_order() {
    let messages: Vec<Message> = (0..15).map(|number| Message::user(format!("m{number}"))).collect();
    let lines: Vec<String> = summary("a", &messages).lines().skip(1).map(str::to_owned).collect();
    let expected: Vec<String> = (5..15).map(|number| format!("user: m{number}")).collect();
    assert_eq!(lines, expected);
}

#[test]
fn promptkit_149_long_texts_are_cut_between_characters() {
    let line = |text: &str| summary("a", &[Message::user(text)]).lines().nth(1).unwrap().to_owned();
    assert_eq!(line(&"x".repeat(300)), format!("user: {}...", "x".repeat(200)));
    assert_eq!(line(&"x".repeat(200)), format!("user: {}", "x".repeat(200)));
    assert_eq!(line(&"ä".repeat(150)), format!("user: {}...", "ä".repeat(100)));
    assert_eq!(line(&format!("x{}", "ä".repeat(150))), format!("user: x{}...", "ä".repeat(99)));
}

#[test]
fn promptkit_150_messages_without_text_are_left_out_and_the_first_text_counts() {
    let picture = Part::Image(Media {
        media_type: "image/png".into(),
        source: MediaSource::Url("x".into()),
        name: None,
    });
    let without = Message { role: Role::User, parts: vec![picture.clone()] };
    let text = |text: &str| Part::Text { text: text.to_owned() };
    let second = Message { role: Role::User, parts: vec![picture, text(""), text("seen"), text("later")] };
    assert_eq!(summary("a", &[without, second]), "[Previous state: a, 2 messages]\nuser: seen");
}

/// What the specialist is given, as texts.
async fn given(home: &Home) -> (String, Vec<String>) {
    home.start(MachineState::saying("a refund").talk(Talk::Once)).await.completed().unwrap();
    let request = home.model.last_request().unwrap();
    let said = request.messages.iter().filter(|message| message.role != Role::System);
    (super::system(&request), said.map(Message::text).collect())
}

fn model() -> ScriptedModel {
    ScriptedModel::builder()
        .when(in_state("specialist"), "Hello.")
        .when(in_state("intake"), transition("Escalate", "the brief").and_text("One moment."))
        .build()
}

#[tokio::test]
async fn messages_are_kept_unless_the_state_is_transient() {
    let (_, kept) = given(&Home::new(support(), model())).await;
    assert_eq!(kept[..2], ["a refund", "One moment."]);
    assert_eq!(kept.len(), 3, "the results of the call");
    let mut transient = support();
    transient["states"]["specialist"]["persistence"] = json!("transient");
    let (prompt, reset) = given(&Home::new(transient, model())).await;
    assert_eq!(reset, ["a refund"]);
    assert!(prompt.contains("Brief: <the brief>"));
}

#[tokio::test]
async fn messages_are_summed_up_if_a_transition_says_so() {
    let machine =
        machine(support()).messages(|moved| (&*moved.to == "specialist").then_some(MessagePolicy::Summarise));
    let (prompt, said) = given(&Home::of(machine, model())).await;
    assert_eq!(said, ["a refund"]);
    assert!(prompt.contains("the brief\n\n[Previous state: intake, 3 messages]\nuser: a refund"), "{prompt}");
}
