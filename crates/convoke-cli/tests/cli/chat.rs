//! `convoke chat`, with a model that answers from a file.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin_cmd;

use crate::place::{Place, stderr, stdout};
use crate::workshop::send;

const SCRIPT: &str = r#"
[[rule]]
when = { last_contains = "loom" }
reply = "Looms weave."

[[rule]]
when = { last_contains = "broken" }
error = { status = 401, message = "no such key" }

[[rule]]
reply = "I don't know."
"#;

fn place() -> Place {
    let place = Place::empty();
    std::fs::write(place.path().join("script.toml"), SCRIPT).unwrap();
    place
}

#[test]
fn one_question_gets_one_answer_and_a_run_that_can_be_looked_at() {
    let place = place();
    let output = place.convoke(&["chat", "--model", "scripted/script.toml", "a fact about looms"]);
    assert_eq!(stdout(&output), "Looms weave.\n");
    assert_eq!(stderr(&output), "");
    let shown = stdout(&place.convoke(&["show", "last"]));
    assert!(shown.contains("workflow  chat") && shown.contains("model → Looms weave."), "{shown}");
}

#[test]
fn what_comes_on_standard_input_is_said() {
    let place = place();
    let mut command = cargo_bin_cmd!("convoke");
    command.current_dir(place.path()).env_clear().env("XDG_DATA_HOME", place.data()).args([
        "chat",
        "-m",
        "scripted/script.toml",
    ]);
    let output = command.write_stdin("tell me of looms").output().unwrap();
    assert_eq!(stdout(&output), "Looms weave.\n");
}

#[test]
fn json_has_the_run_the_model_and_what_was_used() {
    let place = place();
    let output = place.convoke(&["chat", "--json", "-m", "scripted/script.toml", "looms"]);
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&value["text"], &value["status"]), (&"Looms weave.".into(), &"completed".into()));
    assert!(value["usage"]["output_tokens"].as_u64() > Some(0), "{value}");
}

#[test]
fn nothing_is_kept_if_nothing_is_to_be_kept() {
    let place = place();
    let output = place.convoke(&["chat", "--forget", "-m", "scripted/script.toml", "looms"]);
    assert_eq!(stdout(&output), "Looms weave.\n");
    assert!(!place.file().exists());
}

#[test]
fn a_failed_call_says_why_and_names_the_run() {
    let place = place();
    let output = place.convoke(&["chat", "-m", "scripted/script.toml", "broken"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    let told = stderr(&output);
    assert!(told.contains("no such key") && told.contains("run "), "{told}");
}

#[test]
fn a_model_that_makes_no_sense_is_an_error_that_says_what_to_write() {
    let place = place();
    insta::assert_snapshot!(place.seen(&["chat", "-m", "antropic/claude", "hi"]));
    insta::assert_snapshot!(place.seen(&["chat", "-m", "claude-sonnet-5-5", "hi"]));
    insta::assert_snapshot!(place.seen(&["chat", "-m", "scripted/nowhere.toml", "hi"]));
    insta::assert_snapshot!(place.seen(&["chat", "-m", "scripted/script.toml", "  "]));
}

#[test]
fn only_a_conversation_that_waits_can_be_gone_on_with() {
    let place = place();
    place.convoke(&["chat", "-m", "scripted/script.toml", "looms"]);
    let last = place.convoke(&["chat", "-m", "scripted/script.toml", "--continue", "last", "more"]);
    assert_eq!(last.status.code(), Some(3));
    assert!(stderr(&last).contains("that can go on"), "{}", stderr(&last));
    let runs: serde_json::Value = serde_json::from_str(&stdout(&place.convoke(&["runs", "--json"]))).unwrap();
    let run = runs[0]["id"].as_str().unwrap();
    let output = place.convoke(&["chat", "-m", "scripted/script.toml", "--continue", run, "more"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is over"), "{}", stderr(&output));
}

#[test]
fn an_answer_that_is_cut_off_is_no_success() {
    let place = Place::empty();
    std::fs::write(place.path().join("cut.toml"), "[[rule]]\nreply = \"Half an ans\"\nfinish = \"length\"\n")
        .unwrap();
    insta::assert_snapshot!(without_run(&place.seen(&["chat", "-m", "scripted/cut.toml", "hi"])));
}

#[test]
fn a_project_cannot_send_keys_where_its_user_has_not_agreed_to() {
    let place = Place::empty();
    let config = "[services.anthropic]\nbase_url = \"https://elsewhere.example/\"\n";
    std::fs::write(place.path().join("convoke.toml"), config).unwrap();
    let key = ("ANTHROPIC_API_KEY", "k");
    let seen = place.seen_with(&["chat", "-m", "claude-sonnet-5-5", "hi"], &[key]);
    insta::assert_snapshot!(seen);
    let agreed = ("CONVOKE_TRUSTED_HOSTS", "other.example, elsewhere.example");
    let checked = place.convoke_with(&["doctor", "-m", "claude-sonnet-5-5"], &[key, agreed]);
    assert!(checked.status.success(), "{}", stderr(&checked));
}

#[test]
fn a_temperature_or_a_length_that_no_model_takes_is_refused_with_the_range() {
    let place = place();
    for (option, value, range) in [
        ("--temperature", "9", "0 to 2"),
        ("--temperature", "-1", "0 to 2"),
        ("--temperature", "NaN", "0 to 2"),
        ("--max-tokens", "0", "1.."),
    ] {
        let output = place.convoke(&["chat", "-m", "scripted/script.toml", option, value, "looms"]);
        assert_eq!(output.status.code(), Some(2), "{option} {value}");
        assert!(stderr(&output).contains(range), "{}", stderr(&output));
    }
    let fine = place.convoke(&[
        "chat",
        "-m",
        "scripted/script.toml",
        "--temperature",
        "2",
        "--max-tokens",
        "1",
        "looms",
    ]);
    assert_eq!(stdout(&fine), "Looms weave.\n");
}

#[test]
fn a_question_that_is_broken_off_leaves_a_run_that_was_stopped() {
    let place = Place::empty();
    let child = hanging(&place, &["hi"]);
    let runs = || stdout(&place.convoke(&["runs", "--json"]));
    send(&child, rustix::process::Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
    assert!(stderr(&output).contains("go on with `convoke chat --continue"), "{}", stderr(&output));
    assert!(runs().contains("stopped"), "{}", runs());
}

/// A chat whose model says one word and then nothing more, and which is at work.
fn hanging(place: &Place, words: &[&str]) -> Child {
    place.write("hangs.toml", "[[rule]]\nreply = \"one two\"\nhangs_after = 1\n");
    let child = Command::new(assert_cmd::cargo::cargo_bin!("convoke"))
        .current_dir(place.path())
        .env_clear()
        .env("XDG_DATA_HOME", place.data())
        .args([&["chat", "-m", "scripted/hangs.toml"], words].concat())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !stdout(&place.convoke(&["runs", "--json"])).contains("running") {
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

#[test]
fn a_chat_that_is_cancelled_says_by_whom_and_how_to_go_on_all_the_same() {
    let place = place();
    let child = hanging(&place, &["hi"]);
    let busy = place.convoke(&["chat", "--continue", "last", "more", "-m", "scripted/script.toml"]);
    assert_eq!(busy.status.code(), Some(3), "another process is at it: {}", stderr(&busy));
    assert!(place.convoke(&["cancel", "last"]).status.success());
    let output = child.wait_with_output().unwrap();
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(6), "{told}");
    assert!(told.contains("cancelled: by ann") && told.contains("convoke fork "), "{told}");
    assert!(!told.contains("--continue"), "that goes nowhere: {told}");
    let last = place.convoke(&["chat", "--continue", "last", "more", "-m", "scripted/script.toml"]);
    assert_eq!(last.status.code(), Some(3), "{}", stderr(&last));
    let runs: serde_json::Value = serde_json::from_str(&stdout(&place.convoke(&["runs", "--json"]))).unwrap();
    let run = runs[0]["id"].as_str().unwrap();
    let named = place.convoke(&["chat", "--continue", run, "more", "-m", "scripted/script.toml"]);
    assert_eq!(named.status.code(), Some(6));
    assert!(stderr(&named).contains("convoke fork "), "{}", stderr(&named));
}

#[test]
fn what_was_said_until_a_chat_was_broken_off_is_in_its_json() {
    let said = |patience: u64| {
        let place = Place::empty();
        let child = hanging(&place, &["hi", "--json"]);
        std::thread::sleep(Duration::from_millis(patience));
        send(&child, rustix::process::Signal::TERM);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
        let told: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!((&told["status"], &told["finish"]), (&"cancelled".into(), &serde_json::Value::Null));
        assert!(told["run"].is_string() && told["model"].as_str().unwrap().contains("hangs.toml"), "{told}");
        told["text"].as_str().unwrap().trim().to_owned()
    };
    // How soon a model says its first word, nobody knows.
    assert!([200, 2_000, 10_000].into_iter().any(|patience| said(patience) == "one"));
}

fn without_run(seen: &str) -> String {
    seen.lines()
        .filter(|line| !line.trim_start().starts_with("run "))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn a_fallback_is_used_when_the_first_fails_for_good_and_not_opened_before() {
    let place = place();
    let config =
        "model = \"scripted/bad.toml\"\nfallback = [\"anthropic/no-key\", \"scripted/script.toml\"]\n";
    std::fs::write(place.path().join("convoke.toml"), config).unwrap();
    std::fs::write(place.path().join("bad.toml"), "[[rule]]\nreply = \"Fine.\"\n").unwrap();
    assert_eq!(
        stdout(&place.convoke(&["chat", "looms"])),
        "Fine.\n",
        "no key is needed for what is not needed"
    );
    let refusing = "[[rule]]\nerror = { status = 401, message = \"no\" }\n";
    std::fs::write(place.path().join("bad.toml"), refusing).unwrap();
    let output = place.convoke(&["chat", "looms"]);
    assert_eq!(stdout(&output), "Looms weave.\n", "{}", stderr(&output));
}
