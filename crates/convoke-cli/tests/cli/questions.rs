//! `convoke questions`

use std::time::Duration;

use convoke_core::Question;
use insta::assert_snapshot;
use serde_json::Value;

use crate::examples::{letter, refund, release};
use crate::journal::Run;
use crate::place::{Place, stderr, stdout};

#[test]
fn all_open_questions_are_listed_with_the_commands_that_answer_them() {
    assert_snapshot!(Place::with([refund(), letter(), release()]).seen(&["questions"]));
}

#[test]
fn a_question_whose_time_is_over_is_said_to_be_expired_and_has_no_commands() {
    let question = Question::approval("Ship it?").expires_after(Duration::from_secs(60));
    let place = Place::with([Run::new("late-1", "late").ask(("main/ship", 0), question).after(5).suspends()]);
    assert_snapshot!(place.seen(&["questions"]));
    let listed: Value = serde_json::from_str(&stdout(&place.convoke(&["questions", "--json"]))).unwrap();
    assert_eq!(listed[0]["is_settled"], true);
    let shown = stdout(&place.convoke(&["show", "late-1"]));
    assert!(shown.contains("expired; what holds when") && !shown.contains("--approve"), "{shown}");
}

#[test]
fn no_open_questions_are_no_failure() {
    assert_snapshot!(Place::with([letter()]).seen(&["questions"]));
}

#[test]
fn a_run_that_a_person_halts_asks_nothing_any_more() {
    let place = Place::empty();
    let goals = ["x", "y", "z"].map(|name| format!("GOAL {name} \"Do {name}\" SUPERVISED HUMAN\n")).concat();
    place.write("three.agent", format!("NAME three\n{goals}RUN main PARALLEL USING x, y, z\n"));
    let script = r#"
[[rule]]
when.output = "commitment"
json = { interpretation = "Do it.", approach = "At once.", confidence = "high" }

[[rule]]
when.output = "assessment"
json = { met_commitment = true }

[[rule]]
reply = "done"
"#;
    place.write("script.toml", script);
    let run = ["run", "three.agent", "-m", "scripted/script.toml", "--id", "three-1", "-q", "--no-input"];
    assert_eq!(place.convoke(&run).status.code(), Some(5));
    let open =
        || -> Vec<Value> { serde_json::from_str(&stdout(&place.convoke(&["questions", "--json"]))).unwrap() };
    let listed = open();
    assert_eq!(listed.len(), 3);
    let ids: Vec<&str> = listed.iter().map(|question| question["id"].as_str().unwrap()).collect();
    let rejected = place.convoke(&["answer", "three-1", ids[0], "--reject", "no"]);
    let told = stderr(&rejected);
    assert!(told.contains("resume three-1`") && told.contains("it has 2 more open questions"), "{told}");
    assert_eq!(place.convoke(&["resume", "three-1", "-q"]).status.code(), Some(1));
    assert_eq!(open(), Vec::<Value>::new());
    assert_ne!(place.convoke(&["answer", "three-1", ids[1], "--approve"]).status.code(), Some(0));
}
