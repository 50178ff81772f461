//! `convoke questions`

use insta::assert_snapshot;

use crate::examples::{letter, refund, release};
use crate::place::Place;

#[test]
fn all_open_questions_are_listed_with_the_commands_that_answer_them() {
    assert_snapshot!(Place::with([refund(), letter(), release()]).seen(&["questions"]));
}

#[test]
fn no_open_questions_are_no_failure() {
    assert_snapshot!(Place::with([letter()]).seen(&["questions"]));
}
