//! Runs that an earlier build began: they go on with the prompts and tools they began with.
//!
//! The stores in `fixtures` were written by the builds they are named for. They are never written anew.

use std::path::Path;

use convoke_core::RunStatus;
use convoke_history::{Detail, History};

use crate::place::{Place, stderr, stdout, wait};

fn place_with(fixture: &str) -> Place {
    let place = Place::empty();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/fixtures");
    std::fs::copy(fixtures.join(format!("{fixture}.db")), place.file()).unwrap();
    let script = fixtures.join(format!("{fixture}.toml"));
    if script.exists() {
        std::fs::copy(script, place.path().join("old.toml")).unwrap();
    }
    place
}

/// It was begun when every tool was described in every prompt, a first iteration was told how to end the iterations, and an
/// input with markup stood in prompts as it was.
#[test]
fn a_run_that_waits_since_before_prompts_were_reworded_goes_on() {
    let place = place_with("v0.1-suspended");
    let questions = stdout(&place.convoke(&["questions"]));
    assert!(questions.contains("old-run"), "{questions}");
    let answered = place.convoke(&["answer", "old-run", "--approve", "--resume"]);
    let said = String::from_utf8_lossy(&answered.stderr).into_owned();
    assert!(answered.status.success(), "{said}");
    let shown = stdout(&place.convoke(&["show", "old-run"]));
    assert!(shown.contains("completed"), "{shown}");
}

#[test]
fn a_run_of_an_earlier_build_can_be_read_and_replayed() {
    let place = place_with("v0.1-suspended");
    for command in [&["show", "old-run"][..], &["replay", "old-run"], &["runs"]] {
        assert!(stdout(&place.convoke(command)).contains("old"), "{command:?}");
    }
}

/// A store of schema 5, from before runs had generations: a run of an Agentfile that waits for approval, and a conversation of 54
/// turns that waits for words.
const BEFORE_GENERATIONS: &str = "v0.1-schema-5";
const OLD_CHAT: &str = "01m7jgy9bwdtjqt8jkj9m113r9";

#[test]
fn a_run_from_before_generations_can_be_read_and_goes_on() {
    let place = place_with(BEFORE_GENERATIONS);
    for command in [&["show", "old-soup"][..], &["replay", "old-soup"], &["runs"]] {
        assert!(stdout(&place.convoke(command)).contains("old-soup"), "{command:?}");
    }
    let answered = place.convoke(&["answer", "old-soup", "--approve"]);
    assert!(answered.status.success(), "{}", stderr(&answered));
    let resumed = place.convoke(&["resume", "old-soup", "--here"]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    let shown = stdout(&place.convoke(&["show", "old-soup"]));
    assert!(shown.contains("completed"), "{shown}");
}

#[test]
fn a_long_conversation_from_before_generations_goes_on_with_all_that_was_said() {
    let place = place_with(BEFORE_GENERATIONS);
    // Its past is longer than a generation is now, so it continues as soon as it may: after the first answer.
    for (words, generation) in [("And was it the last soup?", 1), ("Bread, then?", 1), ("Good night.", 1)] {
        let said = place.convoke(&["chat", "--continue", "last", words]);
        assert_eq!(stdout(&said), "A rehearsed answer.\n", "{}", stderr(&said));
        let record = wait(place.store().run(&OLD_CHAT.parse().unwrap())).unwrap().unwrap();
        assert_eq!((record.generation.number, record.status), (generation, RunStatus::Suspended));
    }
    let all =
        ["Is soup good?", "Is soup number 51 good?", "number 54 good?", "the last soup?", "Bread, then?"];
    for command in
        [&["replay", OLD_CHAT, "--full"][..], &["replay", OLD_CHAT, "--jsonl"], &["show", OLD_CHAT, "--full"]]
    {
        let told = stdout(&place.convoke(command));
        for words in all {
            assert!(told.contains(words), "{words} in {told}");
        }
    }
    let history = wait(History::load(&*place.store(), &OLD_CHAT.parse().unwrap())).unwrap();
    let mut calls = history.effects.iter().filter_map(|effect| match &effect.current().detail {
        Detail::Model { messages, .. } => Some(*messages),
        _ => None,
    });
    let last = history.conversations.get(calls.next_back().unwrap()).expect("every message is known");
    assert_eq!(last.len(), 2 * 57 - 1, "the model knows all of it");
    assert_eq!(history.spent().model_calls, 57);
    let questions = stdout(&place.convoke(&["questions"]));
    assert_eq!(questions.matches("What next?").count(), 1, "{questions}");
    let shown = stdout(&place.convoke(&["show", OLD_CHAT]));
    assert!(shown.contains("#166 continue → generation 1"), "{shown}");
    let told = stdout(&place.convoke(&["replay", OLD_CHAT, "--kind", "run"]));
    assert!(told.contains("continued with generation 1"), "{told}");
}
