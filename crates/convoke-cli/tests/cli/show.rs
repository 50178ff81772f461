//! `convoke show`

use convoke_core::RunStatus;
use insta::assert_snapshot;
use serde_json::json;

use crate::examples::{crashed, failed, forked, letter, odd, refund, release};
use crate::journal::Run;
use crate::place::{Place, stdout};

#[test]
fn a_completed_run_is_shown_as_a_tree_with_durations_tokens_and_cost() {
    let place = Place::with([letter()]);
    assert_snapshot!("show_completed", place.seen(&["show", "letter-1"]));
    assert_snapshot!("show_completed_piped", place.seen_with(&["show", "letter-1"], &[]));
    assert_snapshot!("show_completed_narrow", place.seen_with(&["show", "letter-1"], &[("COLUMNS", "50")]));
}

#[test]
fn whole_texts_and_the_final_state_are_shown_when_asked_for() {
    let place = Place::with([letter()]);
    assert_snapshot!("show_full", place.seen(&["show", "letter-1", "--full"]));
    assert_snapshot!("show_state", place.seen(&["show", "letter-1", "--state"]));
}

#[test]
fn a_failed_run_says_what_failed_where_and_what_to_do() {
    assert_snapshot!(Place::with([failed()]).seen(&["show", "letter-2", "--state"]));
}

#[test]
fn a_suspended_run_gives_the_command_for_every_answer() {
    let place = Place::with([refund(), release()]);
    assert_snapshot!("show_suspended", place.seen(&["show", "refund-7", "--state"]));
    assert_snapshot!("show_two_questions", place.seen(&["show", "release-3"]));
    let file = place.file();
    let named = stdout(&place.convoke(&["--store", file.to_str().unwrap(), "show", "refund-7"]));
    assert!(named.contains(&format!("convoke --store {} answer refund-7 ", file.display())), "{named}");
}

#[test]
fn a_question_that_was_withdrawn_is_not_shown_as_waiting() {
    let failed = refund().withdrawn().ends(RunStatus::Failed, json!({"error": "a branch failed"}));
    let shown = stdout(&Place::with([failed]).convoke(&["show", "refund-7"]));
    assert!(
        shown.contains("Refund order 17? → no longer asked") && !shown.contains("convoke answer"),
        "{shown}"
    );
}

#[test]
fn an_interrupted_call_is_in_doubt_unless_somebody_still_holds_the_run() {
    let mut held = crashed();
    held.id = "payment-10".parse().unwrap();
    held.holder = Some("4711 1-0 1 elsewhere");
    // What a held run took depends on the time of day; everything else does not.
    let place = Place::with([crashed(), held]);
    assert_snapshot!("show_in_doubt", place.seen(&["show", "payment-9"]));
    let shown = stdout(&place.convoke(&["show", "payment-10"]));
    assert!(shown.contains("running, held by process 4711 on elsewhere"), "{shown}");
    assert!(shown.contains("→ not finished") && !shown.contains("→ in doubt"), "{shown}");
    assert!(shown.contains("it is at work, or in doubt if process 4711 on elsewhere is gone"), "{shown}");
}

#[test]
fn a_fork_says_where_it_branched_off() {
    assert_snapshot!(Place::with([letter(), forked()]).seen(&["show", "letter-1b"]));
}

#[test]
fn texts_of_every_script_keep_the_columns_and_none_controls_the_terminal() {
    let place = Place::with([odd()]);
    assert_snapshot!("show_odd", place.seen(&["show", "odd-1"]));
    assert_snapshot!("show_odd_full", place.seen(&["show", "odd-1", "--full"]));
    for arguments in [&["show", "odd-1", "--full"][..], &["replay", "odd-1"], &["runs"]] {
        let shown = stdout(&place.convoke(arguments));
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_except_commands_to_copy() {
    let place = Place::with([letter(), failed(), refund(), release(), crashed(), forked(), odd()]);
    let mut looks = vec![vec!["runs"], vec!["questions"]];
    for run in ["letter-1", "letter-2", "refund-7", "release-3", "payment-9", "letter-1b", "odd-1"] {
        looks.extend([vec!["show", run], vec!["show", run, "--full"], vec!["replay", run]]);
    }
    for columns in [60, 80, 132] {
        for look in &looks {
            let shown = stdout(&place.convoke_with(look, &[("COLUMNS", &columns.to_string())]));
            for line in shown.lines().filter(|line| !line.starts_with("  convoke ")) {
                assert!(console::measure_text_width(line) <= columns, "{look:?} at {columns}: {line}");
            }
        }
    }
}

#[test]
fn a_run_that_has_done_nothing_is_shown() {
    assert_snapshot!(Place::with([Run::new("idle", "letters")]).seen(&["show", "idle"]));
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_id_or_as_the_last_one() {
    let place = Place::with([letter(), refund()]);
    let first_line = |wanted| stdout(&place.convoke(&["show", wanted])).lines().next().unwrap().to_owned();
    assert_eq!(first_line("l"), "run       letter-1");
    assert_eq!(first_line("last"), "run       refund-7");
}
