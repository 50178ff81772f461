//! Runs that an earlier build began: they go on with the prompts and tools they began with.
//!
//! The stores in `fixtures` were written by the builds they are named for. They are never written anew.

use std::path::Path;

use crate::place::{Place, stderr, stdout};

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
    let said = place.convoke(&["chat", "--continue", "last", "And was it the last soup?"]);
    assert_eq!(stdout(&said), "A rehearsed answer.\n", "{}", stderr(&said));
    let told = stdout(&place.convoke(&["replay", OLD_CHAT, "--full"]));
    for words in ["Is soup good?", "Is soup number 51 good?", "Is soup number 54 good?", "the last soup?"] {
        assert!(told.contains(words), "{words} in {told}");
    }
}
