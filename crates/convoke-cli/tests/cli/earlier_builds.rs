//! Runs that an earlier build began: they go on with the prompts and tools they began with.
//!
//! The stores in `fixtures` were written by the builds they are named for. They are never written anew.

use std::path::Path;

use crate::place::{Place, stdout};

fn place_with(fixture: &str) -> Place {
    let place = Place::empty();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/fixtures");
    std::fs::copy(fixtures.join(format!("{fixture}.db")), place.file()).unwrap();
    std::fs::copy(fixtures.join(format!("{fixture}.toml")), place.path().join("old.toml")).unwrap();
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
