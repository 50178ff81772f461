//! `convoke attend`: runs that can go on do, wherever they were left.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use convoke_core::RunStatus;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Place, stderr, stdout, wait};
use crate::workshop::{AGENTFILE, RESULT, RUN, send, workshop};

fn reports(place: &Place) -> Vec<Value> {
    let attended = place.convoke(&["attend", "--once", "--json"]);
    assert_eq!(attended.status.code(), Some(0), "{}", stderr(&attended));
    stdout(&attended).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_run_that_was_answered_goes_on() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&[&RUN[..], &["--no-input"]].concat()).status.code(), Some(5));
    // Nobody has answered: there is nothing to do.
    assert_eq!(reports(&place), Vec::<Value>::new());
    let answered = place.convoke(&["answer", "letter-1", "--approve"]);
    assert!(answered.status.success(), "{}", stderr(&answered));
    let done = reports(&place);
    assert_eq!((&done[0]["run"], &done[0]["status"]), (&"letter-1".into(), &"completed".into()), "{done:?}");
    assert_eq!((&done[0]["result"], &done[0]["error"]), (&RESULT.into(), &Value::Null), "as of `resume`");
    assert_eq!(stdout(&place.convoke(&["resume", "letter-1"])).trim(), RESULT);
    assert_eq!(reports(&place), Vec::<Value>::new());
}

#[test]
fn a_run_that_needs_its_user_is_left_alone_and_said() {
    let place = workshop(AGENTFILE);
    place.write("named.toml", "version = 1\n");
    let words = [&RUN[..], &["--no-input", "--policy", "named.toml"]].concat();
    assert_eq!(place.convoke(&words).status.code(), Some(5));
    assert!(place.convoke(&["answer", "letter-1", "--approve"]).status.success());
    let done = reports(&place);
    assert!(done[0]["status"].is_null(), "{done:?}");
    assert!(done[0]["error"]["message"].as_str().unwrap().contains("policy that was named"), "{done:?}");
    let hint = done[0]["error"]["hints"][0].as_str().unwrap();
    assert!(hint.contains("convoke resume letter-1 --policy named.toml"), "{hint}");
    // It can still be gone on with by whoever names it.
    let resumed = place.convoke(&["resume", "letter-1", "--policy", "named.toml"]);
    assert_eq!(stdout(&resumed).trim(), RESULT, "{}", stderr(&resumed));
}

/// An attendant that goes on until it is told to end.
fn attend(place: &Place) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("convoke"));
    command.current_dir(place.path()).env_clear().env("XDG_DATA_HOME", place.data()).env("USER", "ann");
    command.args(["attend", "--json"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn what_is_always_said_is_said_by_attendants_too() {
    let place = Place::empty();
    let file = "NAME x\nGOAL first \"First\" SUPERVISED HUMAN\nGOAL dig \"Dig\" TOOLS ls, glob\nRUN main USING first, dig\n";
    place.write("Agentfile", file);
    let script = "[[rule]]\nwhen.output = \"commitment\"\n\
        json = { interpretation = \"Do it.\", approach = \"Well.\", confidence = \"high\" }\n\n\
        [[rule]]\nwhen.output = \"assessment\"\njson = { met_commitment = true }\n\n\
        [[rule]]\nwhen = { user_contains = '<current-goal id=\"first\">' }\nreply = \"Done.\"\n\n\
        [[rule]]\nwhen.offers_tools = false\nreply = \"What I have.\"\n\n\
        [[rule]]\nreply = { tool_calls = [{ name = \"ls\", arguments = { path = \".\" } }] }\n";
    place.write("script.toml", script);
    place.write("convoke.toml", "[budgets]\nturns_per_goal = 2\n");
    let ran = place.convoke(&["run", "-m", "scripted/script.toml", "--id", "x-1", "--no-input"]);
    assert_eq!(ran.status.code(), Some(5), "{}", stderr(&ran));
    assert!(place.convoke(&["answer", "x-1", "--approve"]).status.success());
    place.write("Agentfile", file.replace("Dig\"", "Dig deep\""));
    let attended = place.convoke(&["attend", "--once", "--json"]);
    let done: Value = serde_json::from_str(&stdout(&attended)).unwrap();
    assert_eq!(done["cut_short"], json!({"dig": "it reached its limit of 2 turns"}), "{done}");
    assert!(done["notes"][0].as_str().unwrap().contains("has changed since"), "{done}");
    for said in ["x-1: `dig` was cut short", "Agentfile has changed since"] {
        assert!(stderr(&attended).contains(said), "{}", stderr(&attended));
    }
}

#[test]
fn a_run_that_fails_is_explained_and_gives_the_exit_code() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&[&RUN[..], &["--no-input"]].concat()).status.code(), Some(5));
    assert!(place.convoke(&["answer", "letter-1", "--reject", "no"]).status.success());
    let attended = place.convoke(&["attend", "--once", "--json"]);
    assert_eq!(attended.status.code(), Some(1), "{}", stderr(&attended));
    let done: Value = serde_json::from_str(&stdout(&attended)).unwrap();
    assert_eq!((&done["status"], &done["error"]["exit_code"]), (&"halted".into(), &1.into()), "{done}");
    assert!(done["error"]["hints"][0].as_str().unwrap().contains("convoke fork letter-1"), "{done}");
}

#[test]
fn an_attendant_can_be_started_before_the_first_run() {
    let place = workshop(AGENTFILE);
    let mut attendant = attend(&place);
    let mut said = BufReader::new(attendant.stderr.take().unwrap()).lines();
    assert!(said.next().unwrap().unwrap().contains("goes on with runs of this folder"));
    assert_eq!(place.convoke(&[&RUN[..], &["--no-input"]].concat()).status.code(), Some(5));
    assert!(place.convoke(&["answer", "letter-1", "--approve"]).status.success());
    let done = BufReader::new(attendant.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    assert_eq!(serde_json::from_str::<Value>(&done).unwrap()["result"], RESULT);
    send(&attendant, Signal::TERM);
    assert_eq!(attendant.wait().unwrap().code(), Some(0));
    let empty = Place::empty();
    assert_eq!(empty.convoke(&["attend", "--once"]).status.code(), Some(4), "there is nothing to attend to");
}

#[test]
fn an_attendant_whose_store_is_gone_says_so_and_ends() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&[&RUN[..], &["--no-input"]].concat()).status.code(), Some(5));
    let mut attendant = attend(&place);
    let mut said = BufReader::new(attendant.stderr.take().unwrap()).lines();
    said.next().unwrap().unwrap();
    std::fs::remove_file(place.file()).unwrap();
    let rest: Vec<String> = said.map(Result::unwrap).collect();
    assert_eq!(attendant.wait().unwrap().code(), Some(4), "{rest:?}");
    assert!(rest.join(" ").contains("is gone"), "{rest:?}");
}

#[test]
fn a_fork_waits_for_whoever_made_it_to_resume_it() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&[&RUN[..], &["--no-input"]].concat()).status.code(), Some(5));
    assert!(place.convoke(&["fork", "letter-1", "--at", "2", "--id", "other"]).status.success());
    assert_eq!(reports(&place), Vec::<Value>::new());
    assert_eq!(place.convoke(&["resume", "other", "--no-input"]).status.code(), Some(5));
    assert!(place.convoke(&["answer", "other", "--approve"]).status.success());
    assert_eq!(reports(&place)[0]["status"], "completed");
}

#[test]
fn an_answer_that_resumes_leaves_the_run_to_whoever_was_faster() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&[&RUN[..], &["--no-input"]].concat()).status.code(), Some(5));
    // Its model is opened after it was looked whether anybody works on the run: now somebody does.
    let script = place.path().join("script.toml");
    let text = place.read("script.toml");
    std::fs::remove_file(&script).unwrap();
    assert!(Command::new("mkfifo").arg(&script).status().unwrap().success());
    let store = place.store();
    let faster = std::sync::Arc::clone(&store);
    // Serves whoever reads it, until the test ends.
    std::thread::spawn(move || {
        let run = "letter-1".parse().unwrap();
        while let Ok(mut pipe) = std::fs::OpenOptions::new().write(true).open(&script) {
            let _ = wait(faster.claim(&run, Default::default()));
            let _ = std::io::Write::write_all(&mut pipe, text.as_bytes());
            drop(pipe);
            // Until whoever read this has seen its end.
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    });
    let answered = place.convoke(&["answer", "letter-1", "--approve", "--resume"]);
    assert_eq!(answered.status.code(), Some(0), "{}", stderr(&answered));
    let said = format!("process {} on", std::process::id());
    assert!(
        stderr(&answered).contains(&said) && stderr(&answered).contains("goes on with it"),
        "{}",
        stderr(&answered)
    );
    drop(store);
}

#[test]
fn a_run_that_was_stopped_is_not_called_cancelled() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&[&RUN[..], &["--no-input"]].concat()).status.code(), Some(5));
    let standing = |place: &Place| {
        let runs: Value = serde_json::from_str(&stdout(&place.convoke(&["runs", "--json"]))).unwrap();
        runs[0]["status"].as_str().unwrap().to_owned()
    };
    wait(async {
        let store = place.store();
        let lease = store.claim(&"letter-1".parse().unwrap(), Default::default()).await.unwrap();
        let record = store.run(&lease.run).await.unwrap().unwrap();
        let (status, outcome) =
            (RunStatus::Cancelled, Some("{\"error\":\"cancelled: stopped by SIGTERM\"}".into()));
        let (totals, worked, waits) = (record.totals, record.worked, Default::default());
        let change = convoke_core::store::RunChange { status, outcome, totals, worked, waits };
        let batch = convoke_core::store::Batch { change: Some(change), ..Default::default() };
        store.append(&lease, batch).await.unwrap();
        store.release(&lease);
    });
    assert_eq!(standing(&place), "stopped");
    assert!(place.convoke(&["cancel", "letter-1"]).status.success());
    assert_eq!(standing(&place), "cancelled");
}

#[test]
fn cancelling_a_run_whose_process_does_not_react_ends_and_says_what_happens() {
    let place = workshop(AGENTFILE);
    assert_eq!(place.convoke(&[&RUN[..], &["--no-input"]].concat()).status.code(), Some(5));
    let store = place.store();
    let run = "letter-1".parse().unwrap();
    let held = wait(store.claim(&run, Default::default())).unwrap();
    let cancelled = place.convoke(&["cancel", "letter-1"]);
    assert_eq!(cancelled.status.code(), Some(1), "{}", stderr(&cancelled));
    assert!(stderr(&cancelled).contains("the request is kept"), "{}", stderr(&cancelled));
    // As it says: whoever takes it up ends it.
    store.release(&held);
    drop(store);
    assert_eq!(reports(&place)[0]["status"], "cancelled");
}
