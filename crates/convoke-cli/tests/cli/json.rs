//! What scripts see.

use insta::assert_snapshot;
use serde_json::Value;

use crate::examples::{crashed, failed, forked, letter, odd, refund, release};
use crate::place::{Place, stdout};

#[test]
fn runs_as_json_have_times_durations_and_costs_as_numbers() {
    assert_snapshot!(Place::with([letter(), forked(), crashed()]).seen(&["runs", "--json"]));
}

#[test]
fn a_run_as_json_has_everything_there_is_to_know() {
    let place = Place::with([letter(), failed(), refund(), odd()]);
    assert_snapshot!("json_show", place.seen(&["show", "letter-1", "--json"]));
    for run in ["letter-2", "refund-7", "odd-1"] {
        let shown: Value = serde_json::from_str(&stdout(&place.convoke(&["show", run, "--json"]))).unwrap();
        assert_eq!(shown["run"]["id"], run);
    }
}

#[test]
fn a_replay_as_json_is_one_document() {
    let place = Place::with([letter(), failed()]);
    assert_snapshot!("json_replay", place.seen(&["replay", "letter-1", "--json"]));
    assert_snapshot!("json_replay_failed", place.seen(&["replay", "letter-2", "--json", "--at", "2"]));
}

#[test]
fn questions_as_json_say_whether_they_are_settled() {
    assert_snapshot!(Place::with([refund(), release()]).seen(&["questions", "--json"]));
}

#[test]
fn a_cost_that_is_not_known_is_null_and_never_zero() {
    let place = Place::with([refund()]);
    let shown: Value =
        serde_json::from_str(&stdout(&place.convoke(&["show", "refund-7", "--json"]))).unwrap();
    assert_eq!(shown["run"]["spent"]["cost_usd"], Value::Null);
    assert_eq!(shown["effects"][0]["reply"]["usage"]["cost_usd"], Value::Null);
    assert_eq!(shown["effects"][0]["duration_seconds"], Value::Null, "nobody wrote down when it began");
}
