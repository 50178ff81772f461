//! `convoke answer`

use std::time::Duration;

use convoke_core::Question;
use insta::assert_snapshot;

use crate::examples::{letter, refund, release};
use crate::journal::Run;
use crate::place::{Place, stderr, stdout, wait};

#[test]
fn the_only_open_question_needs_no_id() {
    let place = Place::with([refund()]);
    assert_snapshot!("answer_approve", place.seen(&["answer", "refund-7", "--approve"]));
    assert_snapshot!("answer_show_settled", place.seen(&["show", "refund-7"]));
    assert_snapshot!("answer_again", place.seen(&["answer", "refund-7", "--reject", "no"]));
}

#[test]
fn of_answers_given_at_once_one_is_told_that_it_counts() {
    for _ in 0..5 {
        let place = Place::with([refund()]);
        let answers = [&["--approve"][..], &["--reject", "no"], &["--revise", "only 20.00"]];
        let convoke = |decision: &&[&str]| {
            let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("convoke"));
            command
                .current_dir(place.path())
                .env("XDG_DATA_HOME", place.data())
                .args(["answer", "refund-7"])
                .args(*decision);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
        };
        let given: Vec<_> = answers.iter().map(convoke).collect();
        let given: Vec<_> = given.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let told: Vec<String> = given.iter().map(crate::place::stderr).collect();
        assert_eq!(given.iter().filter(|output| output.status.success()).count(), 1, "{told:#?}");
        assert_eq!(told.iter().filter(|told| told.contains("is answered already: ")).count(), 2, "{told:#?}");
    }
}

#[test]
fn every_decision_can_be_given_and_says_by_whom() {
    for decision in
        [&["--revise", "only 20.00"][..], &["--reject", "too late"], &["--approve", "--by", "cat"]]
    {
        let place = Place::with([refund()]);
        let mut arguments = vec!["answer", "refund-7", "--json"];
        arguments.extend(decision);
        let given: serde_json::Value = serde_json::from_str(&stdout(&place.convoke(&arguments))).unwrap();
        assert_eq!(given["is_settled"], true);
        let by = if decision.contains(&"--by") { "cat" } else { "ann" };
        assert_eq!(given["answers"][0]["by"], by);
        assert_eq!(given["answers"][0]["decision"]["type"], decision[0].trim_start_matches('-'));
    }
}

#[test]
fn several_open_questions_are_told_apart_by_their_first_digits() {
    let place = Place::with([release()]);
    assert_snapshot!("answer_which", place.seen(&["answer", "release-3", "--approve"]));
    assert_snapshot!("answer_no_such", place.seen(&["answer", "release-3", "zz", "--approve"]));
    let questions: serde_json::Value =
        serde_json::from_str(&stdout(&place.convoke(&["questions", "--json"]))).unwrap();
    let ship = questions[0]["id"].as_str().unwrap();
    let when = questions[1]["id"].as_str().unwrap();
    assert_snapshot!("answer_choose", place.seen(&["answer", "release-3", &when[..8], "--choose", "today"]));
    assert_snapshot!("answer_quorum", place.seen(&["answer", "release-3", &ship[..8], "--approve"]));
    assert_snapshot!(
        "answer_outsider",
        place.seen(&["answer", "release-3", &ship[..8], "--approve", "--by", "cat"])
    );
}

#[test]
fn an_answer_that_does_not_fit_is_refused_with_those_that_do() {
    let place = Place::with([refund(), release()]);
    assert_snapshot!("answer_unfit", place.seen(&["answer", "refund-7", "--choose", "red"]));
    assert_snapshot!("answer_nothing", place.seen(&["answer", "refund-7"]));
    assert_snapshot!("answer_twice", place.seen(&["answer", "refund-7", "--approve", "--text", "yes"]));
}

#[test]
fn a_run_without_open_questions_cannot_be_answered() {
    assert_snapshot!(Place::with([letter()]).seen(&["answer", "letter-1", "--approve"]));
}

#[test]
fn an_empty_text_answers_nothing() {
    let place = Place::with([refund()]);
    for decision in ["--revise", "--reject", "--choose", "--text"] {
        for nothing in ["", "  "] {
            let output = place.convoke(&["answer", "refund-7", decision, nothing]);
            assert_eq!(output.status.code(), Some(2));
            assert!(stderr(&output).contains(&format!("`{decision}` says nothing")), "{}", stderr(&output));
        }
    }
    assert!(place.convoke(&["answer", "refund-7", "--approve"]).status.success(), "it is still open");
}

#[test]
fn an_approval_after_the_time_for_it_is_refused_with_what_holds_instead() {
    let question = Question::approval("Ship it?").expires_after(Duration::from_secs(60));
    let place = Place::with([Run::new("late-1", "late").ask(("main/ship", 0), question).after(5).suspends()]);
    let late = place.convoke(&["answer", "late-1", "--approve"]);
    let said = stderr(&late);
    assert_eq!(late.status.code(), Some(1), "{said}");
    assert!(said.contains("`Ship it?` is answered already: rejected"), "{said}");
    assert!(said.contains("nobody answered in time"), "{said}");
}

#[test]
fn who_answers_is_known_by_the_login_name_or_the_users_id() {
    let by = |variables: &[(&str, &str)]| {
        let place = Place::with([refund()]);
        let output = place.convoke_with(&["answer", "refund-7", "--approve", "--json"], variables);
        let given: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        given["answers"][0]["by"].clone()
    };
    assert_eq!(by(&[("USER", ""), ("LOGNAME", "ben")]), "ben");
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let id = rustix::process::getuid().as_raw().to_string();
    let own = users.lines().find(|line| line.split(':').nth(2) == Some(&id));
    let own = own.and_then(|line| line.split(':').next()).map(str::to_owned);
    assert_eq!(by(&[("USER", "")]), serde_json::json!(own));
}

#[test]
fn values_and_files_are_answers_too() {
    let asked = |question| Place::with([Run::new("form-1", "forms").ask(("main", 0), question).suspends()]);
    let place = asked(Question::json("How many?"));
    let shown = place.seen(&["show", "form-1"]);
    assert!(shown.contains("--value 'JSON'"), "{shown}");
    let wrong = place.convoke(&["answer", "form-1", "--value", "{7"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("that is not JSON"), "{}", stderr(&wrong));
    let unfit = place.convoke(&["answer", "form-1", "--text", "seven"]);
    assert!(stderr(&unfit).contains("a value, as JSON"), "{}", stderr(&unfit));
    let given = place.convoke(&["answer", "form-1", "--value", r#"{"count": 7}"#, "--by", "ann"]);
    assert!(stderr(&given).contains(r#"answered `How many?`: {"count":7} (by ann)"#), "{}", stderr(&given));

    let place = asked(Question::media("A photo?"));
    place.write("photo.png", [0_u8, 1, 2]);
    let missing = place.convoke(&["answer", "form-1", "--file", "other.png"]);
    assert!(stderr(&missing).contains("other.png cannot be read"), "{}", stderr(&missing));
    let given = place.convoke(&["answer", "form-1", "--file", "photo.png"]);
    assert!(stderr(&given).contains("answered `A photo?`: photo.png"), "{}", stderr(&given));
    let run = "form-1".parse().unwrap();
    let open = wait(place.store().questions(Some(&run))).unwrap();
    let answers = wait(place.store().answers(&run, &open[0].id)).unwrap();
    let json = serde_json::to_value(&answers[0].decision).unwrap();
    assert_eq!(json["media"][0]["source"], serde_json::json!({"base64": "AAEC"}), "{json}");
}

#[test]
fn a_run_that_nobody_works_on_is_not_said_to_be_running() {
    let place = Place::with([Run::new("letter-1", "letter")]);
    let refused = place.convoke(&["answer", "letter-1", "--approve"]);
    let told = stderr(&refused);
    assert!(!refused.status.success() && told.contains("has no open question; it is idle"), "{told}");
    assert!(told.contains("to let it go on"), "{told}");
}
