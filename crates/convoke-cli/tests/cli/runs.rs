//! `convoke runs`

use std::io::Read;
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::examples::{crashed, failed, forked, letter, odd, refund, release};
use crate::journal::Run;
use crate::place::{Place, stderr, stdout};

fn all() -> Place {
    Place::with([letter(), failed(), refund(), release(), crashed(), forked(), odd()])
}

#[test]
fn runs_are_listed_newest_first_with_what_they_spent() {
    assert_snapshot!(all().seen(&["runs"]));
}

#[test]
fn runs_can_be_narrowed_to_a_status_and_a_workflow() {
    let place = all();
    assert_snapshot!("runs_of_a_status", place.seen(&["runs", "--status", "suspended"]));
    assert_snapshot!("runs_of_a_workflow", place.seen(&["runs", "--workflow", "letters", "--limit", "2"]));
    let idle = stdout(&place.convoke(&["runs", "--status", "idle"]));
    assert!(idle.lines().count() == 2 && idle.contains("payment-9"), "{idle}");
    assert!(!stdout(&place.convoke(&["runs", "--status", "running"])).contains("payment-9"));
    assert_snapshot!("runs_none_match", place.seen(&["runs", "--workflow", "poems"]));
    assert_snapshot!("runs_unknown_status", place.seen(&["runs", "--status", "done"]));
}

#[test]
fn a_store_without_runs_says_so_and_is_no_failure() {
    let place = Place::with([]);
    assert_snapshot!(place.seen(&["runs"]));
    let output = place.convoke(&["runs", "--json"]);
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("[]\n", ""));
}

#[test]
fn ids_are_whole_and_names_have_room_where_columns_can_be_left_out() {
    let ids = ["01k9w3b7qz8m4n5p6r7s8t9v0w", "01k9w3b7qz8m45b0c1d2e3f4g5", "01k9w3b8a00x7y6z5w4v3t2s1r"];
    let place = Place::with(ids.map(|id| Run::new(id, "a workflow with a long name")));
    assert_snapshot!("runs_at_80_columns", place.seen(&["runs"]));
    assert_snapshot!("runs_piped", place.seen_with(&["runs"], &[]));
    let widest = stdout(&place.convoke(&["runs"])).lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}");
    for columns in ["80", "100"] {
        let listed = stdout(&place.convoke_with(&["runs"], &[("COLUMNS", columns)]));
        assert!(ids.iter().all(|id| listed.contains(id)) && listed.contains("a workflow with a"), "{listed}");
    }
}

#[test]
fn colours_are_used_when_asked_for_and_not_in_a_pipe() {
    let place = all();
    let coloured = stdout(&place.convoke(&["runs", "--color", "always"]));
    assert!(
        coloured.contains("\u{1b}[32mcompleted\u{1b}[0m") && coloured.contains("\u{1b}[31mfailed\u{1b}[0m")
    );
    let plain = stdout(&place.convoke(&["runs"]));
    assert!(!plain.contains('\u{1b}'));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let place = Place::with((0..200).map(|number| Run::new(&format!("run-{number:04}"), "many")));
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("convoke"))
        .args(["runs", "--limit", "0", "--json", "--store"])
        .arg(place.file())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Reads nothing and hangs up; the JSON of 200 runs does not fit into a pipe.
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    let mut complaints = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
    assert_eq!((status.code(), complaints.as_str()), (Some(0), ""));
}

#[test]
fn commands_that_read_leave_no_trace_beside_the_store() {
    let place = Place::with([letter(), refund()]);
    let before = place.files();
    for command in [
        &["runs"][..],
        &["show", "letter-1"],
        &["replay", "letter-1"],
        &["questions"],
        &["purge", "--keep", "0", "--dry-run"],
    ] {
        let output = place.convoke(command);
        assert!(output.status.success(), "{command:?}");
        assert_eq!(place.files(), before, "{command:?}");
    }
}
