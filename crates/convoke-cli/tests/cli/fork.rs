//! `convoke fork`

use std::time::Duration;

use convoke_core::{Answer, Question, RunId, RunStatus};
use convoke_history::History;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::examples::{letter, odd, refund};
use crate::journal::Run;
use crate::place::{Place, stderr, stdout, wait};

fn load(place: &Place, id: &str) -> History {
    wait(History::load(&*place.store(), &id.parse().unwrap())).unwrap()
}

#[test]
fn a_fork_has_the_past_of_its_source_and_says_how_to_go_on() {
    let place = Place::with([letter()]);
    assert_snapshot!("fork", place.seen(&["fork", "letter-1", "--at", "2", "--id", "letter-1b"]));
    let fork = load(&place, "letter-1b");
    assert_eq!(fork.last_seq(), 1);
    assert_eq!(
        fork.record.forked_from.map(|fork| (fork.run.to_string(), fork.at)),
        Some(("letter-1".into(), 2))
    );
    assert_snapshot!("fork_json", place.seen(&["fork", "letter-1", "--at", "10", "--id", "copy", "--json"]));
    assert_eq!(load(&place, "copy").last_seq(), 9, "one after the last entry is the end");
}

#[test]
fn what_begins_with_a_minus_is_refused_as_the_value_it_is() {
    let place = Place::empty();
    for (arguments, said) in [
        (&["fork", "letter-1", "--at", "-1"][..], "give the number of a journal entry"),
        (&["replay", "letter-1", "--at", "-1"], "give the number of a journal entry"),
        (&["run", "--budget", "-1usd"], "`-1usd` needs a number and a unit"),
    ] {
        let output = place.convoke(arguments);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(said) && !told.contains("-- -1"), "{told}");
    }
}

#[test]
fn the_id_of_a_fork_is_all_that_is_printed() {
    let place = Place::with([letter()]);
    let output = place.convoke(&["fork", "last", "--at", "1"]);
    let id: RunId = stdout(&output).trim_end().parse().unwrap();
    assert_eq!(load(&place, id.as_str()).last_seq(), 0);
    assert!(stderr(&output).contains("resume it with the program that runs workflow `letters`"));
}

#[test]
fn a_model_can_be_made_to_have_said_something_else() {
    let place = Place::with([letter()]);
    let output = place.convoke(&["fork", "letter-1", "--at", "2", "--id", "new", "--reply", "All wrong."]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_snapshot!("fork_reply_model", place.seen(&["show", "new", "--full"]));
}

#[test]
fn a_tool_can_be_made_to_have_given_something_else() {
    let place = Place::with([letter()]);
    place.convoke(&["fork", "letter-1", "--at", "4", "--id", "begin", "--reply", "found"]);
    place.convoke(&["fork", "letter-1", "--at", "5", "--id", "end", "--reply", "found"]);
    assert_snapshot!("fork_reply_tool", place.seen(&["show", "begin"]));
    assert_snapshot!("fork_reply_tool_end", place.seen(&["show", "end"]));
}

#[test]
fn a_question_is_forked_with_an_outcome_and_open_again_without() {
    let place = Place::with([letter()]);
    assert_snapshot!(
        "fork_reply_ask",
        place.seen(&["fork", "letter-1", "--at", "9", "--id", "x", "--reply", "yes"])
    );
    let answer = r#"{"decision":{"type":"reject","reason":"no"},"by":"cat","at":0}"#;
    let output = place.convoke(&["fork", "letter-1", "--at", "9", "--id", "no", "--outcome", answer]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&place.convoke(&["show", "no"])).contains("Send it? → rejected: no (by cat)"));
    assert_snapshot!("fork_ask_open", place.seen(&["fork", "letter-1", "--at", "9", "--id", "open"]));
    assert_eq!(load(&place, "open").questions.len(), 1);
}

#[test]
fn a_question_that_has_expired_can_be_answered_in_a_fork() {
    let question = Question::approval("Ship it?").expires_after(Duration::from_secs(60));
    let expired = Answer::reject("nobody answered in time").by("expiry");
    let run = Run::new("late-1", "late").ask(("main/ship", 0), question).after(60_000);
    let run = run.answered(("main/ship", 0), expired).after(5);
    let place = Place::with([run.ends(RunStatus::Halted, json!({"error": "halted: rejected"}))]);
    let forked = place.convoke(&["fork", "late-1", "--at", "2", "--id", "again"]);
    assert!(forked.status.success(), "{}", stderr(&forked));
    let answered = place.convoke(&["answer", "again", "--approve"]);
    assert!(answered.status.success(), "{}", stderr(&answered));
}

#[test]
fn an_outcome_that_nobody_could_read_is_refused_before_anything_is_made() {
    let place = Place::with([letter(), odd()]);
    let seen = |at: &str, outcome: &str| place.seen(&["fork", "letter-1", "--at", at, "--outcome", outcome]);
    assert_snapshot!("fork_outcome_model", seen("1", r#"{"text":"hi"}"#));
    assert_snapshot!("fork_outcome_no_json", seen("5", "hi"));
    assert_snapshot!("fork_outcome_at_the_end", seen("10", "1"));
    let custom =
        place.convoke(&["fork", "odd-1", "--at", "5", "--id", "c", "--outcome", r#"{"receipt":"8"}"#]);
    assert!(custom.status.success());
    let runs: Value = serde_json::from_str(&stdout(&place.convoke(&["runs", "--json"]))).unwrap();
    assert_eq!(runs.as_array().map(Vec::len), Some(3));
}

#[test]
fn a_fork_between_a_call_and_its_end_is_warned_about() {
    assert_snapshot!(Place::with([letter()]).seen(&["fork", "letter-1", "--at", "6", "--id", "new"]));
}

#[test]
fn forks_that_cannot_be_made_say_why() {
    let place = Place::with([letter(), refund()]);
    assert_snapshot!("fork_no_entry", place.seen(&["fork", "letter-1", "--at", "11"]));
    assert_snapshot!("fork_zero", place.seen(&["fork", "letter-1", "--at", "0"]));
    assert_snapshot!("fork_taken", place.seen(&["fork", "letter-1", "--at", "2", "--id", "refund-7"]));
    assert_snapshot!("fork_bad_id", place.seen(&["fork", "letter-1", "--at", "2", "--id", "a/b"]));
    assert_snapshot!(
        "fork_both",
        place.seen(&["fork", "letter-1", "--at", "2", "--reply", "a", "--outcome", "1"])
    );
}
