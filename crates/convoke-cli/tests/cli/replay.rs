//! `convoke replay`

use std::time::Duration;

use convoke_core::{EffectKind, Phase};
use insta::assert_snapshot;
use serde_json::json;

use crate::examples::{crashed, failed, forked, interrupted, letter, odd, refund, supervised};
use crate::journal::{BEGINNING, Reply, Run};
use crate::place::{Place, stderr, stdout};
use crate::workshop::{RUN, unwatched, workshop};

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
fn supervision_thoughts_retries_and_interruptions_are_told_as_such() {
    let place = Place::with([supervised(), interrupted(), refund()]);
    assert_snapshot!("replay_supervised", place.seen(&["replay", "report-4"]));
    assert_snapshot!("replay_interrupted", place.seen(&["replay", "payment-9"]));
    assert_snapshot!("replay_suspended", place.seen(&["replay", "refund-7"]));
    assert_snapshot!(
        "replay_narrow",
        place.seen_with(&["replay", "report-4", "--kind", "retry"], &[("COLUMNS", "50")])
    );
    assert_snapshot!("replay_piped", place.seen_with(&["replay", "report-4", "--path", "main/again"], &[]));
}

#[test]
fn an_answer_that_had_to_wait_for_the_run_says_so() {
    let answer =
        json!({"decision": {"type": "approve"}, "by": "ann", "at": BEGINNING + Duration::from_secs(60)});
    let run = refund().after(3_600_000).entry(
        ("main/approve", 0),
        EffectKind::Ask,
        Phase::Finished,
        None,
        Some(json!({"ok": answer})),
    );
    let shown = stdout(&Place::with([run]).convoke(&["replay", "refund-7"]));
    assert!(shown.contains("the run went on 59 min 00 s after the answer"), "{shown}");
}

#[test]
fn only_what_is_wanted_is_told() {
    let place = Place::with([supervised()]);
    let numbers = |filters: &[&str]| -> Vec<String> {
        let shown = stdout(&place.convoke(&[&["replay", "report-4"], filters].concat()));
        shown
            .lines()
            .filter(|line| line.starts_with('#'))
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(numbers(&["--path", "main/research/critic"]), ["#2", "#3–4"]);
    assert_eq!(numbers(&["--path", "main/again/publish/"]), ["#9", "#12"], "repetitions too");
    assert_eq!(numbers(&["--path", "main/again/publish#2"]), ["#12"]);
    assert_eq!(numbers(&["--kind", "supervision"]), ["#1", "#5", "#6", "#7–8"]);
    assert_eq!(numbers(&["--kind", "tool,question"]), ["#3–4", "#7–8"]);
    assert_eq!(numbers(&["--kind", "failure"]), ["#9"]);
    assert_eq!(numbers(&["--kind", "retry"]), ["#10–11", "#12"]);
    assert_eq!(numbers(&["--grep", "SOURCES"]), ["#2", "#6", "#7–8"]);
    assert_eq!(numbers(&["--grep", "sources", "--kind", "model", "--path", "main/research/critic"]), ["#2"]);
    assert_snapshot!("replay_nothing_fits", place.seen(&["replay", "report-4", "--grep", "unicorn"]));
    assert_snapshot!("replay_unknown_kind", place.seen(&["replay", "report-4", "--kind", "thought"]));
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
    assert!(cut.contains("line 4\n") && !cut.contains("line 5"), "{cut}");
    assert!(cut.contains("… 443 more characters, --full shows them"), "{cut}");
    assert!(stdout(&place.convoke(&["replay", "long-1", "--full"])).contains("line 60"));
}

#[test]
fn a_text_of_one_endless_line_is_told_in_reasonable_time() {
    let run = Run::new("long-2", "essays").model(
        ("main", 0),
        &[convoke_core::Message::user("Write a lot.")],
        Reply::text(&"x".repeat(2_000_000)),
    );
    let shown = stdout(&Place::with([run]).convoke(&["replay", "long-2", "--full"]));
    assert_eq!(shown.matches('x').count(), 2_000_000);
}

#[test]
fn a_path_needs_no_name_of_the_workflow_and_one_that_leads_nowhere_is_said() {
    let place = workshop(&unwatched());
    assert!(place.convoke(&RUN).status.success());
    let told = |path: &str| place.convoke(&["replay", "letter-1", "--path", path]);
    let (short, whole) = (told("main/collect"), told("letter/main/collect"));
    assert!(stdout(&short).contains("main/collect"), "{}", stdout(&short));
    assert_eq!(stdout(&short), stdout(&whole));
    let nowhere = told("main/colect");
    assert_eq!(nowhere.status.code(), Some(3));
    assert!(stderr(&nowhere).contains("is at `main/colect` or below it"), "{}", stderr(&nowhere));
}
