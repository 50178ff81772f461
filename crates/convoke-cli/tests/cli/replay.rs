//! `convoke replay`

use insta::assert_snapshot;

use crate::examples::{crashed, failed, forked, letter, odd};
use crate::journal::{Reply, Run};
use crate::place::{Place, stdout};

#[test]
fn a_run_is_told_in_the_order_of_its_journal() {
    assert_snapshot!(Place::with([letter()]).seen(&["replay", "letter-1"]));
}

#[test]
fn a_replay_stops_where_it_is_told_to() {
    let place = Place::with([letter()]);
    assert_snapshot!("replay_at", place.seen(&["replay", "letter-1", "--at", "3"]));
    assert_snapshot!("replay_at_nowhere", place.seen(&["replay", "letter-1", "--at", "12"]));
}

#[test]
fn failures_retries_and_calls_without_an_end_are_told() {
    let place = Place::with([failed(), crashed(), forked()]);
    assert_snapshot!("replay_failed", place.seen(&["replay", "letter-2"]));
    assert_snapshot!("replay_crashed", place.seen(&["replay", "payment-9"]));
    assert_snapshot!("replay_forked", place.seen(&["replay", "letter-1b"]));
}

#[test]
fn every_kind_of_effect_is_told() {
    assert_snapshot!(Place::with([odd()]).seen(&["replay", "odd-1"]));
}

#[test]
fn long_texts_are_cut_unless_they_are_wanted_whole() {
    let long: Vec<String> = (1..=60).map(|number| format!("line {number}")).collect();
    let run = Run::new("long-1", "essays").model(
        ("main", 0),
        &[convoke_core::Message::user("Write a lot.")],
        Reply::text(&long.join("\n")),
    );
    let place = Place::with([run]);
    let cut = stdout(&place.convoke(&["replay", "long-1"]));
    assert!(cut.contains("line 24\n") && !cut.contains("line 25"), "{cut}");
    assert!(cut.contains("… 36 more lines; --full shows them"), "{cut}");
    assert!(stdout(&place.convoke(&["replay", "long-1", "--full"])).contains("line 60"));
}
