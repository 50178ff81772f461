//! Runs that wait for a person, and go on with their answer.

use insta::assert_snapshot;

use crate::place::{Place, stderr, stdout, wait};
use crate::workshop::{AGENTFILE, RESULT, RUN, document, steady, workshop};

#[test]
fn a_run_that_needs_a_person_and_finds_none_suspends_and_says_how_to_answer() {
    let place = workshop(AGENTFILE);
    assert_snapshot!("run_suspends", steady(&place.seen(&RUN)));
    let again = place.convoke(&["resume", "letter-1", "--output", "json", "-q"]);
    assert_eq!((again.status.code(), &document(&again)["status"]), (Some(5), &"suspended".into()));
    // The commands that were shown work.
    let told = stderr(&again);
    let answer = told.lines().find(|line| line.contains("--approve")).unwrap();
    let words: Vec<&str> = answer.split_whitespace().skip(1).collect();
    assert_snapshot!("run_answer", steady(&place.seen(&words)));
    assert_snapshot!("run_resume", steady(&place.seen(&["resume"])));
    let done = place.convoke(&["resume", "letter-1"]);
    assert_eq!(stdout(&done), format!("{RESULT}\n"), "what is completed gives its result again");
}

#[test]
fn nobody_is_said_to_attend_to_a_fork_before_it_was_resumed() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    let run = "letter-1".parse().unwrap();
    let asked = wait(place.store().entries(&run, 1, usize::MAX)).unwrap().last().unwrap().seq;
    let forked = place.convoke(&["fork", "letter-1", "--at", &asked.to_string(), "--id", "again"]);
    assert!(forked.status.success(), "{}", stderr(&forked));
    let told = stderr(&place.convoke(&["answer", "again", "--approve"]));
    assert!(told.contains("`convoke resume again`") && !told.contains("attend"), "{told}");
}

#[test]
fn an_answer_can_let_the_run_go_on_at_once() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    let revised = place.convoke(&["answer", "letter-1", "--revise", "in ink", "--resume"]);
    assert_eq!(revised.status.code(), Some(5), "a revised result is shown again: {}", stderr(&revised));
    let approved = place.convoke(&["answer", "letter-1", "--approve", "--resume"]);
    assert_eq!(stdout(&approved), format!("{RESULT}\n"), "{}", stderr(&approved));
}

#[test]
fn a_run_is_taken_up_again_when_it_is_resumed_and_not_when_it_begins() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    let forms: [&[&str]; 2] = [&["replay", "letter-1"], &["replay", "letter-1", "--html", "-"]];
    for form in forms {
        let told = stdout(&place.convoke(form));
        assert!(!told.contains("taken up"), "{told}");
    }
    let told = stdout(&place.convoke(forms[0]));
    assert!(told.contains("inputs    │ topic: looms\n"), "what it was given: {told}");
    assert!(told.contains("letter.agent") && !told.contains("beside"), "not all that is kept: {told}");
    let once = document(&place.convoke(&["--json", "replay", "letter-1"]));
    assert_eq!(once["taken_up"], 1);
    assert!(place.convoke(&["answer", "letter-1", "--approve", "--resume"]).status.success());
    for form in forms {
        let told = stdout(&place.convoke(form));
        assert!(told.contains("taken up 2 times"), "{told}");
    }
}

#[test]
fn what_is_to_be_judged_is_shown_first_wherever_a_question_is() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    let commands: [&[&str]; 2] = [&["questions"], &["show", "letter-1"]];
    for command in commands {
        let shown = stdout(&place.convoke(command));
        assert!(shown.contains("  output    │ Dear Ann, looms sing and weave. Ben\n"), "{shown}");
    }
    let long = (1..=40).map(|line| format!("line {line}\\n")).collect::<String>();
    let script = crate::workshop::SCRIPT
        .replace("Dear Ann, looms sing and weave. Ben\"\n\n", &format!("{long}\"\n\n"));
    place.write("script.toml", script);
    let again = ["run", "letter.agent", "-i", "topic=x", "-m", "scripted/script.toml", "--id", "letter-2"];
    assert_eq!(place.convoke(&again).status.code(), Some(5));
    let shown = stdout(&place.convoke(&["show", "letter-2"]));
    assert!(shown.contains("  output    │ line 1\n") && shown.contains("line 40"), "both ends: {shown}");
    assert!(!shown.contains("line 20") && shown.contains("│ … 28 more lines …\n"), "{shown}");
    assert!(shown.contains("`convoke show letter-2 --full` shows all of it"), "{shown}");
    let whole = stdout(&place.convoke(&["show", "letter-2", "--full"]));
    assert!(whole.contains("            │ line 40\n"), "{whole}");
}

#[test]
fn an_answer_that_lets_the_run_go_on_gives_one_document() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    let revised = place.convoke(&["answer", "letter-1", "--revise", "in ink", "--resume", "--json"]);
    assert_eq!(document(&revised)["status"], "suspended", "{}", stderr(&revised));
    let approved = place.convoke(&["answer", "letter-1", "--approve", "--resume", "--json"]);
    assert_eq!(document(&approved)["result"], RESULT, "{}", stderr(&approved));
}

#[test]
fn a_rejected_result_ends_the_run() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    let rejected = place.convoke(&["answer", "letter-1", "--reject", "not to Ann", "--resume"]);
    assert_eq!((rejected.status.code(), stdout(&rejected)), (Some(1), String::new()));
    assert!(stderr(&rejected).contains("not to Ann"), "{}", stderr(&rejected));
}

#[test]
fn a_rejected_run_is_not_resumed_again_and_again_and_the_fork_that_helps_is_named() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    let rejected = place.convoke(&["answer", "letter-1", "--reject", "not to Ann", "--resume"]);
    for output in [rejected, place.convoke(&["resume", "letter-1"])] {
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("halted: goal `sign`: rejected by ann: not to Ann"), "{told}");
        assert!(!told.contains("step `"), "it has not failed: {told}");
        assert!(!told.contains("once the cause is mended"), "{told}");
        assert!(told.contains("to decide otherwise, `convoke fork letter-1 --at "), "{told}");
    }
    assert_eq!(place.convoke(&["resume"]).status.code(), Some(3), "it is not picked");
    let shown = stderr(&place.convoke(&["show", "letter-1"]));
    let fork = shown.split("`convoke fork ").nth(1).unwrap().split('`').next().unwrap();
    let words: Vec<&str> = ["fork"].into_iter().chain(fork.split(' ')).chain(["--id", "letter-2"]).collect();
    assert!(place.convoke(&words).status.success(), "{words:?}");
    let approved = place.convoke(&["answer", "letter-2", "--approve", "--resume"]);
    assert_eq!(stdout(&approved), format!("{RESULT}\n"), "{}", stderr(&approved));
}

#[test]
fn a_suspended_run_as_json_has_the_ids_of_its_questions() {
    let place = workshop(AGENTFILE);
    let mut arguments = RUN.to_vec();
    arguments.extend(["--output", "json", "-q"]);
    let whole = document(&place.convoke(&arguments));
    let listed = document(&place.convoke(&["questions", "--json"]));
    assert_eq!(whole["questions"], listed);
    assert!(whole["questions"][0]["id"].is_string(), "{whole}");
    assert_eq!(whole["result"], serde_json::Value::Null);
}

#[test]
fn a_text_that_has_changed_is_named_when_a_run_does_not_fit_it() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    place
        .write("letter.agent", AGENTFILE.replace("Write a letter from $facts", "Compose a note from $facts"));
    let output = place.convoke(&["resume", "letter-1", "--changed-file"]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    let change = "the text of goal `draft` has changed: \"Write a letter from $facts\" → \"Compose a note from $facts\"";
    assert!(told.contains(change), "{told}");
    assert!(!told.contains("bytes in all") && !told.contains("{\""), "{told}");
    assert!(told.contains("`convoke fork letter-1 --at "), "{told}");
}

#[test]
fn a_run_goes_on_without_its_files_and_says_when_they_have_changed() {
    let place = Place::empty();
    place.write("agents/poet.md", "You are a poet of few words.");
    let agentfile = AGENTFILE.replace("AGENT poet \"You are a poet.\"", "AGENT poet FROM agents/poet.md");
    place.write("letter.agent", &agentfile);
    place.write("script.toml", crate::workshop::SCRIPT);
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    place.write("agents/poet.md", "You are a chatterbox.");
    place.convoke(&["answer", "letter-1", "--approve"]);
    let changed = place.seen(&["resume", "letter-1", "-q"]);
    assert!(changed.contains("has changed since; the run goes on with the file as it was"), "{changed}");
    assert!(changed.contains(RESULT), "{changed}");

    std::fs::remove_dir_all(place.path().join("agents")).unwrap();
    std::fs::remove_file(place.path().join("letter.agent")).unwrap();
    assert_eq!(stdout(&place.convoke(&["resume", "letter-1"])), format!("{RESULT}\n"));
}

#[test]
fn a_changed_file_is_taken_where_it_fits_what_was_done_and_refused_where_it_does_not() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    place.convoke(&["answer", "letter-1", "--approve"]);
    place.write("letter.agent", AGENTFILE.replace("draft", "sketch"));
    let refused = place.convoke(&["resume", "letter-1", "--changed-file", "-q"]);
    assert_eq!(refused.status.code(), Some(1));
    let told = stderr(&refused);
    assert!(told.contains("no longer has: `letter/main/draft`") && !told.contains("Workflow::"), "{told}");
    assert!(
        told.contains("without `--changed-file`") && told.contains("convoke fork letter-1 --at N"),
        "{told}"
    );
    place.write("letter.agent", AGENTFILE.replace("Address $sign", "Address $sign nicely"));
    let taken = place.convoke(&["resume", "letter-1", "--changed-file", "-q"]);
    assert_eq!(stdout(&taken), format!("{RESULT}\n"), "{}", stderr(&taken));
}

#[test]
fn secrets_are_kept_nowhere_and_given_again() {
    let place = workshop(
        &AGENTFILE
            .replace("Address $sign", "Address $sign with $key")
            .replace("INPUT topic", "INPUT topic\nINPUT key SECRET"),
    );
    let mut arguments = RUN.to_vec();
    arguments.extend(["-i", "key=s3cr3t-v4lue", "--output", "ndjson", "-v"]);
    let suspended = place.convoke(&arguments);
    assert_eq!(suspended.status.code(), Some(5), "{}", stderr(&suspended));
    let told = stderr(&suspended);
    assert!(told.contains("`convoke resume letter-1 -i key=VALUE`") && !told.contains("--resume"), "{told}");
    assert_snapshot!("answer_without_secret", place.seen(&["answer", "letter-1", "--approve", "--resume"]));
    let answered = place.convoke(&["answer", "letter-1", "--approve"]);
    assert!(answered.status.success(), "nothing was answered before: {}", stderr(&answered));
    assert!(stderr(&answered).contains("`convoke resume letter-1 -i key=VALUE`"), "{}", stderr(&answered));
    assert_snapshot!("resume_without_secret", place.seen(&["resume", "letter-1"]));
    let resumed = place.convoke(&["resume", "letter-1", "-i", "key=s3cr3t-v4lue", "-v"]);
    assert_eq!(stdout(&resumed), format!("{RESULT}\n"), "{}", stderr(&resumed));
    let written = [suspended.stdout, suspended.stderr, resumed.stderr];
    let files = place.files().into_iter().map(|(_, contents, _)| contents);
    for bytes in written.into_iter().chain(files) {
        let found = bytes.windows(12).any(|window| window == b"s3cr3t-v4lue");
        assert!(!found, "the secret is written down somewhere");
    }
}

#[test]
fn a_secret_from_a_file_is_hidden_without_its_line_break() {
    let place = workshop(
        &AGENTFILE
            .replace("Address $sign", "Address $sign with $key")
            .replace("INPUT topic", "INPUT topic\nINPUT key SECRET"),
    );
    let keys = tempfile::tempdir().unwrap();
    let file = keys.path().join("key.txt");
    std::fs::write(&file, "s3cr3t-v4lue\n").unwrap();
    let given = format!("key=@{}", file.display());
    // Somebody gives it twice: as what it is, and within something else.
    let mut arguments =
        RUN.map(|word| if word == "topic=looms" { "topic=looms, s3cr3t-v4lue" } else { word }).to_vec();
    arguments.extend(["-i", &given, "--output", "ndjson", "-v"]);
    let suspended = place.convoke(&arguments);
    assert_eq!(suspended.status.code(), Some(5), "{}", stderr(&suspended));
    let written = [suspended.stdout, suspended.stderr];
    let files = place.files().into_iter().map(|(_, contents, _)| contents);
    for bytes in written.into_iter().chain(files) {
        let found = bytes.windows(12).any(|window| window == b"s3cr3t-v4lue");
        assert!(!found, "the secret is written down somewhere");
    }
}

#[test]
fn that_a_secret_is_another_one_is_said_unless_it_could_be_guessed() {
    let agentfile = AGENTFILE
        .replace("Address $sign", "Address $sign with $key and $pin")
        .replace("INPUT topic", "INPUT topic\nINPUT key SECRET\nINPUT pin SECRET");
    let place = workshop(&agentfile);
    let mut arguments = RUN.to_vec();
    arguments.extend(["-i", "key=a-key-of-sixteen-or-more", "-i", "pin=12345678"]);
    assert_eq!(place.convoke(&arguments).status.code(), Some(5));
    let resumed = |key: &str, pin: &str| {
        stderr(&place.convoke(&[
            "resume",
            "letter-1",
            "-i",
            &format!("key={key}"),
            "-i",
            &format!("pin={pin}"),
        ]))
    };
    let same = resumed("a-key-of-sixteen-or-more", "87654321");
    assert!(!same.contains("began with"), "{same}");
    let other = resumed("another-key-of-that-kind", "12345678");
    assert!(other.contains("`key` is not the value this run began with"), "{other}");
    assert!(!other.contains("`pin`"), "{other}");
    let told = place.convoke(&[
        "resume",
        "letter-1",
        "-i",
        "key=another-key-of-that-kind",
        "-i",
        "pin=12345678",
        "--output",
        "json",
    ]);
    let notes = document(&told)["notes"].to_string();
    assert!(notes.contains("`key` is not the value this run began with"), "{notes}");
}

#[test]
fn only_runs_of_agentfiles_can_be_resumed_here() {
    let place = workshop(AGENTFILE);
    assert_snapshot!("resume_nothing_there", place.seen(&["resume"]));
    place.convoke(&["chat", "-m", "scripted/script.toml", "role=\"poet\""]);
    assert_snapshot!("resume_nothing_left", place.seen(&["resume"]));
    let chat = place.convoke(&["resume", "last"]);
    assert!(stderr(&chat).contains("convoke chat --continue"), "{}", stderr(&chat));
    let other = Place::with([crate::examples::refund()]);
    assert_snapshot!("resume_other", other.seen(&["resume", "refund-7"]));
}

#[test]
fn a_fork_of_a_run_can_be_resumed() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    let forked = place.convoke(&["fork", "letter-1", "--at", "2", "--id", "letter-2"]);
    assert!(stderr(&forked).contains("convoke resume letter-2"), "{}", stderr(&forked));
    assert_eq!(place.convoke(&["resume", "letter-2"]).status.code(), Some(5));
}

#[test]
fn who_may_answer_and_until_when_stays_as_it_was_when_the_run_began() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    place.write("convoke.toml", "[supervision]\nhuman_expiry = \"2d\"\nanswerers = [\"eve\"]\n");
    let answered = place.convoke(&["answer", "letter-1", "--approve", "--by", "ann", "--resume"]);
    assert_eq!(stdout(&answered), format!("{RESULT}\n"), "{}", stderr(&answered));
}
