//! `convoke rm` and `convoke cancel`

use convoke_core::store::{NewMail, OnBusy};
use serde_json::{Value, json};

use crate::examples::{crashed, failed, letter, refund};
use crate::place::{Place, stderr, stdout, wait};
use crate::run_stop::{goal_started, hanging};
use crate::workshop::{AGENTFILE, RUN, Running, document, workshop};

fn place() -> Place {
    Place::with([letter(), failed(), refund(), crashed()])
}

#[test]
fn a_run_that_is_over_is_deleted_by_its_name() {
    let place = place();
    let output = place.convoke(&["rm", "letter-1", "letter-2"]);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("deleted 2 runs\n", Some(0)));
    let left = stdout(&place.convoke(&["runs"]));
    assert!(!left.contains("letter-") && left.contains("refund-7"), "{left}");
}

#[test]
fn nothing_is_deleted_if_one_of_the_names_is_wrong_or_one_is_not_over() {
    let place = place();
    assert_eq!(place.convoke(&["rm", "letter-1", "nobody"]).status.code(), Some(3));
    let unasked = place.convoke(&["rm", "letter-1", "refund-7"]);
    assert_eq!(unasked.status.code(), Some(2));
    assert!(stderr(&unasked).contains("`convoke rm letter-1 refund-7 --yes`"), "{}", stderr(&unasked));
    assert_eq!(stdout(&place.convoke(&["runs"])).lines().count(), 5);
    assert!(place.convoke(&["rm", "--yes", "letter-1", "refund-7"]).status.success());
    assert_eq!(stdout(&place.convoke(&["runs"])).lines().count(), 3);
    assert_eq!(stdout(&place.convoke(&["questions", "--json"])), "[]\n");
}

#[test]
fn a_suspended_or_idle_run_is_cancelled_for_good_and_its_questions_are_withdrawn() {
    let place = place();
    for run in ["refund-7", "payment-9"] {
        let output = place.convoke(&["cancel", run, "--json"]);
        assert_eq!(document(&output), json!({"run": run, "status": "cancelled"}));
        let shown = stdout(&place.convoke(&["show", run]));
        assert!(shown.contains("cancelled") && shown.contains("by ann"), "{shown}");
    }
    assert_eq!(stdout(&place.convoke(&["questions", "--json"])), "[]\n");
    assert!(place.convoke(&["cancel", "refund-7"]).status.success(), "it is so already");
    let over = place.convoke(&["cancel", "letter-1"]);
    assert_eq!(over.status.code(), Some(1));
    assert!(stderr(&over).contains("is over already: it is completed"), "{}", stderr(&over));
}

#[test]
fn an_answer_that_was_given_stays_in_the_record_of_a_run_that_was_cancelled_before_it_went_on() {
    let place = place();
    assert!(place.convoke(&["answer", "refund-7", "--approve"]).status.success());
    assert!(place.convoke(&["cancel", "refund-7"]).status.success());
    let said = "approved (by ann), and the run ended before it";
    for command in [["show", "refund-7"], ["replay", "refund-7"]] {
        let told = stdout(&place.convoke(&command));
        assert!(told.contains(said) && !told.contains("no longer asked"), "{command:?}: {told}");
    }
    let shown = document(&place.convoke(&["show", "refund-7", "--json"]));
    let asked = shown["effects"].as_array().unwrap().iter().find(|effect| effect["kind"] == "ask").unwrap();
    assert_eq!((&asked["unheard"][0]["by"], &asked["answer"]), (&json!("ann"), &json!(null)), "{asked}");
}

#[test]
fn a_run_that_was_cancelled_for_good_is_not_resumed_but_forked() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    assert!(place.convoke(&["cancel", "letter-1"]).status.success());
    let resumed = place.convoke(&["resume", "letter-1"]);
    assert_eq!(resumed.status.code(), Some(6));
    assert_eq!(place.convoke(&["attach", "letter-1"]).status.code(), Some(6));
    let told = stderr(&resumed);
    assert!(told.contains("cancelled for good"), "{told}");
    let fork = told.split("`convoke fork ").nth(1).unwrap().split('`').next().unwrap();
    let words: Vec<&str> = ["fork"].into_iter().chain(fork.split(' ')).chain(["--id", "letter-2"]).collect();
    assert!(place.convoke(&words).status.success(), "{words:?}");
    assert_eq!(place.convoke(&["resume"]).status.code(), Some(5), "the fork goes on, and asks again");
}

#[test]
fn resuming_a_run_that_is_being_cancelled_says_so() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    let (store, run) = (place.store(), "letter-1".parse().unwrap());
    // As `convoke cancel` does: first it is told, then it is taken.
    wait(store.post(&run, NewMail::cancel("by ann").unwrap())).unwrap();
    let lease = wait(store.claim(&run, OnBusy::Refuse)).unwrap();
    let resumed = place.convoke(&["resume", "letter-1"]);
    assert_eq!(resumed.status.code(), Some(6), "{}", stderr(&resumed));
    assert!(stderr(&resumed).contains("was cancelled meanwhile"), "{}", stderr(&resumed));
    store.release(&lease);
    wait(store.run(&run)).unwrap();
}

#[test]
fn a_run_that_another_process_works_on_is_stopped_there() {
    let place = hanging();
    let mut running = Running::start(&place, &RUN);
    running.until(goal_started);
    let deleted = place.convoke(&["rm", "letter-1", "--yes"]);
    assert_eq!(deleted.status.code(), Some(1), "a run under way is not deleted");
    assert!(stderr(&deleted).contains("`convoke cancel letter-1`"), "{}", stderr(&deleted));
    let watching = std::process::Command::new(assert_cmd::cargo::cargo_bin!("convoke"))
        .current_dir(place.path())
        .env_clear()
        .env("XDG_DATA_HOME", place.data())
        .args(["attach", "letter-1", "--json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let cancelled = place.convoke(&["cancel", "letter-1"]);
    assert_eq!(stdout(&cancelled), "cancelled letter-1\n", "{}", stderr(&cancelled));
    assert!(stderr(&cancelled).contains("was told to stop"), "{}", stderr(&cancelled));
    let (events, code, told) = running.finish();
    assert_eq!(code, Some(6), "{told}");
    assert!(told.contains("was cancelled by ann"), "{told}");
    assert!(!told.contains("convoke resume") && !told.contains("Ctrl-C"), "{told}");
    let error = &events.last().unwrap()["error"];
    assert_eq!((&error["hints"], &error["exit_code"]), (&serde_json::json!([]), &6.into()), "{error}");
    let seen = watching.wait_with_output().unwrap();
    assert_eq!(seen.status.code(), Some(6), "{}", stderr(&seen));
    assert!(stderr(&seen).contains("it was cancelled for good"), "{}", stderr(&seen));
    assert!(!stderr(&seen).contains("convoke resume"), "{}", stderr(&seen));
    assert!(!place.files().iter().any(|(path, ..)| path.display().to_string().contains("cancel")));
    let shown: Value = document(&place.convoke(&["show", "letter-1", "--json"]));
    assert_eq!(shown["run"]["status"], "cancelled");
    assert_eq!(place.convoke(&["resume"]).status.code(), Some(3), "nothing is left to be resumed");
}
