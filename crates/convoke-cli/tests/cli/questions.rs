//! `convoke questions`

use std::time::Duration;

use convoke_core::Question;
use insta::assert_snapshot;
use serde_json::Value;

use crate::examples::{letter, refund, release};
use crate::journal::Run;
use crate::place::{Place, stdout};

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
